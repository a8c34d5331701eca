// one model on `wasm`: how far its steps are from MuJoCo's, when its first step comes, and how fast it steps
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { median, stepsBesideMuJoCo } from "../../bench/beside-mujoco.ts";
import { unrollByDefault } from "../../src/batch/kernel/form.ts";
import { cpuSeconds } from "../../src/bench/machine.ts";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { createSimulation, loadModel } from "../../src/index.ts";

export interface Judged {
  readonly path: string;
  readonly nv: number;
  readonly form: "straight" | "rolled";
  readonly arithmetic: string;
  /** The most that MuJoCo had in a step. */
  readonly contacts: number;
  readonly qpos: number;
  readonly qvelP99: number;
  /** What is beyond a bound; nothing where all is within. */
  readonly reasons: readonly string[];
  /** Processor seconds from the file to the first step. */
  readonly firstStep: number;
}

export interface Measured extends Judged {
  /** Processor microseconds of a world's step, medians. */
  readonly ours: number;
  readonly mujoco: number;
  /** Steps of ours beside MuJoCo's for the same processor time, the median of turns. */
  readonly ratio: number;
}

/** What is measured of a model: steps alone, or how fast they are too. */
export type How = "judged" | "measured";

export interface Answers {
  readonly judged: Judged;
  readonly measured: Measured;
}

/** What of a comparison counts everywhere in docs/zoo.md. */
export const COMPARED = { steps: 30, envs: 3 };
export const TURNS = { worlds: 32, settle: 300, rounds: 9 };
const SECONDS = 240;
const execute = promisify(execFile);
const tsx = fileURLToPath(import.meta.resolve("tsx"));
const self = fileURLToPath(new URL("./index.ts", import.meta.url));

export async function judge(path: string): Promise<Judged> {
  const begun = cpuSeconds();
  const model = await loadModel(path);
  {
    await using simulation = await createSimulation(model, { numEnvs: 64, device: "wasm" });
    simulation.step(1);
    await simulation.sync();
  }
  const firstStep = cpuSeconds() - begun;
  const compared = await compareWithMuJoCo(model, { ...COMPARED, device: "wasm" });
  return {
    path,
    nv: model.nv,
    form: unrollByDefault(model, "none", compared.arithmetic === "float64") ? "straight" : "rolled",
    arithmetic: compared.arithmetic ?? "none",
    contacts: compared.contacts.most,
    qpos: compared.oneStep.qpos?.max ?? 0,
    qvelP99: compared.oneStep.qvel?.p99 ?? 0,
    reasons: compared.verdict.reasons,
    firstStep,
  };
}

export async function measure(path: string): Promise<Measured> {
  const judged = await judge(path);
  const { ours, mujoco } = await stepsBesideMuJoCo(await loadModel(path), TURNS);
  return { ...judged, ours: median(ours), mujoco: median(mujoco), ratio: median(ours.map((x, k) => mujoco[k] / x)) };
}

/** Measures in a process of its own, so that one that dies or hangs takes no other model with it; a text says why there is no answer. */
export async function inProcess<H extends How>(how: H, path: string): Promise<Answers[H] | string> {
  const env = { ...process.env, CORRAL_MODEL_CACHE: "off" };
  const options = { timeout: 1000 * SECONDS, maxBuffer: 2 ** 26, env };
  try {
    const { stdout } = await execute(process.execPath, ["--import", tsx, self, `--${how}`, path], options);
    const line = stdout.split("\n").find((text) => text.startsWith("{"));
    return line === undefined ? "no answer" : (JSON.parse(line) as Answers[H]);
  } catch (error) {
    const { stderr = "", killed } = error as { stderr?: string; killed?: boolean };
    const told = stderr.split("\n").find((text) => text.includes("["));
    return killed ? `no answer within ${SECONDS} s` : (told ?? "no answer");
  }
}
