// a world's bits are its own: random schedules of batches, places, shards, recorders, monitors, submissions, readback,
// snapshots, forks, journeys back and other processes end where a batch of nothing but the watched worlds ends.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serialize } from "node:v8";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { VectorEnv } from "../../src/env/index.ts";
import { builtProgram } from "../support/built.ts";
import { ROOT } from "../support/imports.ts";
import { actionsOf, endOf, makeWorlds, WATCHED } from "../support/invariance.ts";

const STEPS = 24;
const directory = mkdtempSync(join(tmpdir(), "corral-invariance-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const call = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ kind: "step" as const, count: 1 }) },
  { weight: 2, arbitrary: fc.constant({ kind: "unread" as const, count: 1 }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("group" as const), count: fc.integer({ min: 1, max: 7 }) }) },
  ...(["snapshot", "seek", "look", "fork", "elsewhere"] as const).map((kind) => ({
    weight: 1,
    arbitrary: fc.constant({ kind, count: 0 }),
  })),
);
const schedule = fc.record({
  // any number of others, in any order
  worldIds: fc
    .uniqueArray(fc.integer({ min: 100, max: 9999 }), { maxLength: 40 })
    .chain((others) => fc.shuffledSubarray([...others, ...WATCHED], { minLength: others.length + WATCHED.length })),
  shards: fc.integer({ min: 1, max: 3 }),
  recorder: fc.constantFrom(true, false, { everySteps: 3, keep: 2 }, { worlds: [0, 2], everySteps: 5 }),
  monitor: fc.constantFrom(undefined, { worlds: [0, 2], everySteps: 7 }),
  calls: fc.array(call, { minLength: 4, maxLength: 30 }),
});

describe.each(["cpu", "gpu"] as const)("on the %s", (where) => {
  const on = where === "cpu" ? { device: "cpu" as const } : {};
  let wanted: string;
  let holder: VectorEnv;
  beforeAll(async () => {
    // keeps the device and its compiled kernels
    holder = await makeWorlds({ worldIds: WATCHED, ...on });
    await using env = await makeWorlds({ worldIds: WATCHED, ...on });
    await env.reset();
    wanted = await endOf(env, STEPS);
  });
  afterAll(() => holder?.close());

  test("any schedule ends in the same bits", async () => {
    const property = fc.asyncProperty(schedule, async ({ worldIds, shards, recorder, monitor, calls }) => {
      const options = { worldIds, recorder, shards: Math.min(shards, Math.ceil(worldIds.length / 8)), ...on };
      let env = await makeWorlds({ ...options, ...(monitor ? { monitor } : {}) });
      try {
        await env.reset();
        const actions = actionsOf(env);
        for (const { kind, count } of calls) {
          // one step is kept for the end: observations are those of the last step that was read
          const left = STEPS - 1 - env.steps;
          if (kind === "fork") {
            const fork = await env.fork(worldIds);
            await env.close();
            env = fork;
          } else if (kind === "elsewhere") {
            env = await env.restoreOn(on.device, await env.snapshot());
          } else if (kind === "snapshot") await env.restore(await env.snapshot());
          else if (kind === "look") env.health();
          else if (kind === "seek") await env.seek(env.steps).catch(() => {});
          else if (left === 0) continue;
          else if (kind === "step") await env.step(actions);
          else if (kind === "unread" || !env.gpu) await env.step(actions, { readback: false });
          else {
            // the actions of the step before are still there
            await env.step(actions, { readback: false });
            await env.stepOnDevice((_, step) => {
              for (let k = 1; k < Math.min(count, left); k++) step();
            });
          }
        }
        expect(await endOf(env, STEPS - env.steps)).toBe(wanted);
      } finally {
        await env.close();
      }
    });
    await fc.assert(property, { numRuns: process.env.CORRAL_FULL === "1" ? 200 : 12 });
  });

  test("a snapshot goes on in another process", async () => {
    await using env = await makeWorlds({ worldIds: WATCHED, ...on });
    await env.reset();
    for (let t = 0; t < 10; t++) await env.step(actionsOf(env));
    const file = join(directory, `${where}.bin`);
    writeFileSync(file, serialize(await env.snapshot()));
    const program = await builtProgram(fileURLToPath(new URL("../support/go-on.ts", import.meta.url)));
    const args = [program, file, where, String(STEPS - 10)];
    const stdio = ["ignore", "pipe", "ignore"] as ["ignore", "pipe", "ignore"];
    expect(execFileSync(process.execPath, args, { cwd: ROOT, encoding: "utf8", stdio }).trim()).toBe(wanted);
  });
});
