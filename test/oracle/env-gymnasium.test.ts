// the environments against trajectories recorded from real Gymnasium: every recorded step, from the recorded state, in
// float64 on the CPU, and the standard cases in float32: on the device, or on WebAssembly where kernels take long to compile.
// HumanoidStandup-v5 has the options of Humanoid-v5. With `test:full` every option of each on the device, since each makes a
// kernel of its own.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeVec, type VectorEnv } from "../../src/env/index.ts";
import "../../envs/index.ts";
import type { DeviceChoice } from "../../src/batch/devices.ts";
import { type EnvId, type RecordedCase, readTrajectories } from "../fixtures/gymnasium/read.ts";
import { replay, REPLAY_LIMIT, type Replayed, sensitivityOf, where } from "../support/recorded-steps.ts";
import { isFull, sweep } from "../support/sweep.ts";
import { envBounds } from "../support/tolerances.ts";

const IDS: EnvId[] = [
  "Ant-v5",
  "HalfCheetah-v5",
  "Hopper-v5",
  "Walker2d-v5",
  "InvertedPendulum-v5",
  "InvertedDoublePendulum-v5",
  "Reacher-v5",
  "Swimmer-v5",
  "Pusher-v5",
  "Humanoid-v5",
  "HumanoidStandup-v5",
];
/** Kernels of these compile for seconds on a software driver, and have the parts of Ant's, Hopper's and Reacher's. */
const LARGE = new Set<EnvId>(["Humanoid-v5", "HumanoidStandup-v5", "Walker2d-v5", "HalfCheetah-v5", "Pusher-v5"]);
/** Cases whose options are numbers that kernels take as parameters, or the defaults. */
const STANDARD = /^(default|no_reset_noise|frame_skip_\d+)$/;

/** Cases in float32: what options mean is held in float64, so those that are no standard ones wait for `test:full`. */
const singleCasesOf = (id: EnvId) =>
  casesOf(id).filter(([name]) => isFull || (LARGE.has(id) ? name === "default" : STANDARD.test(name)));

const casesOf = (id: EnvId): [string, RecordedCase][] => readTrajectories(id).cases.map((c) => [c.name, c]);

/** Cases in float64. */
const doubleCasesOf = (id: EnvId) =>
  id === "HumanoidStandup-v5" ? sweep(casesOf(id), ["default", "long", "weights"], ([name]) => name) : casesOf(id);

// one share of the device from the first test to the last: its compiled kernels stay
let holder: VectorEnv;
beforeAll(async () => {
  holder = await makeVec("InvertedPendulum-v5", { numEnvs: 1 });
});
afterAll(() => holder?.close());

async function run(id: EnvId, recorded: RecordedCase, device: DeviceChoice | undefined): Promise<Replayed[]> {
  await using env = await makeVec(id, {
    ...recorded.kwargs,
    numEnvs: recorded.steps().length,
    autoreset: "disabled",
    maxEpisodeSteps: REPLAY_LIMIT,
    ...(device === undefined ? {} : { device }),
  });
  return await replay(env, recorded);
}

const quantile = (values: readonly number[], p: number): number =>
  [...values].sort((a, b) => a - b)[Math.ceil(p * values.length) - 1] ?? 0;

interface StepError {
  readonly name: string;
  readonly error: number;
  /** The fixed bound, and what MuJoCo itself left over of the solution. */
  readonly fixed: number;
  /** MuJoCo's recorded answer to float32's rounding. */
  readonly sensitivity: number;
}

/** What an info is held to as: a velocity, a square of observed forces, or as the reward. */
const columnOf = (info: string): number => (info.startsWith("tendon_velocity") ? 1 : info === "reward_impact" ? 2 : 3);

/** Errors of a step by name, with bounds of qpos, qvel (and the observation), reward (and infos). */
function errorsOf(s: Replayed, bounds: readonly [number, number, number]): StepError[] {
  const { sensitivity, leftover: [qpos, qvel, observation, reward] = [0, 0, 0, 0] } = s.step.after;
  // terms of a reward may cancel, so that their sum says less than the positions
  const leftover = [qpos, qvel, observation, Math.max(qpos, reward)];
  const entry = (name: string, error: number, column: number): StepError => ({
    name,
    error,
    fixed: [bounds[0], bounds[1], bounds[1], bounds[2]][column] + envBounds.leftover.value * leftover[column],
    sensitivity: sensitivity[column],
  });
  return [
    entry("qpos", s.qpos, 0),
    entry("qvel", s.qvel, 1),
    entry("observation", s.observation, 2),
    entry("reward", s.reward, 3),
    ...Object.entries(s.infos).map(([name, error]) => entry(name, error, columnOf(name))),
  ];
}

const errors32 = (s: Replayed) => errorsOf(s, [envBounds.qpos.value, envBounds.qvel.value, envBounds.reward.value]);
const errors64 = (s: Replayed) =>
  errorsOf(s, [envBounds.qpos64.value, envBounds.qvel64.value, envBounds.reward64.value]);

const isWithin = ({ error, fixed, sensitivity }: StepError): boolean =>
  error <= Math.max(fixed, envBounds.sensitivity.value * sensitivity);

async function expectFloat32(id: EnvId, recorded: RecordedCase, steps: readonly Replayed[]): Promise<void> {
  const rare = steps.filter((s) => !errors32(s).every(isWithin));
  // where four recorded trials missed what a thousand find
  expect(rare.map(where).slice(0.005 * steps.length + 1)).toEqual([]);
  for (const s of rare) {
    const trials = (await sensitivityOf(id, recorded, s.step)).map(errors32);
    errors32(s).forEach(({ name, error, fixed }, k) => {
      const answer = Math.max(...trials.map((t) => t[k].error));
      expect(error, `${name} of ${where(s)}`).toBeLessThanOrEqual(
        Math.max(fixed, envBounds.sensitivity.value * answer),
      );
    });
  }

  const unclear = ({ sensitivity, leftover }: Replayed["step"]["after"]) =>
    Math.max(sensitivity[1], leftover?.[1] ?? 0);
  const decided = steps.filter((s) => unclear(s.step.after) <= envBounds.qvel99.value);
  expect(
    quantile(
      decided.map((s) => s.qvel),
      0.99,
    ),
  ).toBeLessThanOrEqual(envBounds.qvel99.value);
  // float32 is not to hide behind sensitivity: of all steps hardly any are undecided
  expect(steps.length - decided.length).toBeLessThanOrEqual(0.1 * steps.length);
}

const flagsOf = (steps: readonly Replayed[]) => steps.map((s) => `${where(s)}: ${s.flags}`);
const expectedFlagsOf = (steps: readonly Replayed[]) => steps.map((s) => `${where(s)}: ${s.expectedFlags}`);

describe.each(IDS)("%s", (id) => {
  test.each(doubleCasesOf(id))("%s in float64", async (_, recorded) => {
    const steps = await run(id, recorded, "cpu-f64");
    expect(flagsOf(steps)).toEqual(expectedFlagsOf(steps));
    for (const s of steps) {
      for (const { name, error, fixed } of errors64(s)) {
        expect(error, `${name} of ${where(s)}`).toBeLessThanOrEqual(fixed);
      }
    }
  });

  test.each(singleCasesOf(id))("%s in float32", async (_, recorded) => {
    const steps = await run(id, recorded, isFull || !LARGE.has(id) ? undefined : "wasm");
    expect(flagsOf(steps)).toEqual(expectedFlagsOf(steps));
    await expectFloat32(id, recorded, steps);
  });
});
