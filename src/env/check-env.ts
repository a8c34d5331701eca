// an environment held to what the library promises of any: shapes, finite numbers, the same bits, episodes that end well
import { Box, makeVec, type Task, type VecOptions, type VectorEnv } from "./index.ts";
import { CorralError } from "../core/errors.ts";
import { countOf } from "../core/units.ts";
import { unsolvedOf } from "./check-solver.ts";

export interface CheckOptions {
  /** Control steps of each check. Default 200. */
  readonly steps?: number;
  readonly worlds?: number;
  readonly seed?: number;
  /** Is told of each result as it is known. */
  readonly onResult?: (result: CheckResult) => void;
  /** Is told what is being done: of worlds that are made once, of control steps each time. */
  readonly onProgress?: (text: string, isStep: boolean) => void;
  /** Options of the environment, and where it runs. Default: the CPU. */
  readonly batch?: Omit<VecOptions, "numEnvs" | "seed" | "autoreset" | "worldIds">;
}

export interface CheckResult {
  readonly name: string;
  /** False: a promise is broken. "note": something to know, which may be meant. */
  readonly ok: boolean | "note";
  readonly detail: string;
}

export interface EnvCheck {
  readonly id: string;
  readonly device: string;
  readonly results: readonly CheckResult[];
  readonly passed: boolean;
}

/** What a world did in one run. */
interface Run {
  readonly observations: number[][];
  readonly rewards: number[][];
  readonly ended: number[][];
  readonly starts: number[];
  readonly problems: Set<string>;
  /** Reasons and counts of ends. */
  readonly ends: Map<string, number>;
}

/** A task, given to `corral check-env`. Throws what makeVec throws for it. */
export async function checkEnv(task: Task<object>, options: CheckOptions = {}): Promise<EnvCheck> {
  const { steps = 200, worlds = 4, seed = 0, batch = { device: "cpu" as const }, onResult, onProgress } = options;
  const make = (changes: object) => {
    const all = { recorder: false, ...batch, numEnvs: worlds, ...changes } as VecOptions & { numEnvs: number };
    onProgress?.(`making ${countOf(all.numEnvs, "world")} of ${task.id}`, false);
    return makeVec(task, all);
  };
  const tell: Tell = (what) => (t) => onProgress?.(`${what}: control step ${t} of ${steps}`, true);
  const results: CheckResult[] = [];
  const say = (name: string, ok: CheckResult["ok"], detail: string) => {
    const result = { name, ok, detail };
    results.push(result);
    onResult?.(result);
  };

  await using env = await make({});
  say("builds", true, `${String(env.singleObservationSpace)} observed, ${String(env.singleActionSpace)} done`);
  const first = await runOf(env, seed, { steps, tell: tell("random actions") });
  for (const what of ["observations are finite", "rewards are finite", "rewards are the sum of their terms"] as const)
    say(
      what,
      !first.problems.has(what),
      first.problems.has(what) ? "not in every step" : `${steps} steps, random actions`,
    );

  const again = await runOf(env, seed, { steps, tell: tell("the same actions again") });
  say("the same seed gives the same bits", same(first, again), "a second run of this batch");
  await using alone = await make({ numEnvs: 1, worldIds: [worlds - 1] });
  const actions = (t: number) => actionsOf(env, seed, t);
  const single = await runOf(alone, seed, { steps, actions, world: worlds - 1, tell: tell("a world alone") });
  say(
    "a world does not depend on its batch",
    sameWorld(first, single, worlds - 1),
    `world ${worlds - 1} of ${worlds} alone`,
  );
  const other = await runOf(env, seed + 1, { steps: 0 });
  const differ = String(first.starts) !== String(other.starts);
  say(
    "another seed starts otherwise",
    differ || "note",
    differ ? "" : "all episodes start the same: is no start drawn?",
  );
  const distinct = new Set(first.starts.map(String)).size > 1 || worlds === 1;
  say("worlds start differently", distinct || "note", distinct ? "" : "worlds of one seed start and observe the same");

  const ends = [...first.ends].map(([name, n]) => `${name} ${n}`).join(", ");
  say("episodes end", first.ends.size > 0 || "note", ends || `none in ${steps} steps; pass more --steps`);
  await extremes(env, seed, steps, say, tell);
  await solver(env, seed, steps, say);
  if (first.ends.size > 0) await autoreset(make, seed, steps, say);
  const passed = results.every(({ ok }) => ok !== false);
  return { id: task.id, device: env.deviceName, results, passed };
}

type Say = (name: string, ok: CheckResult["ok"], detail: string) => void;
/** Tells of each control step of what is checked. */
type Tell = (what: string) => (step: number) => void;

/** Random actions of all worlds in a step: the same for the same seed. */
function actionsOf(env: VectorEnv, seed: number, t: number): Float32Array | Int32Array {
  return env.actionSpace.sample(seed, { draw: t });
}

/** Actions are random by default; those of one world are given to the only one of `env`. */
interface RunOptions {
  readonly steps: number;
  readonly actions?: (t: number) => Float32Array | Int32Array;
  readonly world?: number;
  readonly tell?: (step: number) => void;
}

async function runOf(
  env: VectorEnv,
  seed: number,
  { steps, actions = (t) => actionsOf(env, seed, t), world, tell }: RunOptions,
): Promise<Run> {
  const run: Run = { observations: [], rewards: [], ended: [], starts: [], problems: new Set(), ends: new Map() };
  const start = await env.reset({ seed });
  const size = env.singleObservationSpace.size;
  // of the state too: observations may be normalised by themselves, or leave it out
  const names = ["qpos", "qvel"].filter((name) => env.plan.fields.some((f) => f.arena === "state" && f.name === name));
  const state = Object.values(await env.getState(names));
  const rowOf = (x: Float64Array, w: number) =>
    x.subarray((w * x.length) / env.numEnvs, ((w + 1) * x.length) / env.numEnvs);
  const hash = (w: number) =>
    [...start.observations.subarray(w * size, (w + 1) * size), ...state.flatMap((x) => [...rowOf(x, w)])].join(" ");
  run.starts.push(...Array.from({ length: env.numEnvs }, (_, w) => fingerprint(hash(w))));
  run.observations.push([...start.observations]);
  const width = env.singleActionSpace.size;
  for (let t = 0; t < steps; t++) {
    const all = actions(t);
    const step = await env.step(world === undefined ? all : all.slice(world * width, (world + 1) * width));
    tell?.(t + 1);
    run.observations.push([...step.observations]);
    run.rewards.push([...step.rewards]);
    run.ended.push([...step.terminated, ...step.truncated]);
    if (![...step.observations].every(Number.isFinite)) run.problems.add("observations are finite");
    if (![...step.rewards].every(Number.isFinite)) run.problems.add("rewards are finite");
    for (let w = 0; w < env.numEnvs; w++) {
      if (env.infos.status(w) !== 0) {
        if (env.infos.statusNames(w).includes("BAD_OBS")) run.problems.add("observations are finite");
        if (env.infos.statusNames(w).includes("BAD_REWARD")) run.problems.add("rewards are finite");
      }
      for (const name of env.infos.endedBy(w)) run.ends.set(name, (run.ends.get(name) ?? 0) + 1);
      const sum = env.terms.rewards.reduce((n, name) => n + (env.infos.get(name)?.values[w] ?? 0), 0);
      const scale = 1 + Math.abs(sum);
      if (env.infos.status(w) === 0 && Math.abs(sum - step.rewards[w]) > 1e-4 * scale)
        run.problems.add("rewards are the sum of their terms");
    }
  }
  return run;
}

function fingerprint(text: string): number {
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return hash;
}

const same = (a: Run, b: Run): boolean =>
  JSON.stringify([a.observations, a.rewards, a.ended]) === JSON.stringify([b.observations, b.rewards, b.ended]);

/** Whether one world of a batch did what it does alone. */
function sameWorld(all: Run, alone: Run, world: number): boolean {
  const part = (rows: number[][], single: number[][]) =>
    rows.every((row, t) => {
      const size = single[t].length;
      return JSON.stringify(row.slice(world * size, (world + 1) * size)) === JSON.stringify(single[t]);
    });
  return part(all.observations, alone.observations) && part(all.rewards, alone.rewards);
}

/** The ends of the action space, which are legal. */
async function extremes(env: VectorEnv, seed: number, steps: number, say: Say, tell: Tell): Promise<void> {
  const space = env.singleActionSpace;
  if (!(space instanceof Box)) return;
  const ends = [space.low, space.high].map((end) => end.map((x) => (Number.isFinite(x) ? x : Math.sign(x))));
  for (const [k, name] of [
    [0, "least"],
    [1, "most"],
  ] as const) {
    const row = ends[k];
    const actions = Float32Array.from({ length: env.actionSpace.size }, (_, i) => row[i % row.length]);
    const extreme = { steps: Math.min(steps, 100), actions: () => actions, tell: tell(`the ${name} action`) };
    const run = await runOf(env, seed, extreme);
    const bad = [...run.problems].filter((p) => p.endsWith("finite"));
    say(`the ${name} action is survived`, bad.length === 0, bad.length > 0 ? `not ${bad.join(", ")}` : "");
  }
}

/** Told where it matters: what the iterations leave unsolved is no promise broken, and MuJoCo does the same. */
async function solver(env: VectorEnv, seed: number, steps: number, say: Say): Promise<void> {
  const found = await unsolvedOf(env, seed, steps);
  if (found === undefined) return;
  const { iterations, ls_iterations } = env.model.opt;
  const [few, share] = [
    `${countOf(iterations, "iteration")} (${ls_iterations} of a line search)`,
    found.off / found.states,
  ];
  say(
    "the solver's iterations are enough",
    found.off === 0 || "note",
    found.off === 0
      ? `${few}, ${found.states} states`
      : `in ${Math.ceil(100 * share)} % of ${found.states} states accelerations are a tenth off after ${few}: forces left unsolved throw ` +
          "what is held or stood on. Raise both in <option>, up to MuJoCo's 100 and 50: Newton ends by itself where it has converged",
  );
}

/** The three modes: what a step returns where an episode ends, and what the next one returns. */
async function autoreset(
  make: (changes: object) => Promise<VectorEnv>,
  seed: number,
  steps: number,
  say: Say,
): Promise<void> {
  await using env = await make({ autoreset: "same-step" });
  await env.reset({ seed });
  let reported = true;
  let seen = false;
  for (let t = 0; t < steps && !seen; t++) {
    const { terminated, truncated, infos } = await env.step(actionsOf(env, seed, t));
    const over = [...terminated.keys()].filter((w) => terminated[w] + truncated[w] > 0);
    seen = over.length > 0;
    for (const w of over) {
      const { final_obs, episode } = infos;
      const size = env.singleObservationSpace.size;
      reported &&=
        final_obs?.mask[w] === 1 && [...final_obs.values.subarray(w * size, (w + 1) * size)].every(Number.isFinite);
      reported &&= episode?.mask[w] === 1 && episode.l[w] > 0 && infos.endedBy(w).length > 0;
    }
  }
  say("autoreset same-step returns the last observation, the episode and the reason", reported, "");

  await using disabled = await make({ autoreset: "disabled" });
  await disabled.reset({ seed });
  let refused = false;
  for (let t = 0; t <= steps && !refused; t++) {
    try {
      await disabled.step(actionsOf(disabled, seed, t));
    } catch (error) {
      if (!(error instanceof CorralError) || error.code !== "needs-reset") throw error;
      refused = true;
    }
  }
  say("autoreset disabled waits for a reset", refused, "");
}
