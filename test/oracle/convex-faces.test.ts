// places of searched contacts where a round side lies on a face or across an edge, and corners kept of faces that meet
import { expect, test } from "vitest";
import { createSimulation, loadModel, type Model } from "../../src/index.ts";
import { MuJoCoWorld } from "../../src/monitor/mujoco-world.ts";
import { largestQuadrilateral } from "../../src/physics/collision/convex/quadrilateral.ts";
import { array } from "../../src/trace/control.ts";
import { toF32, type Scalar } from "../../src/trace/scalar.ts";
import { createRandom, type Random } from "../support/mjcf-random.ts";
import { program, runWasm } from "../support/trace-runner.ts";
import { touchBounds } from "../support/tolerances.ts";

const POSES = 60;

/** Rotation by small angles about x, y, z after a turn about z, as a quaternion. */
function tilted(x: number, y: number, yaw: number): number[] {
  const [c, s] = [Math.cos(yaw / 2), Math.sin(yaw / 2)];
  const q = [c, (x * c - y * s) / 2, (y * c + x * s) / 2, s];
  const norm = Math.hypot(...q);
  return q.map((v) => v / norm);
}

/** Contact places of both, pose by pose. */
async function places(model: Model, poses: readonly number[][]): Promise<{ ours: number[][]; theirs: number[][] }[]> {
  await using simulation = await createSimulation(model, {
    numEnvs: poses.length,
    device: "wasm",
    applied: false,
    outputs: ["ncon", "contact_pos"],
  });
  await simulation.setState({ qpos: Float32Array.from(poses.flat()) });
  simulation.step(1);
  const { ncon, contact_pos } = await simulation.getState(["ncon", "contact_pos"]);
  const world = await MuJoCoWorld.create(model);
  const width = contact_pos.length / poses.length;
  const found = poses.map((qpos, i) => {
    const state = world.state();
    const { data } = world.oracle;
    world.step({ ...state, qpos: Float64Array.from(qpos, Math.fround), qvel: new Float64Array(model.nv) });
    const theirs = Array.from({ length: data.ncon }, (_, k) =>
      Array.from(data.contact.get(k)!.pos as ArrayLike<number>),
    );
    const at = (k: number) => Array.from(contact_pos.subarray(i * width + 3 * k, i * width + 3 * k + 3));
    return { theirs, ours: Array.from({ length: ncon[i] }, (_, k) => at(k)) };
  });
  world.delete();
  return found;
}

const apart = (a: readonly number[], b: readonly number[]): number => Math.hypot(...a.map((x, k) => x - b[k]));

/** Counts are MuJoCo's, and no contact is farther from MuJoCo's than `bound` (m). */
async function expectPlaces(xml: string, pose: (r: Random) => number[], bound: number): Promise<void> {
  const model = await loadModel(xml);
  const r = createRandom(5);
  const poses = Array.from({ length: POSES }, () => pose(r));
  const found = await places(model, poses);
  expect(found.some(({ theirs }) => theirs.length > 0)).toBe(true);
  found.forEach(({ ours, theirs }, i) => {
    const label = `pose ${poses[i].join(" ")}`;
    expect(ours.length, label).toBe(theirs.length);
    for (const pos of theirs) expect(Math.min(...ours.map((at) => apart(at, pos))), label).toBeLessThan(bound);
  });
}

const scene = (geom: string, other: string, margin: number, asset = "") => `<mujoco>${asset}
  <option ccd_tolerance="1e-12" ccd_iterations="200"><flag gravity="disable"/></option>
  <default><geom margin="${margin}"/></default>
  <worldbody>${other}<body><freejoint/>${geom}</body></worldbody></mujoco>`;

// along x, 20 mm thick, on a face that is at z = 0
const log = '<geom type="cylinder" size="0.02 0.04" zaxis="1 0 0"/>';
const lying = (depth: number, across: number) => (r: Random) => [
  r.between(-0.01, 0.01),
  across + r.between(-0.005, 0.005),
  0.02 - r.between(0.2, 1) * depth,
  ...tilted(r.between(-0.02, 0.02), r.pick([-1, 1]) * r.between(0.005, 0.03), r.between(-0.3, 0.3)),
];

test.each([
  ["a cylinder on the face of a box", log, '<geom type="box" size="0.4 0.4 0.02" pos="0 0 -0.02"/>', lying(1e-3, 0)],
  ["a cylinder across an edge", log, '<geom type="box" size="0.01 0.4 0.02" pos="0 0 -0.02"/>', lying(1e-3, 0)],
  [
    "a cylinder across a cylinder",
    log,
    '<geom type="cylinder" size="0.02 0.4" zaxis="0 1 0" pos="0 0 -0.02"/>',
    lying(1e-3, 0),
  ],
  [
    "an ellipsoid on the face of a box",
    '<geom type="ellipsoid" size="0.04 0.03 0.02"/>',
    '<geom type="box" size="0.4 0.4 0.02" pos="0 0 -0.02"/>',
    lying(1e-3, 0),
  ],
])("%s touches where MuJoCo has it", async (_name, geom, other, pose) => {
  for (const margin of [0, 5e-4]) await expectPlaces(scene(geom, other, margin), pose, touchBounds.round.value);
});

// an end of a log under a cap, which tilts towards it or away: then the rim is what is met
test("a cap that an end of a cylinder's side lies on is a face, and no face where its rim is on that side", async () => {
  const under = '<geom type="cylinder" size="0.0225 0.06" zaxis="1 0 0"/>';
  const post = '<geom type="cylinder" size="0.0325 0.03"/>';
  const pose = (r: Random) => [
    r.pick([-1, 1]) * r.between(0.04, 0.08),
    r.between(-0.002, 0.002),
    0.0225 + 0.03 - r.between(2e-3, 4e-3),
    ...tilted(0, r.pick([-1, 1]) * r.between(0.01, 0.05), r.between(-0.3, 0.3)),
  ];
  await expectPlaces(scene(post, under, 0), pose, touchBounds.round.value);
});

// a slope, and a ridge along y
const field = (elevation: string) =>
  `<asset><hfield name="h" nrow="3" ncol="3" size=".2 .2 .1 .1" elevation="${elevation}"/></asset>`;
const [slope, ridge] = [field("1 1 1 .1 .1 .1 0 0 0"), field("0 1 0 0 1 0 0 1 0")];
const egg = '<geom type="ellipsoid" size="0.04 0.03 0.02"/>';
const onSlope = (r: Random) => {
  const [x, y, up] = [r.between(-0.15, -0.1), r.between(0.1, 0.15), 0.45];
  return [x, y, 0.01 + up * y + 0.018 * Math.hypot(1, up), ...tilted(r.between(0.36, 0.46), r.between(-0.03, 0.03), 0)];
};
const onRidge = (r: Random) => [
  r.between(-0.02, 0.02),
  r.between(-0.15, 0.15),
  0.1 + 0.02 - r.between(1e-4, 1e-3),
  ...tilted(0, r.between(-0.1, 0.1), r.between(-0.3, 0.3)),
];

test.each([
  ["a cylinder on a face", log, slope, onSlope],
  ["an ellipsoid on a face", egg, slope, onSlope],
  ["a cylinder across an edge", log, ridge, onRidge],
  ["an ellipsoid on an edge", egg, ridge, onRidge],
])("%s of a height field touches where MuJoCo has it", async (_name, geom, asset, pose) => {
  for (const margin of [0, 5e-4])
    await expectPlaces(scene(geom, '<geom type="hfield" hfield="h"/>', margin, asset), pose, touchBounds.round.value);
});

// sides alike to the last place of float32, in which MuJoCo keeps them
test("of a prism of twelve sides on a plane the corners are kept that MuJoCo keeps", async () => {
  const corner = (k: number, z: number) =>
    `${0.05 * Math.cos((k * Math.PI) / 6)} ${0.05 * Math.sin((k * Math.PI) / 6)} ${z}`;
  const ends = [-0.02, 0.02].flatMap((z) => Array.from({ length: 12 }, (_, k) => corner(k, z)));
  const asset = `<asset><mesh name="m" vertex="${ends.join(" ")}"/></asset>`;
  const pose = (r: Random) => [
    r.between(-0.1, 0.1),
    r.between(-0.1, 0.1),
    0.0195,
    ...tilted(r.between(-0.02, 0.02), r.between(-0.02, 0.02), r.between(-3, 3)),
  ];
  const plane = '<geom type="plane" size="1 1 1"/>';
  await expectPlaces(scene('<geom type="mesh" mesh="m"/>', plane, 0.002, asset), pose, touchBounds.round.value);
});

// tilted so far that some of the side that faces the plane reaches above the middle
test.each([5, 30])("of a prism of %i sides in a plane corners above its centre make no contact", async (sides) => {
  const corner = (k: number, z: number) => {
    const [turn, r] = [(2 * Math.PI * k) / sides, 0.1 * (1 + 0.3 * Math.sin(3 * k + 1))];
    return `${r * Math.cos(turn)} ${0.7 * r * Math.sin(turn)} ${z}`;
  };
  const ends = [-0.025, 0.025].flatMap((z) => Array.from({ length: sides }, (_, k) => corner(k, z)));
  const asset = `<asset><mesh name="m" vertex="${ends.join(" ")}"/></asset>`;
  const pose = (r: Random) => {
    const [half, way] = [r.between(0, 0.6), r.between(-3, 3)];
    const turned = [Math.cos(half), Math.sin(half) * Math.cos(way), Math.sin(half) * Math.sin(way), 0];
    return [0, 0, r.between(-0.3, 0.1), ...turned];
  };
  const plane = '<geom type="plane" size="1 1 1"/>';
  await expectPlaces(scene('<geom type="mesh" mesh="m"/>', plane, 0.002, asset), pose, touchBounds.round.value);
});

// two edges that are parallel to 1e-6: MuJoCo's climb goes on to the fifth corner
test("the corners that are kept of a face are those of an area that is larger by 1e-6", () => {
  const polygon = [
    [0, 0],
    [0, 0.9],
    [0, 1],
    [-1, 1],
    [-1.0000012, 0.9],
  ];
  const traced = program(polygon.length * 2, 4, (x: Scalar[]) => {
    const corners = [0, 1, 2].map((k) => array(`corner${k}`, polygon.length));
    polygon.forEach((_, i) => corners.forEach((of, k) => of.set(i, k < 2 ? x[2 * i + k] : 0)));
    const kept = largestQuadrilateral(corners, polygon.length, true);
    return [0, 1, 2, 3].map((i) => toF32(kept(i)));
  });
  expect(runWasm(traced, [polygon.flat()])).toEqual([[0, 1, 2, 4]]);
});
