// what rests or is held stays where MuJoCo's stays: 10,000 steps with test:full, else 200
import { expect, test } from "vitest";
import { createSimulation } from "../../src/batch/simulation.ts";
import { loadModel } from "../../src/model/model.ts";
import { getMuJoCo } from "../../src/model/mujoco.ts";
import { RESTS } from "../support/rests.ts";
import { restBounds } from "../support/tolerances.ts";

const STEPS = process.env.CORRAL_FULL === "1" ? 10_000 : 200;
const PARTS = 10;

const most = (values: ArrayLike<number>) => Math.max(...Array.from(values, Math.abs));
const minus = (a: ArrayLike<number>, b: ArrayLike<number>) => Array.from(a, (x, i) => x - b[i]);

test.each(RESTS.flatMap((rest) => [true, false].map((unroll) => [rest.name, unroll, rest] as const)))(
  "%s, straight-line %s",
  async (_, unroll, { xml, ctrl, qpos: given }) => {
    const model = await loadModel(xml);
    const start = given ?? Array.from(model.qpos0);
    const outputs = ["ncon", "sensordata", "contact_dist"] as const;
    await using sim = await createSimulation(model, { numEnvs: 1, device: "wasm", unroll, outputs });
    await sim.setState({ qpos: Float64Array.from(start), ...(ctrl.length > 0 && { ctrl: Float64Array.from(ctrl) }) });
    const mujoco = await getMuJoCo();
    const mj = mujoco.MjModel.from_xml_string(xml);
    const data = new mujoco.MjData(mj);
    data.qpos.set(start);
    data.ctrl.set(ctrl);
    let moved = 0;
    for (let part = 1; part <= PARTS; part++) {
      sim.step(STEPS / PARTS);
      for (let t = 0; t < STEPS / PARTS; t++) mujoco.mj_step(mj, data);
      const state = await sim.getState(["qpos", "ncon", "sensordata", "contact_dist"]);
      // derived fields are those of the step's beginning in both
      const theirs = Array.from(data.qpos as Float64Array);
      const deepest = Math.min(...Array.from({ length: data.ncon }, (__, c) => data.contact.get(c)!.dist));
      moved = Math.max(moved, most(minus(theirs, start)));
      const rounded = restBounds.rounded.value * most(theirs) * ((STEPS * part) / PARTS);
      expect(most(minus(state.qpos, theirs))).toBeLessThan(restBounds.moved.value * moved + rounded);
      expect(state.ncon[0]).toBe(data.ncon);
      expect(Math.abs(Math.min(...state.contact_dist) - deepest)).toBeLessThan(-restBounds.deepest.value * deepest);
      const [potential] = data.sensordata as Float64Array;
      expect(Math.abs(state.sensordata[0] - potential)).toBeLessThan(restBounds.energy.value * potential);
    }
    // nothing has fallen
    expect(data.qpos[2]).toBeGreaterThan(start[2] - 0.02);
    data.delete();
    mj.delete();
  },
);
