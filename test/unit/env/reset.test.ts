// start states: Gymnasium's distributions, drawn by (seed, world id, episode) and nothing else
import { describe, expect, test } from "vitest";
import { RandomStream, streams } from "../../../src/core/rng.ts";
import { defineTask, Discrete, makeVec } from "../../../src/env/index.ts";
import { add, mul } from "../../../src/trace/scalar.ts";
import "../../../envs/index.ts";
import { holdDevice } from "../../support/hold-device.ts";
import { sweepBut } from "../../support/sweep.ts";

holdDevice();

const devices = ["cpu", undefined] as const;
/** An environment, its pose without noise, and its velocities; both are drawn in blocks that they do not fill. */
const STARTS: readonly [string, readonly number[], number][] = [
  ["Ant-v5", [0, 0, 0.75, 1, ...Array<number>(11).fill(0)], 14],
  ["HalfCheetah-v5", Array<number>(9).fill(0), 9],
];
/** A driver compiles four seconds for Ant. */
const startsOn = (device: "cpu" | undefined) =>
  device === "cpu" ? STARTS : sweepBut(STARTS, ["Ant-v5"], ([id]) => id);

const on = (device: "cpu" | undefined) => (device ? { device } : {});

describe.each(devices)("on device %s", (device) => {
  test.each(startsOn(device))("%s starts as the host's twin of the generator says", async (id, qpos0, nv) => {
    const scale = 0.1;
    const nq = qpos0.length;
    await using env = await makeVec(id, { numEnvs: 5, seed: 7, ...on(device) });
    for (let episode = 0; episode < 2; episode++) {
      await env.reset();
      const { qpos, qvel, qacc_warmstart, time } = await env.getState(["qpos", "qvel", "qacc_warmstart", "time"]);
      for (let world = 0; world < 5; world++) {
        const random = new RandomStream(7, world, episode, streams.reset);
        qpos0.forEach((x, i) => {
          expect(qpos[nq * world + i]).toBeCloseTo(x + scale * (2 * random.uniform(i) - 1), 6);
        });
        // velocities take the blocks of four words after those of positions
        const after = 4 * Math.ceil(nq / 4);
        for (let i = 0; i < nv; i++) expect(qvel[nv * world + i]).toBeCloseTo(scale * random.normal(after + i), 5);
      }
      expect(Math.max(...qacc_warmstart.map(Math.abs), ...time)).toBe(0);
    }
  });

  test("a seed names episodes, a list of seeds names them world by world", async () => {
    await using env = await makeVec("CartPole", { numEnvs: 3, seed: 3, ...on(device) });
    const start = async (options?: Parameters<typeof env.reset>[0]) => [...(await env.reset(options)).observations];
    const first = await start();
    const second = await start();
    expect(second).not.toEqual(first);
    expect(await start({ seed: 3 })).toEqual(first);
    expect(await start()).toEqual(second);

    const other = await start({ seed: 4 });
    const mixed = await start({ seed: [3, 4, 3n] });
    expect(mixed).toEqual([...first.slice(0, 4), ...other.slice(4, 8), ...first.slice(8)]);
    expect((await env.getState(["episode"])).episode).toEqual(Float64Array.of(0, 0, 0));

    // worlds of no seed go on with their next episode
    await env.reset({ seed: 3 });
    const some = await start({ seed: [3, null, null] });
    expect(some).toEqual([...first.slice(0, 4), ...second.slice(4)]);
    expect((await env.getState(["episode"])).episode).toEqual(Float64Array.of(0, 1, 1));
  });

  test("a mask resets its worlds alone, and a seed with it reseeds them alone", async () => {
    await using env = await makeVec("CartPole", { numEnvs: 3, seed: 3, ...on(device) });
    const first = [...(await env.reset()).observations];
    await env.step([1, 1, 1]);
    const stepped = [...env.observations];
    const { observations, infos } = await env.reset({ options: { mask: [false, true, false] } });
    const after = [...observations];
    expect([...after.slice(0, 4), ...after.slice(8)]).toEqual([...stepped.slice(0, 4), ...stepped.slice(8)]);
    expect(after.slice(4, 8)).not.toEqual(first.slice(4, 8));
    expect(infos.episode).toBeUndefined();
    expect((await env.getState(["episode", "episode_length"])).episode_length).toEqual(Float64Array.of(1, 0, 1));
    const again = [...(await env.reset({ seed: 3, options: { reset_mask: Uint8Array.of(0, 1, 0) } })).observations];
    expect(again.slice(4, 8)).toEqual(first.slice(4, 8));
  });

  test("world ids choose the worlds", async () => {
    const ids = [1734, 0, 4294967295, 3];
    await using all = await makeVec("Hopper-v5", { numEnvs: 2000, seed: 1, ...on(device) });
    await using some = await makeVec("Hopper-v5", { numEnvs: 4, seed: 1, worldIds: ids, ...on(device) });
    const many = (await all.reset()).observations;
    const few = (await some.reset()).observations;
    const row = (values: ArrayLike<number>, world: number) =>
      Array.prototype.slice.call(values, 11 * world, 11 * world + 11);
    for (const k of [0, 1, 3]) expect(row(few, k)).toEqual(row(many, ids[k]));
  });
});

test("noise has Gymnasium's bounds and moments", async () => {
  const numEnvs = 4000;
  const moments = (values: readonly number[]) => {
    const mean = values.reduce((a, b) => a + b) / values.length;
    return { mean, deviation: Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length) };
  };
  // deviations of five standard errors
  const close = (got: number, wanted: number, scale: number) =>
    expect(Math.abs(got - wanted)).toBeLessThan((5 * scale) / Math.sqrt(numEnvs));

  for (const [id, scale, velocities] of [
    ["HalfCheetah-v5", 0.1, "normal"],
    ["Walker2d-v5", 0.005, "uniform"],
  ] as const) {
    await using env = await makeVec(id, { numEnvs, device: "cpu" });
    await env.reset();
    const { qpos, qvel } = await env.getState(["qpos", "qvel"]);
    const qpos0 = id === "Walker2d-v5" ? [0, 1.25, 0, 0, 0, 0, 0, 0, 0] : Array<number>(9).fill(0);
    for (let i = 0; i < 9; i++) {
      const column = (values: Float64Array, offset = 0) =>
        Array.from({ length: numEnvs }, (_, w) => values[9 * w + i] - offset);
      const [q, v] = [column(qpos, qpos0[i]), column(qvel)];
      for (const x of velocities === "uniform" ? [q, v] : [q]) {
        const { mean, deviation } = moments(x);
        close(mean, 0, scale / Math.sqrt(3));
        close(deviation, scale / Math.sqrt(3), scale / 2);
        expect(Math.min(...x)).toBeGreaterThanOrEqual(-scale * (1 + 1e-4));
        expect(Math.max(...x)).toBeLessThan(scale * (1 + 1e-4));
      }
      if (velocities === "uniform") continue;
      const { mean, deviation } = moments(v);
      close(mean, 0, scale);
      close(deviation, scale, scale);
      expect(Math.max(...v.map(Math.abs))).toBeGreaterThan(3 * scale);
    }
  }
});

// what is observed takes a whole evaluation, which the kernel of steps makes where automatic resets are its too
const touching = defineTask({
  id: "touching",
  frameSkip: 2,
  maxEpisodeSteps: 3,
  model: `<mujoco><worldbody><geom name="floor" type="plane" size="0 0 1"/><body name="ball" pos="0 0 0.099">
    <freejoint/><geom size="0.1"/><site name="in" size="0.11"/></body></worldbody>
    <sensor><touch site="in"/><accelerometer site="in"/></sensor></mujoco>`,
  actionSpace: () => new Discrete(2),
  control: () => [],
  observe: { height: "qpos[2]", felt: "sensordata", last: { value: "qvel[2]", history: 2 } },
  reward: { high: "qpos[2]" },
  reset: ({ random }) => ({ qpos: [0, 0, add(0.095, mul(0.01, random.uniforms(1)[0])), 1, 0, 0, 0] }),
});

test.each(["wasm", "cpu"] as const)(
  "a start that the kernel of steps evaluates has the bits of any (%s)",
  async (device) => {
    const at = { numEnvs: 5, seed: 3, device } as const;
    await using left = await makeVec(touching, { ...at, autoreset: "next-step" });
    await using whole = await makeVec(touching, { ...at, autoreset: "same-step" });
    expect(left.kernels.get("reset")!.code.length).toBeLessThan(left.kernels.get("step")!.code.length / 4);
    const both = async (call: (env: typeof left) => Promise<unknown>) => {
      const seen = await Promise.all(
        [left, whole].map(async (env) => {
          await call(env);
          const state = await env.getState(["qpos", "qvel", "qacc_warmstart", "episode", "episode_length"]);
          return { state, seen: [...env.observations], ended: [...env.truncated] };
        }),
      );
      expect(seen[0]).toEqual(seen[1]);
      return seen[0];
    };
    const first = await both((env) => env.reset());
    expect(first.seen.some((x, i) => i % 7 === 1 && x > 0)).toBe(true);
    await both((env) => env.step([0, 1, 0, 1, 0]));
    const masked = await both((env) => env.reset({ options: { mask: [false, true, false, true, false] } }));
    expect([...masked.state.episode_length]).toEqual([1, 0, 1, 0, 1]);
    const again = await both((env) => env.reset({ seed: 3, options: { mask: [false, false, true, true, false] } }));
    expect(again.seen.slice(14, 28)).toEqual(first.seen.slice(14, 28));
    await both((env) => env.step([0, 1, 0, 1, 0]));
    // a world that waits for its reset still does if the host resets others
    await left.step([0, 0, 0, 0, 0]);
    expect(left.truncated[0]).toBe(1);
    await left.reset({ options: { mask: [false, true, false, false, false] } });
    await left.step([0, 0, 0, 0, 0]);
    expect([...(await left.getState(["episode_length"])).episode_length]).toEqual([0, 1, 3, 3, 0]);
  },
);
