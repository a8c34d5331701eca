// contacts that jump where geoms turn by less than float32 tells: what MuJoCo's search meets of sides that tie
import { RandomStream, streams } from "../core/rng.ts";
import { mjtStage } from "./enums.ts";
import type { MainModule, MjData, MjModel } from "./mujoco.ts";

/** rad; half a last place of float32, of what a geom's frame is made of. */
const TURN = 2 ** -24;

/** Turns that are tried: of sides that tie in a pair each takes one at random. */
const TURNS = 4;

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
    for (let dof = 0; dof < before.length; dof++) most = Math.max(most, Math.abs(after[dof] - before[dof]));
    axes.set(placed);
  }
  return most * mj.opt.timestep;
}
