// tasks on ground of boxes: heights under a body are what mj_ray finds, worlds on any patch step as MuJoCo does
import { describe, expect, test } from "vitest";
import { makeVec, startAround, terrainHeights, terrainRow, type Task } from "../../src/env/index.ts";
import { loadModel } from "../../src/model/model.ts";
import { withMuJoCo } from "../../src/model/oracle.ts";
import { makeTerrain, patchAt } from "../../src/model/terrain/terrain.ts";
import { ROVER, rover } from "../support/rover.ts";
import { envBounds, rayBounds } from "../support/tolerances.ts";

const KINDS = ["stairs-up", "slope-up", "slope-down", "squares", { kind: "boxes", count: 12 }] as const;
const GROUND = makeTerrain({ seed: 3, rows: 3, columns: KINDS, patch: 2.4, middle: 0.8, border: 1, as: "boxes" });
const PLACE = ["terrain_x", "terrain_y", "terrain_z"] as const;

const onBoxes = (changes: Partial<Task> = {}): Task =>
  rover({
    id: "OnBoxes",
    terrain: { ground: GROUND, geom: "floor" },
    observe: { heights: terrainHeights("torso", { size: [1.6, 1.2], counts: [6, 5], axes: "world" }) },
    info: { row: terrainRow() },
    reset: startAround({ qpos: 0.3 }),
    ...changes,
  });

describe.each([
  ["cpu-f64", undefined],
  ["cpu", false],
] as const)("on %s, unroll %s", (device, unroll) => {
  test("heights about a body are what mj_ray finds", async () => {
    const worlds = 8;
    const bound = device === "cpu-f64" ? rayBounds.exact.value : rayBounds.single.value;
    await using env = await makeVec(onBoxes(), {
      numEnvs: worlds,
      device,
      recorder: false,
      ...(unroll === false && { unroll }),
    });
    const { observations } = await env.reset({ seed: 2 });
    const { qpos, ...at } = await env.getState(["qpos", ...PLACE]);
    const places = new Set<string>();
    let rays = 0;
    await withMuJoCo(env.model, ({ mujoco, model, data, write }) => {
      const ground = env.model.names.body.indexOf("corral-terrain");
      const normal = new mujoco.DoubleBuffer(3);
      const geom = new mujoco.IntBuffer(1);
      for (let w = 0; w < worlds; w++) {
        const place = PLACE.map((name) => at[name][w]);
        places.add(place.join(" "));
        model.body_pos.set(place, 3 * ground);
        write("qpos", qpos.subarray(w * 9, w * 9 + 9));
        mujoco.mj_forward(model, data);
        const [x, y, z] = qpos.subarray(w * 9, w * 9 + 3);
        for (let k = 0; k < 30; k++) {
          const from = [x - 0.8 + (1.6 * (k % 6)) / 5, y - 0.6 + (1.2 * Math.floor(k / 6)) / 4, 9];
          const dist = mujoco.mj_ray(model, data, from, [0, 0, -1], [1, 1, 1, 1, 1, 1], true, -1, geom, normal);
          // the robot is in the way of some
          if (env.model.geom_bodyid[(geom.GetView() as Int32Array)[0]] !== ground) continue;
          rays++;
          expect(Math.abs(observations[w * 30 + k] - (9 - dist - z)), `world ${w}, ray ${k}`).toBeLessThan(bound);
        }
      }
    });
    expect(places.size).toBeGreaterThan(4);
    expect(rays).toBeGreaterThan(20 * worlds);
  });
});

test("worlds on patches step as MuJoCo does", async () => {
  const [worlds, steps] = [6, 40];
  await using env = await makeVec(onBoxes({ frameSkip: 1 }), { numEnvs: worlds, device: "cpu-f64", recorder: false });
  await env.reset({ seed: 5 });
  const start = await env.getState(["qpos", "qvel", ...PLACE]);
  for (let t = 0; t < steps; t++) await env.step(new Float32Array(2 * worlds).fill(0.5));
  const { qpos, qvel } = await env.getState(["qpos", "qvel"]);
  let contacts = 0;
  await withMuJoCo(env.model, ({ mujoco, model, data, write }) => {
    const ground = env.model.names.body.indexOf("corral-terrain");
    for (let w = 0; w < worlds; w++) {
      mujoco.mj_resetData(model, data);
      model.body_pos.set(
        PLACE.map((name) => start[name][w]),
        3 * ground,
      );
      write("qpos", start.qpos.subarray(9 * w, 9 * w + 9));
      write("qvel", start.qvel.subarray(8 * w, 8 * w + 8));
      data.ctrl.fill(0.5);
      for (let t = 0; t < steps; t++) mujoco.mj_step(model, data);
      contacts += data.ncon;
      for (const [ours, theirs] of [
        [qpos.subarray(9 * w, 9 * w + 9), data.qpos],
        [qvel.subarray(8 * w, 8 * w + 8), data.qvel],
      ])
        theirs.forEach((x: number, i: number) =>
          expect(Math.abs(ours[i] - x) / (1 + Math.abs(x)), `world ${w}`).toBeLessThanOrEqual(
            envBounds.randomised.value,
          ),
        );
    }
  });
  expect(contacts).toBeGreaterThan(5);
});

test("the first patch's middle is at the origin, and boxes weigh nothing", async () => {
  const model = await loadModel(ROVER, { terrain: { ground: GROUND, geom: "floor" } });
  const ground = model.names.body.indexOf("corral-terrain");
  const [x, y, height] = patchAt(GROUND, 0, 0);
  expect(Array.from(model.body_pos.subarray(3 * ground, 3 * ground + 3))).toEqual(
    [-x, -y, -height].map((v) => expect.closeTo(v, 6)),
  );
  expect(model.body_mass[ground]).toBe(0);
  expect(model.geom_friction[3 * model.names.geom.indexOf("floor.1")]).toBe(0.8);
});

test("worlds stand on the level middle of their patch, and come to harder rows", async () => {
  const task = onBoxes({
    reset: () => ({ qpos: [0, 0, 0.25, 1, 0, 0, 0, 0, 0] }),
    observe: { z: "xpos(body.torso).z", h: terrainHeights("torso", { size: [0.6, 0.6], counts: [3, 3] }) },
    terrain: { ground: GROUND, geom: "floor", promote: "1 > 0" },
    maxEpisodeSteps: 2,
  });
  await using env = await makeVec(task, { numEnvs: 8, device: "wasm", threads: 1, autoreset: "same-step" });
  let { observations } = await env.reset({ seed: 1 });
  for (const row of [0, 1, 2]) {
    const { terrain_x } = await env.getState(["terrain_x"]);
    expect(Array.from(terrain_x)).toEqual(Array(8).fill(expect.closeTo(-patchAt(GROUND, row, 0)[0], 5)));
    for (let w = 0; w < 8; w++)
      for (let k = 1; k < 10; k++) expect(observations[10 * w] + observations[10 * w + k]).toBeCloseTo(0, 4);
    for (let t = 0; t < 2; t++) ({ observations } = await env.step(new Float32Array(16)));
  }
});

test("what is drawn of the geom counts for all boxes", async () => {
  // without friction the robot that stands beside the first box slides on sideways as fast as it was
  const slid = async (friction: number) => {
    const task = onBoxes({
      observe: { v: "qvel[1]" },
      randomise: { slips: { field: "geom_friction", of: ["floor", "foot_*"], element: 0, set: [friction, friction] } },
      reset: () => ({ qpos: [0, 0, 0.25, 1, 0, 0, 0, 0, 0], qvel: [0, 1, 0, 0, 0, 0, 0, 0] }),
    });
    await using env = await makeVec(task, { numEnvs: 4, device: "wasm", threads: 1, recorder: false });
    await env.reset({ seed: 1 });
    for (let t = 0; t < 4; t++) await env.step(new Float32Array(8));
    const { slips } = await env.getState(["slips"]);
    expect(slips).toHaveLength(4 * 3);
    return Math.min(...env.observations);
  };
  expect(await slid(0.01)).toBeGreaterThan(0.3 + (await slid(1)));
});
