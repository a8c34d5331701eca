// the pipeline of one evaluation: only the order of the stages (mj_forward)
import { stage } from "../trace/control.ts";
import type { Spatial } from "../trace/spatial.ts";
import { geomPairs } from "../model/pairs.ts";
import { acceleration } from "./acceleration.ts";
import { actuation } from "./actuation.ts";
import { collision, type ContactSlots } from "./collision.ts";
import { comPos } from "./com_pos.ts";
import { comVel } from "./com_vel.ts";
import type { ConstraintForces, Contacts } from "./contact.ts";
import { contactRows, pairDofs } from "./contact_rows.ts";
import { crb, factorM } from "./crb.ts";
import { kinematics } from "./kinematics.ts";
import { passive } from "./passive.ts";
import { coupledPattern, treePattern, type Pattern, type SymMatrix } from "./pattern.ts";
import { rne } from "./rne.ts";
import { constraintRows } from "./make_constraint.ts";
import type { Row } from "./rows.ts";
import type { Solution } from "./problem.ts";
import { solve } from "./solver.ts";
import { slotTable } from "./slots.ts";
import { tendon } from "./tendon.ts";
import { transmission } from "./transmission.ts";
import type { DataView, ModelView } from "./view.ts";

/** What an evaluation leaves besides the fields of the data. */
export interface Evaluation {
  readonly M: SymMatrix;
  readonly slots: ContactSlots;
  readonly rows: readonly Row[];
  readonly solution: Solution;
  /** What stages after the solver read of constraints. */
  readonly forces: ConstraintForces;
}

/** Sparsity of the solver's Hessian: M, and the dofs that one row or contact couples. */
export function hessianPattern(m: ModelView, rows: readonly Row[]): Pattern {
  const groups = [
    ...rows.map((r) => r.jac.map((e) => e.dof)),
    ...geomPairs(m.model).map((p) => [...pairDofs(m.model, p).keys()]),
  ];
  return coupledPattern(m.model, groups);
}

/** Told when stages have been traced, for whoever measures them; `slots` once there are contacts. */
export type StageReached = (name: string, slots?: ContactSlots) => void;

/** Evaluates qacc and all that it depends on from qpos, qvel, act, ctrl, applied forces. */
export function forward(
  m: ModelView,
  d: DataView,
  options: { readonly nconmax: number; readonly reached?: StageReached },
): Evaluation {
  const pattern = treePattern(m.model);
  const { reached = () => {} } = options;

  stage("kinematics", () => kinematics(m, d));
  stage("com_pos", () => comPos(m, d));
  stage("tendon", () => tendon(m, d));
  const M = stage("crb", () => crb(m, d, pattern));
  const factors = stage("factor_m", () => factorM(d, pattern));
  reached("factor_m");
  const slots = stage("collision", () => collision(m, d, geomPairs(m.model), options.nconmax));
  reached("collision", slots);
  stage("transmission", () => transmission(m, d));

  stage("com_vel", () => comVel(m, d));
  stage("passive", () => passive(m, d));
  stage("rne", () => rne(m, d));

  stage("actuation", () => actuation(m, d));
  stage("acceleration", () => acceleration(m, d, factors));
  reached("acceleration", slots);
  const { rows, contacts } = stage("make_constraint", () => ({
    rows: constraintRows(m, d),
    contacts: contactRows(m, d, slots),
  }));
  const hessian = hessianPattern(m, rows);
  const solution = stage("solver", () => solve(m, d, { M, factors, rows, contacts, hessian }));
  reached("solver", slots);
  const views = contactViews(m, slots, solution);
  const forces = { contacts: views, rows, rowForce: solution.rowForce };
  return { M, slots, rows, solution, forces };
}

/** The active contacts as later stages see them. */
function contactViews(m: ModelView, slots: ContactSlots, solution: Solution): Contacts {
  const of = (name: string, f: (k: number) => number) =>
    slotTable(
      `con_${name}`,
      slots.pairOf.map((k) => f(k)),
      "i32",
    );
  const geom1 = of("geom1", (k) => slots.pairs[k].geom1);
  const geom2 = of("geom2", (k) => slots.pairs[k].geom2);
  const body1 = of("body1", (k) => m.model.geom_bodyid[slots.pairs[k].geom1]);
  const body2 = of("body2", (k) => m.model.geom_bodyid[slots.pairs[k].geom2]);
  return {
    each: (body) =>
      slots.each((index, slot) => {
        const force = [...solution.contactForce(index, slot)];
        while (force.length < 6) force.push(0);
        body({
          dist: slots.dist(slot),
          pos: slots.pos(slot),
          frame: slots.frame(slot),
          force: force as unknown as Spatial,
          geom1: geom1(slot),
          geom2: geom2(slot),
          body1: body1(slot),
          body2: body2(slot),
        });
      }),
  };
}
