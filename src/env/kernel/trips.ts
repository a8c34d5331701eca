// what trips the recorder: bits of failures and of the user's conditions, kept until the host has read them
import { param } from "../../trace/control.ts";
import { add, bor, eq, ne, or, select, toF32, toU32, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { badBit } from "../../physics/status.ts";
import { RESULT } from "./layout.ts";
import { isUndecided } from "../task/undecided.ts";
import { LIMIT, type TaskShape } from "../task/shape.ts";
import type { Scene, TermSource } from "../task/task.ts";
import { termCondition } from "../task/term-value.ts";

/** A condition that trips the recorder if it holds after a control step: "energy above", "velocity above". */
export interface Trip<O extends object = object> {
  readonly name: string;
  /** An expression, as in a task's terms, or a function. */
  readonly when: TermSource<O>;
}

/** Status bit of the first of the user's conditions; the others follow. */
export const FIRST_TRIP = 1 << 16;
export const MOST_TRIPS = 8;
/** Most terms and parts with a bit of their own in `bad_terms`: what a float32 counts exactly. */
export const MOST_TERMS = 24;

/** Bits of the conditions that hold, or that compare what is not a number; which do that. */
export function tripBits<O extends object>(
  trips: readonly Trip<O>[],
  scene: Scene<O>,
): { bits: Int; undecided: Bool[] } {
  const holds = trips.map(({ name, when }) => termCondition(when, scene, { name: `trip "${name}"`, takes: [] }));
  const undecided = holds.map((cond) => isUndecided(cond));
  const bits = holds.map((cond, i) => select(or(cond, undecided[i]), FIRST_TRIP << i, 0, "u32"));
  return { bits: bits.reduce<Int>(bor, 0), undecided };
}

/** What a bit of `badTerms` names, in order. */
export const judgedTerms = (shape: TaskShape, trips: readonly Trip[]): string[] => [
  ...shape.terms,
  ...shape.observation.map(({ name }) => name),
  ...shape.infos,
  ...shape.terminations,
  ...shape.truncations.filter((name) => name !== LIMIT),
  ...trips.map(({ name }) => name),
];

/** Parameter of the kernels that changes whenever the host has read results; never 0, which results of a snapshot have. */
export const EPOCH = "epoch";
/** Floats count as far as this. */
const MOST_EPOCHS = 2 ** 24;

export const nextEpoch = (epoch: number): number => 1 + (epoch % (MOST_EPOCHS - 1));

/** Bits of what is not finite, and of the conditions that are undecided. */
export function badTerms(
  shape: TaskShape,
  terms: readonly Scalar[],
  observation: readonly Scalar[],
  infos: readonly Scalar[] = [],
  undecided: readonly Bool[] = [],
): Scalar {
  let at = 0;
  const parts = shape.observation.map(({ size }) => observation.slice(at, (at += size)));
  const groups = [...terms.map((x) => [x]), ...parts, ...infos.map((x) => [x])].slice(0, MOST_TERMS);
  const bad = groups.map((values, i) => badBit(values, 2 ** i));
  const ofConditions = undecided
    .slice(0, MOST_TERMS - groups.length)
    .map((cond, i) => select(cond, 2 ** (groups.length + i), 0, "u32"));
  return toF32([...bad, ...ofConditions].reduce<Int>(bor, 0));
}

/** What went wrong since the host last read, with this call; `last` is the result before it. */
export function tripped(
  last: readonly Scalar[],
  now: { readonly status: Int; readonly badTerms: Scalar; readonly steps: Scalar },
): Partial<Record<keyof typeof RESULT, Scalar>> {
  const epoch = toF32(param(EPOCH, "u32"));
  const goesOn = eq(last[RESULT.epoch], epoch);
  const before = (name: keyof typeof RESULT) => select(goesOn, last[RESULT[name]], 0, "f32");
  const [trips, unread] = [before("trips"), before("unread")];
  const happened = (value: Scalar, name: keyof typeof RESULT) => select(eq(trips, 0), value, before(name), "f32");
  return {
    trip_status: toF32(bor(toU32(before("trip_status")), now.status)),
    trip_at: happened(unread, "trip_at"),
    trips: add(trips, select(ne(now.status, 0), 1, 0, "f32")),
    bad_terms: happened(now.badTerms, "bad_terms"),
    epoch,
    unread: add(unread, now.steps),
  };
}
