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

/** Points of a disc whose sides are flat to ten nanometres: neighbouring triangles are level to less than float32's last place. */
function disc(count: number, radius: number, half: number): string {
  const points = [-half, half].flatMap((z) =>
    Array.from({ length: count }, (_, i) => {
      const [out, angle] = [(i + 0.5) / count, i * Math.PI * (3 - Math.sqrt(5))];
      const [x, y] = [Math.cos(angle), Math.sin(angle)].map((c) => c * radius * Math.sqrt(out));
      return [x, y, z - Math.sign(z) * 1e-8 * out].map((c) => c.toFixed(9)).join(" ");
    }),
  );
  return points.join("  ");
}

const box = (half: readonly number[]): string =>
  Array.from({ length: 8 }, (_, i) => half.map((h, k) => (i & (1 << k) ? h : -h)).join(" ")).join("  ");

const unit = (v: readonly number[]): number[] => v.map((x) => x / Math.hypot(...v));
const numbers = (n: number, most: number): number[] => Array.from({ length: n }, () => r.between(-most, most));

function between(low: number, high: number): number[] {
  const [quat, along] = [numbers(4, 1), numbers(3, 1)];
  return [...unit(along).map((x) => x * r.between(low, high)), ...unit(quat)];
}

const anywhere = (): number[] => between(0.03, 0.08);

/** Points of an ellipsoid: the difference of two has so many small faces that the search takes in forty corners and more. */
function egg(count: number, half: readonly number[]): string {
  const points = Array.from({ length: count }, (_, i) => {
    const z = 1 - (2 * (i + 0.5)) / count;
    const [angle, out] = [i * Math.PI * (3 - Math.sqrt(5)), Math.sqrt(1 - z * z)];
    return [out * Math.cos(angle), out * Math.sin(angle), z].map((x, k) => (x * half[k]).toFixed(9)).join(" ");
  });
  return points.join("  ");
}

function onDisc(): number[] {
  const turn = r.between(0, Math.PI);
  const quat = unit([Math.cos(turn), ...numbers(2, 0.08), Math.sin(turn)]);
  return [...numbers(2, 0.03), r.between(0.036, 0.04), ...quat];
}

const fine = lump(300, [0.04, 0.04, 0.05]);
const coarse = `<mesh name="other" vertex="${lump(100, [0.05, 0.06, 0.04])}"/>`;
const other = `<geom type="mesh" mesh="other"/>`;
const SCENES: Record<string, { option?: string; asset: string; geom: string; mesh: string; pose: () => number[] }> = {
  "two of 100 and 300 vertices": { asset: coarse, geom: other, mesh: fine, pose: anywhere },
  "one of 300 vertices and a box": {
    asset: "",
    geom: `<geom type="box" size=".05 .04 .06"/>`,
    mesh: fine,
    pose: anywhere,
  },
  "a disc of many triangles in one plane": {
    asset: `<mesh name="other" vertex="${disc(80, 0.06, 0.01)}"/>`,
    geom: other,
    mesh: box([0.02, 0.025, 0.03]),
    pose: onDisc,
  },
  "two round ones of 600 vertices": {
    // MuJoCo's own default of 35 iterations ends short of the least overlap of one in eight
    option: `<option ccd_tolerance="1e-12" ccd_iterations="500"/>`,
    asset: `<mesh name="other" vertex="${egg(600, [0.05, 0.04, 0.03])}"/>`,
    geom: other,
    mesh: egg(600, [0.05, 0.04, 0.03]),
    pose: () => between(0, 0.06),
  },
};

describe.each(Object.entries(SCENES))("%s", (_, { option = "", asset, geom, mesh, pose }) => {
  const xml = `<mujoco>${option}<asset>${asset}<mesh name="one" vertex="${mesh}"/></asset>
    <worldbody>${geom}<body><freejoint/><geom type="mesh" mesh="one" mass="1"/></body></worldbody></mujoco>`;

  test("makes the contacts that MuJoCo makes", async () => {
    const model = await loadModel(xml);
    const qpos = Array.from({ length: POSES }, pose);
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
