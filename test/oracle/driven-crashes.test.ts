// tasks whose actuators go with the state, beside MuJoCo: recordings of them, and worlds that are monitored
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { makeVec, type Task, type VecOptions } from "../../src/env/index.ts";
import { bisect } from "../../src/crash/bisect.ts";
import { crashScene } from "../../src/crash/scene.ts";
import { secondOpinion } from "../../src/crash/second-opinion.ts";
import { readBundle } from "../../src/record/read-bundle.ts";
import type { Bundle } from "../../src/record/bundle.ts";
import { eq, select } from "../../src/trace/scalar.ts";
import { codeOf } from "../support/lives.ts";
import { drives } from "../support/drives.ts";
import { envBounds } from "../support/tolerances.ts";

const directory = mkdtempSync(join(tmpdir(), "corral-driven-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** A bundle of a world after some steps, and what the monitor found of two of them. */
async function recorded(task: Task<object>, options: Partial<VecOptions>, steps = 20) {
  const monitor = { worlds: [0, 3], everySteps: 3 };
  await using env = await makeVec(task, { numEnvs: 6, seed: 1, recorder: { directory }, monitor, ...options });
  await env.reset();
  for (let t = 0; t < steps; t++) await env.step(env.actionSpace.sample(8, { draw: t }));
  const path = env.health().bundles[0] ?? (await env.record([3], "looks odd"));
  return { bundle: readBundle(path), drift: env.health().drift! };
}

const opinionOf = async (bundle: Bundle) => secondOpinion(await crashScene(bundle), await bisect(bundle));

describe("a recording of servos, motors and a network, late, with play, bounded by speed", () => {
  const cases: [string, Partial<VecOptions>, number][] = [
    ["in float64", { device: "cpu-f64" }, envBounds.derived.value],
    ["in float64, rolled, Euler", { device: "cpu-f64", unroll: false, integrator: "Euler" }, envBounds.derived.value],
    ["in float32", { device: "wasm" }, envBounds.drawnPath.value],
  ];
  test.each(cases)("goes as MuJoCo does %s", async (_, options, bound) => {
    const { bundle, drift } = await recorded(drives(), options);
    expect([drift.checks, drift.notOk]).toEqual([14, 0]);
    expect(bundle.about.env.actuators).toHaveLength(4);
    const { verdict, apart } = await opinionOf(bundle);
    expect(verdict).toBe("condition");
    expect(apart.length).toBeGreaterThanOrEqual(16);
    for (const { qpos, qvel } of apart) expect(Math.max(qpos, qvel)).toBeLessThanOrEqual(bound);

    // without what acts in each physics step they part
    const { actuators: __, ...env } = bundle.about.env;
    const plain = await opinionOf({ ...bundle, about: { ...bundle.about, env } });
    expect(Math.max(...plain.apart.map(({ qvel }) => qvel))).toBeGreaterThan(1e-2);
  });

  test("breaks in MuJoCo where it breaks, and goes on there where nothing does", async () => {
    const blow = (size: number) =>
      drives("tanh", { events: { blow: (s) => ({ qvel: [0, select(eq(s.length, 9), size, 0, "f32"), 0, 0] }) } });
    const { bundle } = await recorded(blow(1e12), { device: "cpu" }, 10);
    expect(await opinionOf(bundle)).toMatchObject({ verdict: "physics", mujoco: { step: 10, physicsStep: 1 } });
    // from its first step on, which fills the memories of a network, and 100 steps with the last controls held
    const { bundle: first } = await recorded(blow(1), { device: "cpu", trip: [{ name: "now", when: "1 > 0" }] }, 1);
    expect((await opinionOf(first)).text).toMatch(/still together before control step 1/);
  });

  test("is refused by name where its program does not say what they make", async () => {
    const { bundle } = await recorded(drives(), { device: "cpu" }, 2);
    const trace = Object.create(bundle.trace, { vars: { value: [] } }) as Bundle["trace"];
    const scene = await crashScene(bundle);
    const unnamed = { ...scene, bundle: { ...bundle, trace } };
    expect(await secondOpinion(unnamed, await bisect(bundle)).catch(codeOf)).toBe("actuators-not-mujoco");
  });
});
