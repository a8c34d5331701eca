// what an arm reaches with, and the actuators that do not move it
import { jointOf, nameOf } from "../model/model.ts";
import { mjtJoint } from "../model/enums.ts";
import { areToldApart } from "./held.ts";
import { bodyOf, isBelow } from "./motors.ts";
import type { Robot } from "./robot.ts";

/** How the end of an arm is called. */
const TIP = /attachment|grip|pinch|tcp|tool|end_?eff|ee_?(site|pos)?$|tip|hand/i;

/** The end of an arm: its body, the place that reaches by expression and at the start (m), and how far that is from the arm's first joint (m). */
export interface Tip {
  readonly body: number;
  readonly expression: string;
  /** Where MuJoCo has its place: field and id. */
  readonly field: "site_xpos" | "xpos";
  readonly id: number;
  readonly at: readonly number[];
  readonly reach: number;
}

/** What an arm reaches with: a site that is called so, or the last of its bodies. */
export function tipOf({ model, motors, site_xpos, xpos }: Robot): Tip {
  const jointed = [...new Set(model.jnt_bodyid)];
  // what nothing drives by itself may hang on tendons; what only floats lies about
  const driven = motors.map((_, i) => bodyOf(model, i)).filter((b) => b > 0);
  const hinged = Array.from({ length: model.njnt }, (_, j) => j).filter((j) => model.jnt_type[j] !== mjtJoint.FREE);
  const roots = [driven, hinged.map((j) => model.jnt_bodyid[j]), jointed].find((list) => list.length > 0)!;
  const isMoved = (body: number): boolean => roots.some((root) => isBelow(model, body, root));
  const depth = (b: number): number => (b === 0 ? 0 : 1 + depth(model.body_parentid[b]));
  const named = model.names.site.findIndex((name, i) => TIP.test(name ?? "") && isMoved(model.site_bodyid[i]));
  const last = jointed.filter(isMoved).toSorted((a, b) => depth(b) - depth(a))[0];
  const body = named >= 0 ? model.site_bodyid[named] : last;
  const at = [...(named >= 0 ? site_xpos.subarray(3 * named, 3 * named + 3) : xpos.subarray(3 * last, 3 * last + 3))];
  const root = jointed.filter((b) => isBelow(model, body, b)).toSorted((a, b) => depth(a) - depth(b))[0];
  const reach = Math.hypot(...at.map((x, i) => x - xpos[3 * root + i]));
  const place = (kind: "site" | "body", id: number) => `${kind}[${JSON.stringify(nameOf(model, kind, id))}]`;
  const byName = named >= 0 ? `site_xpos(${place("site", named)})` : `xpos(${place("body", last)})`;
  const expression = named >= 0 || nameOf(model, "body", last) !== "" ? byName : `xpos[${3 * last}:${3 * last + 3}]`;
  return { body, expression, field: named >= 0 ? "site_xpos" : "xpos", id: named >= 0 ? named : last, at, reach };
}

/** Actuators whose servos move only what an end is not on, as another arm. None where names do not tell actuators apart. */
export function apartFrom({ body }: Tip, { model, motors }: Robot): ReadonlySet<number> {
  if (!areToldApart(model)) return new Set();
  return new Set(
    motors.flatMap(({ isPosition }, i) =>
      isPosition && !isBelow(model, body, model.jnt_bodyid[jointOf(model, i)]) ? [i] : [],
    ),
  );
}
