// has models compiled by a worker, and fetches the files that they name
import { CorralError } from "../core/errors.ts";
import { errorOf } from "../core/posted.ts";
import type { CompileAnswer, CompileRequest } from "./compile-messages.ts";
import type { EditXml } from "./compile.ts";
import { isZip } from "./is-zip.ts";
import type { Model } from "./model-data.ts";
import { decode, sourceOfXml, XML_TEXT, type ModelSource } from "./source.ts";
import { placesInPackages } from "./urdf.ts";

/** Milliseconds without a model after which the worker, and MuJoCo's memory with it, is let go. */
const IDLE_MS = 30_000;
/** Of the addresses of models that lie in the bundle. */
const SHIPPED = "corral:";
/** Times that files are fetched because a model names them: a file may name others, and of packages one is told at a time. */
const MOST_FETCHES = 256;

interface Waiting {
  resolve(model: Model): void;
  reject(why: Error): void;
}

let worker: Worker | undefined;
let idle: ReturnType<typeof setTimeout> | undefined;
let requests = 0;
const waiting = new Map<number, Waiting>();

function started(): Worker {
  const made = new Worker(new URL("./compile-worker.js", import.meta.url), { type: "module", name: "corral.compile" });
  made.addEventListener("message", ({ data: { id, model, error } }: MessageEvent<CompileAnswer>) => {
    const asked = waiting.get(id);
    waiting.delete(id);
    if (waiting.size === 0) idle = setTimeout(() => end(made), IDLE_MS);
    if (model) asked?.resolve(model);
    else asked?.reject(errorOf(error!));
  });
  made.addEventListener("error", (event) => {
    const why = new CorralError(
      "mujoco-not-loadable",
      `the worker that compiles models did not start: ${event.message || "its script cannot be loaded"}. compile-worker.js lies beside corral's bundle: serve it from there.`,
    );
    for (const asked of waiting.values()) asked.reject(why);
    waiting.clear();
    end(made);
  });
  return made;
}

function end(old: Worker): void {
  old.terminate();
  if (worker === old) worker = undefined;
}

function compile(source: ModelSource, name?: string): Promise<Model> {
  clearTimeout(idle);
  worker ??= started();
  const id = ++requests;
  const answer = new Promise<Model>((resolve, reject) => waiting.set(id, { resolve, reject }));
  worker.postMessage({ id, source, ...(name === undefined ? {} : { name }) } satisfies CompileRequest);
  return answer;
}

/** A model of a text. Throws as `loadModel`. */
export const compileXml = (source: ModelSource): Promise<Model> => compile(source, XML_TEXT);

/** A model of a source that something else holds. Throws as `loadModel`. */
export const compileStored = (source: ModelSource): Promise<Model> => compile(source);

async function fetched(address: URL): Promise<Uint8Array | undefined> {
  const response = await fetch(address);
  const bytes = new Uint8Array(await response.arrayBuffer());
  // servers of bundlers answer with the page itself where there is no file
  return response.ok && !/^\s*<(!doctype )?html/i.test(String.fromCharCode(...bytes.subarray(0, 64)))
    ? bytes
    : undefined;
}

/** Fetches what a model names into its assets: files are told from the root on, absolute ones as the model has them. */
async function fetchInto(assets: Record<string, Uint8Array>, name: string, model: URL): Promise<boolean> {
  const inPackage = placesInPackages(name, decodeURIComponent(model.pathname.slice(1)));
  const places = (inPackage ?? [`/${name}`, name]).map(encodeURI);
  for (const place of places.map((path) => new URL(path, model))) {
    const content = await fetched(place).catch(() => undefined);
    if (!content) continue;
    assets[decodeURIComponent(place.pathname.slice(1))] = content;
    return true;
  }
  return false;
}

interface FetchedZip {
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** The address of the zip, as it was given. */
  readonly shown: string;
  /** The model in it, where the address says which. */
  readonly path?: string;
}

/** The zip that an address leads into: `robot.zip/scene.xml`. */
async function zipAround(address: URL, shown: string): Promise<FetchedZip | undefined> {
  const [, zip, path] = /^(.+\.zip)\/(.+)$/i.exec(address.pathname) ?? [];
  if (path === undefined) return undefined;
  const bytes = await fetched(new URL(zip, address)).catch(() => undefined);
  if (!bytes || !isZip(bytes)) return undefined;
  const name = shown.replace(/^(.+\.zip)\/.*$/i, "$1");
  return { files: await unpacked(bytes, name), shown: name, path: decodeURIComponent(path) };
}

async function unpacked(bytes: Uint8Array, name: string): Promise<Record<string, Uint8Array>> {
  const { unpackZip } = await import("./zip-stream.ts"); // a page that loads no zip loads no reader
  return unpackZip(bytes, name);
}

/** A model in a zip. Throws as `loadModel`. */
async function compileOfZip({ files, shown, path }: FetchedZip, visuals: boolean, edit: EditXml): Promise<Model> {
  if (path !== undefined && !Object.hasOwn(files, path))
    throw new CorralError("missing-file", `there is no file "${path}" in "${shown}".`, { file: shown });
  const { modelIn } = await import("./archive.ts");
  const file = path ?? modelIn(files, shown);
  const name = `${shown}/${file}`;
  const { [file]: xml, ...assets } = files;
  return compile({ xml: edit(decode(xml, name), name), file, assets, ...(visuals ? { visuals } : {}) }, name);
}

/**
 * A model at an address, that of the page's folder if it is no whole one; what it names is fetched from beside it.
 * Throws as `loadModel`.
 */
export async function compilePath(path: string | URL, visuals: boolean, edit: EditXml): Promise<Model> {
  const shown = String(path);
  const address = new URL(path, globalThis.location.href);
  const { MODELS = {} } = address.protocol === SHIPPED ? await import("corral:models") : {};
  if (Object.hasOwn(MODELS, address.pathname)) {
    const { default: xml } = await MODELS[address.pathname]();
    return compileXml(sourceOfXml(edit(xml, XML_TEXT), {}, visuals));
  }
  const around = await zipAround(address, shown);
  if (around) return compileOfZip(around, visuals, edit);
  const bytes = await fetched(address).catch(() => undefined);
  if (!bytes) {
    throw new CorralError(
      "missing-file",
      `there is no file "${shown.slice(0, 200)}". Pass the address of an MJCF file or its XML text, which starts with "<".`,
      { file: address.href },
    );
  }
  if (isZip(bytes)) return compileOfZip({ files: await unpacked(bytes, shown), shown }, visuals, edit);

  const option = visuals ? { visuals } : {};
  const assets: Record<string, Uint8Array> = {};
  const xml = edit(decode(bytes, shown), shown);
  // paths may lead up from the model's folder: the root of the assets is the address's own
  const file = decodeURIComponent(address.pathname.slice(1)) || "model.xml";
  for (let turn = 1; ; turn++) {
    try {
      return await compile({ xml, file, assets, ...option }, shown);
    } catch (error) {
      const missing = error instanceof CorralError ? error.details.files : undefined;
      if (!Array.isArray(missing) || turn === MOST_FETCHES) throw error;
      const found = await Promise.all(missing.map((name: string) => fetchInto(assets, name, address)));
      if (!found.every(Boolean)) throw error;
    }
  }
}
