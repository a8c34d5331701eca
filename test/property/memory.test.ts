import fc from "fast-check";
import { expect, test } from "vitest";
import { Budget } from "../../src/memory/budget.ts";
import { sharedIndex, worldIndex } from "../../src/memory/layout.ts";
import { planBatch } from "../../src/memory/plan.ts";
import type { ArenaRequest, FieldRequest, PlanLimits, PlanRequest } from "../../src/memory/request.ts";
import { defaultLimits } from "../../src/memory/request.ts";
import { reserve } from "../../src/memory/reserve.ts";
import { locateWorld } from "../../src/memory/shards.ts";
import { fakeGpu } from "../support/fake-gpu.ts";

const elements = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 40 }));

function fieldsOf(perWorld: fc.Arbitrary<number>): fc.Arbitrary<FieldRequest[]> {
  const field = fc.record({ type: fc.constantFrom("f32", "i32", "u32"), perWorld, shared: elements });
  return fc
    .array(field, { maxLength: 5 })
    .map((rows) =>
      rows.map((row, i): FieldRequest => ({ ...row, type: row.type as "f32", name: `field${i}`, group: "state" })),
    );
}

const storage = fc.record({
  access: fc.constantFrom("read", "read_write", "staging", "upload"),
  layout: fc.constantFrom("tiles", "rows"),
  scope: fc.constantFrom("shard", "batch", undefined),
  copies: fc.integer({ min: 1, max: 3 }),
  fields: fieldsOf(elements),
});
const windowed = fc.record({
  access: fc.constantFrom("staging", "upload"),
  layout: fc.constantFrom("tiles", "rows"),
  scope: fc.constant("batch"),
  copies: fc.integer({ min: 1, max: 3 }),
  window: fc.integer({ min: 1, max: 1000 }).map((vec4s) => 16 * vec4s),
  fields: fieldsOf(elements)
    .filter((fields) => fields.length > 0)
    .map((fields) => fields.slice(0, 1)),
});
const uniform = fc.record({
  access: fc.constant("uniform"),
  scope: fc.constantFrom("shard", "batch", undefined),
  fields: fieldsOf(fc.constant(0)),
});
const arenas: fc.Arbitrary<ArenaRequest[]> = fc
  .array(
    fc.oneof({ weight: 3, arbitrary: storage }, { weight: 1, arbitrary: uniform }, { weight: 1, arbitrary: windowed }),
    { minLength: 1, maxLength: 6 },
  )
  .map((rows) => rows.map((row, i) => ({ ...row, name: `arena${i}` })));

const size = fc.integer({ min: 2000, max: 200_000 });
const limits: fc.Arbitrary<PlanLimits> = fc
  .record({ maxBufferSize: size, maxStorageBufferBindingSize: size, maxUniformBufferBindingSize: size })
  .map((sizes) => ({ ...defaultLimits, ...sizes }));

const requests: fc.Arbitrary<PlanRequest> = fc.record({
  name: fc.constant("random"),
  numEnvs: fc.integer({ min: 1, max: 3000 }),
  arenas,
  tileWidth: fc.constantFrom(4, 8, 32),
  limits,
  maxShards: fc.integer({ min: 1, max: 40 }),
});

test("what is planned is what is made, to the byte, within every limit", async () => {
  const sizes = fc.asyncProperty(requests, async (request) => {
    const plan = planBatch(request);
    fc.pre(plan.problems.length === 0);

    const fake = fakeGpu();
    const budget = new Budget({ limit: plan.totalBytes });
    const reservation = await reserve(fake.gpu, plan, budget);
    expect(fake.made.reduce((sum, buffer) => sum + buffer.size, 0)).toBe(plan.totalBytes);
    expect(plan.fields.reduce((sum, field) => sum + field.bytes, 0)).toBe(plan.totalBytes);
    expect(new Set(fake.made.map((buffer) => buffer.label)).size).toBe(fake.made.length);

    for (const buffer of plan.buffers) {
      const { access } = plan.arenas.find((arena) => arena.name === buffer.arena)!;
      const bound = request.limits!;
      expect(buffer.size % 16).toBe(0);
      expect(buffer.size).toBeLessThanOrEqual(bound.maxBufferSize);
      if (access.startsWith("read")) expect(buffer.size).toBeLessThanOrEqual(bound.maxStorageBufferBindingSize);
      if (access === "uniform") expect(buffer.size).toBeLessThanOrEqual(bound.maxUniformBufferBindingSize);
      expect(reservation.buffer(buffer.arena, buffer.shard ?? 0, buffer.copy).label).toBe(buffer.label);
    }

    await reservation.close();
    expect(fake.heldBytes()).toBe(0);
    budget.assertEmpty();
  });
  await fc.assert(sizes, { numRuns: 150 });
});

test("more worlds never take fewer bytes", () => {
  fc.assert(
    fc.property(requests, fc.nat(500), (request, more) => {
      const plan = planBatch(request);
      expect(planBatch({ ...request, numEnvs: request.numEnvs + more }).totalBytes).toBeGreaterThanOrEqual(
        plan.totalBytes,
      );
    }),
  );
});

test("the largest count that fits is exact", () => {
  fc.assert(
    fc.property(requests, fc.nat(2_000_000), (request, limit) => {
      const budgeted = { ...request, budget: { limit, live: 0, source: "a test" } };
      const plan = planBatch(budgeted);
      const fits = (numEnvs: number) => planBatch({ ...budgeted, numEnvs }).problems.length === 0;
      const { largestNumEnvs } = plan;
      expect(plan.problems.length === 0).toBe(request.numEnvs <= largestNumEnvs);
      if (largestNumEnvs > 0) expect(fits(largestNumEnvs)).toBe(true);
      if (largestNumEnvs < 2 ** 32) expect(fits(largestNumEnvs + 1)).toBe(false);
    }),
  );
});

test("the limit that is named is the one that binds", () => {
  fc.assert(
    fc.property(requests, (request) => {
      const plan = planBatch(request);
      const { limit, value } = plan.shardBound;
      if (limit === "budget" || limit === "maxShards" || limit === "worldIds") expect.unreachable();
      if (limit === "maxWorldsPerShard") return;

      // one more tile needs exactly that limit raised
      const arena = plan.arenas.find((candidate) => candidate.name === plan.shardBound.arena)!;
      const next = arena.sharedBytes + arena.bytesPerWorld * (plan.largestShard + plan.tileWidth);
      expect(next).toBeGreaterThan(value);
    }),
  );
});

test("every world has one place, in order", () => {
  fc.assert(
    fc.property(requests, fc.integer({ min: 1, max: 9 }), (request, minShards) => {
      const tiles = Math.ceil(request.numEnvs / request.tileWidth!);
      const plan = planBatch({
        ...request,
        limits: defaultLimits,
        maxShards: 40,
        minShards: Math.min(minShards, tiles),
      });
      const sizes = plan.shards.map((shard) => shard.paddedWorlds);
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(plan.tileWidth);
      expect(plan.shards.reduce((sum, shard) => sum + shard.worlds, 0)).toBe(plan.numEnvs);

      for (const shard of plan.shards) {
        expect(shard.worlds).toBeGreaterThan(0);
        expect(locateWorld(plan, shard.firstWorld)).toEqual({ shard: shard.index, local: 0 });
        expect(locateWorld(plan, shard.firstWorld + shard.worlds - 1)).toEqual({
          shard: shard.index,
          local: shard.worlds - 1,
        });
      }
    }),
  );
});

test("no two elements share a place, and all lie inside the buffer", () => {
  fc.assert(
    fc.property(requests, (request) => {
      const plan = planBatch({ ...request, numEnvs: Math.min(request.numEnvs, 40), limits: defaultLimits });
      const [shard] = plan.shards;

      for (const arena of plan.arenas) {
        if (arena.window !== null) continue;
        const buffer = plan.buffers.find((candidate) => candidate.arena === arena.name);
        const worlds =
          arena.scope === "shard" ? shard.paddedWorlds : plan.shards.reduce((sum, part) => sum + part.paddedWorlds, 0);
        const places: number[] = [];
        for (const field of arena.fields) {
          for (let i = 0; i < field.shared; i++) places.push(sharedIndex(field) + i);
          for (let world = 0; world < worlds; world++) {
            for (let i = 0; i < field.perWorld; i++) places.push(worldIndex(arena, field, worlds, world, i));
          }
        }
        const used = new Set(places);
        expect(used.size).toBe(places.length);
        for (const place of used) if (place < 0 || place >= buffer!.size / 4) expect.unreachable();
      }
    }),
    { numRuns: 40 },
  );
});
