// geoms whose centres are one place: MuJoCo's search has no direction to begin with, and makes no contact
import { expect, test } from "vitest";
import { createSimulation, loadModel } from "../../src/index.ts";
import { createOracle } from "../../src/model/oracle.ts";

const OCTAHEDRON = ".05 0 0  -.05 0 0  0 .04 0  0 -.04 0  0 0 .03  0 0 -.03";
const SHAPES = {
  sphere: 'type="sphere" size=".05"',
  capsule: 'type="capsule" size=".03 .04"',
  ellipsoid: 'type="ellipsoid" size=".03 .04 .05"',
  cylinder: 'type="cylinder" size=".05 .02"',
  box: 'type="box" size=".03 .04 .05"',
  mesh: 'type="mesh" mesh="octahedron"',
};
type Kind = keyof typeof SHAPES;
const KINDS = Object.keys(SHAPES) as Kind[];
/** Those of MuJoCo's formulas, and the pairs that it searches. */
const FORMULAS = ["sphere-sphere", "sphere-capsule", "sphere-cylinder", "sphere-box", "capsule-capsule", "capsule-box"];
const PAIRS = KINDS.flatMap((a, i) => KINDS.slice(i).map((b) => [a, b] as const)).filter(
  (pair) => ![...FORMULAS, "box-box"].includes(pair.join("-")),
);
const FLAT: readonly Kind[] = ["box", "mesh"];

/** Distances of centres within MuJoCo's bounds, its 1e-15 m of boxes and hulls and `ccd_tolerance` of others, and just beside. */
const distancesOf = (tolerance: number, device: string) => [
  0,
  ...(device === "cpu-f64" ? [5e-16, 3e-15] : []),
  ...[0.9, 1.1, 10].map((part) => part * tolerance),
];

const body = (name: string) =>
  KINDS.map((kind) => `<geom name="${name}-${kind}" ${SHAPES[kind]} mass="1" contype="0" conaffinity="0"/>`).join("");
const scene = (tolerance: number) => `
  <mujoco>
    <option ccd_tolerance="${tolerance}"/>
    <asset><mesh name="octahedron" vertex="${OCTAHEDRON}"/></asset>
    <worldbody>${body("a")}<body><freejoint/>${body("b")}</body></worldbody>
    <contact>${PAIRS.map(([a, b]) => `<pair geom1="a-${a}" geom2="b-${b}"/>`).join("")}</contact>
  </mujoco>`;

test.each([
  ["cpu-f64", 1e-6],
  ["wasm", 3e-6],
] as const)(
  "on %s searched pairs of one centre, to %f m, make contacts where MuJoCo's do",
  async (device, tolerance) => {
    const model = await loadModel(scene(tolerance));
    const distances = distancesOf(tolerance, device);
    // turned, and away along no axis of either
    const qpos = distances.map((d) => [0.48 * d, 0.6 * d, 0.64 * d, 0.8, 0.36, 0.48, 0]);
    const outputs = ["ncon", "contact_geom"] as const;
    await using simulation = await createSimulation(model, { numEnvs: qpos.length, device, outputs });
    await simulation.setState({ qpos: Float64Array.from(qpos.flat()) });
    simulation.forward();
    const { ncon, contact_geom } = await simulation.getState(outputs);
    const room = contact_geom.length / qpos.length;
    using oracle = await createOracle(model);
    const touching = qpos.map((q, world) => {
      oracle.write("qpos", q);
      oracle.mujoco.mj_forward(oracle.model, oracle.data);
      const theirs = new Set(oracle.contacts().map(({ geom }) => [...geom].sort((a, b) => a - b).join("-")));
      const ours = new Set(
        Array.from({ length: ncon[world] }, (_, k) => {
          const pair = contact_geom.subarray(world * room + 2 * k, world * room + 2 * k + 2);
          return [...pair].sort((a, b) => a - b).join("-");
        }),
      );
      expect([...ours].sort(), `${distances[world]} m apart`).toEqual([...theirs].sort());
      return theirs.size;
    });
    const flat = PAIRS.filter((pair) => pair.every((kind) => FLAT.includes(kind))).length;
    expect(touching[0]).toBe(0);
    expect(touching.slice(-3)).toEqual([flat, PAIRS.length, PAIRS.length]);
  },
);
