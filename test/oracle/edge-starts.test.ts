// pairs whose search meets the origin on an edge between two corners, around which it goes on
import { expect, test } from "vitest";
import { RandomStream, streams } from "../../src/core/rng.ts";
import { contactShare } from "../support/contact-share.ts";
import { cylinderPlaces } from "../support/tolerances.ts";

const POSES = 150;
const SEED = 11;

/** A body at `at` (m), turned by `half` about `axis`, and the whole pair turned anyhow, to float32. */
function pair(i: number, at: readonly number[], [cos, sin]: readonly [number, number], axis: number): number[] {
  const random = new RandomStream(SEED, i, 0, streams.user);
  const drawn = [0, 1, 2, 3].map((k) => 2 * random.uniform(k) - 1);
  const [w, x, y, z] = drawn.map((v) => v / Math.hypot(...drawn));
  const [u, v] = [
    [y * at[2] - z * at[1], z * at[0] - x * at[2], x * at[1] - y * at[0]],
    [x, y, z],
  ];
  const twice = [v[1] * u[2] - v[2] * u[1], v[2] * u[0] - v[0] * u[2], v[0] * u[1] - v[1] * u[0]];
  const moved = at.map((p, k) => p + 2 * (w * u[k] + twice[k]));
  const own = [cos, ...[0, 1, 2].map((k) => (k === axis ? sin : 0))];
  const turned = [
    w * own[0] - x * own[1] - y * own[2] - z * own[3],
    w * own[1] + x * own[0] + y * own[3] - z * own[2],
    w * own[2] - x * own[3] + y * own[0] + z * own[1],
    w * own[3] + x * own[2] - y * own[1] + z * own[0],
  ];
  return [0, 0, 0, w, x, y, z, ...moved, ...turned].map(Math.fround);
}

const depth = (i: number) => 10 ** (new RandomStream(SEED, i, 1, streams.user).uniform(0) * 2 - 4.5);

/** Two discs whose axes are square to each other in one plane, where each is as deep in the other's cap as in its side. */
function rims(i: number): number[] {
  const c = 0.03 + 0.01 - depth(i);
  return pair(i, [c, 0, c], [Math.SQRT1_2, Math.SQRT1_2], 1);
}

/** One on the other's third axis, spun about it. */
function inLine(i: number): number[] {
  const spin = new RandomStream(SEED, i, 2, streams.user).uniform(0) * Math.PI;
  return pair(i, [0, 0, 0.015 + 0.02 - 3 * depth(i)], [Math.cos(spin), Math.sin(spin)], 2);
}

const DISC = `type="cylinder" size=".03 .01"`;
const cases = [
  { name: "discs that meet at their rims", geoms: [DISC, DISC], pose: rims },
  {
    name: "ellipsoids on one axis",
    geoms: [`type="ellipsoid" size=".026 .035 .015"`, `type="ellipsoid" size=".03 .025 .02"`],
    pose: inLine,
  },
  {
    name: "an ellipsoid in the middle of a cap",
    geoms: [`type="ellipsoid" size=".026 .035 .015"`, `type="cylinder" size=".03 .02"`],
    pose: inLine,
  },
];

test.each(cases)("in float64 $name touch where they do in MuJoCo", async ({ geoms, pose }) => {
  const bodies = geoms.map((geom) => `<body><freejoint/><geom ${geom} mass="1"/></body>`).join("");
  const poses = Array.from({ length: POSES }, (_, i) => pose(i));
  const xml = `<mujoco><worldbody>${bodies}</worldbody></mujoco>`;
  const { touching, share } = await contactShare(xml, poses, "float64", cylinderPlaces.apart.value);
  expect(touching).toBeGreaterThan(POSES / 2);
  expect(share, `of ${touching}, seed ${SEED}`).toBeGreaterThan(cylinderPlaces.share.value);
});
