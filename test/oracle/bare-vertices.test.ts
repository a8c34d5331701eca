// vertices of a hull that are corners of no polygon: MuJoCo finds one contact where its search ends at one of them
import { describe, expect, test } from "vitest";
import { createSimulation, loadModel } from "../../src/index.ts";
import { getMuJoCo } from "../../src/model/mujoco.ts";

/** A box with a vertex in the middle of its lid, raised so little that the lid stays one polygon, under a plate. */
const lid = (rise: number) => `<mujoco><asset><mesh name="lid" inertia="shell" vertex="
  .1 .1 -.1  -.1 .1 -.1  .1 -.1 -.1  -.1 -.1 -.1  .1 .1 .1  -.1 .1 .1  .1 -.1 .1  -.1 -.1 .1  0 0 ${0.1 + rise}"/></asset>
  <worldbody><geom type="mesh" mesh="lid"/>
  <body><freejoint/><geom type="box" size=".3 .3 .05"/></body></worldbody></mujoco>`;

describe.each([1e-6, 5e-6, 2e-5])("a vertex raised by %f m", (rise) => {
  test("makes as many contacts as in MuJoCo, as the plate lies on it, on a facet, on an edge", async () => {
    const model = await loadModel(lid(rise));
    const facet = rise / 0.1;
    const qpos = [0, 0.5, 1, 2].map((share) => [
      0,
      0,
      0.1499,
      Math.cos((share * facet) / 2),
      Math.sin((share * facet) / 2),
      0,
      0,
    ]);
    const mujoco = await getMuJoCo();
    const mj = mujoco.MjModel.from_xml_string(lid(rise));
    const data = new mujoco.MjData(mj);
    const theirs = qpos.map((q) => {
      data.qpos.set(q);
      mujoco.mj_forward(mj, data);
      return data.ncon;
    });
    data.delete();
    mj.delete();
    for (const unroll of [true, false]) {
      await using simulation = await createSimulation(model, {
        numEnvs: qpos.length,
        device: "wasm",
        outputs: ["ncon"],
        unroll,
      });
      await simulation.setState({ qpos: Float64Array.from(qpos.flat()) });
      simulation.step(1);
      const { ncon } = await simulation.getState(["ncon"]);
      expect(Array.from(ncon)).toEqual(theirs);
    }
    expect(new Set(theirs).size).toBe(2);
  });
});
