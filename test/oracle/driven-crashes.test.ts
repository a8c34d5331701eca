// tasks whose actuators go with the state, beside MuJoCo: recordings of them, and worlds that are monitored
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { servo } from "../../src/index.ts";
import { makeVec, type Task, type VecOptions } from "../../src/env/index.ts";
import { bisect } from "../../src/crash/bisect.ts";
import { minimise } from "../../src/crash/minimise.ts";
import { writeReproduction } from "../../src/crash/reproduction.ts";
import { crashScene } from "../../src/crash/scene.ts";
import { secondOpinion } from "../../src/crash/second-opinion.ts";
import { readBundle } from "../../src/record/read-bundle.ts";
import type { Bundle } from "../../src/record/bundle.ts";
import { eq, select } from "../../src/trace/scalar.ts";
import { ROOT } from "../support/imports.ts";
import { codeOf } from "../support/lives.ts";
import { drives, realities } from "../support/drives.ts";
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

/** A blow to the knee in the tenth step. */
const blown = (size: number) =>
  drives("tanh", { events: { blow: (s) => ({ qvel: [0, select(eq(s.length, 9), size, 0, "f32"), 0, 0] }) } });

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

  test.each([true, false])("goes as MuJoCo does where masses are drawn, unrolled: %s", async (unroll) => {
    // what is derived of masses is derived at qpos0, a second state of the program
    const task = drives("tanh", { randomise: { load: { field: ["body_mass", "body_inertia"], scale: [0.5, 2] } } });
    const { bundle, drift } = await recorded(task, { device: "cpu-f64", unroll });
    expect([drift.checks, drift.notOk]).toEqual([14, 0]);
    for (const { qpos, qvel } of (await opinionOf(bundle)).apart)
      expect(Math.max(qpos, qvel)).toBeLessThanOrEqual(envBounds.derived.value);
  });

  test("breaks in MuJoCo where it breaks, and goes on there where nothing does", async () => {
    const { bundle } = await recorded(blown(1e12), { device: "cpu" }, 10);
    expect(await opinionOf(bundle)).toMatchObject({ verdict: "physics", mujoco: { step: 10, physicsStep: 1 } });
    // from its first step on, which fills the memories of a network, and 100 steps with the last controls held
    const { bundle: first } = await recorded(blown(1), { device: "cpu", trip: [{ name: "now", when: "1 > 0" }] }, 1);
    expect((await opinionOf(first)).text).toMatch(/still together before control step 1/);
  });

  test("is refused by name where its program does not say what they make", async () => {
    const { bundle } = await recorded(drives(), { device: "cpu" }, 2);
    const scene = await crashScene(bundle);
    const found = await bisect(bundle);
    // variables without names, and a place that is not told
    for (const [name, value] of [
      ["vars", []],
      ["root", { statements: [] }],
    ] as const) {
      const trace = Object.create(bundle.trace, { [name]: { value } }) as Bundle["trace"];
      const unnamed = { ...scene, bundle: { ...bundle, trace } };
      expect(await secondOpinion(unnamed, found).catch(codeOf)).toBe("actuators-not-mujoco");
    }
  });
});

describe("is minimised", () => {
  /** Breaks by itself: a servo that no timestep of 2 ms can follow; or by a blow. */
  const stiff = servo({ stiffness: 40_000, damping: 0 });
  const cases: [string, Task<object>, Partial<VecOptions>, RegExp, number][] = [
    ["a blow", blown(1e13), { device: "cpu" }, /^no forces/, 8],
    ["a blow, in float64 and rolled", blown(1e13), { device: "cpu-f64", unroll: false }, /^no forces/, 8],
    [
      "a network that is too stiff",
      drives("tanh", { actuators: { ...realities("tanh"), wheel: { network: stiff, delay: 1, lag: 1e-4 } } }),
      { device: "wasm" },
      /^timestep/,
      6,
    ],
  ];
  test.each(cases)("%s", async (_, task, options, cure, numbers) => {
    const { bundle } = await recorded(task, options, 60);
    const scene = await crashScene(bundle);
    const found = await bisect(bundle);
    const minimised = await minimise(scene, found);
    expect(minimised.cures[0].change).toMatch(cure);
    expect(minimised.status).toEqual(found.status.filter((name) => name.startsWith("BAD_Q")));
    // ranges of two or three actuators, what is read by two servos
    expect(minimised.adjustable).toHaveLength(numbers);
    // it ends where the world broke first; a blow is before all physics
    const { first, last } = minimised.steps;
    const { physicsStep } = found.blame!;
    expect([last, minimised.inputs.length]).toEqual([found.step, 3 * (last - first) + Math.max(1, physicsStep)]);

    // and as a program, which is a simulation
    const [file] = writeReproduction(join(directory, "program"), bundle, minimised);
    const index = pathToFileURL(join(ROOT, "src/index.ts")).href;
    writeFileSync(file, readFileSync(file, "utf8").replace('from "corral"', `from ${JSON.stringify(index)}`));
    await import(/* @vite-ignore */ `${pathToFileURL(file).href}?${found.step}${bundle.path}`);
    expect(process.exitCode).toBe(1);
    process.exitCode = 0;
  });
});
