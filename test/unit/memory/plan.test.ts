import { describe, expect, test } from "vitest";
import type { ArenaRequest, PlanRequest } from "../../../src/memory/request.ts";
import { defaultLimits } from "../../../src/memory/request.ts";
import { BudgetExceededError, LimitExceededError } from "../../../src/memory/errors.ts";
import { sharedIndex, worldIndex } from "../../../src/memory/layout.ts";
import { fitPlan, planBatch } from "../../../src/memory/plan.ts";
import { locateWorld, worldsOf, worldsToSet } from "../../../src/memory/shards.ts";
import { planTable } from "../../../src/memory/table.ts";

const MIB = 2 ** 20;

const arenas: ArenaRequest[] = [
  {
    name: "model",
    access: "read",
    fields: [
      { name: "body_pos", group: "model", type: "f32", shared: 42 },
      { name: "geom_friction", group: "model", type: "f32", perWorld: 3 },
    ],
  },
  {
    name: "state",
    access: "read_write",
    fields: [
      { name: "qpos", group: "state", type: "f32", perWorld: 15 },
      { name: "qvel", group: "state", type: "f32", perWorld: 14 },
      { name: "status", group: "state", type: "u32", perWorld: 1 },
    ],
  },
  {
    name: "obs",
    access: "read_write",
    layout: "rows",
    fields: [
      { name: "obs", group: "task", type: "f32", perWorld: 27 },
      { name: "reward", group: "task", type: "f32", perWorld: 1 },
    ],
  },
  {
    name: "options",
    access: "uniform",
    scope: "shard",
    fields: [{ name: "timestep", group: "model", type: "f32", shared: 1 }],
  },
  {
    name: "readback",
    access: "staging",
    scope: "batch",
    copies: 2,
    fields: [{ name: "slot", group: "task", type: "u32", shared: 4096 }],
  },
];

const request: PlanRequest = { name: "ant", numEnvs: 100, arenas };

describe("the layout", () => {
  test("is to the byte", () => {
    const plan = planBatch(request);

    // 13 tiles of 8; vec4s of a world: 1 in model, 4 + 4 + 1 in state; 28 numbers in obs
    const model = 44 * 4 + 104 * 16;
    const state = 104 * 9 * 16;
    const obs = 104 * 28 * 4;
    expect(plan.buffers.map(({ label, size }) => [label, size])).toEqual([
      ["ant.model", model],
      ["ant.state", state],
      ["ant.obs", obs],
      ["ant.options", 16],
      ["ant.readback#0", 16384],
      ["ant.readback#1", 16384],
    ]);
    expect(plan.totalBytes).toBe(model + state + obs + 16 + 32768);
    expect(plan.stagingBytes).toBe(32768);
    expect(plan.bytesPerWorld).toBe(16 + 144 + 112);
    expect(plan.sharedBytes).toBe(32768);
    expect(plan.sharedBytesPerShard).toBe(176 + 16);
    expect(plan.shards).toEqual([
      { index: 0, firstWorld: 0, worlds: 100, paddedWorlds: 104, bytes: model + state + obs + 16 },
    ]);
    expect(plan.fields.reduce((sum, field) => sum + field.bytes, 0)).toBe(plan.totalBytes);
  });

  test("places elements in tiles of vec4", () => {
    const [model, state] = planBatch(request).arenas;
    const [, qvel] = state.fields;
    const [bodyPos, friction] = model.fields;
    expect(sharedIndex(bodyPos)).toBe(0);

    // shared numbers first: 42 padded to 44
    expect(worldIndex(model, friction, 104, 0, 2)).toBe(46);
    expect(worldIndex(model, friction, 104, 1, 0)).toBe(48);

    // world 9 is lane 1 of tile 1; qvel starts at vec4 4 of 9, element 5 is in its second
    expect(worldIndex(state, qvel, 104, 9, 5)).toBe(((1 * 9 + 4 + 1) * 8 + 1) * 4 + 1);
  });

  test("places elements in rows", () => {
    const obs = planBatch(request).arenas[2];
    const [observation, reward] = obs.fields;
    expect(worldIndex(obs, observation, 104, 2, 3)).toBe(2 * 27 + 3);
    expect(worldIndex(obs, reward, 104, 5, 0)).toBe(27 * 104 + 5);
  });

  test("gives no buffer to an arena without bytes", () => {
    const none: ArenaRequest = {
      name: "contact",
      access: "read_write",
      fields: [{ name: "dist", group: "derived", type: "f32", perWorld: 0 }],
    };
    const plan = planBatch({ ...request, arenas: [...arenas, none] });
    expect(plan.buffers.some((buffer) => buffer.arena === "contact")).toBe(false);
    expect(plan.totalBytes).toBe(planBatch(request).totalBytes);
  });
});

describe("shards", () => {
  test("are as equal as tiles allow", () => {
    const plan = planBatch({ ...request, minShards: 3 });
    expect(plan.shards.map(({ firstWorld, worlds, paddedWorlds }) => [firstWorld, worlds, paddedWorlds])).toEqual([
      [0, 40, 40],
      [40, 32, 32],
      [72, 28, 32],
    ]);
    expect(locateWorld(plan, 39)).toEqual({ shard: 0, local: 39 });
    expect(locateWorld(plan, 40)).toEqual({ shard: 1, local: 0 });
    expect(locateWorld(plan, 99)).toEqual({ shard: 2, local: 27 });
    expect(() => locateWorld(plan, 100)).toThrowError("[bad-world] world is 100");
    expect(worldsOf(plan, [3, 3])).toEqual([3, 3]);
    expect(worldsToSet(plan, undefined)).toHaveLength(100);
    expect(() => worldsToSet(plan, [3, 4, 3])).toThrowError("[bad-world] worlds has 3 twice. Pass each world once.");
    expect(plan.buffers.filter((buffer) => buffer.arena === "state").map((buffer) => buffer.label)).toEqual([
      "ant.state[0]",
      "ant.state[1]",
      "ant.state[2]",
    ]);
  });

  test("follow from what one binding holds, and name it", () => {
    const limits = { ...defaultLimits, maxStorageBufferBindingSize: 64 * 144 + 100 };
    const plan = planBatch({ ...request, limits });
    expect(plan.largestShard).toBe(64);
    expect(plan.shardBound).toEqual({ limit: "maxStorageBufferBindingSize", value: 9316, arena: "state" });
    expect(plan.shards.map((shard) => shard.paddedWorlds)).toEqual([56, 48]);
    expect(plan.problems).toEqual([]);
  });

  test("follow from what one dispatch reaches", () => {
    const plan = planBatch({ ...request, maxWorldsPerShard: 50 });
    expect(plan.shards.map((shard) => shard.paddedWorlds)).toEqual([40, 32, 32]);
    expect(plan.shardBound).toEqual({ limit: "maxWorldsPerShard", value: 50, arena: null });
  });

  test("a buffer of the whole batch is bound by one buffer's size", () => {
    const whole: ArenaRequest = {
      name: "returns",
      access: "staging",
      scope: "batch",
      fields: [{ name: "r", group: "task", type: "f32", perWorld: 4 }],
    };
    const limits = { ...defaultLimits, maxBufferSize: 20_000 };
    const plan = planBatch({ ...request, arenas: [...arenas, whole], limits });
    expect(plan.largestNumEnvs).toBe(1248);
    expect(plan.bound).toEqual({ limit: "maxBufferSize", value: 20_000, arena: "returns" });

    const beyond = planBatch({ ...request, numEnvs: 1249, arenas: [...arenas, whole], limits });
    expect(beyond.problems.map((problem) => problem.code)).toEqual(["limit-exceeded"]);
    expect(beyond.problems[0].text).toMatchInlineSnapshot(
      `"arena returns of ant needs 19.6 KiB (20,096 B) in one buffer for 1,256 worlds, maxBufferSize is 19.5 KiB (20,000 B). Pass numEnvs: 1248."`,
    );
    expect(fitPlan({ ...request, numEnvs: 5000, arenas: [...arenas, whole], limits }, "shrink").numEnvs).toBe(1248);
  });

  test("too many of them are refused", () => {
    const limits = { ...defaultLimits, maxStorageBufferBindingSize: 8 * 144 };
    const plan = planBatch({ ...request, limits, maxShards: 12 });
    expect(plan.bound).toEqual({ limit: "maxShards", value: 12, arena: "state" });
    expect(plan.largestNumEnvs).toBe(96);
    expect(plan.buffers).toEqual([]);
    expect(() => fitPlan({ ...request, limits, maxShards: 12 })).toThrowErrorMatchingInlineSnapshot(
      `[LimitExceededError: [limit-exceeded] ant has 100 worlds, but 12 shards (maxShards) of at most 8 worlds (maxStorageBufferBindingSize of arena state) hold 96. Pass numEnvs: 96.]`,
    );
  });

  test("one tile that no binding holds is refused", () => {
    const limits = { ...defaultLimits, maxStorageBufferBindingSize: 1000 };
    expect(() => fitPlan({ ...request, limits }, "shrink")).toThrowErrorMatchingInlineSnapshot(
      `[LimitExceededError: [limit-exceeded] arena state of ant needs 1.13 KiB (1,152 B) in one buffer for 8 worlds, maxStorageBufferBindingSize is 1000 B. Fewer worlds, or fewer steps kept of each, make it smaller.]`,
    );
  });

  test("more bindings than a stage has are refused, where one stage needs them", () => {
    const limits = { ...defaultLimits, maxStorageBuffersPerShaderStage: 2 };
    const stages = [
      { name: "step", arenas: ["model", "state", "options"] },
      { name: "task", arenas: ["state", "obs", "options"] },
    ];
    expect(planBatch({ ...request, limits, stages }).problems).toEqual([]);
    expect(() => fitPlan({ ...request, limits })).toThrowErrorMatchingInlineSnapshot(
      `[LimitExceededError: [limit-exceeded] stage all of ant binds 3 storage buffers, maxStorageBuffersPerShaderStage is 2. Put more fields into one arena, or cut the stage.]`,
    );
    expect(() => fitPlan({ ...request, limits })).toThrowError(LimitExceededError);
  });
});

describe("the budget", () => {
  const budget = { limit: 4 * MIB, live: MIB, source: "a test" };

  test("ends the growth exactly", () => {
    const plan = planBatch({ ...request, budget });
    const available = 3 * MIB;
    expect(plan.bound).toEqual({ limit: "budget", value: 4 * MIB, arena: null });
    const { largestNumEnvs } = plan;
    expect(planBatch({ ...request, numEnvs: largestNumEnvs }).totalBytes).toBeLessThanOrEqual(available);
    expect(planBatch({ ...request, numEnvs: largestNumEnvs + 1 }).totalBytes).toBeGreaterThan(available);
  });

  test("refuses with the table, the largest fields and the remedies", () => {
    const refused = () => fitPlan({ ...request, numEnvs: 20_000, budget });
    expect(refused).toThrowError(BudgetExceededError);
    expect(refused).toThrowErrorMatchingInlineSnapshot(
      `[BudgetExceededError: [budget-exceeded] ant with 20,000 worlds needs 5.22 MiB, 3.00 MiB of the budget of 4.00 MiB from a test are free (1.00 MiB are held). Largest fields: obs.obs 2.06 MiB, state.qpos 1.22 MiB, state.qvel 1.22 MiB. Remedies: numEnvs: 11440, the most that fits, or onOverBudget: "shrink"; a larger budget.]`,
    );

    try {
      refused();
    } catch (error) {
      const { table, largestFields, code } = error as BudgetExceededError;
      expect(code).toBe("budget-exceeded");
      expect(largestFields.map((field) => field.name)).toEqual(["obs", "qpos", "qvel"]);
      expect(table).toMatchInlineSnapshot(`
        "ant: 20,000 worlds (1 shard, tiles of 8), 5.22 MiB (5,472,960 B)

        arena     field          group  type  per world  shared  bytes/world     bytes
        model     body_pos       model  f32           -      42            0     176 B
        model     geom_friction  model  f32           3       -           16   313 KiB
        state     qpos           state  f32          15       -           64  1.22 MiB
        state     qvel           state  f32          14       -           64  1.22 MiB
        state     status         state  u32           1       -           16   313 KiB
        obs       obs            task   f32          27       -          108  2.06 MiB
        obs       reward         task   f32           1       -            4  78.1 KiB
        options   timestep       model  f32           -       1            0      16 B
        readback  slot           task   u32           -   4,096            0  32.0 KiB

        per world        272 B
        shared           32.0 KiB, and 192 B in each shard
        staging          32.0 KiB
        buffers          6
        total            5.22 MiB (5,472,960 B)
        budget           4.00 MiB from a test, 1.00 MiB held by others
        largest numEnvs  11,440 (budget: 4.00 MiB)
        largest shard    932,064 worlds (maxStorageBufferBindingSize of arena state: 128 MiB)
        budget-exceeded  5.22 MiB needed, 3.00 MiB free"
      `);
    }
  });

  test("shrinks to what fits, and says so", () => {
    const plan = fitPlan({ ...request, numEnvs: 20_000, budget }, "shrink");
    expect(plan.shrunkFrom).toBe(20_000);
    expect(plan.numEnvs).toBe(planBatch({ ...request, budget }).largestNumEnvs);
    expect(plan.problems).toEqual([]);
    expect(planTable(plan).split("\n")[0]).toMatchInlineSnapshot(
      `"ant: 11,440 worlds, shrunk from 20,000 to fit (1 shard, tiles of 8), 3.00 MiB (3,144,640 B)"`,
    );
  });

  test("that holds not one tile refuses even to shrink", () => {
    const none = { limit: 1000, live: 0, source: "a test" };
    expect(() => fitPlan({ ...request, budget: none }, "shrink")).toThrowError(BudgetExceededError);
  });
});

test("a million worlds are planned in no time", () => {
  const began = performance.now();
  const plan = planBatch({ ...request, numEnvs: 1_000_000, budget: { limit: 2 ** 33, live: 0, source: "a test" } });
  expect(performance.now() - began).toBeLessThan(200);
  expect(plan.shards).toHaveLength(2);
  expect(plan.totalBytes).toBe(272 * 1_000_000 + 2 * 192 + 32768);
});

test("a plan survives JSON", () => {
  const plan = planBatch({ ...request, budget: { limit: MIB, live: 0, source: "a test" } });
  expect(JSON.parse(JSON.stringify(plan))).toEqual(plan);
});

describe("bad requests are refused", () => {
  test.each([0, -1, 1.5, Number.NaN, Infinity, 2 ** 32 + 1, "8" as unknown as number])("numEnvs %s", (numEnvs) => {
    expect(() => planBatch({ ...request, numEnvs })).toThrowError(/^\[bad-num-envs\] numEnvs is /);
  });

  const field = { name: "x", group: "state", type: "f32" } as const;
  test.each<[string, Partial<PlanRequest>]>([
    ["tile width", { tileWidth: 3 }],
    ["tile width below a vec4", { tileWidth: 2 }],
    ["more shards than tiles", { minShards: 14 }],
    ["no shards", { minShards: 0 }],
    ["most below least", { minShards: 3, maxShards: 2 }],
    ["shards below a tile", { maxWorldsPerShard: 7 }],
    ["arena twice", { arenas: [arenas[0], arenas[0]] }],
    ["field twice", { arenas: [{ name: "a", access: "read", fields: [field, field] }] }],
    ["negative count", { arenas: [{ name: "a", access: "read", fields: [{ ...field, perWorld: -1 }] }] }],
    ["NaN count", { arenas: [{ name: "a", access: "read", fields: [{ ...field, shared: Number.NaN }] }] }],
    ["type", { arenas: [{ name: "a", access: "read", fields: [{ ...field, type: "f64" as "f32" }] }] }],
    ["uniform per world", { arenas: [{ name: "a", access: "uniform", fields: [{ ...field, perWorld: 1 }] }] }],
    ["no copies", { arenas: [{ name: "a", access: "staging", copies: 0, fields: [] }] }],
    ["unknown arena in a stage", { stages: [{ name: "step", arenas: ["contact"] }] }],
    ["NaN limit", { limits: { ...defaultLimits, maxBufferSize: Number.NaN } }],
    ["negative budget", { budget: { limit: -1, live: 0, source: "" } }],
  ])("%s", (_, change) => {
    expect(() => planBatch({ ...request, ...change })).toThrowError(/^\[bad-plan\] .*Correct the plan's request\.$/);
  });

  test("policy", () => {
    expect(() => fitPlan(request, "maybe" as "throw")).toThrowError("[bad-plan] onOverBudget is maybe");
  });
});
