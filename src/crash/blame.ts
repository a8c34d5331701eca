// which operation of a control step made the first bad number: by running the step operation by operation
import type { Model } from "../model/model.ts";
import type { Assignment, Interpretation, Origin, Place } from "../trace/interpret.ts";
import { elementText, fieldOf, isField } from "./element-names.ts";

/** The first bad number of a step and what fed it. */
export interface Blame {
  /** Physics step within the control step, counted from 1; 0: not in one. */
  readonly physicsStep: number;
  /** Evaluation of RK4, counted from 1; 0 for other integrators. */
  readonly evaluation: number;
  readonly stage: string;
  /** MuJoCo's name of the field, or the term of the task. */
  readonly field: string;
  readonly element: number | null;
  /** With the element by its name in the MJCF. */
  readonly text: string;
  readonly value: number;
  /** The operation that made it: "div", "mul", ...; "load" where it came in. */
  readonly op: string;
  readonly operands: readonly { readonly name: string; readonly value: number }[];
}

/** Fields that a simulation cannot go on with if they are not finite or beyond mjMAXVAL. */
const VITAL = new Set([
  "qpos",
  "qvel",
  "act",
  "qacc",
  "qacc_smooth",
  "qfrc_smooth",
  "qfrc_spring",
  "qfrc_damper",
  "qfrc_passive",
  "qfrc_actuator",
  "qfrc_bias",
  "qfrc_constraint",
  "qfrc_applied",
  "xfrc_applied",
  "actuator_force",
  "act_dot",
  "cvel",
  "M",
  "qLD",
  "qLDiagInv",
]);

const INVERSE = new Set(["M", "qLD", "qLDiagInv"]);

function placeText({ loops }: Place): { physicsStep: number; evaluation: number } {
  const turn = (label: string) => (loops.findLast((l) => l.label === label)?.index ?? -1) + 1;
  return { physicsStep: turn("steps"), evaluation: turn("rk4") };
}

/** How expressions make a NaN of what has no logarithm or power. */
export const OUT_OF_DOMAIN = "a logarithm or a power that is none";
const madeBy = (origin: Origin | undefined, otherwise: Blame["operands"]): Pick<Blame, "op" | "operands"> =>
  origin?.op === "bitcast_f32"
    ? { op: OUT_OF_DOMAIN, operands: origin.operands }
    : { op: origin?.op ?? "", operands: origin?.operands ?? otherwise };

const sameOrigin = (a: Origin | undefined, b: Origin | undefined) => a !== undefined && a === b;

/** The stage that checks the numbers of a task, and the name of their sum where it alone is not finite. */
const JUDGE = "judge";
export const REWARD_SUM = "reward";

/** What made the first number of the task that was judged not to be finite. Undefined if all were finite. */
export function blameTask({ findings }: Interpretation): Blame | undefined {
  const bad = findings.filter((f) => !Number.isFinite(f.value));
  // what a normaliser, a clip or a memory tested before is none of it
  const test = bad.find((f) => f.stage === JUDGE) ?? bad[0];
  if (!test) return undefined;
  const made = test.origin ?? test;
  const isSum = made.stage === JUDGE;
  const name = isSum ? REWARD_SUM : test.name;
  return {
    ...placeText(made),
    stage: isSum ? "task" : made.stage,
    field: name,
    element: null,
    text: name,
    value: test.value,
    ...madeBy(test.origin, []),
  };
}

/** The first field of a step that went bad; `stages` leaves out others. */
export function blame(
  model: Model,
  { findings, assignments }: Interpretation,
  stages: (stage: string) => boolean = () => true,
): Blame | undefined {
  // inverses are large by nature
  const isLarge = (name: string, value: number) =>
    !Number.isFinite(value) || !INVERSE.has(name) || Math.abs(value) > 1e13;
  const here = findings.filter((f) => stages(f.stage));
  const isCulprit = (a: Assignment) => {
    const name = fieldOf(a.name, a.element)?.field ?? a.name;
    if (!stages(a.stage) || a.stage === "check") return false;
    if (VITAL.has(name)) return isLarge(name, a.value);
    // other numbers may be infinite on purpose: only where the bad end came of them
    return isField(name) && here.some((f) => sameOrigin(f.origin, a.origin));
  };
  const first = assignments.find(isCulprit);
  const [test] = here;
  const origin = test?.origin;
  // a number of the task alone is no field
  if (first) {
    const found = fieldOf(first.name, first.element);
    const made = first.origin;
    return {
      ...placeText(first),
      // if an infinite number was made inside of a stage, that stage
      stage: made && made.op !== "load" ? made.stage : first.stage,
      field: found?.field ?? first.name,
      element: found?.element ?? null,
      text: elementText(model, first.name, first.element),
      value: first.value,
      ...madeBy(made, first.operands),
    };
  }
  if (!test) return undefined;
  const at = origin ?? test;
  return {
    ...placeText(at),
    stage: at.stage,
    field: test.name,
    element: null,
    text: elementText(model, test.name, undefined),
    value: test.value,
    ...madeBy(origin, []),
  };
}
