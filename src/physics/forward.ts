// the pipeline of one evaluation: only the order of the stages (mj_forward)
import type { Spatial } from "../trace/spatial.ts";
import { geomPairs } from "../model/pairs.ts";
import { sub } from "../trace/scalar.ts";
import { acceleration } from "./smooth/acceleration.ts";
import { actuation } from "./actuator/actuation.ts";
import { camlight } from "./smooth/camlight.ts";
import { collision } from "./collision/collision.ts";
import type { ContactSlots } from "./collision/contact-slots.ts";
import { comPos } from "./smooth/com_pos.ts";
import { comVel } from "./smooth/com_vel.ts";
import type { ConstraintForces, Contacts } from "./constraint/constraint-forces.ts";
import type { ContactRows } from "./constraint/contact-rows.ts";
import { inertiaOf, type Inertia } from "./smooth/inertia.ts";
import { turnFreeBodies } from "./integrator/free-body.ts";
import { kinematics } from "./smooth/kinematics.ts";
import { passive } from "./smooth/passive.ts";
import { rne } from "./smooth/rne.ts";
import { makeConstraint } from "./constraint/make_constraint.ts";
import type { Rows } from "./constraint/rows.ts";
import type { Solution } from "./solver/solution.ts";
import { solve } from "./solver/solver.ts";
import { tendon } from "./tendon/tendon.ts";
import { transmission } from "./actuator/transmission.ts";
import { runStage, type StageName } from "./stages.ts";
import type { WorldData, ModelView } from "./view.ts";

/** What an evaluation leaves besides the fields of the data. */
export interface Evaluation {
  readonly inertia: Inertia;
  readonly slots: ContactSlots;
  readonly rows: Rows;
  readonly contacts: ContactRows;
  readonly solution: Solution;
  /** What stages after the solver read of constraints. */
  readonly forces: ConstraintForces;
}

/** How far an evaluation is: the stage that was traced last, and the contacts once there are any. */
export interface Reached {
  readonly stage: StageName;
  readonly slots?: ContactSlots;
}

/** Evaluates qacc and all that it depends on from qpos, qvel, act, ctrl, applied forces. */
export function forward(m: ModelView, d: WorldData, options: { readonly nconmax: number }): Evaluation {
  const evaluation = evaluate(m, d, options);
  for (;;) {
    const { done, value } = evaluation.next();
    if (done) return value;
  }
}

/** The stages in order; who measures them may leave where it halts. */
export function* evaluate(
  m: ModelView,
  d: WorldData,
  { nconmax }: { readonly nconmax: number },
): Generator<Reached, Evaluation> {
  runStage("kinematics", () => kinematics(m, d));
  runStage("com_pos", () => comPos(m, d));
  runStage("camlight", () => camlight(m, d));
  runStage("tendon", () => tendon(m, d));
  const inertia = inertiaOf(m, d, runStage);
  yield { stage: "factor_m" };
  const slots = runStage("collision", () => collision(m, d, geomPairs(m.model), nconmax));
  yield { stage: "collision", slots };
  runStage("transmission", () => transmission(m, d, slots));

  runStage("com_vel", () => comVel(m, d));
  runStage("passive", () => passive(m, d, slots));
  runStage("rne", () => rne(m, d));

  runStage("actuation", () => actuation(m, d));
  runStage("acceleration", () => acceleration(m, d, inertia));
  yield { stage: "acceleration", slots };
  const { rows, contacts } = runStage("make_constraint", () => makeConstraint(m, d, slots));
  const solution = runStage("solver", () => constrained(m, d, inertia, { rows, contacts }));
  yield { stage: "solver", slots };
  const forces = { contacts: contactViews(m, slots, solution), rows, rowForce: solution.rowForce };
  return { inertia, slots, rows, contacts, solution, forces };
}

/** Accelerations under constraints (mj_fwdConstraint). */
function constrained(
  m: ModelView,
  d: WorldData,
  inertia: Inertia,
  of: { readonly rows: Rows; readonly contacts: ContactRows },
): Solution {
  const { metric } = inertia;
  const coupled = metric ? { coupled: metric.coupled } : {};
  const space = inertia.space(of.rows, of.contacts);
  const dual = inertia.dual?.(of.rows, of.contacts) ?? space;
  const solution = solve(m, d, { ...of, ...coupled, space, dual });
  if (metric) turnFreeBodies(m, d, metric, of);
  return solution;
}

const ENDS = ["geom1", "geom2"] as const;

/** The active contacts as later stages see them. */
function contactViews(m: ModelView, slots: ContactSlots, solution: Solution): Contacts {
  const [geom1, geom2] = ENDS.map((end) => slots.ofGeom(`con_${end}`, end, (g) => g, "i32"));
  const [body1, body2] = ENDS.map((end, i) =>
    slots.ofGeom(`con_body${i + 1}`, end, (g) => m.model.geom_bodyid[g], "i32"),
  );
  const adhesion = slots.ofKind("con_pull", (p) => p.adhesion);
  return {
    each: (body) =>
      slots.each((index, slot) => {
        const force = [...solution.contactForce(index, slot)];
        while (force.length < 6) force.push(0);
        // what the surfaces pull with is no part of the cone's force (mj_contactForce)
        force[0] = sub(force[0], adhesion(slot));
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
