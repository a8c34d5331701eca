// which four corners are kept of more that faces share, or that lie on a plane, where areas tie but for rounding
import { describe, expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";
import { contactShare } from "../support/contact-share.ts";
import { boxPoints } from "../support/hulls.ts";
import { createRandom, type Random } from "../support/mjcf-random.ts";
import { keptFour } from "../support/tolerances.ts";
import { unit } from "../support/collider-poses.ts";

const POSES = 100;
const SEED = 11;

const scene = (points: string, other: string, geom: string): string => `<mujoco>
  <asset><mesh name="m" vertex="${points}"/></asset>
  <worldbody>${other}<body><freejoint/>${geom}</body></worldbody></mujoco>`;

type Point = readonly [number, number, number];
const text = (points: readonly Point[]): string => points.flat().join(" ");

/** A prism of a regular polygon, 0.2 m high and as wide. */
const regular = (sides: number): string =>
  text(
    [-0.1, 0.1].flatMap((z) =>
      Array.from({ length: sides }, (_, i): Point => {
        const a = (2 * Math.PI * i) / sides;
        return [0.1 * Math.cos(a), 0.1 * Math.sin(a), z];
      }),
    ),
  );

/** Points of a box on its edges and in its faces too, turned, so that they are level and in line but for float32's rounding. */
function inLine(turn: number): string {
  const [c, s, ct, st] = [Math.cos(turn), Math.sin(turn), Math.cos(1 - turn), Math.sin(1 - turn)];
  const grid = [-1, -0.4, 0.1, 0.7, 1].flatMap((x) =>
    [-1, -0.2, 0.5, 1].flatMap((y) => [-1, 1].map((z) => [x, y, z].map((v) => v / 10))),
  );
  return text(
    grid.map(([x, y, z]): Point => {
      const [p, q] = [x * c - y * s, x * s + y * c];
      return [p, q * ct - z * st, q * st + z * ct];
    }),
  );
}

/** On something whose top is at z = 0: turned anyhow about z, by up to `tilt` rad about x and y, and as deep as `depth` says (m). */
const standing =
  (half: number, [least, most]: readonly [number, number], tilt: number) =>
  (r: Random): number[] => {
    const [yaw, x, y] = [r.between(-3, 3), r.between(-tilt, tilt), r.between(-tilt, tilt)];
    const [c, s] = [Math.cos(yaw / 2), Math.sin(yaw / 2)];
    const at = [r.between(-0.05, 0.05), r.between(-0.05, 0.05), half - r.between(least, most)];
    return [...at, c, (x * c - y * s) / 2, (y * c + x * s) / 2, s].map(Math.fround);
  };

const anyhow = (r: Random): number[] =>
  [r.between(-0.1, 0.1), r.between(-0.1, 0.1), r.between(-0.05, 0.1), ...unit(r, 4)].map(Math.fround);

const posesOf = (pose: (r: Random) => number[]): number[][] => {
  const r = createRandom(SEED);
  return Array.from({ length: POSES }, () => pose(r));
};

const can = '<geom type="cylinder" size=".04 .06"/>';
const table = '<geom type="box" size=".4 .3 .1" pos="0 0 -.1"/>';
const block = '<geom type="mesh" mesh="m"/>';
const [shallow, deep] = [
  [0.0015, 0.004],
  [0.02, 0.038],
] as const;

describe.each([
  { name: "a level can on a box", points: boxPoints(0.4), other: table, geom: can, pose: standing(0.06, shallow, 0) },
  { name: "a can on a box", points: boxPoints(0.4), other: table, geom: can, pose: standing(0.06, shallow, 0.02) },
  { name: "a can deep in a box", points: boxPoints(0.4), other: table, geom: can, pose: standing(0.06, deep, 0.02) },
  {
    name: "a can on a hull",
    points: boxPoints(0.4, 0.3, 0.1),
    other: '<geom type="mesh" mesh="m" pos="0 0 -.1"/>',
    geom: can,
    pose: standing(0.06, shallow, 0.02),
  },
  {
    name: "a can on a larger one",
    points: boxPoints(0.4),
    other: '<geom type="cylinder" size=".2 .1" pos="0 0 -.1"/>',
    geom: can,
    pose: standing(0.06, shallow, 0.02),
  },
])("of the cap of $name", ({ points, other, geom, pose }) => {
  test("the corners are kept in float64 that MuJoCo keeps, in each pose", async () => {
    const { touching, share } = await contactShare(scene(points, other, geom), posesOf(pose), "float64", 4e-6);
    expect(touching).toBe(POSES);
    expect(share, `seed ${SEED}`).toBe(1);
  });

  test("those are kept in float32 that MuJoCo keeps most often", async () => {
    const { share } = await contactShare(scene(points, other, geom), posesOf(pose), "float32", 4e-6);
    expect(share, `seed ${SEED}`).toBeGreaterThan(keptFour.value);
  });
});

test.each([5, 6, 8, 12, 16])(
  "of prisms of %i like sides on a box the corners are kept in float64 that MuJoCo keeps",
  async (n) => {
    const xml = scene(regular(n), table, block);
    const { touching, share } = await contactShare(xml, posesOf(standing(0.1, shallow, 0.02)), "float64", 1e-5);
    expect(touching).toBe(POSES);
    expect(share, `seed ${SEED}`).toBe(1);
  },
);

test.each([0.3, 0.6])(
  "of a face turned by %f rad whose corners are in line those meet a plane that MuJoCo keeps",
  async (turn) => {
    const xml = scene(inLine(turn), '<geom type="plane" size="1 1 1"/>', block);
    for (const arithmetic of ["float32", "float64"] as const) {
      const { touching, share } = await contactShare(xml, posesOf(anyhow), arithmetic, 1e-5);
      expect(touching).toBeGreaterThan(POSES / 2);
      expect(share, `${arithmetic}, seed ${SEED}`).toBe(1);
    }
  },
);

// the frames of bodies and of geoms beside them are MuJoCo's to the last place
test("a can on a tray that an arm holds steps as MuJoCo's does in float64", async () => {
  const model = await loadModel(`<mujoco><worldbody>
    <body pos="0 0 .5" euler="0 0 20"><joint name="j" axis="0 0 1" damping="1"/><geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/>
      <body pos=".3 0 0" euler="0 0 35"><geom type="box" size=".1 .1 .01" pos=".05 0 .01" euler="0 0 7"/></body></body>
    <body pos=".35 .2 .579"><freejoint/><geom type="cylinder" size=".03 .05" pos=".001 .002 0" euler="0 0 11"/></body>
  </worldbody><actuator><motor joint="j" gear="0.1"/></actuator></mujoco>`);
  const { verdict } = await compareWithMuJoCo(model, { device: "cpu-f64", steps: 60, envs: 3 });
  expect(verdict.beyond).toBe(0);
});
