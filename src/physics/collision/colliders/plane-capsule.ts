// plane against capsule
import { addScaled3, column, scale3, sub3 } from "../../../trace/vector.ts";
import { planeBall } from "./plane-sphere.ts";
import type { Collider } from "./types.ts";

/** The upper end of the capsule, then the lower one; frames aligned with its axis (mjc_PlaneCapsule). */
export const planeCapsule: Collider = (a, b) => {
  const tangent = column(b.mat, 2);
  const [radius, half] = b.size;
  return [
    { ...planeBall(a, addScaled3(b.pos, half, tangent), radius), tangent },
    { ...planeBall(a, sub3(b.pos, scale3(tangent, half)), radius), tangent },
  ];
};
