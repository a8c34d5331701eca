// hulls of fine meshes deep in each other and in boxes: which faces meet follows from the triangle that MuJoCo's search ends with
import { describe, expect, test } from "vitest";
import { createSimulation, loadModel } from "../../src/index.ts";
import { createOracle } from "../../src/model/oracle.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { deepHullBounds as bounds } from "../support/tolerances.ts";

const POSES = 150;
/** The power of coordinates whose sum is 1: of a sphere 2, of a box infinite. */
const ROUND = 24;
const r = createRandom(21);

/** Points of a box with round edges and sides that are flat to a micrometre or so, as scanned parts are. */
function lump(count: number, half: readonly number[]): string {
  const points = Array.from({ length: count }, (_, i) => {
    const z = 1 - (2 * (i + 0.5)) / count;
    const angle = i * Math.PI * (3 - Math.sqrt(5));
    const out = Math.sqrt(1 - z * z);
    const d = [out * Math.cos(angle), out * Math.sin(angle), z].map((x) => x + r.between(-0.02, 0.02));
    const length = d.reduce((sum, x) => sum + Math.abs(x) ** ROUND, 0) ** (1 / ROUND);
    return d.map((x, k) => ((x / length) * half[k]).toFixed(9)).join(" ");
  });
  return points.join("  ");
}

const SCENES = {
  "two of 100 and 300 vertices": `<geom type="mesh" mesh="coarse"/>`,
  "one of 300 vertices and a box": `<geom type="box" size=".05 .04 .06"/>`,
};

describe.each(Object.entries(SCENES))("%s", (_, geom) => {
  const xml = `<mujoco><asset><mesh name="coarse" vertex="${lump(100, [0.05, 0.06, 0.04])}"/>
    <mesh name="fine" vertex="${lump(300, [0.04, 0.04, 0.05])}"/></asset>
    <worldbody>${geom}<body><freejoint/><geom type="mesh" mesh="fine" mass="1"/></body></worldbody></mujoco>`;

  test("makes the contacts that MuJoCo makes", async () => {
    const model = await loadModel(xml);
    const qpos = Array.from({ length: POSES }, () => {
      const [quat, along] = [4, 3].map((n) => Array.from({ length: n }, () => r.between(-1, 1)));
      const unit = (v: readonly number[]) => v.map((x) => x / Math.hypot(...v));
      return [...unit(along).map((x) => x * r.between(0.03, 0.08)), ...unit(quat)];
    });
    const outputs = ["ncon", "contact_dist", "contact_pos", "contact_frame"] as const;
    await using simulation = await createSimulation(model, { numEnvs: POSES, device: "wasm", outputs });
    await simulation.setState({ qpos: Float64Array.from(qpos.flat()) });
    simulation.forward();
    const found = await simulation.getState(outputs);
    using oracle = await createOracle(model);
    const most = found.contact_dist.length / POSES;
    const same = qpos.filter((q, world) => {
      oracle.write("qpos", q);
      oracle.mujoco.mj_forward(oracle.model, oracle.data);
      const theirs = oracle.contacts();
      const at = (k: number, name: "contact_pos" | "contact_frame", size: number) =>
        Array.from(found[name].subarray((world * most + k) * size, (world * most + k) * size + 3));
      const off = (a: readonly number[], b: ArrayLike<number>) => Math.hypot(...a.map((x, i) => x - b[i]));
      const ours = Array.from({ length: found.ncon[world] }, (_, k) => k);
      const isOurs = (c: (typeof theirs)[number]) =>
        ours.some(
          (k) =>
            off(at(k, "contact_pos", 3), c.pos) < bounds.place.value &&
            off(at(k, "contact_frame", 9), c.frame) < bounds.normal.value,
        );
      return theirs.length === ours.length && theirs.every(isOurs);
    });
    expect(same.length / POSES).toBeGreaterThanOrEqual(bounds.same.value);
  });
});
