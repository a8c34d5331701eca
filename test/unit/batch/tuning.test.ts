import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import "../../../envs/index.ts";
import { makeVec } from "../../../src/env/index.ts";
import { loadModel, withOptions } from "../../../src/model/model.ts";
import { shareDevice } from "../../../src/gpu/index.ts";
import { taskOf } from "../../../src/env/registry.ts";
import type { Tuned } from "../../../src/sizing/tune.ts";
import { readTuning, writeTuning, type Tuning } from "../../../src/batch/kernel/tuning.ts";
import { corralInside as corral } from "../../support/cli-inside.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "corral-test-"));
  vi.stubEnv("XDG_CACHE_HOME", folder);
});
afterEach(() => {
  vi.unstubAllEnvs();
  chmodSync(folder, 0o700);
  rmSync(folder, { recursive: true, force: true });
});

const rolled: Tuning = { unroll: false, workgroupSize: 64, privateArrays: "merged", cut: true };
const straight: Tuning = { unroll: true, workgroupSize: 32, privateArrays: "separate", cut: false };
const model = () => loadModel("test/models/joint_ball.xml");

describe("the cache of tuning", () => {
  test("keeps a choice by model, options and driver", async () => {
    const m = await model();
    expect(readTuning(m, "driver 1")).toBeUndefined();
    expect(writeTuning(m, "driver 1", rolled)).toContain(folder);
    expect(readTuning(m, "driver 1")).toEqual(rolled);
    expect(readTuning(await model(), "driver 1")).toEqual(rolled);
    expect(readTuning(m, "driver 2")).toBeUndefined();
    expect(readTuning(withOptions(m, { timestep: 0.001 }), "driver 1")).toBeUndefined();
    expect(readTuning(await loadModel("test/models/stack.xml"), "driver 1")).toBeUndefined();
  });

  test("keeps how many values may live at once", async () => {
    const m = await model();
    const fewer = { ...rolled, mostLive: 200 };
    const file = writeTuning(m, "driver", fewer)!;
    expect(readTuning(m, "driver")).toEqual(fewer);
    for (const mostLive of [15, 65_537, 200.5, "200"]) {
      writeFileSync(file, JSON.stringify({ ...rolled, mostLive }));
      expect(readTuning(m, "driver")).toBeUndefined();
    }
  });

  test.each([
    "",
    "{",
    "null",
    "[1]",
    '{"unroll":1}',
    '{"unroll":true}',
    '{"unroll":true,"workgroupSize":33,"privateArrays":"merged"}',
    '{"unroll":true,"workgroupSize":32}',
    '{"unroll":true,"workgroupSize":32,"privateArrays":"merged"}',
    "\u0000",
  ])("is empty where a file holds %j", async (text) => {
    const m = await model();
    writeFileSync(writeTuning(m, "driver", rolled)!, text);
    expect(readTuning(m, "driver")).toBeUndefined();
    expect(writeTuning(m, "driver", straight)).toBeDefined();
    expect(readTuning(m, "driver")).toEqual(straight);
  });

  test("never fails where it cannot be written", async () => {
    const m = await model();
    // a file if a folder is needed stops root too
    const [made] = readdirSync(join(writeTuning(m, "driver", rolled)!, "..", ".."));
    rmSync(join(folder, "corral", made), { recursive: true });
    writeFileSync(join(folder, "corral", made), "");
    expect(writeTuning(m, "driver", straight)).toBeUndefined();
    expect(readTuning(m, "driver")).toBeUndefined();
  });
});

describe("corral tune", () => {
  test("measures forms and workgroups and keeps one", async () => {
    const file = join(folder, "tiny.xml");
    const body = '<body><joint type="slide"/><geom size=".1"/></body>';
    writeFileSync(file, `<mujoco model="tiny"><worldbody>${body}</worldbody></mujoco>`);
    const args = ["tune", file, "--envs", "8", "--seconds", "0.02", "--repetitions", "1", "--json"];
    const { code, stdout, stderr } = await corral(args);
    expect(code, stderr).toBe(0);
    const positive = expect.toSatisfy((x: number) => Number.isFinite(x) && x > 0);
    const row = { physicsStepsPerSec: positive, firstStepMs: positive };
    const found = JSON.parse(stdout) as Tuned;
    const others = [{ unroll: false }, { privateArrays: expect.stringMatching(/merged|separate/) }];
    const forms = [straight, ...others].map((form) => ({ ...form, ...row }));
    const sizes = [8, 64, 128].map((workgroupSize) => ({ workgroupSize, ...row, ratio: positive }));
    const rows = [...forms, ...sizes];
    expect(found).toMatchObject({ name: "tiny", rows, byDefault: straight, file: expect.stringContaining(folder) });
    expect(readTuning(await loadModel(file), found.adapter)).toEqual(found.chosen);
  });

  test("on a GPU it measures pieces, values that live at once, and room for the contacts that there are", async () => {
    const file = join(folder, "tiny.xml");
    const feet = [0, 1].map((x) => `<geom size=".1" pos="${x} 0 0"/>`).join("");
    const floor = '<geom type="plane" size="9 9 1" pos="0 0 -9"/>';
    const still = `<option gravity="0 0 0"/>`;
    writeFileSync(
      file,
      `<mujoco>${still}<worldbody>${floor}<body><joint type="slide"/>${feet}</body></worldbody></mujoco>`,
    );
    // the device that the command shares, which says to be a GPU
    const lease = await shareDevice();
    const { gpu } = lease;
    const { info } = gpu;
    Object.defineProperty(gpu, "info", { value: { ...info, kind: "gpu", subgroupMaxSize: 64 }, configurable: true });
    try {
      const args = ["tune", file, "--envs", "8", "--seconds", "0.02", "--repetitions", "1", "--json"];
      const { code, stdout, stderr } = await corral(args);
      expect(code, stderr).toBe(0);
      const found = JSON.parse(stdout) as Tuned;
      const merged = { unroll: true, workgroupSize: 64, privateArrays: "merged", cut: false, mostLive: 270 };
      expect(found.byDefault).toEqual(merged);
      const [usual, loops, apart, pieces, fewer, all, ...sizes] = found.rows;
      expect([usual, loops, apart]).toMatchObject([merged, { unroll: false }, { privateArrays: "separate" }]);
      expect([pieces, fewer, all]).toMatchObject([{ cut: true }, { mostLive: 200 }, { mostLive: 65_536 }]);
      expect(sizes.map(({ workgroupSize }) => workgroupSize).slice(0, 3)).toEqual([32, 128, 256]);
      const ratio = expect.toSatisfy((x: number) => x > 0);
      expect(found.contacts).toEqual({ nconmax: 1, bound: 2, most: 0, ratio });
      expect(readTuning(await loadModel(file), found.adapter)).toEqual(found.chosen);
    } finally {
      Object.defineProperty(gpu, "info", { value: info, configurable: true });
      lease.release();
    }
  });

  test("tuned: true takes what was kept, unless the form is given", async () => {
    // compiles and runs nothing
    const lease = await shareDevice("null");
    const model = await loadModel(taskOf("InvertedPendulum-v5").model);
    const kernel = async (options: object) => {
      await using env = await makeVec("InvertedPendulum-v5", { numEnvs: 8, adapter: "null", ...options });
      return env.kernels.get("step")!.code;
    };
    const usual = await kernel({});
    expect((await kernel({ tuned: true })) === usual).toBe(true);
    for (const form of [straight, rolled, { ...rolled, mostLive: 16 }]) {
      writeTuning(model, lease.gpu.info.driver, form);
      expect((await kernel({ tuned: true })) === (await kernel(form))).toBe(true);
    }
    expect(await kernel({ tuned: true, workgroupSize: 16 })).toContain("@workgroup_size(16)");
    expect((await kernel({ tuned: true, unroll: true })) === usual).toBe(true);
    expect(await kernel({ tuned: true, privateArrays: "merged" })).toContain("private_memory");
    expect((await kernel({ tuned: false })) === usual).toBe(true);
    await expect(kernel({ tuned: "yes" })).rejects.toMatchObject({ code: "bad-option" });
    await expect(kernel({ workgroupSize: 33 })).rejects.toMatchObject({ code: "bad-option" });
    lease.release();
  });

  test.each([
    [["tune"], "is missing"],
    [["tune", "CartPole", "--envs", "0"], "--envs is '0'"],
    [["tune", "CartPole", "--threads", "2"], "--threads is of wasm, where there is nothing to tune"],
  ])("%j is bad usage", async (args, text) => {
    const { code, stderr } = await corral(args);
    expect(code).toBe(2);
    expect(stderr).toContain(text);
  });
});
