// what MuJoCo compiled, as plain data
import { CorralError } from "../core/errors.ts";
import { fillIn, optionsOf, type OptionTable } from "../core/options.ts";
import { boolean, Mismatch, type Kind } from "../core/schema.ts";
import { alternatives } from "../core/names.ts";
import { inLine, show } from "../core/show.ts";
import { compilePath, compileStored, compileXml } from "./compile.ts";
import { mjtBias, mjtDyn, mjtGain, mjtTrn } from "./enums.ts";
import { assertModel, printableModel, type Model, type ObjectKind } from "./model-data.ts";
import { overrideOption, type OptionOverrides } from "./options.ts";
import { checkSource, sourceOfXml, XML_TEXT, type ModelSource } from "./source.ts";
import { checkGround, isPlaced, withTerrain, type PlacedTerrain } from "./terrain/place.ts";

export { assertModel, NAMED } from "./model-data.ts";
export type { Model, ModelStatistic, ObjectKind, SpeedLimit } from "./model-data.ts";
export type { ModelOption, OptionOverrides } from "./options.ts";
export type { ModelSource } from "./source.ts";
export type { LeftOut } from "./visuals.ts";

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
    const { ground, geom } = (value ?? {}) as Partial<PlacedTerrain>;
    if (ground === undefined) throw new Mismatch(path, value, this.want);
    if (isPlaced({ ground, geom: "" })) throw new Mismatch([...path, "geom"], geom, "the name of a geom");
    throw new Mismatch([...path, "ground"], ground, "what makeTerrain made");
  },
};

const LOAD_OPTIONS = {
  assets: { doc: "files that an XML string names, by path", kind: ASSETS },
  visuals: { doc: "keep what can only be looked at", kind: boolean },
  terrain: {
    doc: "a terrain, the geom that it stands in for, and its contacts: { ground, geom, priority, solref }",
    kind: TERRAIN,
  },
} as const satisfies OptionTable;

/**
 * Compiles a model with MuJoCo: the path of an MJCF or URDF file, of a zip that holds one (`robot.zip`, or
 * `robot.zip/scene.xml` where it holds several), or its XML text (which starts with "<").
 * Includes and meshes of a file are read from its folder; those of a text come from `assets`.
 * @throws CorralError bad-option, unknown-option, missing-file, is-directory, unreadable-file, empty-file, not-utf8, not-xml, unexpanded-xacro, bad-archive, several-models,
 *   mujoco-memory, bad-terrain, and
 *   model-compile with MuJoCo's own text.
 */
export async function loadModel(pathOrXml: string | URL, options: LoadOptions = {}): Promise<Model> {
  if (typeof pathOrXml !== "string" && !(pathOrXml instanceof URL)) {
    throw new CorralError(
      "bad-option",
      `a model is a path, a file: URL or XML text, not ${show(pathOrXml)}. Pass one of them; bytes of a zip are read from a file.`,
    );
  }
  const { assets, visuals = false, terrain } = fillIn(LOAD_OPTIONS, optionsOf(options), { of: "loadModel" });
  const isXml = typeof pathOrXml === "string" && /^\uFEFF?\s*</.test(pathOrXml);
  if (typeof pathOrXml === "string" && pathOrXml.trim() === "") {
    throw new CorralError("empty-file", `the model is an empty string. Pass a path or XML text.`);
  }
  if (!isXml && assets) {
    throw new CorralError("bad-option", `assets go with an XML string; the files of a path are read from disk.`);
  }
  const edit = (xml: string, name: string) => (terrain ? withTerrain(xml, terrain, name) : xml);
  const compiled = async () => {
    if (!isXml) return compilePath(pathOrXml, visuals, edit);
    const source = sourceOfXml(pathOrXml, assets ?? {}, visuals);
    return compileXml({ ...source, xml: edit(source.xml, XML_TEXT) });
  };
  const model = await compiled();
  if (terrain) checkGround(model, terrain);
  return printableModel(model);
}

/** Compiles a source that something else holds, such as a recording. Throws as `loadModel`. */
export async function loadSource(source: ModelSource): Promise<Model> {
  checkSource(source);
  return printableModel(await compileStored(source));
}

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

/** Throws `bad-model`, and `unknown-name` for a kind that no object is of. */
function assertNamed(model: Model, kind: ObjectKind): void {
  assertModel(model);
  if (Object.hasOwn(model.names, kind)) return;
  const given: unknown = kind;
  const { hint, nearest } = alternatives(String(given), Object.keys(model.names));
  throw new CorralError("unknown-name", `a model names no objects of the kind ${show(kind)}; ${hint}.`, { nearest });
}

/** The name of an object, "" if it has none. */
export function nameOf(model: Model, kind: ObjectKind, id: number): string {
  assertNamed(model, kind);
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
  assertNamed(model, kind);
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

/** The joint that an actuator moves by itself; -1 if it moves something else. */
export const jointOf = (model: Model, i: number): number =>
  model.actuator_trntype[i] === mjtTrn.JOINT || model.actuator_trntype[i] === mjtTrn.JOINTINPARENT
    ? model.actuator_trnid[2 * i]
    : -1;

/** Whether an actuator's force is a multiple of its control; a bias of a program's callback is 0, as it is in MuJoCo without one. */
export const isMotor = (model: Model, i: number): boolean =>
  model.actuator_gaintype[i] === mjtGain.FIXED &&
  ([mjtBias.NONE, mjtBias.USER] as number[]).includes(model.actuator_biastype[i]) &&
  model.actuator_dyntype[i] === mjtDyn.NONE;

/**
 * What actuators are called: by their names; one without a name as the joint that it alone moves without one, unless that
 * is an actuator's name. "" of others.
 */
export function actuatorNames(model: Model): readonly string[] {
  const own = model.names.actuator;
  const joints = own.map((name, i) => (name === "" ? (model.names.joint[jointOf(model, i)] ?? "") : ""));
  const isOwn = (name: string) => own.includes(name) || joints.indexOf(name) !== joints.lastIndexOf(name);
  return own.map((name, i) => (name !== "" || joints[i] === "" || isOwn(joints[i]) ? name : joints[i]));
}
