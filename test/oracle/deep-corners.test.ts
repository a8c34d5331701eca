// a small hull whose corner lies deep in a large one, with a margin: contacts that differ by a turn alone
import { expect, test } from "vitest";
import { createSimulation, loadModel } from "../../src/index.ts";
import { createOracle } from "../../src/model/oracle.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { convexBounds as bounds } from "../support/tolerances.ts";

const POSES = 48;

const XML = `<mujoco><option ccd_tolerance="1e-12" ccd_iterations="200"/>
  <default><geom margin="0.001"/></default>
  <asset><mesh name="bone" vertex="0 0 -.02  .006 0 .01  -.003 .005 .01  -.003 -.005 .01  .001 0 .014"/></asset>
  <worldbody><geom type="box" size=".2 .2 .1"/>
  <body><freejoint/><geom type="mesh" mesh="bone" mass="1"/></body></worldbody></mujoco>`;

test("makes as many contacts as in MuJoCo", async () => {
  const model = await loadModel(XML);
  const r = createRandom(15);
  const qpos = Array.from({ length: POSES }, () => {
    const quat = [1, r.between(-0.4, 0.4), r.between(-0.4, 0.4), r.between(-1, 1)];
    const norm = Math.hypot(...quat);
    return [r.between(-0.1, 0.1), r.between(-0.1, 0.1), 0.1 + r.between(-0.03, 0), ...quat.map((q) => q / norm)];
  });
  const oracle = await createOracle(model);
  const theirs = qpos.map((q) => {
    oracle.write("qpos", Float64Array.from(q));
    oracle.mujoco.mj_forward(oracle.model, oracle.data);
    return oracle.data.ncon;
  });
  oracle.delete();
  await using simulation = await createSimulation(model, { numEnvs: POSES, device: "wasm", outputs: ["ncon"] });
  await simulation.setState({ qpos: Float64Array.from(qpos.flat()) });
  simulation.step(1);
  const { ncon } = await simulation.getState(["ncon"]);
  expect(theirs.filter((n) => n > 1).length).toBeGreaterThan(POSES / 4);
  const same = theirs.filter((n, i) => n === ncon[i]).length;
  expect(same / POSES).toBeGreaterThanOrEqual(bounds.counted.value);
});
