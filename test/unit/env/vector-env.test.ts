// the vector environment as users meet it: arrays, infos, options, views on the GPU, tasks of their own, memory
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  defineTask,
  Discrete,
  type GpuView,
  makeVec,
  MultiDiscrete,
  planVec,
  type Task,
  uniformNoise,
} from "../../../src/env/index.ts";
import "../../../envs/index.ts";
import { openDevice, Readback, type GpuDevice } from "../../../src/gpu/index.ts";
import { BudgetExceededError } from "../../../src/memory/index.ts";
import { add, mul, select, toF32, eq } from "../../../src/trace/scalar.ts";
import { distance } from "../../support/recorded-steps.ts";
import { watchDevice } from "../../support/watch-device.ts";
import { holdDevice } from "../../support/hold-device.ts";

holdDevice();

const still = (n: number) => new Float32Array(n);

describe("spaces and arrays", () => {
  test.each([
    ["Ant-v5", "Box(-1, 1, [8], float32)", 105],
    ["HalfCheetah-v5", "Box(-1, 1, [6], float32)", 17],
    ["Hopper-v5", "Box(-1, 1, [3], float32)", 11],
    ["Walker2d-v5", "Box(-1, 1, [6], float32)", 17],
    ["InvertedPendulum-v5", "Box(-3, 3, [1], float32)", 4],
    ["InvertedDoublePendulum-v5", "Box(-1, 1, [1], float32)", 9],
    ["Reacher-v5", "Box(-1, 1, [2], float32)", 10],
    ["Pusher-v5", "Box(-2, 2, [7], float32)", 23],
    ["Swimmer-v5", "Box(-1, 1, [2], float32)", 8],
    ["Humanoid-v5", "Box(-0.4, 0.4, [17], float32)", 348],
    ["HumanoidStandup-v5", "Box(-0.4, 0.4, [17], float32)", 348],
    ["CartPole", "Discrete(2)", 4],
  ])("%s", async (id, actions, nobs) => {
    await using env = await makeVec(id, { numEnvs: 3, device: "cpu" });
    expect(String(env.singleActionSpace)).toBe(actions);
    expect([env.observationSpace.shape, env.actionSpace.numEnvs]).toEqual([[3, nobs], 3]);
    const { observations, rewards, terminated, truncated } = await env.reset();
    expect(observations).toBeInstanceOf(Float32Array);
    expect(env.observationSpace.contains(observations)).toBe(true);
    expect([observations.length, rewards.length, terminated.length, truncated.length]).toEqual([3 * nobs, 3, 3, 3]);
    const result = await env.step(env.actionSpace.sample(1));
    // the same arrays again
    expect(result.observations).toBe(observations);
    expect([...result.rewards].every(Number.isFinite)).toBe(true);
  });

  test("copies are new with each call", async () => {
    await using env = await makeVec("Hopper-v5", { numEnvs: 2, device: "cpu", copy: true });
    const first = await env.reset();
    const kept = [...first.observations];
    const second = await env.step(still(6));
    expect(second.observations).not.toBe(first.observations);
    expect([...first.observations]).toEqual(kept);
  });

  test("actions come as one array or one a world", async () => {
    const results = [];
    for (const actions of [
      [0.1, 0.2, 0.3, 1, 2, 3],
      [[0.1, 0.2, 0.3], new Float32Array([1, 2, 3])],
      Float64Array.of(0.1, 0.2, 0.3, 1, 2, 3),
    ]) {
      await using env = await makeVec("Hopper-v5", { numEnvs: 2, device: "cpu" });
      await env.reset();
      results.push([...(await env.step(actions)).observations]);
    }
    expect(results[1]).toEqual(results[0]);
    expect(results[2]).toEqual(results[0]);
  });
});

describe("infos", () => {
  test("rewards are the sums of their terms, returns the sums of rewards", async () => {
    await using env = await makeVec("Ant-v5", {
      numEnvs: 4,
      device: "cpu",
      maxEpisodeSteps: 4,
      autoreset: "same-step",
    });
    await env.reset();
    expect(env.terms.rewards).toEqual(["reward_forward", "reward_ctrl", "reward_contact", "reward_survive"]);
    const returns = [0, 0, 0, 0];
    for (let t = 0; t < 4; t++) {
      const { rewards, infos, truncated } = await env.step(env.actionSpace.sample(3, { draw: t }));
      const from = t === 3 ? infos.final_info! : infos;
      for (let w = 0; w < 4; w++) {
        const terms = env.terms.rewards.map((name) => from.get(name)!.values[w]);
        expect(terms.reduce((a, b) => a + b)).toBeCloseTo(rewards[w], 5);
        returns[w] += rewards[w];
      }
      expect(infos.episode === undefined).toBe(t < 3);
      if (t < 3) continue;
      expect([...truncated]).toEqual([1, 1, 1, 1]);
      expect(infos.endedBy(0)).toEqual(["max_episode_steps"]);
      expect([...infos.episode!.l]).toEqual([4, 4, 4, 4]);
      infos.episode!.r.forEach((r, w) => expect(r).toBeCloseTo(returns[w], 4));
      expect(infos.final_obs!.values.length).toBe(env.observations.length);
      expect(infos.get("x_velocity")).toBeUndefined();
      expect(infos.get("x_position")!.mask).toEqual(Uint8Array.of(1, 1, 1, 1));
    }
  });
});

describe("options", () => {
  test("those of mjOption override the model's", async () => {
    const heights = [];
    for (const options of [{}, { gravity: [0, 0, 0] }, { timestep: 0.001 }, { frameSkip: 1 }]) {
      await using env = await makeVec("Hopper-v5", {
        numEnvs: 1,
        device: "cpu",
        reset_noise_scale: 0,
        ...options,
      } as never);
      await env.reset();
      await env.step(still(3));
      const { time } = await env.getState(["time"]);
      heights.push([env.observations[0] < 1.25, Math.round(time[0] * 1e6)]);
    }
    expect(heights).toEqual([
      [true, 8000],
      [false, 8000],
      [true, 4000],
      [true, 2000],
    ]);
  });

  test("some change between steps, without another kernel", async () => {
    await using env = await makeVec("HalfCheetah-v5", { numEnvs: 1, device: "cpu-f64" });
    await using twin = await makeVec("HalfCheetah-v5", { numEnvs: 1, device: "cpu-f64", timestep: 0.004 });
    await env.reset();
    await twin.reset();
    env.setOptions({ timestep: 0.004 });
    const [a, b] = await Promise.all([env, twin].map((e) => e.step(still(6))));
    expect([...a.rewards, ...a.observations]).toEqual([...b.rewards, ...b.observations]);
    expect(a.infos.get("x_velocity")!.values[0]).toBe(b.infos.get("x_velocity")!.values[0]);
    expect(() => env.setOptions({ iterations: 3 } as never)).toThrow(
      "[bad-option] iterations is compiled into the kernels.",
    );
  });

  test("rolled kernels compute the same", async () => {
    const results = [];
    for (const unroll of [true, false]) {
      await using env = await makeVec("Hopper-v5", {
        numEnvs: 4,
        device: "cpu-f64",
        unroll,
        autoreset: "same-step",
        maxEpisodeSteps: 3,
      });
      await env.reset();
      for (let t = 0; t < 5; t++) await env.step(env.actionSpace.sample(1, { draw: t }));
      results.push([...env.observations, ...env.rewards]);
    }
    expect(distance(results[1], results[0])).toBeLessThan(1e-9);
  });
});

describe("tasks of one's own", () => {
  const slider: Task = defineTask({
    id: "Slider",
    model: `<mujoco><option timestep="0.5" gravity="0 0 0"/><worldbody><body><joint name="j" type="slide"/><geom size="1" mass="1"/></body></worldbody>
      <actuator><motor joint="j"/></actuator><sensor><jointpos joint="j"/></sensor></mujoco>`,
    frameSkip: 2,
    maxEpisodeSteps: 3,
    defaults: {},
    observe: ({ d }) => ({ position: [d.qpos.at(0)] }),
    reward: () => ({ alive: 1 }),
    terminated: () => ({}),
    reset: (s) => ({ qpos: uniformNoise(s, [5], 1), qvel: [2] }),
  });

  test.each(["next-step", "same-step"] as const)(
    "sensors are of the last evaluation, and exact after a reset: %s",
    async (autoreset) => {
      const task: Task = {
        ...slider,
        outputs: () => ["sensordata"],
        observe: ({ d }) => ({ position: [d.qpos.at(0)], sensor: [d.sensordata.at(0)] }),
      };
      await using env = await makeVec(task, { numEnvs: 1, device: "cpu-f64", autoreset });
      for (let k = 0, start = 0; k < 9; k++) {
        const { observations, infos } = k === 0 ? await env.reset() : await env.step([0]);
        const [position, sensor] = observations;
        const steps = k % (autoreset === "same-step" ? 3 : 4);
        if (steps === 0) start = position;
        expect(position).toBeCloseTo(start + 2 * steps, 9);
        // a physics step before the end
        expect(sensor).toBeCloseTo(steps === 0 ? position : position - 1, 9);
        if (!infos.final_obs) continue;
        expect(infos.final_obs.values[1]).toBeCloseTo(infos.final_obs.values[0] - 1, 9);
      }
    },
  );

  test("what is carried from step to step begins anew with each episode", async () => {
    const task: Task = {
      ...slider,
      carry: (s) => ({ count: [s.fresh ? 10 : add(s.carried.count[0], 1)] }),
      observe: (s) => ({ count: s.carried.count, before: [s.before.qpos[0]], action: s.action.map(toF32) }),
    };
    for (const autoreset of ["next-step", "same-step"] as const) {
      await using env = await makeVec(task, { numEnvs: 1, device: "cpu-f64", autoreset });
      const seen = [(await env.reset()).observations[0]];
      for (let t = 0; t < 4; t++) seen.push((await env.step([0.5])).observations[0]);
      expect(seen).toEqual(autoreset === "same-step" ? [10, 11, 12, 10, 11] : [10, 11, 12, 13, 10]);
      // a new episode has no action yet, and its state before is its start
      await env.reset();
      const start = (await env.getState(["qpos"])).qpos[0];
      expect([...env.observations.subarray(1)]).toEqual([start, 0]);
    }
  });

  test.each([
    [new Discrete(3, -1), [-1, 1], [-1, 1]],
    [new MultiDiscrete([2, 5]), [1, 4, 0, 3], [5, 3]],
  ])("actions are integers of %s", async (space, actions, forces) => {
    const task: Task = {
      ...slider,
      actionSpace: () => space,
      control: ({ action: [a, b] }) => [b === undefined ? toF32(a) : toF32(add(a, b))],
      observe: ({ action, d }) => ({ action: action.map(toF32), force: [mul(d.qvel.at(0), 1)] }),
      reset: () => ({ qpos: [0], qvel: [0] }),
      reward: ({ action }) => ({ first: select(eq(action[0], space.kind === "discrete" ? -1 : 1), 7, 0, "f32") }),
    };
    for (const device of ["cpu", undefined] as const) {
      await using env = await makeVec(task, { numEnvs: 2, ...(device ? { device } : {}) });
      await env.reset();
      const { observations, rewards } = await env.step(actions);
      const width = space.size + 1;
      expect([0, 1].map((w) => observations[w * width + width - 1])).toEqual(forces);
      expect([0, 1].map((w) => [...observations.subarray(w * width, w * width + space.size)]).flat()).toEqual(actions);
      expect([...rewards]).toEqual([7, 0]);
    }
  });
});

describe("on the GPU", () => {
  let gpu: GpuDevice;
  beforeAll(async () => {
    gpu = await openDevice();
  });
  afterAll(() => gpu?.close());

  test("buffers hold what the host reads, and take what kernels write", async () => {
    await using env = await makeVec("Hopper-v5", { numEnvs: 40, shards: 3, device: gpu });
    await using twin = await makeVec("Hopper-v5", { numEnvs: 40, device: gpu });
    await env.reset();
    await twin.reset();
    const actions = env.actionSpace.sample(2) as Float32Array;
    await twin.step(actions);

    const { actions: view, observations, rewards } = env.gpu!;
    for (const { buffer, firstWorld, worlds } of view.shards) {
      for (let w = 0; w < worlds; w++) {
        const row = actions.subarray(3 * (firstWorld + w), 3 * (firstWorld + w) + 3);
        gpu.device.queue.writeBuffer(buffer, view.offset + w * view.stride, row as Float32Array<ArrayBuffer>);
      }
    }
    expect(await env.step(view, { readback: false })).toBeUndefined();

    const readback = await Readback.create(gpu, { slotBytes: 1 << 16 });
    const column = async ({ shards, offset, stride, length }: GpuView) => {
      const out: number[] = [];
      for (const { buffer, worlds } of shards) {
        const into = new Float32Array((worlds * stride) / 4);
        await readback.read(buffer, 0, worlds * stride, into);
        for (let w = 0; w < worlds; w++) {
          const at = offset / 4 + (w * stride) / 4;
          out.push(...into.subarray(at, at + length));
        }
      }
      return out;
    };
    expect(await column(observations)).toEqual([...twin.observations]);
    expect(await column(rewards)).toEqual([...twin.rewards]);
    readback.close();
    expect([...(await env.read()).observations]).toEqual([...twin.observations]);
  });

  test("the plan is what is made, and nothing is made after that", async () => {
    const watch = watchDevice(gpu);
    const options = { numEnvs: 100, shards: 2, autoreset: "same-step", maxEpisodeSteps: 3 } as const;
    const env = await makeVec("Hopper-v5", { ...options, device: gpu });
    expect(watch.liveBytes()).toBe(env.plan.totalBytes);
    const plan = await planVec("Hopper-v5", options, { limits: gpu.limits, minShards: 2 });
    expect([plan.totalBytes, plan.buffers]).toEqual([env.plan.totalBytes, env.plan.buffers]);

    const { ...before } = watch.made;
    await env.reset({ seed: 3 });
    for (let t = 0; t < 7; t++)
      await env.step(env.actionSpace.sample(1, { draw: t }), { readback: t % 2 === 0 } as never);
    const snapshot = await env.snapshot();
    await env.reset({ options: { mask: Uint8Array.from({ length: 100 }, (_, i) => i % 2) } });
    await env.restore(snapshot);
    expect(watch.made).toEqual(before);
    await env.close();
    expect(watch.liveBytes()).toBe(0);
    watch.remove();
  });

  test("a batch over its budget is refused with the plan, or shrunk", async () => {
    const watch = watchDevice(gpu);
    const options = { numEnvs: 100_000, device: gpu, budget: "16MiB" } as const;
    const error = await makeVec("InvertedPendulum-v5", options).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(BudgetExceededError);
    expect(watch.made.createBuffer).toBe(0);
    watch.remove();

    await using env = await makeVec("InvertedPendulum-v5", { ...options, onOverBudget: "shrink" });
    expect(env.numEnvs).toBeGreaterThan(1000);
    expect(env.plan.totalBytes).toBeLessThanOrEqual(16 * 2 ** 20);
    const { observations } = await env.reset();
    expect(observations.length).toBe(4 * env.numEnvs);
  });
});
