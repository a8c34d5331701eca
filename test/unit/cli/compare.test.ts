import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Comparison } from "../../../src/compare/compare.ts";
import { corral as corralProcess } from "../../support/cli.ts";
import { corralInside as corral } from "../../support/cli-inside.ts";
import { softwareAdapters } from "../../support/software-adapters.ts";

const [adapter] = await softwareAdapters();

const PENDULUM = "envs/inverted_pendulum/model.xml";
const UNSUPPORTED = `
<mujoco>
  <option><flag nativeccd="disable"/></option>
  <worldbody>
    <body><freejoint/><geom type="ellipsoid" size="0.1 0.2 0.3"/></body>
    <body pos="0 0 1"><joint name="ball" type="ball"/><geom type="sphere" size="0.1"/></body>
  </worldbody>
  <actuator><orientation name="own" joint="ball" kp="1"/></actuator>
</mujoco>`;
// pulled apart ever faster: MuJoCo itself gives up after some steps
const DIVERGES = `
<mujoco>
  <option timestep="0.01"/>
  <worldbody><body><joint type="slide" stiffness="-1e6"/><geom size="0.1" mass="1"/></body></worldbody>
</mujoco>`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "corral-test-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function modelFile(name: string, xml: string): string {
  const file = join(folder, name);
  writeFileSync(file, xml);
  return file;
}

const spread = { median: expect.any(Number), p99: expect.any(Number), max: expect.any(Number) };

describe("corral compare", () => {
  test("prints one JSON document of the promised form, and 0 where a model agrees", async () => {
    const { code, stdout, stderr } = await corral([
      "compare",
      PENDULUM,
      "--steps",
      "10",
      "--envs",
      "2",
      "--seed",
      "3",
      "--device",
      "cpu",
      "--json",
    ]);
    expect(code, stderr).toBe(0);
    const found = JSON.parse(stdout) as Comparison;
    expect(found).toMatchObject({
      model: PENDULUM,
      arithmetic: "float32",
      steps: 10,
      envs: 2,
      seed: 3,
      oneStep: { qpos: spread, qvel: spread, qacc: spread },
      contacts: { equal: 20, touching: 0, total: 20 },
      rows: { equal: 20, touching: 0, total: 20 },
      diverged: [],
      unsupported: [],
      verdict: { passed: true, reasons: [] },
    });
    expect(found.adapter).toMatch(/^cpu/);
    expect(found.rollout).toBeUndefined();
  });

  test.skipIf(!adapter)("nothing but the document reaches stdout, whatever drivers say", async () => {
    const args = ["compare", "CartPole", "--steps", "3", "--json", "--adapter", adapter];
    const { code, stdout, stderr } = await corralProcess(args);
    expect(code, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ model: "CartPole", contacts: { total: 12 } });
  });

  test("prints tables for people, free-running drift where it is asked for, on float64 too", async () => {
    const args = ["compare", PENDULUM, "--steps", "12", "--envs", "2", "--rollout", "--rolled", "--device", "cpu-f64"];
    const { code, stdout } = await corral([...args, "--set", "timestep=0.005", "--set", "gravity=0,0,-1.6"]);
    expect(code).toBe(0);
    for (const part of [
      "24 single steps of 2 worlds",
      "median",
      "contacts  equal in 24 of 24",
      "Running freely",
      "within the bounds",
    ]) {
      expect(stdout).toContain(part);
    }
    expect(stdout).toMatch(/^ {2}12 +2 /m);
  });

  // straight-line code of such a heap takes minutes
  test("takes the kernels that a model has by default: a heap of boxes in float64", async () => {
    const box = (i: number) =>
      `<body pos="${(i % 3) * 0.21} ${(Math.floor(i / 3) % 3) * 0.21} ${0.1 + 0.2 * Math.floor(i / 9)}"><freejoint/><geom type="box" size="0.1 0.1 0.1"/></body>`;
    const boxes = Array.from({ length: 30 }, (_, i) => box(i)).join("");
    const file = modelFile(
      "heap.xml",
      `<mujoco><worldbody><geom type="plane" size="5 5 0.1"/>${boxes}</worldbody></mujoco>`,
    );
    const { code, stdout } = await corral(["compare", file, "--steps", "1", "--envs", "1", "--device", "cpu-f64"]);
    expect(code, stdout).toBe(0);
    expect(stdout).toContain("contacts  equal in 1 of 1 steps");
  });

  test("a refused model is exit code 1, with all its features and who uses them", async () => {
    const file = modelFile("unsupported.xml", UNSUPPORTED);
    const human = await corral(["compare", file]);
    expect(human.code).toBe(1);
    expect(human.stdout).toMatch(/corral does not simulate\n/);
    expect(human.stdout).toMatch(/^ {2}actuator gaintype so3: actuator "own"$/m);
    expect(human.stdout).toMatch(/^ {2}disable flag nativeccd with .*ellipsoid: geom \d with geom \d$/m);
    const json = await corral(["compare", file, "--json"]);
    expect(json.code).toBe(1);
    const found = JSON.parse(json.stdout) as Comparison;
    expect(found.unsupported).toContain("actuator gaintype so3");
    expect(found.unsupported.some((feature) => feature.includes("ellipsoid"))).toBe(true);
    expect(found).toMatchObject({ adapter: null, oneStep: {}, contacts: { equal: 0, total: 0 } });
  });

  test("says where MuJoCo itself diverges, and compares the rest", async () => {
    const args = [
      "compare",
      modelFile("diverges.xml", DIVERGES),
      "--steps",
      "40",
      "--envs",
      "1",
      "--device",
      "cpu-f64",
    ];
    const { stdout } = await corral([...args, "--json"]);
    const { diverged, contacts } = JSON.parse(stdout) as Comparison;
    expect(diverged.length).toBeGreaterThan(0);
    expect(diverged[0]).toMatchObject({ env: 0, step: expect.any(Number), field: expect.stringMatching(/^q/) });
    expect(contacts.total).toBeGreaterThan(0);
    expect(contacts.total + diverged.reduce((sum, { left }) => sum + left, 0)).toBe(40);
    expect((await corral(args)).stdout).toMatch(
      /MuJoCo itself diverged \d+ times, first in q\w+ at step \d+ of world 0/,
    );
  });

  test.each([
    [["compare"], "[usage] MODEL_OR_ENV is missing. See --help."],
    [["compare", "a.xml", "b.xml"], "'b.xml' is one argument too many"],
    [["compare", PENDULUM, "--steps", "0"], "--steps is '0': pass an integer of at least 1."],
    [["compare", PENDULUM, "--envs", "two"], "--envs is 'two'"],
    [["compare", PENDULUM, "--seed", "-1"], "--seed"],
    [["compare", PENDULUM, "--device", "tpu"], "--device is 'tpu': pass auto, gpu, wasm, cpu, cpu-f64"],
    [["compare", PENDULUM, "--adapter", "vulkan", "--steps", "1"], "[adapter-unknown]"],
    [["compare", PENDULUM, "--set", "timestep"], "--set is 'timestep': pass NAME=VALUE"],
    [["compare", PENDULUM, "--set", "timestep=0"], "[bad-option]"],
    [["compare", PENDULUM, "--set", "time_step=0.1"], "nearest: timestep"],
    [["compare", "nothing/here.xml"], "[missing-file]"],
    [["compare", "nothing.zip"], "[missing-file]"],
    [["compare", "Ant-v6"], "nearest: Ant-v5"],
    [["compare", PENDULUM, "--bogus"], "Unknown option '--bogus'"],
  ])("%j is bad usage", async (args, text) => {
    const { code, stdout, stderr } = await corral(args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(text);
  });
});
