// hulls deep in one another where more than the least overlap decides: level sides, and searches that run out of steps
import { describe, expect, test } from "vitest";
import { RandomStream, streams } from "../../src/core/rng.ts";
import { contactShare } from "../support/contact-share.ts";
import { cylinderPlaces, hullPaths } from "../support/tolerances.ts";

const POSES = 400;
const SEED = 5;
type Vec = readonly number[];

const random = (i: number) => {
  const stream = new RandomStream(SEED, i, 0, streams.user);
  return (k: number, low: number, high: number) => low + (high - low) * stream.uniform(k);
};
const unit = (v: Vec): number[] => v.map((x) => x / Math.hypot(...v));
/** A direction, or a turn, from twelve draws of a bell. */
const anyUnit = (draw: ReturnType<typeof random>, from: number, size: number): number[] =>
  unit(Array.from({ length: size }, (_, j) => [0, 1, 2].reduce((sum, k) => sum + draw(from + 3 * j + k, -1, 1), 0)));

/** Two bodies turned anyhow, their centres at most so far apart. */
function deep(i: number, far: number): number[] {
  const draw = random(i);
  const along = anyUnit(draw, 24, 3).map((x) => x * draw(40, 0.2, 1) * far);
  return [0, 0, 0, ...anyUnit(draw, 0, 4), ...along, ...anyUnit(draw, 12, 4)];
}

const turned = (v: Vec, [w, ...u]: Vec): number[] => {
  const cross = (a: Vec, b: Vec) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const t = cross(u, v).map((x) => 2 * x);
  return cross(u, t).map((x, k) => v[k] + w * t[k] + x);
};

/** Points on the sides of a box that a turn and float32 leave level to nanometres, as files of parts have them. */
function levelBox(half: Vec, along: number, turn: Vec): string {
  const steps = Array.from({ length: along + 1 }, (_, i) => i);
  const points = steps.flatMap((i) => steps.flatMap((j) => steps.map((k) => [i, j, k])));
  const outside = points.filter((p) => p.some((i) => i === 0 || i === along));
  const placed = outside.map((p) => p.map((i, k) => half[k] * ((2 * i) / along - 1)));
  return placed.map((p) => turned(p, turn).map(Math.fround).join(" ")).join("  ");
}

/** Points of an ellipsoid, one on each turn of a spiral. */
function egg(count: number, half: Vec): string {
  const points = Array.from({ length: count }, (_, i) => {
    const z = 1 - (2 * i + 1) / count;
    const [out, angle] = [Math.sqrt(1 - z * z), 2.399963 * i];
    return [out * Math.cos(angle), out * Math.sin(angle), z].map((x, k) => (x * half[k]).toFixed(7)).join(" ");
  });
  return points.join("  ");
}

const scene = (one: string, other: string, { asset = "", option = "" } = {}): string =>
  `<mujoco>${option}<asset><mesh name="one" vertex="${one}"/>${asset}</asset><worldbody>
  <body><freejoint/><geom type="mesh" mesh="one" mass="1"/></body><body><freejoint/>${other}</body></worldbody></mujoco>`;
const mesh = (vertices: string): string => `<mesh name="two" vertex="${vertices}"/>`;

const expectMuJoCos = async (
  xml: string,
  far: number,
  arithmetic: "float32" | "float64",
  least = hullPaths.value,
): Promise<void> => {
  const poses = Array.from({ length: POSES }, (_, i) => deep(i, far));
  const { touching, share } = await contactShare(xml, poses, arithmetic, cylinderPlaces.apart.value);
  expect(touching).toBeGreaterThan(POSES / 2);
  expect(share, `of ${touching}, seed ${SEED}`).toBeGreaterThanOrEqual(least);
};

test("in float64 boxes of many corners meet at the corners where MuJoCo's climbs end", async () => {
  const [first, second] = [unit([0.8, 0.3, -0.4, 0.2]), unit([0.1, -0.7, 0.5, 0.4])];
  const asset = mesh(levelBox([0.025, 0.03, 0.02], 5, second));
  const one = levelBox([0.03, 0.02, 0.04], 4, first);
  await expectMuJoCos(scene(one, `<geom type="mesh" mesh="two" mass="1"/>`, { asset }), 0.06, "float64");
});

describe("searches that run out of steps end where MuJoCo's do", () => {
  const option = `<option ccd_iterations="12"/>`;
  const asset = mesh(egg(40, [0.05, 0.06, 0.04]));
  const cases = [
    { name: "two hulls", geom: `type="mesh" mesh="two"`, arithmetic: "float64" },
    { name: "two hulls with a margin", geom: `type="mesh" mesh="two" margin=".002"`, arithmetic: "float64" },
    { name: "two hulls with a margin", geom: `type="mesh" mesh="two" margin=".002"`, arithmetic: "float32" },
    { name: "a cylinder in a hull", geom: `type="cylinder" size=".026 .035"`, arithmetic: "float64" },
    { name: "a cylinder in a hull", geom: `type="cylinder" size=".026 .035"`, arithmetic: "float32" },
  ] as const;
  test.each(cases)("$name, in $arithmetic", async ({ geom, arithmetic }) => {
    const xml = scene(egg(40, [0.04, 0.04, 0.05]), `<geom ${geom} mass="1"/>`, { asset, option });
    const least = geom.includes("cylinder") ? cylinderPlaces.share.value : hullPaths.value;
    await expectMuJoCos(xml, 0.08, arithmetic, least);
  });
});

/** A plate with a corner 0.03 mm before the middle of an edge, which is on three polygons, and one that is made last. */
function plate(): string {
  const [a, b, h] = [0.03, 0.04, 0.01];
  const out = unit([1, 0, 0.6]);
  const under = (down: number, off: number, y: number) => [
    a + down * out[2] + off * out[0],
    y,
    h - down * out[0] + off * out[2],
  ];
  const top = [1, -1].flatMap((x) => [b, -b].map((y) => [x * a, y, h]));
  const bottom = [b, -b].flatMap((y) => [under(0.02, 0, y), [-a, y, -0.02]]);
  const points = [...top, under(3e-4, 3e-5, 0), bottom[0], bottom[2], bottom[1], bottom[3], [-a - 5e-6, 0, h + 1e-6]];
  return points.map((p) => p.map((x) => x.toFixed(9)).join(" ")).join("  ");
}

/** A blunt tip, at whose foot eight faces meet that are within 3 degrees of level. */
function tip(): string {
  const ring = (n: number, radius: number, z: number, turn: number) =>
    Array.from({ length: n }, (_, i) => [Math.cos, Math.sin].map((f) => radius * f((2 * Math.PI * i) / n + turn))).map(
      (p) => [...p, z],
    );
  const points = [[0, 0, 0], ...ring(8, 0.03, 0.0012, 0.1), ...ring(4, 0.02, 0.03, 0)];
  return points.map((p) => p.map((x) => x.toFixed(9)).join(" ")).join("  ");
}

test("in float64 the third corner of a triangle is looked for on two polygons, of three along an almost straight edge", async () => {
  const poses = Array.from({ length: POSES }, (_, i) => {
    const draw = random(i);
    const turn = unit([1, draw(0, -0.03, 0.03), draw(1, -0.03, 0.03), draw(2, -3, 3)]);
    return [0, 0, 0, 1, 0, 0, 0, draw(3, -0.02, 0.028), draw(4, -0.03, 0.03), draw(5, 0.004, 0.0095), ...turn];
  });
  const other = `<geom type="mesh" mesh="two" mass="1"/>`;
  const xml = scene(plate(), other, { asset: mesh(tip()) });
  const { touching, share } = await contactShare(xml, poses, "float64", cylinderPlaces.apart.value);
  expect(touching).toBe(POSES);
  expect(share).toBeGreaterThanOrEqual(cylinderPlaces.share.value);
});
