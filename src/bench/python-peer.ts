// peers that live in a Python of the user's: native MuJoCo's rollout, EnvPool, and on a GPU MJX, Brax and MuJoCo Warp
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { packageVersion } from "../core/version.ts";
import type { Model } from "../model/model.ts";

/** A peer that was not measured, and what to do about it. */
export interface Absent {
  readonly absent: string;
}

/** What is measured, and with which Python. */
export interface PythonSetup {
  readonly python: string;
  /** Id of the environment. */
  readonly env: string;
  readonly model: Model;
  readonly frameSkip: number;
  /** Rows of qpos and qvel. */
  readonly starts: Float64Array;
  /** Rows of ctrl, `phases` of which follow each other. */
  readonly controls: Float64Array;
  readonly phases: number;
  readonly episodeSteps: number;
  readonly seconds: number;
  readonly repetitions: number;
  readonly seed: number;
}

/** Native MuJoCo (C, float64), worlds in a thread pool. */
export interface NativePeer {
  readonly mujoco: string;
  readonly rows: readonly NativeRow[];
}

export interface NativeRow {
  readonly threads: number;
  readonly numEnvs: number;
  /** Median of the repetitions. */
  readonly physicsStepsPerSec: number;
  readonly envStepsPerSec: number;
  readonly physicsRange: { readonly min: number; readonly max: number };
  readonly meanContacts: number;
}

/** MJX, Brax if it has the environment, and MuJoCo Warp, by batch size on the same GPU. */
export interface JaxPeer {
  readonly device: string;
  readonly versions: Readonly<Record<string, string>>;
  readonly rows: readonly {
    readonly what: string;
    readonly numEnvs: number;
    /** Null if it is not known how many there are in an env step. */
    readonly physicsStepsPerSec: number | null;
    readonly envStepsPerSec: number;
    readonly compileSeconds: number;
  }[];
}

/** EnvPool: C++ environments in a thread pool, of several sizes, through its own interface. */
export interface EnvpoolPeer {
  readonly envpool: string;
  readonly rows: readonly {
    readonly threads: number;
    readonly numEnvs: number;
    /** Worlds of an answer: all, or those that are ready first. */
    readonly batch: number;
    readonly envStepsPerSec: number;
    /** The same for a second of the processor. Undefined in documents of 0.1. */
    readonly envStepsPerCpuSecond?: number;
  }[];
}

/** The MuJoCo that compiles models and runs as WebAssembly: the native peer must be of the same version. */
const PINNED = packageVersion("@mujoco/mujoco");
const NO_PYTHON = `not measured: pass --python PATH of a Python with MuJoCo (pip install mujoco==${PINNED} numpy); it is a peer only, corral needs none`;
const NO_GPU = "not measured: MJX, Brax and MuJoCo Warp are compared on an NVIDIA GPU only";

export async function nativePeer(
  setup: PythonSetup | undefined,
  progress: (text: string) => void,
): Promise<NativePeer | Absent> {
  if (setup === undefined) return { absent: NO_PYTHON };
  progress("native MuJoCo, mujoco.rollout");
  const threads = [...new Set([1, availableParallelism()])];
  const found = (await runScript("native_rollout.py", setup, { threads, mujoco: PINNED })) as NativePeer | Absent;
  if ("absent" in found || minor(found.mujoco) === minor(PINNED)) return found;
  return {
    absent: `not measured: ${setup.python} has MuJoCo ${found.mujoco}, the WebAssembly is ${PINNED}; pip install mujoco==${PINNED}`,
  };
}

export async function envpoolPeer(
  setup: PythonSetup | undefined,
  progress: (text: string) => void,
): Promise<EnvpoolPeer | Absent> {
  if (setup === undefined) return { absent: NO_PYTHON.replace(`mujoco==${PINNED} numpy`, "envpool==1.2.5") };
  progress("EnvPool, as many threads as cores");
  return (await runScript("envpool_steps.py", setup, { threads: availableParallelism() })) as EnvpoolPeer | Absent;
}

/** Patches compute the same. */
const minor = (version: string): string => version.split(".").slice(0, 2).join(".");

export async function jaxPeer(
  setup: PythonSetup | undefined,
  onGpu: boolean,
  progress: (text: string) => void,
): Promise<JaxPeer | Absent> {
  if (!onGpu) return { absent: NO_GPU };
  if (setup === undefined)
    return { absent: NO_PYTHON.replace(`mujoco==${PINNED} numpy`, "'jax[cuda12]' mujoco-mjx brax mujoco-warp") };
  progress("MJX and Brax, where JAX has the GPU");
  const jax = (await runScript("jax_rollout.py", setup, {})) as JaxPeer | Absent;
  progress("MuJoCo Warp");
  return together(jax, (await runScript("warp_rollout.py", setup, {})) as JaxPeer | Absent);
}

/** Both in one table; of one that was not measured, why stands among the versions. */
export function together(jax: JaxPeer | Absent, warp: JaxPeer | Absent): JaxPeer | Absent {
  if ("absent" in jax && "absent" in warp) return { absent: `${jax.absent}; MuJoCo Warp ${warp.absent}` };
  const measured = "absent" in jax ? (warp as JaxPeer) : jax;
  const versionsOf = (peer: JaxPeer | Absent, name: string) =>
    "absent" in peer ? { [name]: peer.absent } : peer.versions;
  const rowsOf = (peer: JaxPeer | Absent) => ("absent" in peer ? [] : peer.rows);
  return {
    device: measured.device,
    versions: { ...versionsOf(warp, "MuJoCo Warp"), ...versionsOf(jax, "JAX") },
    rows: [...rowsOf(jax), ...rowsOf(warp)],
  };
}

/** Where the scripts lie: beside the sources, or above what was built of them. */
function scriptOf(name: string): string | undefined {
  const here = dirname(fileURLToPath(import.meta.url));
  return ["../..", "../../.."].map((up) => join(here, up, "tools", "reference", name)).find(existsSync);
}

/** Runs a script on the model, with the setup on its stdin; its stdout is one JSON document. */
async function runScript(name: string, setup: PythonSetup, more: object): Promise<object> {
  const script = scriptOf(name);
  if (script === undefined) return { absent: `not measured: tools/reference/${name} comes with a clone only` };
  const { python, env, model, frameSkip, starts, controls, phases, episodeSteps, seconds, repetitions, seed } = setup;
  const folder = mkdtempSync(join(tmpdir(), "corral-peer-"));
  try {
    const { xml, file, assets } = model.source;
    for (const [path, data] of [...Object.entries(assets), [file, xml] as const]) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), data);
    }
    const document = {
      env,
      model: join(folder, file),
      name: model.name,
      option: model.opt,
      frame_skip: frameSkip,
      starts: Array.from(starts),
      controls: Array.from(controls),
      phases,
      episode_steps: episodeSteps,
      seconds,
      repetitions,
      seed,
      ...more,
    };
    return await answer(python, script, JSON.stringify(document));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The JSON document that a script prints; `absent` with its last words where it prints none. */
function answer(python: string, script: string, input: string): Promise<object> {
  return new Promise((resolve) => {
    const child = spawn(python, [script], { stdio: "pipe" });
    let out = "";
    let err = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
    // a script that ends early closes its stdin: its exit status tells
    child.stdin.on("error", () => {});
    child.on("error", (error) => resolve({ absent: `not measured: ${python} cannot be started (${error.message})` }));
    child.on("close", (code) => {
      try {
        if (code === 0) return resolve(JSON.parse(out) as object);
      } catch {
        // reported below
      }
      const last = err.trim().split("\n").at(-1) ?? "";
      return resolve({ absent: `not measured: ${python} ${script} ended with ${code} (${last})` });
    });
    child.stdin.end(input);
  });
}
