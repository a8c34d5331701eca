// worlds of a scene stepped beside MuJoCo in float64: the same counts of contacts in each step, the same places at the end
import { expect } from "vitest";
import { createSimulation, type Model } from "../../src/index.ts";
import { withMuJoCo } from "../../src/model/oracle.ts";
import { envBounds } from "./tolerances.ts";

interface Run {
  readonly steps: number;
  readonly unroll: boolean | undefined;
}

/** Steps worlds from `start`, their qpos one after the other, and MuJoCo from each; returns how many contacts MuJoCo met in all. */
export async function stepAsMuJoCo(model: Model, start: Float64Array, { steps, unroll }: Run): Promise<number> {
  const worlds = start.length / model.nq;
  await using simulation = await createSimulation(model, {
    numEnvs: worlds,
    device: "cpu-f64",
    outputs: ["ncon"],
    ...(unroll === false && { unroll }),
  });
  await simulation.setState({ qpos: start });
  const counts: number[][] = [];
  for (let t = 0; t < steps; t++) {
    simulation.step(1);
    counts.push(Array.from((await simulation.getState(["ncon"])).ncon));
  }
  const { qpos } = await simulation.getState(["qpos"]);
  let met = 0;
  await withMuJoCo(model, ({ mujoco, model: mj, data, write }) => {
    for (let w = 0; w < worlds; w++) {
      mujoco.mj_resetData(mj, data);
      write("qpos", start.subarray(w * model.nq, (w + 1) * model.nq));
      for (let t = 0; t < steps; t++) {
        mujoco.mj_step(mj, data);
        met += data.ncon;
        expect(counts[t][w], `world ${w}, step ${t}`).toBe(data.ncon);
      }
      Array.from<number>(data.qpos).forEach((x, i) =>
        expect(Math.abs(qpos[w * model.nq + i] - x), `world ${w}, qpos[${i}]`).toBeLessThan(envBounds.randomised.value),
      );
    }
  });
  return met;
}
