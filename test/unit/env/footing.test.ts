// feet that follow the ground: without a policy the G1 stands upright on a slope on which a gait for planes topples, and its
// gait strides slower there than it is told to, as where it tilts
import { expect, test } from "vitest";
import { bipedRough } from "../../../envs/biped/rough.ts";
import { BIPED_GAIT, bipedWalker } from "../../../envs/biped/shared.ts";
import { biped } from "../../../envs/biped/task.ts";
import { g1Rough } from "../../../envs/g1/rough.ts";
import { G1, G1_GAIT, g1Walker } from "../../../envs/g1/shared.ts";
import { g1 } from "../../../envs/g1/task.ts";
import { makeTerrain, makeVec, type StartScene, type Task } from "../../../src/env/index.ts";
import { loadTaskModel } from "../../../src/env/task/load.ts";
import { withMuJoCo } from "../../../src/model/oracle.ts";
import { gaitTilt } from "../../support/tolerances.ts";

const ANGLE = 0.2;
const MIDDLE = 0.8;
const PLACE = 2.4;
const STEPS = 150;
/** Where the observation has how fast the gait strides ahead. */
const FOLLOWED = 15;
const sloping = (angle: number) =>
  makeTerrain({ rows: 1, columns: [{ kind: "slope-up", angle }], cell: 0.2, middle: 2 * MIDDLE, border: 4 });
const ground = sloping(ANGLE);

/** The tilt of each world (rad) in the end; worlds face uphill, across and downhill. 1 where one has fallen. */
async function tilts(control: Task["control"]): Promise<number[]> {
  const { reset, terrain, ...task } = g1Rough;
  await using env = await makeVec(
    {
      ...task,
      id: "OnSlope",
      control,
      events: {},
      randomise: {},
      params: { forward: 0, sideways: 0, turn: 0 },
      terrain: { ground, geom: terrain!.geom, priority: terrain!.priority, solref: terrain!.solref },
      info: { tilt: "length(down.xy)" },
      reset: (s: StartScene) => {
        const { qpos } = reset!(s);
        const z = 0.7 + Math.tan(ANGLE) * (PLACE - MIDDLE);
        return { qpos: [PLACE, 0, z, ...qpos!.slice(3)] };
      },
    },
    { numEnvs: 6, device: "wasm", threads: 1, recorder: false },
  );
  await env.reset({ seed: 1 });
  const found = Array.from({ length: 6 }, () => 0);
  for (let t = 0; t < STEPS; t++) {
    const { terminated, infos } = await env.step(new Float32Array(6 * 13));
    for (let w = 0; w < 6; w++) if (found[w] < 1) found[w] = terminated[w] ? 1 : infos.get("tilt")!.values[w];
  }
  return found;
}

test("a G1 whose feet follow the ground stands on a slope, whatever way it faces", async () => {
  const follows = await tilts(g1Rough.control);
  const plane = await tilts(G1.control);
  for (const tilt of follows) expect(tilt).toBeLessThan(gaitTilt.value);
  expect(plane.filter((tilt) => tilt === 1).length).toBeGreaterThanOrEqual(4);
});

/** What its gait follows of a command of 0.8 m/s after one second (m/s), with a tilt that it is told; the mean of some worlds. */
async function followed(angle: number, tilt = 0): Promise<number> {
  const { reset, terrain, ...task } = g1Rough;
  await using env = await makeVec(
    {
      ...task,
      id: "Striding",
      events: {},
      randomise: {},
      params: {},
      terrain: { ground: sloping(angle), geom: terrain!.geom, priority: terrain!.priority, solref: terrain!.solref },
      values: { ...task.values, wanted: () => [0.8, 0, 0], down: () => [tilt, 0, -1] },
      terminated: {},
      reset: (s: StartScene) => ({
        qpos: [PLACE, 0, 0.7 + Math.tan(angle) * (PLACE - MIDDLE), ...reset!(s).qpos!.slice(3)],
      }),
    },
    { numEnvs: 6, device: "wasm", threads: 1, recorder: false },
  );
  await env.reset({ seed: 1 });
  for (let t = 0; t < 50; t++) await env.step(new Float32Array(6 * 13));
  const size = env.observations.length / 6;
  return [0, 1, 2, 3, 4, 5].reduce((sum, w) => sum + env.observations[w * size + FOLLOWED] / 6, 0);
}

test("its gait strides slower where the ground about it is uneven, and where it tilts", async () => {
  expect(await followed(0)).toBeGreaterThan(0.65);
  expect(await followed(ANGLE)).toBeLessThan(0.5);
  expect(await followed(0, 0.15)).toBeLessThan(0.5);
  expect(await followed(0, -0.3)).toBeLessThan(0.05);
});

/** The first of the observations of velocity and command, each ahead, to the left. */
const [VELOCITY, COMMAND] = [0, 9];

/** By how much of a command a velocity changes: the slope of a line through all of them. */
function slope(points: readonly (readonly [command: number, velocity: number])[]): number {
  const mean = (k: 0 | 1) => points.reduce((sum, point) => sum + point[k], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const sums = points.map(([a, b]) => [(a - x) * (b - y), (a - x) ** 2] as const);
  return sums.reduce((sum, [xy]) => sum + xy, 0) / sums.reduce((sum, [, xx]) => sum + xx, 0);
}

/** Of walkers that follow commands for four seconds, without a policy: how many fall, and how they follow. */
async function walked(task: Task<object>) {
  const numEnvs = 32;
  await using env = await makeVec(
    { ...task, id: "Carrying" },
    { numEnvs, device: "wasm", threads: 1, recorder: false },
  );
  const actions = new Float32Array(numEnvs * env.singleActionSpace.shape[0]);
  await env.reset({ seed: 1 });
  const fell = new Set<number>();
  const points = [0, 1].map((): (readonly [number, number])[] => []);
  const size = env.observations.length / numEnvs;
  for (let t = 0; t < 200; t++) {
    const { terminated } = await env.step(actions);
    terminated.forEach((ended, w) => ended && fell.add(w));
    // as they have begun to walk
    if (t < 50) continue;
    for (let w = 0; w < numEnvs; w++)
      points.forEach((own, k) => {
        const at = (first: number) => env.observations[w * size + first + k];
        own.push([at(COMMAND), at(VELOCITY)]);
      });
  }
  return { fell: fell.size, ahead: slope(points[0]), left: slope(points[1]) };
}

const level = makeTerrain({ rows: 1, columns: ["flat"], cell: 0.2, middle: 1.6, border: 8, as: "boxes" });
const onLevel = { ...bipedRough, terrain: { ...bipedRough.terrain!, ground: level } };
const loose = { posture: [0, 0], fallen: "down.z > -0.7" } as const;

test.each([
  { robot: "G1", task: g1, other: g1Walker({ ...G1_GAIT, posture: loose.posture }, loose), most: 10, ahead: 0.5 },
  {
    robot: "biped",
    task: biped,
    other: bipedWalker({ ...BIPED_GAIT, posture: loose.posture }, loose),
    most: 12,
    ahead: 0.5,
  },
  { robot: "biped on level patches", task: onLevel, other: undefined, most: 12, ahead: 0.4 },
])("a $robot whose hips hold its torso goes where it is told without a policy, where others fall", async (of) => {
  const own = await walked(of.task);
  expect(own.fell).toBeLessThanOrEqual(of.most);
  expect(own.ahead).toBeGreaterThan(of.ahead);
  expect(own.left).toBeGreaterThan(0.4);
  if (of.other === undefined) return;
  const { control } = of.other;
  expect((await walked({ ...of.task, control })).fell).toBeGreaterThanOrEqual(16);
});

test.each([
  { robot: "G1", rough: g1Rough },
  { robot: "biped", rough: bipedRough },
])("feet of the $robot start above their ground, however poses are drawn", async ({ rough }) => {
  const worlds = 256;
  const task = { ...rough, id: "StartingAbove", terrain: { ground: level, geom: rough.terrain!.geom } };
  await using env = await makeVec(task, { numEnvs: worlds, device: "wasm", threads: 1, recorder: false });
  await env.reset({ seed: 1 });
  const { qpos } = await env.getState(["qpos"]);
  const model = await loadTaskModel(task);
  const feet = model.names.geom.flatMap((name, id) => (name.includes("_foot_") ? [id] : []));
  expect(feet).toHaveLength(8);
  await withMuJoCo(model, ({ mujoco, model: mj, data, read, write }) => {
    for (let w = 0; w < worlds; w++) {
      write("qpos", qpos.subarray(w * model.nq, (w + 1) * model.nq));
      mujoco.mj_kinematics(mj, data);
      const places = read("geom_xpos");
      for (const id of feet) expect(places[3 * id + 2] - model.geom_size[3 * id]).toBeGreaterThan(0);
    }
  });
});
