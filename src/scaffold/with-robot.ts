// MuJoCo's own model of a robot, which all that a task asks of it shares: its meshes are compiled once
import { createOracle, type Oracle } from "../model/oracle.ts";
import { getMuJoCo } from "../model/mujoco.ts";
import type { Model } from "../model/model.ts";

let last: { readonly model: Model; readonly oracle: Oracle } | undefined;
let turn: Promise<unknown> = Promise.resolve();

/** An oracle of a model. That of another is deleted: MuJoCo holds 2 GiB. */
async function oracleOf(model: Model): Promise<Oracle> {
  // a module that has met a model which MuJoCo refuses is not trusted
  if (last?.model === model && last.oracle.mujoco === (await getMuJoCo())) return last.oracle;
  last?.oracle.delete();
  last = undefined;
  const oracle = await createOracle(model);
  last = { model, oracle };
  return oracle;
}

/** Runs a function with MuJoCo's model and data of a robot, as they are after a reset. It leaves the model as it was, or throws. */
export function withRobot<T>(model: Model, use: (oracle: Oracle) => T): Promise<T> {
  const done = turn.then(async () => {
    const oracle = await oracleOf(model);
    oracle.mujoco.mj_resetData(oracle.model, oracle.data);
    try {
      return use(oracle);
    } catch (error) {
      // it may have left the model as it must not be
      oracle.delete();
      last = undefined;
      throw error;
    }
  });
  turn = done.catch(() => {});
  return done;
}
