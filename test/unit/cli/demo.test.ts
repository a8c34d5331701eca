import { describe, expect, test } from "vitest";
import type { DemoProgress } from "../../../src/bench/demo.ts";
import { corralInside as corral } from "../../support/cli-inside.ts";

describe("corral demo", () => {
  test("shows both environments beside MuJoCo, in plain lines where there is no terminal", async () => {
    const { code, stdout, stderr } = await corral(["demo", "--envs", "8", "--seconds", "0.1", "--device", "cpu"]);
    expect(code, stderr).toBe(0);
    for (const part of [
      "HalfCheetah-v5",
      "Ant-v5",
      "Memory",
      "env steps/s",
      "worst qpos",
      "MuJoCo, 1 worker",
      "Next: corral train",
    ]) {
      expect(stdout).toContain(part);
    }
    expect(stdout).not.toContain("\u001B");
    expect(stdout).toContain("every checked world agreed with MuJoCo");
  });

  test("prints one JSON document", async () => {
    const { code, stdout, stderr } = await corral([
      "demo",
      "--envs",
      "8",
      "--seconds",
      "0.1",
      "--device",
      "cpu",
      "--json",
    ]);
    expect(code, stderr).toBe(0);
    const { environments } = JSON.parse(stdout) as { environments: DemoProgress[] };
    expect(environments.map(({ id }) => id)).toEqual(["HalfCheetah-v5", "Ant-v5"]);
    for (const e of environments) expect(e).toMatchObject({ numEnvs: 8, trouble: 0, checks: { failed: 0 } });
  });

  test("refuses what it does not know", async () => {
    for (const args of [["--envs", "0"], ["--seconds", "never"], ["more"], ["--seed", "x"]]) {
      const { code, stdout } = await corral(["demo", ...args]);
      expect([code, stdout]).toEqual([2, ""]);
    }
  });
});
