// the keyframe that a robot starts from: one in which it stands on its feet
import { nameOf, type Model } from "../model/model.ts";
import { withRobot } from "./with-robot.ts";
import { feetOf } from "./feet.ts";
import { floatingBody } from "./planar.ts";
import { lowestOf } from "./stance.ts";
import { kinematicsOf, straightKnees } from "./straight-legs.ts";

/** How a pose is called that robots stand in. */
const HOME = /home|stand|stance|default|rest|knees_bent/i;

/** What a robot stands on that does not stand on all its feet, as in "stand_on_left_leg". */
const ON_SOME = /left|right|one_|single/i;

/** How far a foot may be over the lowest part of a robot that stands on it, in parts of the height of its base. */
const RAISED = 0.2;

/** A keyframe in which a robot does not stand on its feet: one that is in the air, and how far over the lowest part (m). */
export interface PassedKey {
  readonly key: string;
  readonly foot: string;
  readonly over: number;
}

/** The keyframe to start from, -1 for the default pose, and those that were passed over. One on bent legs is preferred. */
export async function homeKey(model: Model): Promise<{ readonly key: number; readonly passed: readonly PassedKey[] }> {
  const named = model.names.key.flatMap((name, k) => (HOME.test(name ?? "") && !ON_SOME.test(name ?? "") ? [k] : []));
  const keys = named.length > 0 ? named : model.nkey > 0 ? [0] : [];
  const root = floatingBody(model);
  if (root === undefined || keys.length === 0) return { key: keys[0] ?? -1, passed: [] };
  return withRobot(model, (oracle) => {
    const at = (qpos: Float64Array) => ({
      ...kinematicsOf(oracle, qpos),
      xpos: oracle.read("xpos"),
      geom_xmat: oracle.read("geom_xmat"),
    });
    const drawn = at(model.qpos0);
    const feet = feetOf(model, root, drawn.xpos);
    const tall = drawn.xpos[3 * root + 2] - (lowestOf(model, root, drawn) ?? Infinity);
    const passed: PassedKey[] = [];
    let straight: number | undefined;
    for (const key of keys) {
      const qpos = model.key_qpos.subarray(key * model.nq, (key + 1) * model.nq);
      const places = at(qpos);
      const lowest = lowestOf(model, root, places) ?? 0;
      const heights = feet.map((foot) => (lowestOf(model, foot, places) ?? lowest) - lowest);
      const over = Math.max(0, ...heights);
      if (!(over > RAISED * tall)) {
        if (straightKnees(model, qpos, feet, places).size === 0) return { key, passed };
        straight ??= key;
        continue;
      }
      const foot = feet[heights.indexOf(over)];
      passed.push({
        key: nameOf(model, "key", key) || String(key),
        foot: nameOf(model, "body", foot) || String(foot),
        over,
      });
    }
    return { key: straight ?? -1, passed };
  });
}
