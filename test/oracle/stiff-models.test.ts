// random models with contacts that no dof relieves, constraints that contradict and masses far apart, step by step
import { describe, expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";
import { randomSeeds } from "../support/oracle-suite.ts";
import { isFull } from "../support/sweep.ts";
import { createStiffMjcf } from "../support/random-stiff-mjcf.ts";

/** MuJoCo's own CG does not converge on D of 1e15, and its PGS stops short: Newton is the oracle. */
const ORACLE = { solver: "Newton" };

/** What a verdict says of steps beyond the bounds of positions and velocities. */
const beyond = (reasons: readonly string[]) =>
  reasons.filter((r) => /^q(pos|vel) is off by [0-9]|^[A-Z_]+ is set/.test(r));

describe.each(randomSeeds(5, 30))("seed %i", (seed) => {
  test.each([
    ["wasm", true],
    ["wasm", false],
    // what only rounding brings is not there: one form of a seed does, unless all are wanted
    ["cpu-f64", seed % 2 === 1],
    ...(isFull ? [["cpu-f64", seed % 2 === 0] as const] : []),
  ] as const)("stays within the bounds on %s, straight-line: %s", async (device, unroll) => {
    const model = await loadModel(createStiffMjcf(seed, ORACLE));
    const { verdict } = await compareWithMuJoCo(model, { device, steps: 20, envs: 2, seed: 1, unroll });
    expect(beyond(verdict.reasons)).toEqual([]);
  });
});

// one island's stiff contact leaves a slope of rounding, beside which another island is still far from its minimum
test.each([
  [10, false],
  [18, false],
  [20, false],
  [40, true],
] as const)("wide seed %i: each island goes on until it is done; straight-line: %s", async (seed, unroll) => {
  const model = await loadModel(createStiffMjcf(seed, {}, true));
  const { verdict } = await compareWithMuJoCo(model, { device: "wasm", steps: 10, envs: 2, seed: 1, unroll });
  expect(verdict.reasons.filter((r) => /^q(pos|vel|acc) is off by [0-9]/.test(r))).toEqual([]);
});

// levers of 30 µm beside a free body five metres away: what it adds to no row is no noise of that row
test.each([14, 20, 57, 60])("wide seed %i: a lever is known to rounding of itself", async (seed) => {
  const model = await loadModel(createStiffMjcf(seed, {}, true));
  const { verdict } = await compareWithMuJoCo(model, { device: "wasm", steps: 10, envs: 2, seed: 1 });
  expect(verdict.reasons).toEqual([]);
});

// PGS has no Hessian to lose M in: with a floor of R it solves another problem, of which its sweeps leave something else
test.each([8, 54])("wide seed %i: PGS keeps MuJoCo's R", async (seed) => {
  const model = await loadModel(createStiffMjcf(seed, {}, true));
  const { verdict } = await compareWithMuJoCo(model, { device: "wasm", steps: 4, envs: 2, seed: 1 });
  expect(verdict.reasons).toEqual([]);
});

// a hinge through its body's centre of mass leaves contacts no R: which of them wins goes by the quotients of their D
test.each([
  ["pyramidal", 0, true],
  ["pyramidal", 1e-8, true],
  ["pyramidal", 0, false],
  ["elliptic", 0, true],
  ["elliptic", 0, false],
] as const)("%s contacts about a hinge %s m off the centre of mass; straight-line: %s", async (cone, off, unroll) => {
  const model = await loadModel(
    `<mujoco><option cone="${cone}"/><worldbody><geom type="box" size=".09 .1 .03" pos=".01 0 .03"/>
    <body pos=".12 0 .04"><joint axis="0 1 0" pos="0 0 ${off}"/><geom type="box" size=".025 .025 .015" mass=".1"/></body>
    <body pos="0 0 .07"><freejoint/><geom type="box" size=".02 .03 .0101" mass=".2"/></body></worldbody></mujoco>`,
  );
  const { verdict } = await compareWithMuJoCo(model, { device: "cpu-f64", steps: 5, envs: 2, seed: 1, unroll });
  expect(verdict.reasons).toEqual([]);
});

// a cart 85 mm deep in its floor: on the way to the minimum decrements stay as they are for ten iterations, and are no noise
test("wheels that start deep slip as MuJoCo's do", async () => {
  const wheels = [-1, 1].flatMap((x) => [-1, 1].flatMap((y) => ["0 1 0", "1 0 0"].map((axis) => ({ x, y, axis }))));
  const model = await loadModel(`<mujoco><worldbody><geom name="floor" type="plane" size="0 0 .01"/>
    <body pos="0 0 .03"><freejoint/><geom type="box" size=".16 .12 .05"/>
    <body pos=".05 0 .06"><joint damping=".03"/><geom type="capsule" size=".015" fromto="0 0 0 0 0 .13"/>
    <body pos=".01 0 .13"><joint axis="0 1 0" damping=".03"/>
    <geom type="capsule" size=".01" fromto="-.025 0 0 .025 0 0" mass="5"/></body></body>
    ${wheels.map(({ x, y, axis }, i) => `<body pos="${0.12 * x} ${0.09 * y} -.07" zaxis="${axis}"><joint damping=".03"/><geom name="w${i}" type="capsule" size=".045 .01"/></body>`).join("")}
    </body></worldbody>
    <contact>${wheels.map((_, i) => `<pair geom1="w${i}" geom2="floor" condim="3" friction=".01 1"/>`).join("")}</contact></mujoco>`);
  const { verdict } = await compareWithMuJoCo(model, { device: "wasm", steps: 12, envs: 6, arithmetic: "float32" });
  expect(beyond(verdict.reasons)).toEqual([]);
});
