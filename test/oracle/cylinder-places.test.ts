// cylinders deep in boxes, hulls and cylinders, and capsules deep in cylinders: contacts where MuJoCo's search ends, which is not the least overlap
import { describe, expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { RandomStream, streams } from "../../src/core/rng.ts";
import { loadModel } from "../../src/model/model.ts";
import { contactShare } from "../support/contact-share.ts";
import { anyhow as anyhowOf, BALL } from "../support/deep-poses.ts";
import { cylinderPlaces } from "../support/tolerances.ts";

const POSES = 150;
const SEED = 11;

const scene = (other: string): string => `<mujoco><asset><mesh name="ball" vertex="${BALL}"/></asset><worldbody>
<body><freejoint/><geom type="cylinder" size=".026 .035" mass="1"/></body>
<body><freejoint/>${other}</body></worldbody></mujoco>`;
const SHAPES = {
  "a box": `<geom type="box" size=".03 .04 .02" mass="1"/>`,
  "a hull": `<geom type="mesh" mesh="ball" mass="1"/>`,
  "a cylinder": `<geom type="cylinder" size=".03 .02" mass="1"/>`,
};

const anyhow = (i: number): number[] => anyhowOf(SEED, i);

/** A cylinder that lies on the second body's top, 3 µm to 1 mm deep, with its axis off level by 1e-6 to 1e-2 rad. */
function lying(i: number): number[] {
  const random = new RandomStream(SEED, i, 0, streams.user);
  const draw = (k: number, low: number, high: number) => low + (high - low) * random.uniform(k);
  const [depth, tilt, turn] = [10 ** draw(0, -5.5, -3), 10 ** draw(1, -6, -2), draw(2, 0, Math.PI)];
  const [c, s] = [Math.cos(Math.PI / 4 + tilt / 2), Math.sin(Math.PI / 4 + tilt / 2)];
  const [ct, st] = [Math.cos(turn), Math.sin(turn)];
  const at = [draw(3, -0.02, 0.02), draw(4, -0.02, 0.02), 0.026 + 0.02 - depth];
  return [...at, ct * c, ct * s, st * s, st * c, 0, 0, 0, 1, 0, 0, 0];
}

/** A cylinder that lies across another, 3 µm to 1 mm deep, each off level by 1e-6 to 1e-2 rad. */
function crossed(i: number): number[] {
  const random = new RandomStream(SEED, i, 0, streams.user);
  const draw = (k: number, low: number, high: number) => low + (high - low) * random.uniform(k);
  const lie = (k: number): number[] => {
    const [tilt, turn] = [10 ** draw(k, -6, -2), draw(k + 1, 0, Math.PI)];
    const [c, s] = [Math.cos(Math.PI / 4 + tilt / 2), Math.sin(Math.PI / 4 + tilt / 2)];
    return [Math.cos(turn) * c, Math.cos(turn) * s, Math.sin(turn) * s, Math.sin(turn) * c];
  };
  const at = [draw(0, -0.01, 0.01), draw(1, -0.01, 0.01), 0.026 + 0.03 - 10 ** draw(2, -5.5, -3)];
  return [0, 0, 0, ...lie(3), ...at, ...lie(5)];
}

/** Two cylinders turned anyhow, but the second one's axis within 0.1 rad of square to the first's: their sides lie along caps. */
function across(i: number): number[] {
  const random = new RandomStream(SEED, i, 1, streams.user);
  const [spin, tilt] = [2 * Math.PI * random.uniform(0), Math.PI / 2 + 0.2 * (random.uniform(1) - 0.5)];
  const [c, s, ct, st] = [Math.cos(spin / 2), Math.sin(spin / 2), Math.cos(tilt / 2), Math.sin(tilt / 2)];
  const [w, x, y, z] = anyhow(i).slice(3, 7);
  // turned about its own axis and then over
  const [a, b, e, d] = [w * c - z * s, x * c + y * s, y * c - x * s, z * c + w * s];
  const over = [a * ct - b * st, b * ct + a * st, e * ct + d * st, d * ct - e * st];
  return [...anyhow(i).slice(0, 10), ...over];
}

const cases = [
  { name: "anyhow in a box", shape: "a box", pose: anyhow },
  { name: "anyhow in a hull", shape: "a hull", pose: anyhow },
  { name: "lying on a box", shape: "a box", pose: lying },
  { name: "crossed on a cylinder", shape: "a cylinder", pose: crossed },
] as const;

/** An elbow: a capsule that is level in the middle of a cylinder and ends on its axis, so that ways out tie. */
function elbow(i: number): number[] {
  const random = new RandomStream(SEED, i, 0, streams.user);
  const [turn, spin] = [0, 1].map((k) => 2 * Math.PI * random.uniform(k));
  const [c, s] = [Math.cos(turn), Math.sin(turn)];
  const level = [Math.SQRT1_2, -Math.SQRT1_2 * s, Math.SQRT1_2 * c, 0];
  return [0.05 * c, 0.05 * s, 0, ...level, 0, 0, 0, Math.cos(spin), 0, 0, Math.sin(spin)];
}

const ELBOWS = `<mujoco><worldbody><body><freejoint/><geom type="capsule" size=".02 .05" mass="1"/></body>
<body><freejoint/><geom type="cylinder" size=".03 .025" mass="1"/></body></worldbody></mujoco>`;

describe("in float64", () => {
  test.each([
    { name: "anyhow", pose: anyhow, near: cylinderPlaces.apart.value },
    { name: "as elbows, as many", pose: elbow, near: 1 },
  ])("capsules $name touch cylinders where they do in MuJoCo", async ({ pose, near }) => {
    const poses = Array.from({ length: POSES }, (_, i) => pose(i));
    const { touching, share } = await contactShare(ELBOWS, poses, "float64", near);
    expect(touching).toBeGreaterThan(POSES / 2);
    expect(share, `of ${touching}, seed ${SEED}`).toBeGreaterThan(cylinderPlaces.share.value);
  });

  test("cylinders whose sides lie along caps touch where they do in MuJoCo, each pose", async () => {
    const poses = Array.from({ length: 4 * POSES }, (_, i) => across(i));
    const xml = scene(SHAPES["a cylinder"]);
    const { touching, share } = await contactShare(xml, poses, "float64", cylinderPlaces.apart.value);
    expect(touching).toBeGreaterThan(POSES);
    expect(share, `of ${touching}, seed ${SEED}`).toBe(1);
  });

  test("two cylinders anyhow touch where they do in MuJoCo", async () => {
    const poses = Array.from({ length: POSES }, (_, i) => anyhow(i));
    const xml = scene(SHAPES["a cylinder"]);
    const { touching, share } = await contactShare(xml, poses, "float64", cylinderPlaces.apart.value);
    expect(touching).toBeGreaterThan(POSES / 2);
    expect(share, `of ${touching}, seed ${SEED}`).toBeGreaterThan(cylinderPlaces.share.value);
  });
});

test("a model with the axis of a capsule in a cylinder steps as MuJoCo does, in float64 by default", async () => {
  const arm = (x: number) =>
    loadModel(`<mujoco><option timestep="0.005" gravity="9.81 0 0"/><worldbody><geom type="capsule" size=".045" fromto="0 0 0 .5 0 0"/>
<body pos="${x} 0 0"><joint axis="0 0 1" range="0 120" damping=".1"/><geom type="cylinder" size=".08 .05" mass="0"/>
<geom type="capsule" size=".035" fromto=".1 0 0 .5 0 0" contype="0" conaffinity="0"/></body></worldbody></mujoco>`);
  const { arithmetic, verdict } = await compareWithMuJoCo(await arm(0.5), { device: "wasm", steps: 30, envs: 3 });
  expect(arithmetic).toBe("float64");
  expect(verdict.reasons.filter((reason) => reason.includes("count"))).toEqual([]);
  // the end of the axis is beside it, and the capsule is deep in it
  expect((await compareWithMuJoCo(await arm(0.6), { device: "wasm", steps: 1, envs: 1 })).arithmetic).toBe("float32");
});

describe.each(["float32", "float64"] as const)("in %s", (arithmetic) => {
  test.each(cases)("cylinders $name touch where they do in MuJoCo", async ({ shape, pose }) => {
    const poses = Array.from({ length: POSES }, (_, i) => pose(i));
    const { touching, share } = await contactShare(scene(SHAPES[shape]), poses, arithmetic, cylinderPlaces.apart.value);
    expect(touching).toBeGreaterThan(POSES / 2);
    expect(share, `of ${touching}, seed ${SEED}`).toBeGreaterThan(cylinderPlaces.share.value);
  });
});
