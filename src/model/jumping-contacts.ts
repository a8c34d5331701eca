// contacts that jump where geoms turn by less than float32 tells: what MuJoCo's search meets of sides that tie
import { RandomStream, streams } from "../core/rng.ts";
import { ofContacts } from "./contact-list.ts";
import { mjtJoint, mjtStage } from "./enums.ts";
import type { Model } from "./model-data.ts";
import type { MainModule, MjData, MjModel } from "./mujoco.ts";
import { hasFormula } from "./pairs.ts";

/** rad; half a last place of float32, of what a geom's frame is made of. */
const TURN = 2 ** -24;

/** Turns that are tried: of sides that tie in a pair each takes one at random. */
const TURNS = 4;

/** Whether two geoms are of trees of which a free joint carries one: how they lie their state says, which is float32 in any arithmetic. */
export function isOfState({
  geom_bodyid,
  body_treeid,
  jnt_type,
  jnt_bodyid,
}: Model): (g1: number, g2: number) => boolean {
  const free = new Set(
    Array.from(jnt_bodyid).flatMap((body, j) => (jnt_type[j] === mjtJoint.FREE ? [body_treeid[body]] : [])),
  );
  return (g1, g2) => {
    const [tree1, tree2] = [g1, g2].map((g) => body_treeid[geom_bodyid[g]]);
    return tree1 !== tree2 && (free.has(tree1) || free.has(tree2));
  };
}

/** Geoms that are in others where MuJoCo searches for contacts: of sides that tie it takes others where float32 rounds their places. */
export function searchedIn(model: Model, data: MjData): Set<number> {
  const carried = isOfState(model);
  const touching = ofContacts(data, ({ geom1, geom2, dist }) => ({ geoms: [geom1, geom2], dist }));
  const searched = touching.filter(
    ({ geoms: [g1, g2], dist }) => dist < 0 && !carried(g1, g2) && !hasFormula([g1, g2].map((g) => model.geom_type[g])),
  );
  return new Set(searched.flatMap(({ geoms }) => geoms));
}

/** Turns a geom about each axis of the world by a half last place, one way or the other. */
function turn(axes: Float64Array, geom: number, random: () => boolean): void {
  const [x, y, z] = [0, 1, 2].map(() => (random() ? TURN : -TURN));
  for (let column = 9 * geom; column < 9 * geom + 3; column++) {
    const [a, b, c] = [axes[column], axes[column + 3], axes[column + 6]];
    axes[column] += y * c - z * b;
    axes[column + 3] += z * a - x * c;
    axes[column + 6] += x * b - y * a;
  }
}

/**
 * The most by which MuJoCo's own next velocity changes (m/s, rad/s) where these geoms lie turned by half a last place of float32:
 * next to nothing, unless sides tie that its search then takes others of. The data is after `mj_forward`, and is left changed.
 */
export function thrownByTurns(mujoco: MainModule, mj: MjModel, data: MjData, geoms: Iterable<number>): number {
  const [before, axes] = [Float64Array.from(data.qacc as Float64Array), data.geom_xmat as Float64Array];
  const placed = Float64Array.from(axes);
  let most = 0;
  for (let k = 0; k < TURNS; k++) {
    const random = new RandomStream(k, 0, 0, streams.user + 2);
    let next = 0;
    for (const geom of geoms) turn(axes, geom, () => (random.word(next++) & 1) === 1);
    mujoco.mj_collision(mj, data);
    mujoco.mj_makeConstraint(mj, data);
    mujoco.mj_projectConstraint(mj, data);
    mujoco.mj_forwardSkip(mj, data, mjtStage.POS, 1);
    const after = data.qacc as Float64Array;
    for (let dof = 0; dof < before.length; dof++) {
      const change = Math.abs(after[dof] - before[dof]);
      // what diverges says nothing of ties
      if (change > most && Number.isFinite(change)) most = change;
    }
    axes.set(placed);
  }
  return most * mj.opt.timestep;
}
