// in how many poses a batch has MuJoCo's contacts
import { createSimulation } from "../../src/batch/simulation.ts";
import { loadModel } from "../../src/model/model.ts";
import { createOracle } from "../../src/model/oracle.ts";

/** Of the poses that touch the part with as many contacts as MuJoCo has, each of them near one of ours (m: place and depth). */
export async function contactShare(
  xml: string,
  poses: readonly (readonly number[])[],
  arithmetic: "float32" | "float64",
  near: number,
): Promise<{ touching: number; share: number }> {
  const model = await loadModel(xml);
  using oracle = await createOracle(model);
  const outputs = ["ncon", "contact_dist", "contact_pos"] as const;
  const numEnvs = poses.length;
  await using simulation = await createSimulation(model, { numEnvs, device: "wasm", arithmetic, outputs });
  await simulation.setState({ qpos: Float64Array.from(poses.flat()) });
  simulation.forward();
  const ours = await simulation.getState(outputs);
  const room = ours.contact_dist.length / numEnvs;
  let [touching, same] = [0, 0];
  poses.forEach((qpos, i) => {
    oracle.write("qpos", qpos);
    oracle.mujoco.mj_forward(oracle.model, oracle.data);
    const theirs = oracle.contacts();
    if (theirs.length === 0 && ours.ncon[i] === 0) return;
    touching++;
    const apart = (c: (typeof theirs)[number], at: number) =>
      Math.hypot(...c.pos.map((x, j) => x - ours.contact_pos[3 * at + j]), c.dist - ours.contact_dist[at]);
    const isNear = (c: (typeof theirs)[number]) =>
      Array.from({ length: ours.ncon[i] }, (_, k) => apart(c, i * room + k)).some((x) => x < near);
    if (theirs.length === ours.ncon[i] && theirs.every(isNear)) same++;
  });
  return { touching, share: same / touching };
}
