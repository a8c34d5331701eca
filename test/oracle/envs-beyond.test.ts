// the environments that Gymnasium does not have: their physics beside MuJoCo, and that their tasks can be done
import { expect, test } from "vitest";
import "../../envs/index.ts";
import { bipedRough } from "../../envs/biped/rough.ts";
import { pickAndPlace } from "../../envs/pick_and_place/task.ts";
import { makeTerrain, makeVec } from "../../src/env/index.ts";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { gripAction, graspAction } from "../support/grasp.ts";
import { loadTestModel } from "../support/mjcf.ts";

test.each([
  ["quadruped", 1],
  ["arm_table", 0],
  ["biped", 4],
  ["g1", 4],
  ["panda", 0],
  ["hand", 4],
  ["pick_and_place", 4],
])("the physics of envs/%s are MuJoCo's", async (name, contacts) => {
  const model = await loadTestModel(`envs/${name}`);
  expect(model.warnings).toEqual([]);
  const found = await compareWithMuJoCo(model, { steps: 50, envs: 2, device: "cpu-f64" });
  expect(found.verdict).toMatchObject({ passed: true, reasons: [] });
  expect(found.contacts.most).toBeGreaterThanOrEqual(contacts);
});

test("PickAndPlace: a cube is grasped, lifted and held at its goal, every step beside MuJoCo", async () => {
  const [worlds, steps] = [4, 75];
  await using env = await makeVec(pickAndPlace, {
    numEnvs: worlds,
    device: "wasm",
    autoreset: "disabled",
    recorder: false,
    monitor: { worlds: [0, 1], everySteps: 1 },
  });
  let { observations } = await env.reset({ seed: 3 });
  const { qpos: starts } = await env.getState(["qpos"]);
  const [nobs, at] = [env.singleObservationSpace.size, env.singleObservationSpace.size - 3];
  const row = (values: Float64Array, w: number) => values.subarray(14 * w, 14 * (w + 1));
  let highest = 0;
  for (let t = 0; t < steps; t++) {
    const { qpos } = await env.getState(["qpos"]);
    highest = Math.max(highest, qpos[9]);
    const actions = Array.from({ length: worlds }, (_, w) => {
      const goal = [0, 1, 2].map((k) => observations[w * nobs + at + k] / 5 + qpos[14 * w + 7 + k]);
      return graspAction(t, row(qpos, w), row(starts, w), goal);
    });
    ({ observations } = await env.step(Float32Array.from(actions.flat())));
  }
  expect(highest).toBeGreaterThan(0.05);
  expect([...env.infos.get("success")!.values]).toEqual([1, 1, 1, 1]);
  expect(env.infos.get("distance")!.values.every((d) => d < 0.025)).toBe(true);
  expect(env.health().drift).toMatchObject({ checks: 2 * steps, notOk: 0 });
});

test.each(["ArmLift", "ArmPlace"])("%s can be done, steps beside MuJoCo", async (id) => {
  const worlds = 2;
  await using env = await makeVec(id, {
    numEnvs: worlds,
    device: "wasm",
    autoreset: "disabled",
    recorder: false,
    monitor: { worlds: [0], everySteps: 5 },
  });
  let { observations } = await env.reset({ seed: 3 });
  const [nobs, steps] = [env.singleObservationSpace.size, 100];
  // what an observation says of the cube and of its goal, last of all
  const seen = (w: number, from: number) => [0, 1, 2].map((k) => observations[w * nobs + from + k] / 5);
  for (let t = 0; t < steps; t++) {
    const actions = Array.from({ length: worlds }, (_, w) =>
      gripAction(t, seen(w, 12), seen(w, nobs - 3), id === "ArmPlace"),
    );
    ({ observations } = await env.step(Float32Array.from(actions.flat())));
  }
  expect([...env.infos.get("success")!.values]).toEqual([1, 1]);
  expect(env.health().drift).toMatchObject({ checks: steps / 5, notOk: 0 });
});

test("boxes of a terrain have the friction that worlds draw in MuJoCo too", async () => {
  const columns = [{ kind: "squares", height: [0.03, 0.03] }] as const;
  const ground = makeTerrain({ seed: 1, rows: 1, columns, cell: 0.2, middle: 1.6, border: 0, as: "boxes" });
  const { geom, priority, solref } = bipedRough.terrain!;
  const task = { ...bipedRough, id: "OnSquares", terrain: { ground, geom, priority, solref } };
  await using env = await makeVec(task, {
    numEnvs: 4,
    device: "wasm",
    threads: 1,
    autoreset: "disabled",
    recorder: false,
    monitor: { worlds: [0, 1, 2, 3], everySteps: 5 },
  });
  await env.reset({ seed: 3 });
  const actions = new Float32Array(4 * env.singleActionSpace.size);
  for (let t = 0; t < 6; t++) await env.step(actions);
  expect(env.health().drift).toMatchObject({ checks: 8, notOk: 0 });
});
