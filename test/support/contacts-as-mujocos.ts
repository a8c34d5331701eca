// contacts of the worlds of a scene beside MuJoCo in float64: counts as they step, places where they lie
import { expect } from "vitest";
import type { DeviceName } from "../../src/batch/devices.ts";
import { createSimulation, type Model } from "../../src/index.ts";
import { createOracle, withMuJoCo } from "../../src/model/oracle.ts";
import { deepHullBounds, envBounds } from "./tolerances.ts";

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

/** The poses, of `poses`, in which a device has as many contacts as MuJoCo, each within `deepHullBounds.place` of one of MuJoCo's. */
export async function posesAsMuJoCo(
  model: Model,
  poses: readonly (readonly number[])[],
  device: DeviceName = "cpu-f64",
): Promise<(readonly number[])[]> {
  const outputs = ["ncon", "contact_pos"] as const;
  await using simulation = await createSimulation(model, { numEnvs: poses.length, device, outputs });
  await simulation.setState({ qpos: Float64Array.from(poses.flat()) });
  simulation.forward();
  const { ncon, contact_pos } = await simulation.getState(outputs);
  const most = contact_pos.length / poses.length;
  using oracle = await createOracle(model);
  return poses.filter((qpos, world) => {
    oracle.write("qpos", qpos);
    oracle.mujoco.mj_forward(oracle.model, oracle.data);
    const theirs = oracle.contacts();
    const ours = Array.from({ length: ncon[world] }, (_, k) =>
      contact_pos.subarray(world * most + 3 * k, world * most + 3 * k + 3),
    );
    const isOurs = ({ pos }: (typeof theirs)[number]) =>
      ours.some((at) => Math.hypot(...Array.from(at, (x, k) => x - pos[k])) < deepHullBounds.place.value);
    return theirs.length === ours.length && theirs.every(isOurs);
  });
}
