// worlds whose numbers are not finite, or whose contacts overflow: they end alone, and no other world changes by a bit
import { describe, expect, test } from "vitest";
import {
  defineTask,
  Discrete,
  makeVec,
  uniformNoise,
  type VecOptions,
  type VectorEnv,
} from "../../../src/env/index.ts";
import { div, sub } from "../../../src/trace/scalar.ts";
import "../../../envs/index.ts";
import { Status } from "../../../src/physics/status.ts";
import { holdDevice } from "../../support/hold-device.ts";

holdDevice();

const devices = ["cpu", undefined] as const;
const on = (device: "cpu" | undefined) => (device ? { device } : {});
const N = 9;
const BAD = 4;

const actionsAt = (env: VectorEnv, t: number) => env.actionSpace.sample(5, { draw: t });
const others = (values: ArrayLike<number>) => {
  const width = values.length / N;
  return Array.from(values).filter((_, i) => Math.floor(i / width) !== BAD);
};

/** Steps `env` to its world BAD breaking down in step 3, and `twin` with no such thing, and compares the others. */
async function breakDown(options: Partial<VecOptions>, each?: (t: number, env: VectorEnv) => void): Promise<void> {
  const make = () => makeVec("Hopper-v5", { numEnvs: N, seed: 2, ...options });
  await using env = await make();
  await using twin = await make();
  await Promise.all([env.reset(), twin.reset()]);
  for (let t = 0; t < 8; t++) {
    if (t === 3) await env.setState({ qvel: [1e38, -3e38, 3e38, 0, 0, 0] }, [BAD]);
    const actions = actionsAt(env, t);
    await env.step(actions);
    await twin.step(actions);
    for (const field of ["observations", "rewards", "terminated", "truncated"] as const) {
      expect(others(env[field]), `${field} at step ${t}`).toEqual(others(twin[field]));
    }
    each?.(t, env);
  }
  const [state, twinState] = await Promise.all(
    [env, twin].map((e) => e.getState(["qpos", "qvel", "qacc_warmstart", "episode_return"])),
  );
  for (const name of Object.keys(state) as (keyof typeof state)[])
    expect(others(state[name])).toEqual(others(twinState[name]));
}

describe.each(devices)("on device %s", (device) => {
  test("next-step: the episode ends with finite numbers, then the world starts over", async () => {
    await breakDown({ ...on(device), finite: { reward: -5, observation: 0.5 } }, (t, env) => {
      if (t === 3) {
        expect([env.terminated[BAD], env.truncated[BAD], env.rewards[BAD]]).toEqual([1, 0, -5]);
        expect([...env.observations.subarray(11 * BAD, 11 * BAD + 11)]).toEqual(Array(11).fill(0.5));
        expect(env.infos.statusNames(BAD)).toEqual(expect.arrayContaining(["BAD_QPOS", "BAD_QVEL"]));
        expect(env.infos.worldsWithStatus()).toEqual([BAD]);
        const terms = env.infos.names().map((name) => env.infos.get(name)!.values[BAD]);
        expect(terms.every(Number.isFinite)).toBe(true);
      }
      if (t === 4) {
        expect(env.infos.get("x_velocity")!.mask[BAD]).toBe(0);
        expect(env.observations[11 * BAD]).toBeCloseTo(1.25, 1);
      }
      if (t > 3) expect(env.infos.worldsWithStatus()).toEqual([]);
      expect(env.observations.every(Number.isFinite)).toBe(true);
    });
  });

  test("same-step: the observation is that of the new episode, the final one is finite", async () => {
    await breakDown({ ...on(device), autoreset: "same-step" }, (t, env) => {
      if (t !== 3) return;
      expect(env.terminated[BAD]).toBe(1);
      expect(env.observations[11 * BAD]).toBeCloseTo(1.25, 1);
      expect([...env.infos.final_obs!.values.subarray(11 * BAD, 11 * BAD + 11)]).toEqual(Array(11).fill(0));
      expect(env.infos.status(BAD) & Status.BAD_QVEL).toBeTruthy();
    });
  });

  test("throw: the step rejects and says which world, and the batch goes on", async () => {
    await using env = await makeVec("Hopper-v5", { numEnvs: N, onNonFinite: "throw", ...on(device) });
    await env.reset();
    await env.setState({ qvel: [1e38, -3e38, 3e38, 0, 0, 0] }, [BAD]);
    await expect(env.step(actionsAt(env, 0))).rejects.toThrow(
      /^\[non-finite\] world 4 \(id 4\) failed in step \d+ of its episode: BAD_QPOS, BAD_QVEL/,
    );
    expect(env.terminated[BAD]).toBe(1);
    await env.step(actionsAt(env, 1));
    expect(env.observations.every(Number.isFinite)).toBe(true);
  });

  test("ignore: the world goes on, its status says what is wrong", async () => {
    await using env = await makeVec("HalfCheetah-v5", { numEnvs: N, onNonFinite: "ignore", ...on(device) });
    await env.reset();
    await env.setState({ qvel: [3e38, -3e38, 3e38, 0, 0, 0, 0, 0, 0] }, [BAD]);
    const { terminated, infos } = await env.step(actionsAt(env, 0));
    expect([...terminated]).toEqual(Array(N).fill(0));
    expect(infos.worldsWithStatus()).toEqual([BAD]);
  });

  test("numbers that only the task makes are caught too", async () => {
    const odd = defineTask({
      id: "Odd",
      model: `<mujoco><worldbody><body><joint type="slide"/><geom size="1"/></body></worldbody></mujoco>`,
      frameSkip: 1,
      maxEpisodeSteps: 100,
      defaults: {},
      actionSpace: () => new Discrete(2),
      control: () => [],
      // infinite if the position is 1 at the start
      observe: (s) => ({ far: [div(1, sub(s.before.qpos[0], 2))] }),
      reward: (s) => ({ pole: div(1, sub(s.before.qpos[0], 1)) }),
      terminated: () => ({}),
      reset: (s) => ({ qpos: uniformNoise(s, [0], 0.1), qvel: [0] }),
    });
    await using env = await makeVec(odd, { numEnvs: 3, ...on(device) });
    await env.reset();
    await env.setState({ qpos: [0, 1, 2], qvel: [0, 0, 0] });
    const { terminated, infos, rewards, observations } = await env.step([0, 0, 0]);
    expect([...terminated]).toEqual([0, 1, 1]);
    expect([0, 1, 2].map((w) => infos.statusNames(w))).toEqual([[], ["BAD_REWARD"], ["BAD_OBS"]]);
    expect([...rewards, ...observations]).toEqual([-1, 0, 0, -0.5, 0, 0]);
  });
});

test("an action that a kernel writes and that is no number ends that world alone", async () => {
  await using env = await makeVec("CartPole", { numEnvs: N });
  await using hopper = await makeVec("Hopper-v5", { numEnvs: N });
  for (const [e, bad, length] of [
    [env, 7, 1],
    [hopper, NaN, 3],
  ] as const) {
    await e.reset();
    await e.step(actionsAt(e, 0));
    const { actions } = e.gpu!;
    const [{ buffer }] = actions.shards;
    const value = actions.type === "f32" ? Float32Array.of(bad) : Int32Array.of(bad);
    const { device } = e.gpu!.device;
    device.queue.writeBuffer(buffer, actions.offset + actions.stride * BAD, value);
    expect(actions.length).toBe(length);
    const { terminated, infos, rewards } = await e.step(actions);
    expect(infos.worldsWithStatus(Status.BAD_CTRL)).toEqual([BAD]);
    expect([terminated[BAD], rewards[BAD]]).toEqual([1, 0]);
    expect(others(terminated)).toEqual(Array(N - 1).fill(0));
  }
});

describe("contacts beyond nconmax", () => {
  // two feet on the floor, and room for one contact
  const walker = (options: object) =>
    makeVec("Walker2d-v5", {
      numEnvs: 2,
      nconmax: 1,
      device: "cpu",
      reset_noise_scale: 0,
      terminate_when_unhealthy: false,
      ...options,
    });
  const still = new Float32Array(12);

  test("end the episode, and the numbers stay", async () => {
    await using env = await walker({});
    await env.reset();
    let steps = 0;
    while (!env.terminated[0] && steps < 100) {
      await env.step(still);
      steps++;
    }
    expect(env.infos.statusNames(0)).toEqual(["CONTACT_OVERFLOW"]);
    expect(env.observations[0]).toBeGreaterThan(1);
  });

  test("reject the step, or are only told, where the policy says so", async () => {
    const steps = async (env: VectorEnv) => {
      await env.reset();
      for (let t = 0; t < 60; t++) await env.step(still);
    };
    await using throwing = await walker({ onOverflow: "throw" });
    await expect(steps(throwing)).rejects.toThrow(
      /^\[overflow\] world 0 \(id 0\) and 1 more worlds failed in step \d+ of its episode: CONTACT_OVERFLOW: 4 contacts, nconmax is 1\. Pass nconmax: 4 or more\./,
    );
    await using ignoring = await walker({ onOverflow: "ignore" });
    await steps(ignoring);
    expect([...ignoring.terminated]).toEqual([0, 0]);
    expect((await ignoring.getState(["episode"])).episode).toEqual(Float64Array.of(0, 0));
  });
});
