import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { EnvSummary } from "../../../src/env/describe.ts";
import type { Inspection } from "../../../src/batch/kernel/inspect.ts";
import type { Plan } from "../../../src/memory/index.ts";
import { tasks } from "../../../envs/index.ts";
import { list } from "../../../src/env/registry.ts";
import { corralInside as corral } from "../../support/cli-inside.ts";

const IDS = tasks.map(({ id }) => id).sort();

describe("corral list", () => {
  test("names every environment with its spaces, time step and bytes", async () => {
    const { code, stdout } = await corral(["list", "--json"]);
    expect(code).toBe(0);
    const { environments } = JSON.parse(stdout) as { environments: EnvSummary[] };
    // other files of this process have registered theirs
    expect(environments.map(({ id }) => id)).toEqual(list());
    expect(list()).toEqual(expect.arrayContaining(IDS));
    for (const e of environments) {
      expect(e.bytesPerEnv % 16).toBe(0);
      expect(e.dt).toBeCloseTo(e.frameSkip * e.timestep, 12);
      expect(e.observation.reduce((sum, { size }) => sum + size, 0)).toBeGreaterThan(0);
    }
    const { stdout: text } = await corral(["list"]);
    for (const id of IDS) expect(text).toMatch(new RegExp(`^ {2}${id} .* (\\d+ B|[\\d.]+ KiB)$`, "m"));
  });
});

describe("corral plan", () => {
  test("plans an environment without a device", async () => {
    const { code, stdout } = await corral(["plan", "CartPole", "--envs", "64", "--json"]);
    expect(code).toBe(0);
    const plan = JSON.parse(stdout) as Plan;
    expect(plan).toMatchObject({ name: "CartPole", numEnvs: 64, problems: [], budget: null });
    expect(plan.fields.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(plan.totalBytes);
  });

  test("says that a scene of many geoms takes a while", async () => {
    const folder = mkdtempSync(join(tmpdir(), "corral-plan-"));
    const geoms = Array.from(
      { length: 600 },
      (_, i) => `<geom size="0.1" pos="${i} 0 0" contype="0" conaffinity="0"/>`,
    );
    const model = `<mujoco><worldbody>${geoms.join("")}<body><joint/><geom size="0.1"/></body></worldbody></mujoco>`;
    writeFileSync(join(folder, "many.xml"), model);
    const { code, stderr } = await corral(["plan", join(folder, "many.xml"), "--envs", "8"]);
    rmSync(folder, { recursive: true });
    expect(code).toBe(0);
    expect(stderr).toMatch(/^many\.xml: 1 bodies, 601 geoms; tracing its kernels takes seconds$/m);
  });

  test("plans a model as a table; what does not fit is exit code 3, with the table", async () => {
    const args = ["plan", "test/models/joint_hinge.xml", "--envs", "100000"];
    const fits = await corral([...args, "--budget", "2GiB"]);
    expect(fits.code).toBe(0);
    expect(fits.stdout).toMatch(/^state +qpos +state +f32/m);
    expect(fits.stdout).toMatch(/^budget +2\.00 GiB from the option/m);
    const refused = await corral([...args, "--budget", "1MiB"]);
    expect(refused.code).toBe(3);
    expect(refused.stdout).toMatch(/^budget-exceeded /m);
    expect(refused.stdout).toMatch(/^largest numEnvs +[\d,]+ \(budget/m);
  });

  test.each([
    [["plan", "CartPole"], "--envs is missing"],
    [["plan", "CartPole", "--envs", "0"], "--envs is '0'"],
    [["plan", "CartPole", "--envs", "8", "--budget", "lots"], "[bad-bytes]"],
    [["plan", "Cartpol", "--envs", "8"], "nearest: CartPole"],
    [["plan", "--envs", "8"], "MODEL_OR_ENV is missing"],
  ])("%j is bad usage", async (args, text) => {
    const { code, stdout, stderr } = await corral(args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(text);
  });
});

describe("corral inspect", () => {
  test("prints a kernel, whole and by stage", async () => {
    const whole = await corral(["inspect", "envs/inverted_pendulum/model.xml"]);
    expect(whole.code).toBe(0);
    for (const part of ["@compute", "// kinematics", "// solver", "fn main"]) expect(whole.stdout).toContain(part);
    const stage = await corral(["inspect", "envs/inverted_pendulum/model.xml", "--stage", "crb"]);
    const [declared, text] = stage.stdout.trim().split(/\n(?=\s*\/\/ crb\n)/);
    expect(declared).toMatch(/\(mj_makeM\)\n\/\/ reads cinert, cdof, [a-zA-Z_, ]+\n\/\/ writes crb, M$/);
    expect(text).not.toContain("// factor_m");
    expect(whole.stdout).toContain(text);
  });

  test("prints what stages cost, of an environment's reset too", async () => {
    const { code, stdout } = await corral(["inspect", "InvertedPendulum-v5", "--cost"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}solver +\d+ +\d+\.\d %$/m);
    expect(stdout).toMatch(/^runtime loops +\d+$/m);
    const json = await corral(["inspect", "CartPole", "--kernel", "reset", "--rolled", "--json"]);
    const found = JSON.parse(json.stdout) as Inspection;
    expect(found).toMatchObject({
      name: "CartPole",
      kernel: "reset",
      kernels: ["step", "reset", "record", "record_cut", "record_back"],
    });
    const { stages, arithmetic } = found.cost;
    expect(Object.values(stages).reduce((a, b) => a + b, 0)).toBe(arithmetic);
  });

  test.each([
    [["inspect"], "MODEL_OR_ENV is missing"],
    [
      ["inspect", "test/models/joint_hinge.xml", "--stage", "solvr"],
      '[unknown-stage] there is no stage "solvr"; nearest: solver.',
    ],
    [["inspect", "CartPole", "--kernel", "rest"], "nearest: reset"],
    [["inspect", "missing.xml"], "[missing-file]"],
  ])("%j is bad usage", async (args, text) => {
    const { code, stdout, stderr } = await corral(args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(text);
  });
});
