import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { planVec } from "../../../src/env/index.ts";
import type { Bench } from "../../../src/bench/report.ts";
import { corralInside as corral } from "../../support/cli-inside.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "corral-test-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

// forms and exit codes only: times are nobody's business here
const QUICK = ["--seconds", "0.02", "--repetitions", "2", "--workers", "1", "--device", "cpu"];
const positive = expect.toSatisfy((x: number) => Number.isFinite(x) && x > 0);
const range = { min: positive, max: positive };

describe("corral bench", () => {
  test("prints one JSON document of the promised form, and writes it where it is told", async () => {
    const { code, stdout, stderr } = await corral([
      "bench",
      "CartPole",
      "--envs",
      "4,8",
      ...QUICK,
      "--json",
      "--out",
      folder,
    ]);
    expect(code, stderr).toBe(0);
    const found = JSON.parse(stdout) as Bench;
    const { bytesPerWorld: bytesPerEnv } = await planVec("CartPole", { numEnvs: 4, device: "cpu" });
    const row = {
      physicsStepsPerSec: positive,
      envStepsPerSec: positive,
      firstStepMs: positive,
      physicsRange: range,
      envRange: range,
    };
    expect(found).toMatchObject({
      name: "CartPole",
      rows: [
        { numEnvs: 4, bytesPerEnv, compiled: false, ...row },
        { numEnvs: 8, bytesPerEnv, compiled: true, ...row },
      ],
      growth: { peak: expect.toBeOneOf([4, 8]), kept: positive },
      // JavaScript holds numbers of 8 bytes
      bytes: expect.arrayContaining([{ arena: "obs", name: "obs", bytesPerWorld: 32 }]),
      jax: { absent: expect.stringContaining("NVIDIA") },
      mujoco: {
        workers1: { workers: 1, physicsStepsPerSec: positive, envStepsPerSec: positive },
        workersN: { workers: 1, physicsStepsPerSec: positive },
      },
      ratio: {
        workers1: positive,
        workersN: positive,
        workers1Min: positive,
        workersNMin: positive,
        perCpuSecond: positive,
      },
      machine: { cores: positive, memory: positive, node: process.version },
      settings: { frameSkip: 1, repetitions: 2, seconds: 0.02 },
    });
    expect(found.adapter).toMatch(/^cpu/);
    const [machine] = readdirSync(folder);
    expect(machine).toMatch(/^[a-z0-9-]+$/);
    expect(JSON.parse(readFileSync(join(folder, machine, "CartPole.json"), "utf8"))).toEqual(found);

    const again = await corral(["bench", "--report", join(folder, machine)]);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining("CartPole")]);
    expect(readFileSync(join(folder, machine, "environments.md"), "utf8")).toContain("| CartPole |");
    expect(readFileSync(join(folder, machine, "report.html"), "utf8")).toContain("<h2>CartPole</h2>");
  });

  test("writes a page that needs nothing else, with a chart and the numbers of every batch", async () => {
    const file = join(folder, "report.html");
    const args = [
      "bench",
      "CartPole",
      "--envs",
      "4,8",
      ...QUICK,
      "--html",
      file,
      "--python",
      join(folder, "no-python"),
    ];
    const { code, stdout, stderr } = await corral(args);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("native MuJoCo not measured: ");
    const html = readFileSync(file, "utf8");
    expect(html).toContain("<h2>CartPole</h2>");
    expect(html.match(/<svg /g)).toHaveLength(2);
    expect(html).toContain("prefers-color-scheme:dark");
    expect(html).not.toMatch(/(src|href)=|NaN|undefined/);
  });

  test("swings what has a range, and says where nothing has", async () => {
    const swing = ["--motion", "swing", "--envs", "4", ...QUICK];
    const { code, stdout, stderr } = await corral(["bench", "InvertedPendulum-v5", ...swing]);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("swing controls");
    expect((await corral(["bench", "CartPole", ...swing])).stderr).toContain("cannot swing");
  });

  test("goes on in larger batches from worlds that have models and memories of their own", async () => {
    const { code, stderr } = await corral(["bench", "QuadrupedVelocity", "--envs", "2,4", ...QUICK]);
    expect(code, stderr).toBe(0);
  });

  test("times the loop from the host", async () => {
    const { code, stdout, stderr } = await corral(["bench", "--loop", "--envs", "1,4", ...QUICK, "--json"]);
    expect(code, stderr).toBe(0);
    const row = { host: positive, unread: positive, device: null, grouped: null };
    expect(JSON.parse(stdout)).toMatchObject({
      rows: [
        { numEnvs: 1, ...row },
        { numEnvs: 4, ...row },
      ],
    });
  });

  test("measures a model that has no task, no control and no sensor", async () => {
    const { code, stdout, stderr } = await corral(["bench", "test/models/joint_ball.xml", "--envs", "4", ...QUICK]);
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/^ {2}4 worlds +[\d,.]+ /m);
    expect(stdout).toMatch(/^ {2}MuJoCo WASM, 1 worker /m);
  });

  test.each([
    [["bench", "CartPole", "--envs", "256,none"], "--envs is 'none'"],
    [["bench", "CartPole", "--envs", "8,8"], "pass each count once"],
    [["bench", "CartPole", "--seconds", "0"], "--seconds is '0'"],
    [["bench", "--report", "test"], "holds no result"],
    [["bench", "--report", "package.json"], "is no folder"],
    [["bench", "CartPole", "--motion", "walk"], "--motion is 'walk'"],
    [["bench", "CartPole", "--set", "speed=2", "--device", "cpu"], "[unknown-option]"],
    [["bench", "Cheetah"], "[unknown-env]"],
    [["bench", "missing.xml"], "[missing-file]"],
    [["bench", "test/models/joint_ball.xml", "CartPole"], "one argument too many"],
  ])("%j is bad usage", async (args, text) => {
    const { code, stdout, stderr } = await corral(args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(text);
  });
});
