// what floats by slides and hinges in place of a free joint, and what keeps one from their place
import { mjtEq, mjtWrap } from "../model/enums.ts";
import { describe, jointOf, type Model } from "../model/model.ts";
import { equalityBodies } from "../model/pairs.ts";
import { drivenBase, slidingBase, type SlidingBase } from "./feet.ts";
import { bodyOf, isBelow } from "./motors.ts";
import { drivenIn } from "./scene-servos.ts";

const indices = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** What floats by slides, where something else of it is driven, or could be. */
export function walksOnSlides(model: Model): SlidingBase | undefined {
  const base = drivenBase(model) === undefined ? slidingBase(model) : undefined;
  if (base === undefined) return undefined;
  const isOther = (body: number) => body !== base.body && isBelow(model, body, base.body);
  const moves =
    model.nu > 0
      ? indices(model.nu).some((i) => isOther(bodyOf(model, i)))
      : drivenIn(model).some((j) => isOther(model.jnt_bodyid[j]));
  return moves ? base : undefined;
}

/** What moves or holds a base in its slides and hinges, or keeps a free joint from it, in words; undefined where nothing does. */
export function whatHolds(model: Model, { body, joints }: SlidingBase): string | undefined {
  const own = new Set(joints);
  const driven = indices(model.nu).find((i) => own.has(jointOf(model, i)));
  if (driven !== undefined) return `${describe(model, "actuator", driven)} moves it by them`;
  const pulls = (t: number) =>
    indices(model.tendon_num[t]).some((k) => {
      const at = model.tendon_adr[t] + k;
      return model.wrap_type[at] === mjtWrap.JOINT && own.has(model.wrap_objid[at]);
    });
  const tendon = indices(model.ntendon).find(pulls);
  if (tendon !== undefined) return `${describe(model, "tendon", tendon)} is of them`;
  const isFixed = (b: number) => model.body_weldid[b] === 0 || model.body_mocapid[model.body_weldid[b]] >= 0;
  const holds = (e: number) => {
    if (model.eq_type[e] === mjtEq.JOINT) return own.has(model.eq_obj1id[e]) || own.has(model.eq_obj2id[e]);
    if (![mjtEq.CONNECT, mjtEq.WELD].includes(model.eq_type[e] as 0 | 1) || model.eq_active0[e] === 0) return false;
    const bodies = equalityBodies(model, e);
    return bodies.some((b) => model.body_weldid[b] === body) && bodies.some(isFixed);
  };
  const equality = indices(model.neq).find(holds);
  if (equality !== undefined) return `${describe(model, "equality", equality)} holds it`;
  return model.body_parentid[body] === 0 ? undefined : "it is no child of the world, as what floats must be";
}
