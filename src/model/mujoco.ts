// MuJoCo's WebAssembly build: loaded once, and read without its traps
import type { MainModule, MjModel } from "@mujoco/mujoco";
import { CorralError } from "../core/errors.ts";
import { say } from "../core/host.ts";
import { printable } from "../core/show.ts";
import { load } from "./mujoco-module.ts";

export type { MainModule, MjContact, MjData, MjModel, MjSpec, MjsElement, MjsGeom } from "@mujoco/mujoco";

declare global {
  /** Named, and not declared, by the types of MuJoCo's bindings. */
  interface Arguments extends IArguments {}
}

/** The release whose semantics and memory layout this code follows; its patches are welcome. */
export const MUJOCO_VERSION = "3.14";

let module: Promise<MainModule> | undefined;
let current: MainModule | undefined;
let heard: string[] | undefined;

// MuJoCo speaks through print; stdout must stay free for results
function hear(text: string): void {
  if (heard) heard.push(text);
  else say(`mujoco: ${printable(text)}`);
}

/**
 * The MuJoCo module of this thread, loaded at the first call.
 * @throws CorralError mujoco-version if another version than MUJOCO_VERSION is installed, mujoco-not-loadable if
 * there is no memory for it; the next call tries again.
 */
export function getMuJoCo(): Promise<MainModule> {
  module ??= load({ print: hear, printErr: hear })
    .catch(refused)
    .then((mujoco: MainModule) => {
      const version = mujoco.mj_versionString();
      if (!version.startsWith(`${MUJOCO_VERSION}.`)) {
        throw new CorralError(
          "mujoco-version",
          `@mujoco/mujoco ${version} is installed, ${MUJOCO_VERSION}.x is needed. Run npm install @mujoco/mujoco@${MUJOCO_VERSION}.`,
          { version, needed: MUJOCO_VERSION },
        );
      }
      current = mujoco;
      return mujoco;
    });
  return module;
}

/** Whether MuJoCo was started in this thread. */
export const isMuJoCoLoaded = (): boolean => module !== undefined;

function refused(cause: Error): never {
  module = undefined;
  const [why] = cause.message.split("\n");
  throw new CorralError(
    "mujoco-not-loadable",
    `MuJoCo's WebAssembly cannot be loaded: ${why}. It reserves gigabytes of addresses, though few are used: raise the process's limit (ulimit -v), or load a model before it is set.`,
    {},
    { cause },
  );
}

/**
 * Forgets a module whose memory is exhausted or whose program has crashed: the next getMuJoCo loads a fresh one.
 * What was made with the old one stays with it.
 */
export function dropMuJoCo(mujoco: MainModule): void {
  if (current === mujoco) module = current = undefined;
}

/**
 * Runs a synchronous call and returns what MuJoCo printed meanwhile, instead of letting it reach stderr. `messages`: where
 * to put it, for what is printed before the call throws.
 */
export function listen<T>(call: () => T, messages: string[] = []): { result: T; messages: string[] } {
  const before = heard;
  const { warn } = console;
  heard = messages;
  // what it warns of where models are attached goes past print
  console.warn = (...texts: unknown[]) => messages.push(...texts.map(String));
  try {
    return { result: call(), messages };
  } finally {
    heard = before;
    console.warn = warn;
  }
}

/** The text of an error thrown by MuJoCo, without its preamble. */
export function mujocoMessage(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text
    .replace(/^MuJoCo Error: /, "")
    .replace(/^Loading error: /, "")
    .trim();
}

type View = { readonly byteOffset: number; readonly byteLength: number; readonly length: number };

/** Copies an array out of the heap: views of the heap detach when it grows. */
export function copyArray(owner: object, name: string): Float64Array | Int32Array | Uint8Array {
  const view = (owner as Record<string, unknown>)[name];
  if (view instanceof Float64Array) return Float64Array.from(view);
  if (view instanceof Int32Array) return Int32Array.from(view);
  if (view instanceof Float32Array) return Float64Array.from(view);
  if (view instanceof Uint8Array) return Uint8Array.from(view);
  if (view instanceof Int8Array) return new Uint8Array(Uint8Array.from(view));
  throw new CorralError("mujoco-layout", `MuJoCo exposes no array named "${name}".`, { name });
}

// bool arrays cannot be read by name; each lies between two that can: before, the bools in order, after
const BOOL_RUNS = [
  {
    before: "jnt_group",
    bools: ["jnt_limited", "jnt_actfrclimited", "jnt_actgravcomp"],
    count: "njnt",
    after: "jnt_solref",
  },
  { before: "eq_objtype", bools: ["eq_active0"], count: "neq", after: "eq_solref" },
  {
    before: "ten_J_colind",
    bools: ["tendon_limited", "tendon_actfrclimited"],
    count: "ntendon",
    after: "tendon_width",
  },
  { before: "light_texid", bools: ["light_castshadow"], count: "nlight", after: "light_bulbradius" },
  { before: "light_range", bools: ["light_active"], count: "nlight", after: "light_pos" },
  { before: "mat_texid", bools: ["mat_texuniform"], count: "nmat", after: "mat_texrepeat" },
  { before: "actuator_biasprm", bools: ["actuator_actlimited"], count: "nactuator", after: "actuator_actrange" },
  { before: "actuator_actrange", bools: ["actuator_actearly"], count: "nactuator", after: "actuator_history" },
  { before: "actuator_plugin", bools: ["actuator_forcelimited"], count: "nactuator", after: "actuator_forcerange" },
  { before: "actuator_forcerange", bools: ["actuator_ctrllimited"], count: "nu", after: "actuator_ctrlrange" },
] as const;

/** The bool arrays of mjModel that readBools returns. */
export type BoolName = (typeof BOOL_RUNS)[number]["bools"][number];

// mj_makeModel aligns every array to 64 bytes
const align = (offset: number) => Math.ceil(offset / 64) * 64;

/** Where the bools of a run lie in MuJoCo's memory, and where the next array does. */
function placesOf(
  model: MjModel,
  run: (typeof BOOL_RUNS)[number],
): { at: Partial<Record<BoolName, number>>; end: number } {
  const before = (model as unknown as Record<string, View>)[run.before];
  const at: Partial<Record<BoolName, number>> = {};
  let end = align(before.byteOffset + before.byteLength);
  for (const name of run.bools) {
    at[name] = end;
    end = align(end + model[run.count]);
  }
  return { at, end };
}

/**
 * Reads the bool arrays of an mjModel, which the package's own getters cannot.
 * @throws CorralError mujoco-layout if the neighbours do not lie as the header says.
 */
export function readBools(model: MjModel): Record<BoolName, Uint8Array> {
  const views = model as unknown as Record<string, View>;
  const memory = (model.buffer as Uint8Array).buffer;
  const out = {} as Record<BoolName, Uint8Array>;

  for (const run of BOOL_RUNS) {
    const { at, end } = placesOf(model, run);
    for (const name of run.bools) {
      const start = at[name]!;
      out[name] = new Uint8Array(memory.slice(start, start + model[run.count]));
    }
    const sane = run.bools.every((name) => out[name].every((x) => x <= 1));
    if (end !== views[run.after].byteOffset || !sane) {
      throw new CorralError(
        "mujoco-layout",
        `${run.bools.join(", ")} do not lie between ${run.before} and ${run.after} in this build of MuJoCo. Install @mujoco/mujoco@${MUJOCO_VERSION}.`,
        { ...run },
      );
    }
  }
  return out;
}

/** Writes one element of a bool array of an mjModel whose layout `readBools` has accepted. */
export function writeBool(model: MjModel, name: BoolName, index: number, value: number): void {
  const run = BOOL_RUNS.find(({ bools }) => (bools as readonly BoolName[]).includes(name))!;
  const memory = (model.buffer as Uint8Array).buffer;
  new Uint8Array(memory)[placesOf(model, run).at[name]! + index] = value;
}
