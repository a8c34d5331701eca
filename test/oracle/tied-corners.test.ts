// corners that two faces share, of areas that tie but for float32's coordinates: in float64 which four are kept is MuJoCo's
import { expect, test } from "vitest";
import { createSimulation, loadModel } from "../../src/index.ts";
import { createOracle } from "../../src/model/oracle.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { deepHullBounds as bounds } from "../support/tolerances.ts";

const POSES = 30;
const SIDES = 12;

// float32 looks up what a whole polygon keeps
test.each(["cpu-f64", "wasm"] as const)(
  "a prism of twelve equal sides on a box keeps on %s the corners that it keeps in MuJoCo",
  async (device) => {
    const corners = [-0.02, 0.02].flatMap((z) =>
      Array.from({ length: SIDES }, (_, i) => {
        const angle = (2 * Math.PI * i) / SIDES;
        return [0.05 * Math.cos(angle), 0.05 * Math.sin(angle), z].join(" ");
      }),
    );
    const model = await loadModel(`
    <mujoco>
      <asset><mesh name="prism" vertex="${corners.join("  ")}"/></asset>
      <worldbody>
        <geom type="box" size=".2 .2 .1"/>
        <body><freejoint/><geom type="mesh" mesh="prism" mass="1"/></body>
      </worldbody>
    </mujoco>`);
    const r = createRandom(5);
    const qpos = Array.from({ length: POSES }, () => {
      const turn = r.between(0, Math.PI);
      return [r.between(-0.1, 0.1), r.between(-0.1, 0.1), 0.119, Math.cos(turn), 0, 0, Math.sin(turn)].map(Math.fround);
    });
    const outputs = ["ncon", "contact_pos"] as const;
    await using simulation = await createSimulation(model, { numEnvs: POSES, device, outputs });
    await simulation.setState({ qpos: Float64Array.from(qpos.flat()) });
    simulation.forward();
    const { ncon, contact_pos } = await simulation.getState(outputs);
    const most = contact_pos.length / POSES;
    using oracle = await createOracle(model);
    const same = qpos.filter((q, world) => {
      oracle.write("qpos", q);
      oracle.mujoco.mj_forward(oracle.model, oracle.data);
      const theirs = oracle.contacts();
      const ours = Array.from({ length: ncon[world] }, (_, k) =>
        contact_pos.subarray(world * most + 3 * k, world * most + 3 * k + 3),
      );
      const isOurs = ({ pos }: (typeof theirs)[number]) =>
        ours.some((at) => Math.hypot(...Array.from(at, (x, k) => x - pos[k])) < bounds.place.value);
      return theirs.length === ours.length && theirs.every(isOurs);
    });
    expect(same.length).toBe(POSES);
  },
);
