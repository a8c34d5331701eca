// compiles models in this thread, or finds them as an earlier process left them
import { cacheModel, modelKey, readCachedModel, watched, type ModelKey } from "./model-cache.ts";
import type { Model } from "./model-data.ts";
import { compileFile, readModelFile } from "./model-file.ts";
import { isMuJoCoLoaded } from "./mujoco.ts";
import { compileHere, compileSourceHere } from "./read-model.ts";
import { XML_TEXT, type ModelSource } from "./source.ts";

/** Changes the text of a model before it is compiled; `name` is what messages call it. */
export type EditXml = (xml: string, name: string) => string;

/** A model of a file of this machine. Throws as `loadModel`. */
export async function compilePath(path: string | URL, visuals: boolean, edit: EditXml): Promise<Model> {
  const file = readModelFile(path);
  const xml = edit(file.xml, file.name);
  const given = xml === file.xml ? file : { ...file, xml, bytes: new TextEncoder().encode(xml) };
  const contents = { xml: given.bytes, visuals: String(visuals), file: given.files ? given.host : "" };
  return keptOr(
    () => modelKey(given.files ? "" : given.host, contents),
    (key) => compileHere((mujoco) => compileFile(mujoco, given, (tree) => (key ? watched(tree, key) : tree), visuals)),
  );
}

/** A model of a text. Throws as `loadModel`. */
export async function compileXml(source: ModelSource): Promise<Model> {
  const { xml, file, assets, visuals = false } = source;
  return keptOr(
    () => modelKey("", { xml, visuals: String(visuals), file, ...prefixed(assets) }),
    () => compileSourceHere(source, XML_TEXT),
  );
}

/** A model of a source that something else holds. Throws as `loadModel`. */
export const compileStored = (source: ModelSource): Promise<Model> => compileSourceHere(source);

/** Milliseconds of compiling beyond which it is quicker to look, MuJoCo running or not. */
const SLOW = 1000;
let wasSlow = false;

/** A model that is kept, or that is compiled and then kept. */
async function keptOr(
  keyOf: () => ModelKey | undefined,
  compile: (key: ModelKey | undefined) => Promise<Model>,
): Promise<Model> {
  // once MuJoCo runs, to compile most models is as quick as to look
  const key = isMuJoCoLoaded() && !wasSlow ? undefined : keyOf();
  const kept = key && readCachedModel(key);
  if (kept) return kept;
  const begun = performance.now();
  const model = await compile(key);
  wasSlow ||= performance.now() - begun > SLOW;
  if (key) cacheModel(key, model);
  return model;
}

/** Assets by names that nothing else has. */
const prefixed = (assets: ModelSource["assets"]): Record<string, Uint8Array> =>
  Object.fromEntries(Object.entries(assets).map(([path, content]) => [`asset ${path}`, content]));
