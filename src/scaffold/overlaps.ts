// links of a robot that lie in one another where it starts
import { listen } from "../model/mujoco.ts";
import { withRobot } from "./with-robot.ts";
import type { Model } from "../model/model.ts";
import { kinematicsOf } from "./straight-legs.ts";

/** m; hulls of neighbours are deeper in one another, and push joints to where nobody wants them. */
const DEEP = 1e-3;

/** Names of the bodies that do, each two once; what lies in the world is none of them. */
export function overlapsOf(model: Model, qpos: ArrayLike<number>): Promise<(readonly [string, string])[]> {
  return withRobot(model, (oracle) => {
    const { mujoco, model: m, data } = oracle;
    kinematicsOf(oracle, qpos);
    listen(() => {
      mujoco.mj_comPos(m, data);
      mujoco.mj_collision(m, data);
    });
    const pairs = new Map<string, readonly [string, string]>();
    for (const { geom, dist } of oracle.contacts()) {
      const bodies = geom.map((g) => model.geom_bodyid[g]).sort((a, b) => a - b);
      const [a, b] = bodies.map((body) => model.names.body[body]);
      if (dist > -DEEP || bodies.some((body) => model.body_weldid[body] === 0) || !a || !b) continue;
      pairs.set(bodies.join(), [a, b]);
    }
    return [...pairs.values()];
  });
}
