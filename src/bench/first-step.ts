// the time from nothing to the first step, in processes of their own: with the caches empty, then filled
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CorralError } from "../core/errors.ts";
import { spans } from "../core/spans.ts";
import { makeVec, type Task, type VecOptions } from "../env/index.ts";

/** Milliseconds of each phase; what is left of `total` is small things between them. */
export interface FirstStep {
  /** MuJoCo's start and the compilation of the MJCF, while the device opens; warm, a look into the cache. */
  readonly load: number;
  /** What is left of the device's opening then. */
  readonly device: number;
  /** The stages are traced and emitted as WGSL, which Dawn parses; its threads translate the first while the rest is traced. */
  readonly trace: number;
  /** What is left of the translation, all kernels at once; some drivers compile here. */
  readonly compile: number;
  /** The first dispatch; the others compile here. */
  readonly firstRun: number;
  /** Reset and one step, with results on the host. */
  readonly step: number;
  /** From the call of makeVec to the results of the first step. */
  readonly total: number;
}

export interface FirstSteps {
  readonly numEnvs: number;
  readonly cold: FirstStep;
  readonly warm: FirstStep;
}

/** Makes an environment and steps it once; to be called in a process that has done nothing before. */
export async function firstStepHere(task: Task<object>, options: VecOptions): Promise<FirstStep> {
  const begin = performance.now();
  const env = await makeVec(task as unknown as Task<never>, options as never);
  try {
    const made = performance.now();
    await env.reset();
    await env.step(env.actionSpace.sample(0));
    const end = performance.now();
    const { load = 0, device = 0, trace = 0, compile = 0, "first run": firstRun = 0 } = spans();
    return { load, device, trace, compile, firstRun, step: end - made, total: end - begin };
  } finally {
    await env.close();
  }
}

/**
 * Runs `command` (this program and arguments that end in `firstStepHere`, its result printed as JSON) twice with a new
 * folder for the caches of the driver and of compiled models.
 * @throws CorralError first-step if a process fails
 */
export async function firstSteps(command: readonly string[], numEnvs: number): Promise<FirstSteps> {
  const folder = mkdtempSync(join(tmpdir(), "corral-shaders-"));
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    MESA_SHADER_CACHE_DIR: folder,
    MESA_SHADER_CACHE_DISABLE: "false",
    __GL_SHADER_DISK_CACHE: "1",
    __GL_SHADER_DISK_CACHE_PATH: folder,
    CORRAL_MODEL_CACHE: join(folder, "models"),
  };
  try {
    const cold = await runChild(command, env);
    return { numEnvs, cold, warm: await runChild(command, env) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runChild([program, ...args]: readonly string[], env: NodeJS.ProcessEnv): Promise<FirstStep> {
  const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  if (code === 0) return JSON.parse(out) as FirstStep;
  throw new CorralError("first-step", `the process that times the first step ended with ${code}: ${err.trim()}`);
}
