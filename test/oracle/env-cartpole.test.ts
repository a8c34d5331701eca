// CartPole against recorded steps of Gymnasium's CartPole-v1. Both have the same accelerations. Gymnasium moves positions
// by the old velocities (explicit Euler), MuJoCo by the new ones (semi-implicit), which is what is expected here.
import { describe, expect, test } from "vitest";
import { makeVec } from "../../src/env/index.ts";
import "../../envs/index.ts";
import { readTrajectories } from "../fixtures/gymnasium/read.ts";
import { distance, REPLAY_LIMIT } from "../support/recorded-steps.ts";
import { envBounds } from "../support/tolerances.ts";

const TAU = 0.02;
const MAX_ANGLE = (12 * 2 * Math.PI) / 360;

describe.each(readTrajectories("CartPole-v1").cases.map((c) => [c.name, c] as const))("CartPole, %s", (_, recorded) => {
  test.each(["cpu-f64", "cpu", undefined] as const)("on device %s", async (device) => {
    const steps = recorded.steps();
    await using env = await makeVec("CartPole", {
      ...recorded.kwargs,
      numEnvs: steps.length,
      autoreset: "disabled",
      maxEpisodeSteps: REPLAY_LIMIT,
      ...(device ? { device } : {}),
    });
    expect(String(env.singleActionSpace)).toBe("Discrete(2)");
    await env.reset();
    // recorded: x, its speed, angle, its speed
    const states = steps.map((s) => s.before.state);
    await env.setState({
      qpos: states.flatMap((s) => [s[0], s[2]]),
      qvel: states.flatMap((s) => [s[1], s[3]]),
      episode_length: steps.map((s) => s.t + REPLAY_LIMIT - s.episode.max_episode_steps),
    });
    const { observations, rewards, terminated, truncated } = await env.step(steps.map((s) => s.after.action[0]));

    const bound = envBounds.cartpole.value;
    let different = 0;
    steps.forEach((s, w) => {
      const [, xv, , av] = s.after.state;
      const [x, angle] = [s.before.state[0] + TAU * xv, s.before.state[2] + TAU * av];
      expect(distance(observations.subarray(4 * w, 4 * w + 4), [x, xv, angle, av]), `step ${w}`).toBeLessThanOrEqual(
        bound,
      );

      const over = Math.abs(x) > 2.4 || Math.abs(angle) > MAX_ANGLE;
      expect([terminated[w], truncated[w]], `step ${w}`).toEqual([Number(over), s.after.truncated[0]]);
      expect(rewards[w], `step ${w}`).toBeCloseTo(recorded.kwargs.sutton_barto_reward ? -Number(over) : 1, 12);
      if (Number(over) !== s.after.terminated[0]) different++;
    });
    // the other integration ends an episode a step earlier or later now and then
    expect(different).toBeLessThanOrEqual(0.05 * steps.length);
  });
});
