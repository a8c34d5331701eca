// contact forces on bodies, and how long they are in the air
import { add, and, gt, select, sub, type Bool, type Scalar } from "../../../trace/scalar.ts";
import { norm3, type Vec3 } from "../../../trace/vector.ts";
import type { Scene } from "../task.ts";
import { body, isNumber, needs, needsOptions, type Body } from "./source.ts";

export interface ContactOptions {
  /** Force above which a body is in contact (N). Default 1. */
  readonly threshold?: number;
}

/** The threshold of options. @throws CorralError bad-term */
function thresholdOf(what: string, options: ContactOptions): number {
  needsOptions(what, options, ["threshold"]);
  const { threshold = 1 } = options;
  needs(isNumber(threshold) && threshold >= 0, `threshold of ${what}`, threshold, "a number of at least 0 (N)");
  return threshold;
}

/** Magnitude of the external force on a body, contacts included (N), as of the last physics step. */
export const contactForce =
  (name: Body) =>
  (s: Scene): Scalar =>
    norm3(s.d.cfrc_ext.spatial(body(s, name)).slice(3) as unknown as Vec3);

/** Whether a body is touched. */
export const inContact =
  (name: Body, options: ContactOptions = {}) =>
  (s: Scene): Bool =>
    gt(contactForce(name)(s), thresholdOf("inContact", options));

type Update = (s: Scene, before: readonly Scalar[] | undefined) => readonly Scalar[];

/** Seconds that a body has been in the air: the memory's key and update. */
function flight(name: Body, threshold: number): [string, Update] {
  const touches = inContact(name, { threshold });
  return [
    `air time of ${name} above ${threshold} N`,
    (s, before) => [before ? select(touches(s), 0, add(before[0], s.dt), "f32") : 0],
  ];
}

/** Seconds that a body has been in the air, this step included; 0 while it is touched. */
export const airTime =
  (name: Body, options: ContactOptions = {}) =>
  (s: Scene): Scalar =>
    s.updated(...flight(name, thresholdOf("airTime", options)))[0];

/** Where a body touches down in this step, the seconds it was in the air less `target`; else 0. */
export const touchdown =
  (name: Body, target: number, options: ContactOptions = {}) =>
  (s: Scene): Scalar => {
    needs(isNumber(target), "target of touchdown", target, "a number (s)");
    const threshold = thresholdOf("touchdown", options);
    const [flown] = s.memory(...flight(name, threshold));
    return select(and(gt(flown, 0), inContact(name, { threshold })(s)), sub(flown, target), 0, "f32");
  };
