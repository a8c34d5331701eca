import { describe, expect, it } from "vitest";

import { tasks } from "../../envs/index.ts";
import { type EnvId, readTrajectories } from "../fixtures/gymnasium/read.ts";

const ENVS: EnvId[] = [
  "Ant-v5",
  "HalfCheetah-v5",
  "Hopper-v5",
  "Walker2d-v5",
  "InvertedPendulum-v5",
  "InvertedDoublePendulum-v5",
  "Reacher-v5",
  "Humanoid-v5",
  "HumanoidStandup-v5",
  "Swimmer-v5",
  "Pusher-v5",
  "CartPole-v1",
];
/** Environments whose episodes only end by their limit. */
const ENDLESS = new Set<EnvId>(["HalfCheetah-v5", "Reacher-v5", "HumanoidStandup-v5", "Swimmer-v5", "Pusher-v5"]);
/** Parts of the reward that no info names: a constant. */
const UNNAMED: Partial<Record<EnvId, number>> = { "HumanoidStandup-v5": 1 };

describe.each(ENVS)("recorded trajectories of %s", (env) => {
  const recorded = readTrajectories(env);
  const steps = recorded.cases.flatMap((c) => c.steps());

  it("says where it comes from", () => {
    expect(recorded.env).toBe(env);
    expect(recorded.provenance).toMatchObject({
      script: "tools/reference/record_gymnasium.py",
      gymnasium: "1.4.0",
      mujoco: "3.14.0",
    });
  });

  it("has twenty episodes and more, with random, zero and extreme actions", () => {
    const episodes = recorded.cases.flatMap((c) => c.episodes);
    expect(episodes.length).toBeGreaterThanOrEqual(20);
    const kinds = new Set(episodes.map((e) => e.actions));
    for (const kind of env === "CartPole-v1" ? ["random", "zero"] : ["random", "zero", "extreme"]) {
      expect(kinds).toContain(kind);
    }
  });

  it("holds finite numbers, and as many rows as its episodes have steps", () => {
    for (const recordedCase of recorded.cases) {
      recordedCase.episodes.forEach((episode, index) => {
        expect(recordedCase.rows("observation", index)).toHaveLength(episode.steps + 1);
        expect(recordedCase.rows("reward", index)).toHaveLength(episode.steps);
      });
    }
    const finite = steps.every((step) => Object.values(step.after).every((row) => row.every(Number.isFinite)));
    expect(finite).toBe(true);
  });

  it("ends every episode as its header says", () => {
    for (const { episode, t, after } of steps) {
      const last = t === episode.steps - 1;
      expect([after.terminated[0], after.truncated[0]]).toEqual([
        Number(last && episode.terminated),
        Number(last && episode.truncated),
      ]);
    }
  });

  it("has episodes that are truncated and, where the environment can, that terminate", () => {
    const episodes = recorded.cases.flatMap((c) => c.episodes);
    expect(episodes.some((e) => e.truncated)).toBe(true);
    expect(episodes.some((e) => e.terminated)).toBe(!ENDLESS.has(env));
  });

  it.skipIf(env === "CartPole-v1")("has rewards that are the sum of their terms", () => {
    for (const { after } of steps) {
      const terms = Object.keys(after).filter((name) => /^info[.](reward_|(distance|velocity)_penalty$)/.test(name));
      const sum = terms.reduce((total, name) => total + after[name][0], UNNAMED[env] ?? 0);
      // the control cost is a float32 in Gymnasium
      expect(Math.abs(sum - after.reward[0])).toBeLessThanOrEqual(1e-6 * (1 + Math.abs(sum)));
    }
  });
});

describe.each(ENVS.filter((id) => id !== "CartPole-v1"))("the task %s", (env) => {
  const recorded = readTrajectories(env);
  const task = tasks.find(({ id }) => id === env)!;

  it("has Gymnasium's constructor arguments with their defaults, and its limit", () => {
    const { xml_file: _, frame_skip: frameSkip, ...theirs } = recorded.defaults;
    const text = (x: unknown) => JSON.parse(JSON.stringify(x, (_k, v: unknown) => plain(v))) as unknown;
    expect(text(task.defaults)).toEqual(text(theirs));
    expect(task.frameSkip).toBe(frameSkip);
    expect(task.maxEpisodeSteps).toBe(recorded.max_episode_steps);
  });

  it("has each argument exercised by a recorded case", () => {
    const { xml_file: _, ...theirs } = recorded.defaults;
    const exercised = new Set(recorded.cases.flatMap((c) => Object.keys(c.kwargs)));
    expect([...exercised].sort()).toEqual(Object.keys(theirs).sort());
  });
});

/** Infinities as the fixtures write them. */
function plain(value: unknown): unknown {
  return value === Infinity ? "inf" : value === -Infinity ? "-inf" : value;
}
