// how the bodies below a body move together
import { add, div, type Scalar } from "../../../trace/scalar.ts";
import { add3, cross, scale3, sub3, type Vec3 } from "../../../trace/vector.ts";
import type { Scene } from "../task.ts";
import { body, type Body } from "./source.ts";

/** Velocity of the centre of mass of a body and all below it (m/s, global), 3 numbers: MuJoCo's subtree_linvel. */
export const subtreeVelocity =
  (name: Body) =>
  (s: Scene): readonly Scalar[] => {
    const { model, m, d } = s;
    const root = body(s, name);
    const below = (b: number): boolean => b === root || (b > root && below(model.body_parentid[b]));
    let [momentum, mass]: [Vec3, Scalar] = [[0, 0, 0], 0];
    for (let b = root; b < model.nbody; b++) {
      if (!below(b) || model.body_mass[b] === 0) continue;
      const cvel = d.cvel.spatial(b);
      const [turn, along] = [cvel.slice(0, 3), cvel.slice(3)] as unknown as [Vec3, Vec3];
      // cvel is of the point of the body at its tree's centre of mass
      const arm = sub3(d.xipos.vec3(b), d.subtree_com.vec3(model.body_rootid[b]));
      momentum = add3(momentum, scale3(add3(along, cross(turn, arm)), m.body_mass.at(b)));
      mass = add(mass, m.body_mass.at(b));
    }
    return momentum.map((x) => div(x, mass));
  };
