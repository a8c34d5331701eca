// what MuJoCo says of a recorded crash: with the numbers that the world had, not those of the MJCF
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, test, vi } from "vitest";
import { defineTask, makeVec, type Randomisation, type Task } from "../../src/env/index.ts";
import { Deadline } from "../../src/crash/deadline.ts";
import { CpuWorld } from "../../src/crash/cpu-world.ts";
import { bisect } from "../../src/crash/bisect.ts";
import { minimise } from "../../src/crash/minimise.ts";
import { modelAt } from "../../src/crash/physics-facts.ts";
import { writeReproduction } from "../../src/crash/reproduction.ts";
import { crashScene } from "../../src/crash/scene.ts";
import { secondOpinion } from "../../src/crash/second-opinion.ts";
import { loadModel } from "../../src/model/model.ts";
import { withChanges } from "../../src/model/changes.ts";
import { withMuJoCo } from "../../src/model/oracle.ts";
import { readBundle } from "../../src/record/read-bundle.ts";
import { eq, select } from "../../src/trace/scalar.ts";
import { ROOT } from "../support/imports.ts";
import { codeOf } from "../support/lives.ts";
import { rover } from "../support/rover.ts";
import { envBounds } from "../support/tolerances.ts";

const directory = mkdtempSync(join(tmpdir(), "corral-opinion-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** The first bundle of 6 worlds that make some steps with the same action. */
async function bundleOf(task: Task<object>, action: number, steps: number) {
  await using env = await makeVec(task, { numEnvs: 6, seed: 3, device: "cpu", recorder: { directory } });
  await env.reset();
  const actions = new Float32Array(env.actionSpace.size).fill(action);
  for (let t = 0; t < steps; t++) await env.step(actions);
  return readBundle(env.health().bundles[0]);
}

/** Counts worlds on the CPU from now on: the most at a time, and those that are left. */
function countedWorlds(): () => { readonly most: number; readonly now: number } {
  let [most, now] = [0, 0];
  const create = CpuWorld.create.bind(CpuWorld);
  const spy = vi.spyOn(CpuWorld, "create").mockImplementation(async (...args) => {
    const world = await create(...args);
    most = Math.max(most, ++now);
    const close = world[Symbol.asyncDispose].bind(world);
    world[Symbol.asyncDispose] = () => (now--, close());
    return world;
  });
  return () => {
    spy.mockRestore();
    return { most, now };
  };
}

describe("a world that drew its own model", () => {
  const randomise: Readonly<Record<string, Randomisation>> = {
    weight: { field: ["body_mass", "body_inertia"], scale: [0.5, 2] },
    damping: { field: "dof_damping", scale: [0.5, 2] },
    armature: { field: "dof_armature", scale: [0.5, 1.5] },
    floor: { field: "geom_friction", of: "floor", element: 0, set: [0.2, 1.4] },
    feet: { field: "geom_size", of: "foot_*", element: 0, scale: [0.8, 1.2] },
    gear: { field: "actuator_gear", of: "left", element: 0, scale: [0.5, 2] },
    gravity: { field: "gravity", element: [0, 2], add: [-2, 2] },
  };

  test("runs beside MuJoCo with those numbers until it breaks", async () => {
    const task = rover({
      randomise,
      // a blow in step 12, that no physics can follow
      events: { blow: (s) => ({ qvel: [select(eq(s.length, 11), 1e12, 0, "f32"), 0, 0, 0, 0, 0, 0, 0] }) },
    });
    const bundle = await bundleOf(task, 0.3, 12);
    const scene = await crashScene(bundle);
    const found = await bisect(bundle);
    const opinion = await secondOpinion(scene, found);
    expect(opinion).toMatchObject({ verdict: "physics", mujoco: { step: 12 } });
    expect(opinion.apart).toHaveLength(12);
    for (const { qpos, qvel } of opinion.apart) expect(Math.max(qpos, qvel)).toBeLessThan(envBounds.drawnPath.value);

    // what MuJoCo derives of the drawn numbers is what the kernel derived
    const model = modelAt(bundle, scene.moments[scene.at], scene.row);
    await withMuJoCo(model, ({ model: mj }) => {
      const close = (got: ArrayLike<number>, want: ArrayLike<number>) =>
        Array.from(want, (x, i) => expect(Math.abs(got[i] - x)).toBeLessThanOrEqual(1e-5 * Math.abs(x)));
      close(mj.body_mass as Float64Array, model.body_mass);
      close(mj.dof_invweight0 as Float64Array, model.dof_invweight0);
      close(mj.body_invweight0 as Float64Array, model.body_invweight0);
      close(mj.geom_rbound as Float64Array, model.geom_rbound);
      close(mj.opt.gravity as Float64Array, model.opt.gravity);
    });
  });

  test("is to blame itself, is reduced and written as a program with its numbers", async () => {
    const spring = defineTask({
      id: "DrawnSpring",
      model: `<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="slide" type="slide" stiffness="10"/>
        <geom size=".1" mass="1"/></body></worldbody><actuator><motor joint="slide" ctrlrange="-1 1"/></actuator></mujoco>`,
      frameSkip: 2,
      maxEpisodeSteps: 100,
      observe: { qpos: "qpos" },
      reward: { none: 0 },
      reset: () => ({ qpos: [0.1], qvel: [0] }),
      // far beyond 4 / timestep^2 in every world
      randomise: { spring: { field: "jnt_stiffness", of: "slide", scale: { logUniform: [1e7, 1e8] } } },
    });
    const bundle = await bundleOf(spring, 0, 20);
    const scene = await crashScene(bundle);
    const found = await bisect(bundle);
    expect(found.causes[0]).toMatchObject({ name: "timestep-stiffness", certainty: "certain" });
    expect(await secondOpinion(scene, found)).toMatchObject({ verdict: "physics" });
    // the time of a replay bounds what follows it too
    const late = { ...scene, deadline: new Deadline(bundle, 0) };
    await expect(secondOpinion(late, found)).rejects.toMatchObject({ code: "replay-endless" });
    await expect(minimise(late, found)).rejects.toMatchObject({ code: "replay-endless" });
    const held = countedWorlds();
    const minimised = await minimise(scene, found);
    expect(minimised.cures[0].change).toMatch(/^timestep/);
    // as it is, the first cure, and the change under trial
    expect(minimised.trials.length).toBeGreaterThan(4);
    expect(held()).toEqual({ most: 3, now: 0 });
    const [file] = writeReproduction(join(directory, "program"), bundle, minimised);
    const index = pathToFileURL(join(ROOT, "src/index.ts")).href;
    writeFileSync(file, readFileSync(file, "utf8").replace('from "corral"', `from ${JSON.stringify(index)}`));
    await import(/* @vite-ignore */ pathToFileURL(file).href);
    expect(process.exitCode).toBe(1);
    process.exitCode = 0;
  });
});

test("changes that cannot be are refused", async () => {
  const model = await loadModel("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>");
  const code = (change: object) => {
    try {
      withChanges(model, [{ field: "body_mass", index: 1, value: 1, derived: false, ...change }]);
      return "made";
    } catch (error) {
      return codeOf(error);
    }
  };
  expect([code({}), code({ field: "body_mas" }), code({ index: 2 }), code({ value: "1" })]).toEqual([
    "made",
    "unknown-field",
    "bad-index",
    "bad-value",
  ]);
});
