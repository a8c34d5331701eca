// what float32 throws a model by where random controls move it to: sides that tie of geoms that it did not start in
import { RandomStream, streams } from "../core/rng.ts";
import { isOfState, searchedIn, thrownByTurns } from "./jumping-contacts.ts";
import type { Model } from "./model-data.ts";
import type { MainModule, MjData, MjModel } from "./mujoco.ts";
import { geomPairs, hasFormula } from "./pairs.ts";

/** Worlds that are moved, each for so many steps, under controls that are held for so many: what comparisons begin with. */
const [WORLDS, STEPS, HOLD] = [2, 30, 5];

/** Rows of constraints that are made in all, by steps and by steps that are tried turned: a heap takes long enough once. */
const ROWS = { stepped: 6000, turned: 2000 };

/** Whether geoms of one tree, or of what no free joint carries, may meet where MuJoCo searches. */
function mayMeet(model: Model): boolean {
  const pairs = geomPairs(model);
  if (pairs.kinds.every(({ type1, type2 }) => hasFormula([type1, type2]))) return false;
  const carried = isOfState(model);
  const { geom_type } = model;
  return pairs.some(({ geom1, geom2 }) => !hasFormula([geom_type[geom1], geom_type[geom2]]) && !carried(geom1, geom2));
}

/**
 * The most that turns of searched geoms by half a last place change of MuJoCo's own next velocity (m/s, rad/s) along some
 * steps from `qpos0` under random controls, or as much as `enough`, from where on it is not asked further. The data is left changed.
 */
export function thrownOnTheWay(mujoco: MainModule, mj: MjModel, data: MjData, model: Model, enough: number): number {
  if (model.nv === 0 || !mayMeet(model)) return 0;
  const { nu, actuator_ctrllimited: limited, actuator_ctrlrange: range } = model;
  let [most, stepped, turned] = [0, 0, 0];
  for (let world = 0; world < WORLDS; world++) {
    const random = new RandomStream(world, 0, 0, streams.user + 3);
    let next = 0;
    const between = (low: number, high: number) => low + (high - low) * random.uniform(next++);
    mujoco.mj_resetData(mj, data);
    for (let step = 0; step < STEPS && stepped < ROWS.stepped && turned < ROWS.turned; step++) {
      if (step % HOLD === 0) {
        const ctrl = data.ctrl as Float64Array;
        for (let u = 0; u < nu; u++) ctrl[u] = limited[u] ? between(range[2 * u], range[2 * u + 1]) : between(-1, 1);
      }
      mujoco.mj_step(mj, data);
      stepped += data.nefc;
      // of the place before: what meets there meets here
      if (searchedIn(model, data).size === 0) continue;
      mujoco.mj_forward(mj, data);
      turned += data.nefc;
      const searched = searchedIn(model, data);
      if (searched.size > 0) most = Math.max(most, thrownByTurns(mujoco, mj, data, searched));
      if (most >= enough) return most;
    }
  }
  return most;
}
