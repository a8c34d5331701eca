// worlds that stand on patches of one height field, each beside MuJoCo with its patch alone
import { expect, test } from "vitest";
import { Box, defineTask, makeVec, type Task } from "../../src/env/index.ts";
import { getMuJoCo } from "../../src/model/mujoco.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { envBounds } from "../support/tolerances.ts";

const LINES = 57;
const CELL = 0.125;
/** Cells from a patch's middle to its side, and from one patch to the next. */
const HALF = 8;
const STEP = 8;
const TOP = 0.2;

const r = createRandom(3);
const heights = Float32Array.from({ length: LINES * LINES }, () => r.between(0, 1));
// MuJoCo stretches elevations so that the least is 0 and the most 1
heights.set([0, 1]);

const model = (lines: number, elevation: ArrayLike<number>) => `<mujoco model="patches">
  <asset><hfield name="h" nrow="${lines}" ncol="${lines}" size="${((lines - 1) * CELL) / 2} ${((lines - 1) * CELL) / 2} ${TOP} 0.1" elevation="${Array.from(elevation).join(" ")}"/></asset>
  <worldbody><geom name="terrain" type="hfield" hfield="h" quat="1 0 0 0"/>
    <body name="bug" pos="0 0 .3"><freejoint/><geom size=".07"/>
      <body pos=".1 0 0"><joint name="leg" axis="0 1 0"/><geom type="capsule" size=".04" fromto="0 0 0 .15 0 0"/></body></body></worldbody>
  <actuator><motor joint="leg"/></actuator></mujoco>`;

const grid = [-2, 2].map((k) => k * STEP * CELL);
const task: Task = defineTask({
  id: "Patches",
  model: model(LINES, heights),
  frameSkip: 1,
  maxEpisodeSteps: 1000,
  actionSpace: () => new Box({ low: -1, high: 1, shape: [1] }),
  control: ({ action }) => [action[0]],
  observe: { qpos: "qpos" },
  reward: {},
  randomise: {
    x: { field: "geom_pos", of: "terrain", element: 0, set: { grid: [grid[0], grid[1], STEP * CELL] } },
    y: { field: "geom_pos", of: "terrain", element: 1, set: { grid: [grid[0], grid[1], STEP * CELL] } },
  },
});

test.each([
  ["cpu-f64", undefined],
  ["cpu-f64", false],
] as const)("on %s, unroll %s", async (device, unroll) => {
  const [worlds, steps] = [6, 150];
  await using env = await makeVec(task, {
    numEnvs: worlds,
    device,
    recorder: false,
    ...(unroll === false && { unroll }),
  });
  await env.reset({ seed: 5 });
  const at = await env.getState(["x", "y"]);
  for (let t = 0; t < steps; t++) await env.step(new Float32Array(worlds).fill(Math.sin(t / 9)));
  const { qpos, qvel } = await env.getState(["qpos", "qvel"]);
  const mujoco = await getMuJoCo();
  // row by row from the back, where the XML begins at the front
  const { elevations } = env.model.surfaces!;
  const places = new Set<string>();

  for (let world = 0; world < worlds; world++) {
    // the patch around the point of the field that lies at the origin
    const [column, row] = [at.x[world], at.y[world]].map((shift) => (LINES - 1) / 2 - shift / CELL);
    expect(Number.isInteger(column) && Number.isInteger(row)).toBe(true);
    places.add(`${column} ${row}`);
    const lines = 2 * HALF + 1;
    const patch = Array.from({ length: lines * lines }, (_, i) => {
      const [dr, dc] = [Math.floor(i / lines) - HALF, (i % lines) - HALF];
      return elevations[(row + dr) * LINES + column + dc];
    });
    const mj = mujoco.MjModel.from_xml_string(model(lines, patch));
    mj.hfield_data.set(patch);
    const data = new mujoco.MjData(mj);
    for (let t = 0; t < steps; t++) {
      data.ctrl.set([Math.fround(Math.sin(t / 9))]);
      mujoco.mj_step(mj, data);
    }
    expect(data.ncon).toBeGreaterThan(0);
    for (const [ours, theirs] of [
      [qpos, data.qpos],
      [qvel, data.qvel],
    ] as const) {
      const own = ours.subarray(world * theirs.length, (world + 1) * theirs.length);
      Array.from<number>(theirs).forEach((x, i) =>
        expect(Math.abs(own[i] - x) / (1 + Math.abs(x)), `world ${world}`).toBeLessThanOrEqual(
          envBounds.randomised.value,
        ),
      );
    }
    data.delete();
    mj.delete();
  }
  expect(places.size).toBeGreaterThan(3);
});

test("a patch is part of a world's snapshot", async () => {
  await using env = await makeVec(task, { numEnvs: 3, device: "wasm", recorder: false });
  await env.reset({ seed: 5 });
  const snapshot = await env.snapshot();
  const first = await env.getState(["x", "y"]);
  const run = async () => {
    for (let t = 0; t < 60; t++) await env.step(new Float32Array(3).fill(0.3));
    return (await env.getState(["qpos"])).qpos;
  };
  const once = await run();
  await env.reset({ seed: 6 });
  expect(await env.getState(["x", "y"])).not.toEqual(first);
  await env.restore(snapshot);
  expect(await env.getState(["x", "y"])).toEqual(first);
  expect(await run()).toEqual(once);
});
