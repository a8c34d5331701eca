// how many contacts the worlds of a batch have: the load that a rate cannot be read without
import type { VectorEnv } from "../env/index.ts";
import { createOracle } from "../model/oracle.ts";
import type { Model } from "../model/model.ts";

/** Worlds that are looked at. */
const WORLDS = 256;

/** Mean contacts of a world in the present states, as MuJoCo finds them. */
export async function contactsOf(model: Model, env: VectorEnv): Promise<number> {
  const { nq, nv } = model;
  if (nq === 0) return 0;
  const worlds = Array.from({ length: Math.min(WORLDS, env.numEnvs) }, (_, w) => w);
  const { qpos, qvel } = await env.getState(["qpos", "qvel"], worlds);
  const oracle = await createOracle(model);
  try {
    let contacts = 0;
    for (const w of worlds) {
      oracle.write("qpos", qpos.subarray(w * nq, (w + 1) * nq));
      oracle.write("qvel", qvel.subarray(w * nv, (w + 1) * nv));
      oracle.mujoco.mj_fwdPosition(oracle.model, oracle.data);
      contacts += oracle.data.ncon;
    }
    return contacts / worlds.length;
  } finally {
    oracle.delete();
  }
}
