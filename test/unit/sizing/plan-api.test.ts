// `plan()`: what the command prints, as data, for whatever can be simulated
import { describe, expect, test } from "vitest";
import {
  createSimulation,
  defineTask,
  Discrete,
  loadModel,
  makeVec,
  plan,
  planSimulation,
  planVec,
  type PlanOptions,
} from "../../../src/index.ts";
import { hostBudget } from "../../../src/memory/host-budget.ts";
import { Budget } from "../../../src/memory/budget.ts";
import { plannerOf, planWithSavings } from "../../../src/sizing/plan.ts";
import { withMuJoCo } from "../../../src/model/oracle.ts";
import type { Scalar } from "../../../src/trace/scalar.ts";
import { loadTestModel } from "../../support/mjcf.ts";
import { rover } from "../../support/rover.ts";

describe("plan()", () => {
  test("takes an id, a model, or the path of one", async () => {
    const options = { numEnvs: 100, outputs: ["xpos" as const] };
    const model = await loadModel("test/models/joint_hinge.xml");
    const wanted = planSimulation(model, options);
    expect(await plan(model, options)).toMatchObject(wanted);
    expect(await plan("test/models/joint_hinge.xml", options)).toMatchObject(wanted);
    expect(await plan("CartPole", { numEnvs: 64 })).toMatchObject(await planVec("CartPole", { numEnvs: 64 }));
  });

  test.each(["wasm", "cpu"] as const)("follows the device %s, as planSimulation and planVec do", async (device) => {
    const model = await loadModel("test/models/joint_hinge.xml");
    const on = { numEnvs: 64, device, threads: 1 } as const;
    await using simulation = await createSimulation(model, on);
    await using envs = await makeVec("CartPole", on);
    expect(planSimulation(model, on).fields).toEqual(simulation.plan.fields);
    expect((await planVec("CartPole", on)).fields).toEqual(envs.plan.fields);
    expect(await plan("CartPole", on)).toMatchObject({ totalBytes: envs.plan.totalBytes });
    expect(hostBudget().live).toBe(simulation.plan.totalBytes + envs.plan.totalBytes);
    const says = /\[bad-option\] device is "wsam"/;
    expect(() => planSimulation(model, { ...on, device: "wsam" as never })).toThrow(says);
    await expect(planVec("CartPole", { ...on, device: "wsam" as never })).rejects.toThrow(says);
  });

  test("takes a task", async () => {
    const task = defineTask({
      id: "Hinge",
      model: new URL("../../models/joint_hinge.xml", import.meta.url),
      frameSkip: 1,
      maxEpisodeSteps: 10,
      defaults: { long: true },
      actionSpace: () => new Discrete(2),
      control: () => [],
      observe: ({ d, options }) => ({ qpos: options.long ? Array<Scalar>(9).fill(d.qpos.at(0)) : d.qpos.all() }),
      reward: () => ({ none: 0 }),
      terminated: () => ({}),
      reset: ({ d }) => ({ qpos: d.qpos.all(), qvel: d.qvel.all() }),
    });
    const { savings, bytesPerWorld } = await plan(task, { numEnvs: 100, recorder: false });
    expect(savings).toHaveLength(1);
    expect(savings[0]).toMatchObject({ change: "long=false" });
    const { bytesPerWorld: without } = await plan(task, { numEnvs: 100, recorder: false, long: false });
    expect(bytesPerWorld - without).toBe(savings[0].bytesPerWorld);
  });

  test("says what outputs and forces of a simulation cost", async () => {
    const model = await loadTestModel("envs/hopper");
    const { savings } = await plan(model, { numEnvs: 8, outputs: ["xpos", "ncon"] });
    expect(savings.map(({ change }) => change).sort()).toEqual(["applied=false", "no output ncon", "no output xpos"]);
  });

  test("traces a model of many constants once, whatever it could save", async () => {
    const { specOf } = await plannerOf(await loadTestModel("envs/hopper"), { numEnvs: 8 });
    const tracesOf = async (constants: number): Promise<number> => {
      let traces = 0;
      const traced = (options: Parameters<typeof specOf>[0]) => {
        const spec = specOf(options);
        const kernels = spec.kernels.map((kernel) => ({
          ...kernel,
          trace: (...given: Parameters<typeof kernel.trace>) => {
            traces++;
            const trace = kernel.trace(...given);
            trace.tables.push({
              kind: "table",
              name: "many",
              type: "f32",
              offset: 0,
              values: Array<number>(constants).fill(0),
            });
            return trace;
          },
        }));
        return { ...spec, kernels };
      };
      const { savings } = await planWithSavings({ defaults: undefined, specOf: traced }, { numEnvs: 8 });
      expect(savings).toMatchObject([{ change: "applied=false" }]);
      return traces;
    };
    const few = await tracesOf(1);
    expect(await tracesOf(2 ** 20 + 1)).toBe(few / 2);
  });

  test.each(["CartPole", "test/models/joint_hinge.xml"])("of %s heeds budget and shards", async (target) => {
    const planned = await plan(target, { numEnvs: 1000, budget: "64KiB", shards: 3 });
    expect(planned.budget).toEqual({ limit: 65536, live: 0, source: "the option" });
    expect([planned.shards.length, planned.bound.limit]).toEqual([3, "budget"]);
    expect(planned.problems.map(({ code }) => code)).toEqual(["budget-exceeded"]);
    const half = await plan(target, { numEnvs: 8, budget: 0.5 });
    expect(half.budget!.source).toMatch(/^40 % of/);
  });

  test.each([undefined, null, {}])("refuses options that are %j", async (options) => {
    await expect(plan("CartPole", options as never)).rejects.toThrowError("[bad-num-envs]");
    await expect(makeVec("CartPole", options as never)).rejects.toThrowError("[bad-num-envs]");
    const model = await loadTestModel("envs/hopper");
    await expect(createSimulation(model, options as never)).rejects.toThrowError("[bad-num-envs]");
  });

  test.each([
    [{ numEnvs: 8, budget: "2 gigs" }, "[bad-bytes]"],
    [{ numEnvs: 8, budget: new Budget({ limit: "1GiB" }) }, "[bad-bytes] budget is a Budget; the option takes bytes"],
    [{ numEnvs: 8, shards: 2 }, "[bad-option] shards is 2; 8 worlds are in 1 to 1 shards"],
    [
      { numEnvs: 8, device: "gpu", arithmetic: "float64" },
      '[bad-option] arithmetic is "float64", and kernels of adapters',
    ],
    [{ numEnvs: 8, device: "cpu-f64", arithmetic: "float32" }, '[bad-option] arithmetic is "float32", and the device'],
    [{ numEnvs: 8, device: "gpu", arithmetic: "double" }, '[bad-option] arithmetic is "double"; pass'],
    [{ numEnvs: 0 }, "[bad-num-envs]"],
    [{ numEnvs: 8, nonsense: 1 }, '[unknown-option] CartPole has no option "nonsense"'],
  ])("refuses %j", async (options, text) => {
    await expect(plan("CartPole", options as PlanOptions)).rejects.toThrowError(text);
    if ("budget" in options) {
      await expect(makeVec("CartPole", { ...options, device: "cpu" } as never)).rejects.toThrowError(text);
    }
  });

  test("has the memory of MuJoCo itself where worlds are monitored", async () => {
    const monitored = { numEnvs: 8, monitor: { worlds: [0] } };
    const { host } = await plan("CartPole", monitored);
    const { bytes } = await withMuJoCo(await loadTestModel("envs/cartpole"), ({ model, data }) => ({
      bytes: model.nbuffer + data.nbuffer + data.narena,
    }));
    expect(bytes).toBeGreaterThan(2 ** 16);
    expect(host).toEqual([{ name: "the monitor's MuJoCo", bytes }]);
    expect((await planVec("CartPole", monitored)).host).toEqual(host);
    expect((await planVec("CartPole", { numEnvs: 8 })).host).toEqual([]);
  });

  test("takes a task without options of its own", async () => {
    const { savings } = await plan(rover(), { numEnvs: 8 });
    expect(savings.map(({ change }) => change)).toContain("recorder=false");
  });

  test.each([null, 7, {}])("refuses the target %j", async (target) => {
    await expect(plan(target as never, { numEnvs: 8 })).rejects.toThrowError("[bad-task]");
  });

  test("refuses a task of another form as makeVec does", async () => {
    const task = rover({ actionSpace: new Discrete(3) as never });
    const text = "[bad-task] task Rover: actionSpace is a Discrete; it is a function.";
    await expect(plan(task, { numEnvs: 8 })).rejects.toThrowError(text);
    await expect(makeVec(task, { numEnvs: 8, device: "cpu" })).rejects.toThrowError(text);
  });
});
