// crashes planted in a few of 4,096 worlds: recorded, executed again to the bit, explained; and no other world notices
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeVec, type VectorEnv } from "../../src/env/index.ts";
import { bisect } from "../../src/crash/bisect.ts";
import { replay } from "../../src/crash/replay.ts";
import { crashScene } from "../../src/crash/scene.ts";
import { secondOpinion } from "../../src/crash/second-opinion.ts";
import { readBundle } from "../../src/record/read-bundle.ts";
import "../../envs/index.ts";
import { plantedAt, PLANTS, runPlant } from "../support/crashes.ts";

const directory = mkdtempSync(join(tmpdir(), "corral-crashes-"));
const N = 4096;

describe.each(PLANTS.map((plant, i) => ({ i, name: plant.name })))("$name", ({ i }) => {
  const plant = PLANTS[i];
  let holder: VectorEnv;
  let path: string;
  let worlds = [17, 1734, 4001];
  beforeAll(async () => {
    // keeps the device and its compiled kernels
    holder = await makeVec("CartPole", { numEnvs: 1 });
    worlds = (await plant.worlds?.({ numEnvs: N, seed: 1 })) ?? worlds;
  });
  afterAll(() => holder?.close());

  test("is recorded, and the other worlds are as without it", async () => {
    const options = { numEnvs: N, recorder: { directory } };
    const crashed = await runPlant(i, worlds, true, options);
    const twin = await runPlant(i, worlds, false, options);
    expect(twin.health.failures).toBe(0);
    expect(crashed.others).toBe(twin.others);
    expect(worlds).toHaveLength(3);
    const { ids, first } = crashed.health.byStatus[plant.status];
    expect(ids).toEqual(worlds);
    expect(first.step).toBeGreaterThanOrEqual(plant.plant || plant.action ? plantedAt(i) : 1);
    [path] = crashed.health.bundles;
    expect(readBundle(path).about.tripped.map(({ id }) => id)).toEqual(worlds);
  });

  test("is executed again to the bit", async () => {
    const report = await replay(readBundle(path));
    expect(report).toMatchObject({ identical: true, differences: [], drift: {} });
    expect(report.steps).toBeGreaterThan(0);
  });

  test("is explained", async () => {
    const bundle = readBundle(path);
    const found = await bisect(bundle, {}, worlds[1]);
    expect(found.id).toBe(worlds[1]);
    expect(found.status).toContain(plant.status);
    expect(found.step).toBe(bundle.about.tripped[1].step);
    expect(found.blame?.stage).toMatch(plant.stage);
    expect(found.blame?.field).toMatch(plant.field);
    expect(found.causes[0]?.name).toBe(plant.cause);
    expect(found.agrees).toBe(true);
    const opinion = await secondOpinion(await crashScene(bundle, {}, worlds[1]), found);
    expect(opinion.verdict).toBe(plant.verdict);
  });
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));
