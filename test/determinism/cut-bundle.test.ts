// bundles of a step that ran in pieces: replayed in the same pieces on an adapter, whole elsewhere, and nonsense refused
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { GpuBatch } from "../../src/batch/gpu-batch.ts";
import { bisect } from "../../src/crash/bisect.ts";
import { Reexecution, type ReexecuteOptions } from "../../src/crash/reexecute.ts";
import { executed, replay } from "../../src/crash/replay.ts";
import { makeVec, type VectorEnv } from "../../src/env/index.ts";
import { readBundle } from "../../src/record/read-bundle.ts";
import { craft, type CraftedParts } from "../support/crafted-bundle.ts";
import "../../envs/index.ts";

const root = mkdtempSync(join(tmpdir(), "corral-cut-bundle-"));
const ID = "InvertedDoublePendulum-v5";
let good: string;
/** Keeps the device and its compiled kernels. */
let env: VectorEnv;
let made = 0;

beforeAll(async () => {
  const recorder = { directory: join(root, "good") };
  env = await makeVec(ID, { numEnvs: 4, cut: true, recorder });
  expect(env.cuts.has("step")).toBe(true);
  await env.reset();
  for (let t = 0; t < 6; t++) {
    if (t === 4) await env.setState({ qvel: [1e9, -1e9, 1e9] }, [2]);
    await env.step(env.actionSpace.sample(3, { draw: t, worldIds: env.worldIds }));
  }
  [good] = env.health().bundles;
});
afterAll(async () => {
  await env?.close();
  rmSync(root, { recursive: true, force: true });
});

const crafted = (change: (parts: CraftedParts) => void): string => craft(good, join(root, `crafted-${made++}`), change);

/** Replays, and tells the pipelines of each control step that was made. */
async function dispatched(path: string, options: ReexecuteOptions = {}) {
  await using run = await Reexecution.create(readBundle(path), options);
  const batch = run.batch as GpuBatch;
  const submit = batch.submit.bind(batch);
  const steps: string[][] = [];
  vi.spyOn(batch, "submit").mockImplementation((what, encode, times) =>
    submit(
      what,
      (pass, dispatch) => {
        const set = vi.spyOn(pass, "setPipeline");
        encode(pass, dispatch);
        steps.push(set.mock.calls.map(([{ label }]) => label));
      },
      times,
    ),
  );
  return { report: await executed(run), steps };
}

describe("a bundle of a step in pieces", () => {
  test("is replayed in them, to the bit", async () => {
    const { cut, about } = readBundle(good);
    expect(about.batch.cut!.stages).toEqual(cut!.marks);
    const { report, steps } = await dispatched(good);
    expect(report).toMatchObject({ identical: true, differences: [], drift: {} });
    expect(steps).toHaveLength(report.steps);
    for (const labels of steps)
      expect(new Set(labels)).toEqual(new Set(cut!.pieces.map(({ name }) => `${about.batch.name}.${name}`)));
    expect(await replay(readBundle(good), { recordedKernel: true })).toMatchObject({ identical: true });
  });

  test("is executed whole elsewhere", async () => {
    await using run = await Reexecution.create(readBundle(good), { device: "wasm" });
    expect(run.batch.planned.cuts.size).toBe(0);
    expect((await executed(run)).steps).toBeGreaterThan(0);
    const found = await bisect(readBundle(good), { device: "cpu" });
    expect(found.id).toBe(2);
  });

  test("is replayed whole without the places, as older ones are", async () => {
    const { report, steps } = await dispatched(crafted(({ about }) => delete about.batch.cut));
    expect(report).toMatchObject({ identical: true, differences: [] });
    expect(new Set(steps.flat())).toEqual(new Set([`${readBundle(good).about.batch.name}.step`]));
  });

  test("is cut where it was and not where it would be now, and says that pieces are others", async () => {
    const path = crafted(({ about }) => (about.batch.cut.stages = ["make_constraint"]));
    const { report, steps } = await dispatched(path);
    expect(report.identical).toBe(true);
    expect(report.differences.map(({ what }) => what)).toEqual(["pieces"]);
    expect(steps[0].length).toBeGreaterThan(1);
    await expect(replay(readBundle(path), { recordedKernel: true })).rejects.toThrow(/^\[bad-option\] .* in pieces/);
  });
});

describe("places that are none", () => {
  const cut = (stages: unknown) => (parts: CraftedParts) => (parts.about.batch.cut.stages = stages);
  const body = ({ program }: CraftedParts) => program.body;
  const plants: readonly [string, (parts: CraftedParts) => void][] = [
    ["no stages", cut([])],
    ["a number", cut([3])],
    ["a word for a list", cut("solver")],
    ["a stage that its program has not", cut(["solver", "lunch"])],
    ["a name of every object", cut(["constructor"])],
    ["the same twice", cut(["solver", "solver"])],
    ["a thousand", cut(Array.from({ length: 1000 }, (_, i) => `s${i}`))],
    ["pieces that are no hash", ({ about }) => (about.batch.cut.pieces = "x")],
    ["no pieces", ({ about }) => delete about.batch.cut.pieces],
    ["a word that no manifest has", ({ about }) => (about.batch.cut.turns = [0, 1])],
    ["a stage that is there twice", (p) => body(p).push(["stage", "solver"])],
    [
      "a stage in a branch",
      (p) => {
        const condition = JSON.stringify(body(p)).match(/\["when",(\[\d+\])/)![1];
        cut(["inner"])(p);
        const at = body(p).findIndex((s: unknown[]) => s[0] === "when" && JSON.stringify(s[1]) === condition);
        body(p)[at][2].push(["stage", "inner"]);
      },
    ],
    [
      "a loop whose turns the host cannot count",
      (p) => {
        const loop = body(p).findIndex((s: unknown[]) => s[0] === "loop");
        body(p).splice(loop, 0, ["let", 1e5, "world", "i32", [], 0, 0]);
        body(p)[loop + 1][3] = [1e5];
      },
    ],
    [
      "a kernel of no adapter",
      (p) => {
        Object.assign(p.about.device, { precision: "f32", adapter: null });
        // so that the kernel's hash is that of the program, as on the CPU
        delete p.wgsl;
      },
    ],
  ];
  test.each(plants)("%s", (_, plant) => {
    expect(() => readBundle(crafted(plant))).toThrow(/^\[bundle-corrupt\]/);
  });

  test("are told by name", () => {
    const message = /its kernel is cut at "lunch", where its program cannot be/;
    expect(() => readBundle(crafted(cut(["lunch"])))).toThrow(message);
    expect(() => readBundle(crafted(plants.at(-1)![1]))).toThrow(/its kernel is cut, and ran on no adapter/);
  });

  test("dispatches without end are given up before the first", async () => {
    await using run = await Reexecution.create(readBundle(good));
    run.batch.setParam("nstep", 2 ** 31 - 1);
    const [segment] = run.bundle.recording.segments;
    await expect(run.step(segment, 0)).rejects.toThrow(/^\[replay-endless\] .* dispatches/);
  });
});
