// recorded control steps of Gymnasium, replayed all at once: one world for each step
import { RandomStream } from "../../src/core/rng.ts";
import { makeVec, type VectorEnv } from "../../src/env/index.ts";
import type { RecordedCase, RecordedStep } from "../fixtures/gymnasium/read.ts";

/** max |x - ref| / (1 + max |ref|); infinite if x has a NaN. */
export function distance(x: ArrayLike<number>, ref: ArrayLike<number>): number {
  let [error, size] = [0, 0];
  for (let i = 0; i < ref.length; i++) {
    error = Math.max(error, Number.isNaN(x[i]) ? Infinity : Math.abs(x[i] - ref[i]));
    size = Math.max(size, Math.abs(ref[i]));
  }
  return error / (1 + size);
}

/** One step after its replay, and how far it is from the recorded one. */
export interface Replayed {
  readonly step: RecordedStep;
  readonly qpos: number;
  readonly qvel: number;
  readonly observation: number;
  readonly reward: number;
  /** The infos of the recorded step, reward terms among them. */
  readonly infos: Readonly<Record<string, number>>;
  readonly flags: string;
  readonly expectedFlags: string;
}

const columns = (steps: readonly RecordedStep[], of: (s: RecordedStep) => ArrayLike<number>) =>
  Float64Array.from(steps.flatMap((s) => Array.from(of(s))));

/** The limit of the environments that `replay` is given; recorded episodes have limits of their own below it. */
export const REPLAY_LIMIT = 1000;

function stateBefore(env: VectorEnv, steps: readonly RecordedStep[]) {
  return {
    qpos: columns(steps, (s) => s.before.qpos),
    qvel: columns(steps, (s) => s.before.qvel),
    qacc_warmstart: columns(steps, (s) => s.before.qacc_warmstart),
    time: columns(steps, (s) => s.before.time),
    // as far from the limit as the recorded step was from its own
    episode_length: steps.map((s) => s.t + REPLAY_LIMIT - s.episode.max_episode_steps),
    ...(env.id === "Ant-v5" ? { position: columns(steps, (s) => s.before.main_body_xpos.slice(0, 2)) } : {}),
    ...(env.id === "Humanoid-v5" ? { centre: columns(steps, (s) => s.before.centre) } : {}),
  };
}

/** Puts every world into the state before its recorded step, takes the step, and compares. */
export async function replay(env: VectorEnv, recorded: RecordedCase): Promise<Replayed[]> {
  const steps = recorded.steps();
  await env.reset();
  await env.setState(stateBefore(env, steps));
  return compare(env, steps);
}

async function compare(env: VectorEnv, steps: readonly RecordedStep[]): Promise<Replayed[]> {
  const { observations, rewards, terminated, truncated, infos } = await env.step(
    Float32Array.from(columns(steps, (s) => s.after.action)),
  );
  const after = await env.getState(["qpos", "qvel"]);

  const row = (values: ArrayLike<number>, world: number) => {
    const width = values.length / steps.length;
    return Array.prototype.slice.call(values, world * width, (world + 1) * width) as number[];
  };
  const info = (name: string, world: number) => (infos.has(name) ? infos.get(name) : undefined)?.values[world] ?? NaN;
  return steps.map((step, world) => {
    const names = Object.keys(step.after).filter((name) => name.startsWith("info."));
    return {
      step,
      qpos: distance(row(after.qpos, world), step.after.qpos),
      qvel: distance(row(after.qvel, world), step.after.qvel),
      observation: distance(row(observations, world), step.after.observation),
      reward: distance([rewards[world]], step.after.reward),
      infos: Object.fromEntries(
        names.map((name) => [name.slice(5), distance([info(name.slice(5), world)], step.after[name])]),
      ),
      flags: `${terminated[world]}${truncated[world]}`,
      expectedFlags: `${step.after.terminated[0]}${step.after.truncated[0]}`,
    };
  });
}

/** A step in words, for failure messages. */
export const where = ({ step }: Replayed): string =>
  `episode of seed ${step.episode.seed} (${step.episode.actions}), step ${step.t}`;

/**
 * The largest answers of float64 to changes of the state before a step by at most 1e-7 (relative, at least absolute),
 * rounded to float32: what no float32 simulation of this step can be held to. The recorded `sensitivity` has four trials;
 * this is for steps where a contact or limit hangs on one in hundreds.
 */
export async function sensitivityOf(
  id: string,
  recorded: RecordedCase,
  step: RecordedStep,
  trials = 1000,
): Promise<Replayed[]> {
  await using env = await makeVec(id, {
    ...recorded.kwargs,
    numEnvs: trials,
    autoreset: "disabled",
    maxEpisodeSteps: REPLAY_LIMIT,
    device: "cpu-f64",
  });
  const steps = Array.from({ length: trials }, () => step);
  await env.reset();
  const state = stateBefore(env, steps);
  const shaken = (values: Float64Array, stream: number) => {
    const random = new RandomStream(0, 0, 0, stream);
    return values.map((x, i) => Math.fround(x + 1e-7 * (2 * random.uniform(i) - 1) * Math.max(1, Math.abs(x))));
  };
  await env.setState({ ...state, qpos: shaken(state.qpos, 0), qvel: shaken(state.qvel, 1) });
  return await compare(env, steps);
}
