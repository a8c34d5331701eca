// what MuJoCo compiled, as plain data
import { CorralError } from "../core/errors.ts";
import { fillIn, optionsOf, type OptionTable } from "../core/options.ts";
import { boolean, Mismatch, type Kind } from "../core/schema.ts";
import { alternatives } from "../core/names.ts";
import { inLine } from "../core/show.ts";
import { fieldSize, fieldsOf, SIZES, type ModelArrays, type Sizes } from "./fields.ts";
import { readHulls } from "./hulls.ts";
import { keepModel, modelKey, readKeptModel, watched, type ModelKey } from "./model-cache.ts";
import { assertModel, NAMED, printableModel, type Model, type ModelStatistic, type ObjectKind } from "./model-data.ts";
import { copyArray, getMuJoCo, isMuJoCoLoaded, readBools, type MainModule, type MjModel } from "./mujoco.ts";
import { overrideOption, readOption, type OptionOverrides } from "./options.ts";
import {
  checkSource,
  compileFile,
  compileSource,
  readModelFile,
  sourceOfXml,
  type ModelFile,
  type ModelSource,
} from "./source.ts";
import { readSurfaces } from "./surfaces.ts";
import { isPlaced, withTerrain, type PlacedTerrain } from "./terrain/place.ts";
import type { LeftOut } from "./visuals.ts";

export { assertModel, NAMED } from "./model-data.ts";
export type { Model, ModelStatistic, ObjectKind, SpeedLimit } from "./model-data.ts";
export type { ModelOption, OptionOverrides } from "./options.ts";
export type { ModelSource } from "./source.ts";
export type { LeftOut } from "./visuals.ts";

/** The zero-terminated text at an offset. */
function textAt(bytes: Uint8Array, offset: number): string {
  return new TextDecoder().decode(bytes.subarray(offset, bytes.indexOf(0, offset)));
}

function readNames(model: MjModel): Model["names"] {
  const bytes = copyArray(model, "names") as Uint8Array;
  const out: Partial<Record<ObjectKind, string[]>> = {};
  for (const kind of Object.keys(NAMED) as ObjectKind[]) {
    const addresses = copyArray(model, NAMED[kind][1]);
    out[kind] = Array.from(addresses, (at) => textAt(bytes, at));
  }
  return out as Model["names"];
}

function readStatistic(model: MjModel): ModelStatistic {
  const stat = model.stat;
  try {
    const { meaninertia, meanmass, meansize, extent } = stat;
    return { meaninertia, meanmass, meansize, extent, center: Array.from(stat.center as Float64Array) };
  } finally {
    stat.delete();
  }
}

/** Copies an mjModel into plain data. */
function readModel(model: MjModel, source: ModelSource, warnings: readonly string[], leftOut?: LeftOut): Model {
  const sizes: Partial<Record<keyof Sizes, number>> = {};
  for (const name of SIZES) sizes[name] = model[name];

  const bools: Record<string, Uint8Array> = readBools(model);
  const arrays: Record<string, ModelArrays[keyof ModelArrays]> = {};
  for (const { name } of fieldsOf("model")) {
    const values = bools[name] ?? copyArray(model, name);
    const size = fieldSize(sizes as Sizes, name);
    if (values.length !== size) {
      throw new CorralError("mujoco-layout", `${name} has ${values.length} numbers, the field table says ${size}.`, {
        name,
        length: values.length,
        size,
      });
    }
    arrays[name] = values;
  }

  const hulls = readHulls(model);
  const surfaces = readSurfaces(model);
  return {
    ...(sizes as Sizes),
    ...(arrays as unknown as ModelArrays),
    // the buffer of names starts with the model's own
    name: textAt(copyArray(model, "names") as Uint8Array, 0),
    opt: readOption(model),
    stat: readStatistic(model),
    names: readNames(model),
    source,
    warnings,
    ...(hulls ? { hulls } : {}),
    ...(surfaces ? { surfaces } : {}),
    ...(leftOut ? { leftOut } : {}),
  };
}

export interface LoadOptions {
  /** Files that an XML string names (includes, meshes), by path. */
  readonly assets?: Readonly<Record<string, Uint8Array | string>>;
  /**
   * Keep what can only be looked at: geoms of meshes that touch nothing and weigh nothing their body needs, the meshes
   * that only they use, textures and skins. Default false: they are left out before MuJoCo compiles the model, and their
   * files are not read.
   */
  readonly visuals?: boolean;
  /** A terrain in place of a geom of the world, such as the floor. */
  readonly terrain?: PlacedTerrain;
}

const isAsset = (x: unknown) => typeof x === "string" || x instanceof Uint8Array;
const ASSETS: Kind<NonNullable<LoadOptions["assets"]>> = {
  want: "an object of files by path, each text or a Uint8Array",
  read(value, path) {
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    if (isObject && Object.values(value).every(isAsset)) return value as NonNullable<LoadOptions["assets"]>;
    throw new Mismatch(path, value, this.want);
  },
};

const TERRAIN: Kind<PlacedTerrain> = {
  want: "{ ground, geom }: what makeTerrain made, and the name of a geom",
  read(value, path) {
    if (isPlaced(value)) return value;
    throw new Mismatch(path, value, this.want);
  },
};

const LOAD_OPTIONS = {
  assets: { doc: "files that an XML string names, by path", kind: ASSETS },
  visuals: { doc: "keep what can only be looked at", kind: boolean },
  terrain: { doc: "a terrain, and the geom that it stands in for: { ground, geom }", kind: TERRAIN },
} as const satisfies OptionTable;

/**
 * Compiles a model with MuJoCo: the path of an MJCF or URDF file, of a zip that holds one (`robot.zip`, or
 * `robot.zip/scene.xml` where it holds several), or its XML text (which starts with "<").
 * Includes and meshes of a file are read from its folder; those of a text come from `assets`.
 * @throws CorralError bad-option, unknown-option, missing-file, is-directory, unreadable-file, empty-file, not-utf8, bad-archive, several-models,
 *   mujoco-memory, and
 *   model-compile with MuJoCo's own text.
 */
export async function loadModel(pathOrXml: string | URL, options: LoadOptions = {}): Promise<Model> {
  if (typeof pathOrXml !== "string" && !(pathOrXml instanceof URL)) {
    throw new CorralError("bad-option", `a model is a path, a file: URL or XML text, not ${typeof pathOrXml}.`);
  }
  const { assets, visuals = false, terrain } = fillIn(LOAD_OPTIONS, optionsOf(options), { of: "loadModel" });
  const isXml = typeof pathOrXml === "string" && /^\uFEFF?\s*</.test(pathOrXml);
  if (typeof pathOrXml === "string" && pathOrXml.trim() === "") {
    throw new CorralError("empty-file", `the model is an empty string. Pass a path or XML text.`);
  }
  if (!isXml && assets) {
    throw new CorralError("bad-option", `assets go with an XML string; the files of a path are read from disk.`);
  }
  const plain = isXml ? sourceOfXml(pathOrXml, assets ?? {}, visuals) : readModelFile(pathOrXml);
  const given = terrain ? onTerrain(plain, terrain) : plain;
  // once MuJoCo runs, to compile is as quick as to look
  const key = isMuJoCoLoaded() ? undefined : keyOf(given, visuals);
  const kept = key && readKeptModel(key);
  if (kept) return printableModel(kept);

  return withMuJoCoModel(
    (mujoco) =>
      "host" in given
        ? compileFile(mujoco, given, (tree) => (key ? watched(tree, key) : tree), visuals)
        : { ...compileSource(mujoco, given, "the XML text"), source: given },
    (compiled) => {
      const model = readModel(compiled.model, compiled.source, compiled.messages, compiled.leftOut);
      if (key) keepModel(key, model);
      return printableModel(model);
    },
  );
}

/** Compiles a source that something else holds, such as a recording. Throws as `loadModel`. */
export async function loadSource(source: ModelSource): Promise<Model> {
  checkSource(source);
  return withMuJoCoModel(
    (mujoco) => compileSource(mujoco, source),
    ({ model, messages, leftOut }) => printableModel(readModel(model, source, messages, leftOut)),
  );
}

/** MuJoCo modules that have compiled a model: their memory, which never shrinks, is used. */
const used = new WeakSet<MainModule>();

/** Compiles and reads; once more in a fresh module if there was no memory left in one that has been used. */
async function withMuJoCoModel<C extends { readonly model: MjModel }, T>(
  compile: (mujoco: MainModule) => C,
  read: (compiled: C) => T,
): Promise<T> {
  const once = async (): Promise<T> => {
    const mujoco = await getMuJoCo();
    const isUsed = used.has(mujoco);
    used.add(mujoco);
    try {
      const compiled = compile(mujoco);
      try {
        return read(compiled);
      } finally {
        compiled.model.delete();
      }
    } catch (error) {
      if (isUsed && error instanceof CorralError && error.code === "mujoco-memory") return once();
      throw error;
    }
  };
  return once();
}

function onTerrain<T extends ModelFile | ModelSource>(given: T, terrain: PlacedTerrain): T {
  const name = "host" in given ? given.name : "the XML text";
  const xml = withTerrain(given.xml, terrain, name);
  return { ...given, xml, ...("host" in given ? { bytes: new TextEncoder().encode(xml) } : {}) };
}

const keyOf = (given: ModelFile | ModelSource, visuals: boolean): ModelKey | undefined =>
  "host" in given
    ? modelKey(given.files ? "" : given.host, {
        xml: given.bytes,
        visuals: String(visuals),
        file: given.files ? given.host : "",
      })
    : modelKey("", { xml: given.xml, visuals: String(visuals), file: given.file, ...prefixed(given.assets) });

/** Assets by names that nothing else has. */
const prefixed = (assets: ModelSource["assets"]): Record<string, Uint8Array> =>
  Object.fromEntries(Object.entries(assets).map(([path, content]) => [`asset ${path}`, content]));

/**
 * The same model with other options (mjOption): timestep, gravity, integrator, cone, solver, iterations, tolerance, ...
 * The given model stays as it is.
 * @throws CorralError bad-model, bad-option, unknown-option.
 */
export function withOptions(model: Model, overrides: OptionOverrides): Model {
  assertModel(model);
  optionsOf(overrides, "overrides");
  return printableModel({ ...model, opt: overrideOption(model.opt, overrides) });
}

/** The name of an object, "" if it has none. */
export function nameOf(model: Model, kind: ObjectKind, id: number): string {
  return model.names[kind][id] ?? "";
}

/** A name for messages: `joint "hip"`, or `joint 3` for one without a name. */
export function describe(model: Model, kind: ObjectKind, id: number): string {
  const name = nameOf(model, kind, id);
  return name === "" ? `${kind} ${id}` : `${kind} "${inLine(name)}"`;
}

/** What to say of a name whose object was left out when the model was loaded; undefined for any other name. */
export function leftOutText({ leftOut }: Model, kind: ObjectKind, name: string): string | undefined {
  if ((kind !== "geom" && kind !== "mesh") || name === "" || !leftOut?.[kind].includes(name)) return undefined;
  return `${kind} "${inLine(name)}" can only be looked at, and was left out when the model was loaded. Keep it: await loadModel(path, { visuals: true }).`;
}

/**
 * The id of a named object.
 * @throws CorralError unknown-name, with the nearest names; left-out
 */
export function idOf(model: Model, kind: ObjectKind, name: string): number {
  const id = name === "" ? -1 : model.names[kind].indexOf(name);
  if (id >= 0) return id;
  const leftOut = leftOutText(model, kind, name);
  if (leftOut !== undefined) throw new CorralError("left-out", leftOut, { kind, name });
  const near = alternatives(name, model.names[kind]);
  throw new CorralError("unknown-name", `the model has no ${kind} named "${inLine(name)}"; ${near.hint}.`, {
    kind,
    name,
    nearest: near.nearest,
  });
}
