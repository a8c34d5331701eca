// a server of files in memory on this machine, for pages of the tests
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname } from "node:path";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
  ".json": "application/json",
};

/** With which pages are isolated, so that threads share memory. */
export const ISOLATED = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};

export interface FileServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves files by path: texts and bytes, and URLs of files of this machine. `isolated/` before a path has pages isolated. */
export async function serveFiles(files: Readonly<Record<string, string | Uint8Array | URL>>): Promise<FileServer> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url!, "http://localhost");
    const [, isolated, path] = /^\/(isolated\/)?(.*)$/.exec(pathname)!;
    const content = Object.hasOwn(files, path) ? files[path] : undefined;
    if (content === undefined) return void response.writeHead(404).end();
    const type = TYPES[extname(path)] ?? "application/octet-stream";
    response.writeHead(200, { "content-type": type, ...(isolated ? ISOLATED : {}) });
    response.end(content instanceof URL ? readFileSync(content) : content);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
