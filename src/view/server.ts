// the server of a viewer: this machine alone, a secret in every address, nothing of the disk
import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { CorralError } from "../core/errors.ts";
import { reasonOf } from "../core/write-bytes.ts";

/** Bytes that a page may send at once. */
const MOST_BODY = 4096;
const LOOPBACK = "127.0.0.1";

export interface Answer {
  readonly type: string;
  readonly body: string | Uint8Array;
}

/** What is answered, by name: nothing else is. */
export interface Routes {
  readonly get: Readonly<
    Record<string, (query: URLSearchParams, gone: AbortSignal) => Answer | undefined | Promise<Answer | undefined>>
  >;
  readonly post: Readonly<Record<string, (body: unknown) => void | Promise<void>>>;
}

const HEADERS = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Cache-Control": "no-store",
} as const;

export class ViewServer implements AsyncDisposable {
  /** With the secret. */
  readonly url: string;
  readonly #server: Server;

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  /** Listens on the loopback address; port 0 is a free one. Throws `port-not-open`. */
  static async listen(routes: Routes, port = 0): Promise<ViewServer> {
    const token = randomBytes(24).toString("base64url");
    let hosts: readonly string[] = [];
    const server = createServer((request, response) => {
      answer(routes, token, hosts, request, response).catch(() => response.destroy());
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", (cause) =>
        reject(
          new CorralError(
            "port-not-open",
            `port ${port} of ${LOOPBACK} cannot be opened (${reasonOf(cause)}). Pass another --port, or none.`,
            { port },
            { cause },
          ),
        ),
      );
      if (!Number.isInteger(port) || port < 0 || port > MOST_PORTS)
        throw new CorralError(
          "port-not-open",
          `port ${port} of ${LOOPBACK} is none: ports are integers up to ${MOST_PORTS}. Pass another --port, or none.`,
          { port },
        );
      server.listen(port, LOOPBACK, resolve);
    });
    const { port: open } = server.address() as AddressInfo;
    hosts = [`${LOOPBACK}:${open}`, `localhost:${open}`];
    return new ViewServer(server, `http://${hosts[0]}/${token}/`);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const MOST_PORTS = 65_535;

function isSame(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

async function answer(
  routes: Routes,
  token: string,
  hosts: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const end = (status: number, found: Answer = { type: "text/plain", body: "" }, more: Record<string, string> = {}) => {
    response.writeHead(status, { ...HEADERS, ...more, "Content-Type": `${found.type}; charset=utf-8` });
    response.end(found.body);
  };
  const { host, origin, "sec-fetch-site": site } = request.headers;
  // a name that was made to point here, and pages of others
  if (host === undefined || !hosts.includes(host)) return end(403);
  if (origin !== undefined && origin !== `http://${host}`) return end(403);
  if (site !== undefined && site !== "same-origin" && site !== "none") return end(403);
  const [path, search = ""] = (request.url ?? "").split("?");
  const [, given = "", name, ...more] = path.split("/");
  if (!isSame(given, token) || more.length > 0) return end(404);
  // the page's files are beside it
  if (name === undefined) return end(308, { type: "text/plain", body: "" }, { Location: `/${token}/` });

  if (request.method === "GET" && Object.hasOwn(routes.get, name)) {
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    try {
      const found = await routes.get[name](new URLSearchParams(search), gone.signal);
      return found ? end(200, found) : end(204);
    } catch (error) {
      return end(500, { type: "text/plain", body: error instanceof CorralError ? error.message : "no answer" });
    }
  }
  if (request.method === "POST" && Object.hasOwn(routes.post, name)) {
    if (origin === undefined || request.headers["content-type"] !== "application/json") return end(403);
    const body = await bodyOf(request);
    if (body === undefined) return end(413);
    try {
      await routes.post[name](JSON.parse(body));
      return end(204);
    } catch (error) {
      return end(400, { type: "text/plain", body: error instanceof CorralError ? error.message : "bad request" });
    }
  }
  return end(request.method === "GET" || request.method === "POST" ? 404 : 405);
}

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MOST_BODY) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
