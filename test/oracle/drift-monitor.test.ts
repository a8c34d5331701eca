/** Worlds of a batch beside MuJoCo, now and then; and bundles of worlds that drift. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import "../../envs/index.ts";
import { makeVec } from "../../src/env/index.ts";
import { DriftMonitor } from "../../src/forensics/drift_monitor.ts";
import { replay } from "../../src/forensics/replay.ts";
import { readBundle } from "../../src/record/bundle.ts";
import { codeOf } from "../support/lives.ts";

const directory = mkdtempSync(join(tmpdir(), "corral-drift-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const make = () => makeVec("Hopper-v5", { numEnvs: 6, seed: 1, device: "cpu", recorder: { directory } });

test("stays within the bounds of single steps, and sees every world that it is asked to", async () => {
  await using env = await make();
  using monitor = await DriftMonitor.create(env, { worlds: [0, 4], everySteps: 5 });
  await env.reset();
  for (let t = 0; t < 20; t++) await monitor.step(env.actionSpace.sample(2, { draw: t }));
  const { samples, worst } = monitor.report();
  expect(samples.map(({ step }) => step)).toEqual([1, 1, 6, 6, 11, 11, 16, 16]);
  expect(samples.every(({ ok }) => ok)).toBe(true);
  expect(worst!.qvel).toBeGreaterThan(0);
  expect(env.health().bundles).toEqual([]);
});

test("beyond a threshold it writes a bundle, which is executed again to the bit", async () => {
  await using env = await make();
  using monitor = await DriftMonitor.create(env, { worlds: [3], everySteps: 4, threshold: 1e-12 });
  await env.reset();
  for (let t = 0; t < 5; t++) await monitor.step(env.actionSpace.sample(2, { draw: t }));
  const { bundle } = monitor.report().samples[0];
  const read = readBundle(bundle!);
  expect(read.about.tripped).toMatchObject([{ world: 3, names: ["drift"] }]);
  expect(await replay(read)).toMatchObject({ identical: true });
});

test("refuses what cannot be", async () => {
  await using env = await make();
  const code = (options: object) => DriftMonitor.create(env, { worlds: [0], ...options }).then(() => "made", codeOf);
  expect(await code({ worlds: [] })).toBe("bad-world");
  expect(await code({ worlds: [6] })).toBe("bad-world");
  expect(await code({ everySteps: 0 })).toBe("bad-option");
  expect(await code({ threshold: 0 })).toBe("bad-option");
  expect(await env.record([9], "why").catch(codeOf)).toBe("bad-world");
});
