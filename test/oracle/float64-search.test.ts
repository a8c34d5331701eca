// a cylinder in a hull: in float64 the search goes on to what float64 tells, as MuJoCo's does at a small tolerance
import { expect, test } from "vitest";
import { createSimulation, loadModel } from "../../src/index.ts";
import { createOracle } from "../../src/model/oracle.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { float64SearchBounds as bounds } from "../support/tolerances.ts";

const POSES = 100;

const r = createRandom(11);
const numbers = (n: number): number[] => Array.from({ length: n }, () => r.between(-1, 1));
const unit = (v: readonly number[]): number[] => v.map((x) => x / Math.hypot(...v));
const points = Array.from({ length: 40 }, () => unit(numbers(3)).map((x, k) => x * [0.05, 0.06, 0.08][k]));

test("depths of a cylinder in a hull are MuJoCo's", async () => {
  const model = await loadModel(`<mujoco><option ccd_tolerance="1e-12" ccd_iterations="500"/>
    <asset><mesh name="lump" vertex="${points.flat().join(" ")}"/></asset>
    <default><geom margin=".001"/></default>
    <worldbody><geom type="mesh" mesh="lump"/>
    <body><freejoint/><geom type="cylinder" size=".03 .02" mass="1"/></body></worldbody></mujoco>`);
  const qpos = Array.from({ length: POSES }, () => [
    ...unit(numbers(3)).map((x) => x * r.between(0.03, 0.06)),
    ...unit(numbers(4)),
  ]);
  const outputs = ["ncon", "contact_dist"] as const;
  await using simulation = await createSimulation(model, { numEnvs: POSES, device: "cpu-f64", outputs });
  await simulation.setState({ qpos: Float64Array.from(qpos.flat()) });
  simulation.forward();
  const found = await simulation.getState(outputs);
  using oracle = await createOracle(model);
  const most = found.contact_dist.length / POSES;
  const off = qpos.map((q, world) => {
    oracle.write("qpos", q);
    oracle.mujoco.mj_forward(oracle.model, oracle.data);
    expect(found.ncon[world]).toBeGreaterThan(0);
    return Math.abs(found.contact_dist[world * most] - oracle.contacts()[0].dist);
  });
  off.sort((a, b) => a - b);
  expect(off[Math.floor(0.9 * POSES)]).toBeLessThan(bounds.depth90.value);
});
