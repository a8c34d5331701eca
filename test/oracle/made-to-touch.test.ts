// shapes made to touch: where MuJoCo searches, an overlap of less than its mjMINVAL makes no contact
import { expect, test } from "vitest";
import { createSimulation, loadModel } from "../../src/index.ts";
import { createOracle } from "../../src/model/oracle.ts";
import { TOUCHING } from "../../src/monitor/measure.ts";

// a power of two, so that places are what they say
const HALF = 1 / 16;
const CUBE = [-1, 1].flatMap((x) => [-1, 1].flatMap((y) => [-1, 1].map((z) => `${x * HALF} ${y * HALF} ${z * HALF}`)));
const SHAPES = {
  box: `type="box" size="${HALF} ${HALF} ${HALF}"`,
  disc: `type="cylinder" size="${HALF} ${HALF}"`,
  roller: `type="cylinder" size="${HALF} .05" zaxis="0 1 0"`,
  cube: `type="mesh" mesh="cube"`,
};
type Kind = keyof typeof SHAPES;
const KINDS = Object.keys(SHAPES) as Kind[];
const PAIRS = KINDS.flatMap((a) => KINDS.map((b) => [a, b] as const)).filter(
  // a formula, and what leaves float32 and MuJoCo itself undecided
  ([a, b]) => !["box-box", "roller-roller", "disc-disc", "cube-roller", "roller-cube"].includes(`${a}-${b}`),
);
const scene = (a: Kind, b: Kind) => `<mujoco><asset><mesh name="cube" vertex="${CUBE.join("  ")}"/></asset><worldbody>
  <geom ${SHAPES[a]}/><body pos="0 0 ${2 * HALF}"><joint type="slide" axis="0 0 1"/><joint type="hinge" axis="0 0 1"/>
  <geom ${SHAPES[b]}/></body></worldbody></mujoco>`;

/** Overlaps (m) under MuJoCo's bound, and over it by what a device tells. */
const OVERLAPS = { "cpu-f64": [2 ** -52, 2 ** -51, 2 ** -44, 2 ** -20], wasm: [2 ** -52, 2 ** -51, 2 ** -20] } as const;
const TURNS = [0, 0.37, 1.11, 2.2];

test.each(["cpu-f64", "wasm"] as const)("on %s pairs make contacts where MuJoCo's do", async (device) => {
  for (const [a, b] of PAIRS) {
    const model = await loadModel(scene(a, b));
    const qpos = OVERLAPS[device].flatMap((overlap) => TURNS.map((turn) => [-overlap, turn]));
    await using simulation = await createSimulation(model, { numEnvs: qpos.length, device, outputs: ["ncon"] });
    await simulation.setState({ qpos: Float64Array.from(qpos.flat()) });
    simulation.forward();
    const { ncon } = await simulation.getState(["ncon"]);
    using oracle = await createOracle(model);
    const theirs = qpos.map((q) => {
      oracle.write("qpos", Float64Array.from(q));
      oracle.mujoco.mj_forward(oracle.model, oracle.data);
      return oracle.contacts().length > 0;
    });
    expect(
      Array.from(ncon, (n) => n > 0),
      `${a} under ${b}`,
    ).toEqual(theirs);
    expect(new Set(theirs).size, `${a} under ${b}`).toBe(2);
  }
});

const DECIMAL = {
  box: { low: `type="box" size=".25 .25 .05"`, high: `type="box" size=".15 .12 .3"` },
  disc: { low: `type="cylinder" size=".23 .05"`, high: `type="cylinder" size=".17 .3"` },
};

test.each([
  ["disc", "box"],
  ["box", "disc"],
  ["disc", "disc"],
] as const)("of a %s that stands on a %s with heights that round no contact is deep", async (high, low) => {
  const model = await loadModel(`<mujoco><worldbody><geom ${DECIMAL[low].low} pos="0 0 .05"/><body pos="0 0 .1">
  <joint type="slide" axis="1 0 0"/><joint axis="0 0 1"/><geom ${DECIMAL[high].high} pos="0 0 .3"/></body></worldbody></mujoco>`);
  const poses = Array.from({ length: 200 }, (_, i) => [Math.fround(0.003 * (i % 12)), Math.fround(0.03 * i - 3)]);
  using oracle = await createOracle(model);
  const theirs = poses.flatMap((q) => {
    oracle.write("qpos", Float64Array.from(q));
    oracle.mujoco.mj_forward(oracle.model, oracle.data);
    return oracle.contacts().map(({ dist }) => dist);
  });
  expect(Math.min(0, ...theirs)).toBeGreaterThan(-TOUCHING);
  for (const arithmetic of ["float32", "float64"] as const) {
    const outputs = ["ncon", "contact_dist"] as const;
    await using simulation = await createSimulation(model, {
      numEnvs: poses.length,
      device: "wasm",
      arithmetic,
      outputs,
    });
    await simulation.setState({ qpos: Float64Array.from(poses.flat()) });
    simulation.forward();
    const { ncon, contact_dist } = await simulation.getState(outputs);
    const room = contact_dist.length / poses.length;
    const ours = poses.flatMap((_, w) => Array.from(contact_dist.subarray(w * room, w * room + ncon[w])));
    expect(Math.min(0, ...ours), arithmetic).toBeGreaterThan(-TOUCHING);
  }
});
