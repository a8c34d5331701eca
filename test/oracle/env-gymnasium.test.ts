/**
 * The environments against trajectories recorded from real Gymnasium: every recorded step, from the recorded state, in
 * float64 on the CPU and in float32. On the device the standard cases; with `test:full` those of every option too, since
 * each option makes a kernel of its own. Otherwise these run on the CPU in float32.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeVec, type VectorEnv } from "../../src/env/index.ts";
import "../../envs/index.ts";
import type { DeviceChoice } from "../../src/sim/device.ts";
import { type EnvId, type RecordedCase, readTrajectories } from "../fixtures/gymnasium/read.ts";
import { replay, REPLAY_LIMIT, type Replayed, sensitivityOf, where } from "../support/recorded-steps.ts";
import { envBounds } from "../support/tolerances.ts";

const IDS: EnvId[] = ["Ant-v5", "HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "InvertedPendulum-v5"];
const full = process.env.CORRAL_FULL === "1";
/** Cases whose options are numbers that kernels take as parameters, or the defaults. */
const STANDARD = /^(default|no_reset_noise|frame_skip_\d+)$/;

const casesOf = (id: EnvId): [string, RecordedCase][] => readTrajectories(id).cases.map((c) => [c.name, c]);

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

/** Errors of a step by name, each with its fixed bound and MuJoCo's recorded answer to float32's rounding. */
function errorsOf(s: Replayed): { name: string; error: number; fixed: number; sensitivity: number }[] {
  const [qpos, qvel, observation, reward] = s.step.after.sensitivity;
  const entry = (name: string, error: number, fixed: number, sensitivity: number) => ({
    name,
    error,
    fixed,
    sensitivity,
  });
  return [
    entry("qpos", s.qpos, envBounds.qpos.value, qpos),
    entry("qvel", s.qvel, envBounds.qvel.value, qvel),
    entry("observation", s.observation, envBounds.qvel.value, observation),
    entry("reward", s.reward, envBounds.reward.value, reward),
    ...Object.entries(s.infos).map(([name, error]) => entry(name, error, envBounds.reward.value, reward)),
  ];
}

const isWithin = ({ error, fixed, sensitivity }: ReturnType<typeof errorsOf>[number]): boolean =>
  error <= Math.max(fixed, envBounds.sensitivity.value * sensitivity);

async function expectFloat32(id: EnvId, recorded: RecordedCase, steps: readonly Replayed[]): Promise<void> {
  const rare = steps.filter((s) => !errorsOf(s).every(isWithin));
  // where four recorded trials missed what a thousand find
  expect(rare.map(where).slice(0.005 * steps.length + 1)).toEqual([]);
  for (const s of rare) {
    const trials = (await sensitivityOf(id, recorded, s.step)).map(errorsOf);
    errorsOf(s).forEach(({ name, error, fixed }, k) => {
      const answer = Math.max(...trials.map((t) => t[k].error));
      expect(error, `${name} of ${where(s)}`).toBeLessThanOrEqual(
        Math.max(fixed, envBounds.sensitivity.value * answer),
      );
    });
  }

  const decided = steps.filter((s) => s.step.after.sensitivity[1] <= envBounds.qvel99.value);
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
  test.each(casesOf(id))("%s in float64", async (_, recorded) => {
    const steps = await run(id, recorded, "cpu-f64");
    expect(flagsOf(steps)).toEqual(expectedFlagsOf(steps));
    for (const s of steps) {
      expect(s.qpos, `qpos of ${where(s)}`).toBeLessThanOrEqual(envBounds.qpos64.value);
      expect(s.qvel, `qvel of ${where(s)}`).toBeLessThanOrEqual(envBounds.qvel64.value);
      expect(s.observation, `observation of ${where(s)}`).toBeLessThanOrEqual(envBounds.qvel64.value);
      for (const [name, error] of Object.entries({ reward: s.reward, ...s.infos })) {
        expect(error, `${name} of ${where(s)}`).toBeLessThanOrEqual(envBounds.reward64.value);
      }
    }
  });

  test.each(casesOf(id))(
    "%s in float32",
    async (name, recorded) => {
      const steps = await run(id, recorded, full || STANDARD.test(name) ? undefined : "cpu");
      expect(flagsOf(steps)).toEqual(expectedFlagsOf(steps));
      await expectFloat32(id, recorded, steps);
    },
    180_000,
  );
});
