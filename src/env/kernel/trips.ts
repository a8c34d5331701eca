// what trips the recorder: bits of failures and of the user's conditions, kept until the host has read them
import { param } from "../../trace/control.ts";
import { add, bor, eq, ne, select, toF32, toU32, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { badBit } from "../../physics/status.ts";
import { RESULT } from "./layout.ts";
import type { TaskShape } from "../task/shape.ts";
import type { Scene, TermSource } from "../task/task.ts";
import { termCondition } from "../task/term-value.ts";

/** A condition that trips the recorder where it holds after a control step: "energy above", "velocity above". */
export interface Trip<O extends object = object> {
  readonly name: string;
  /** An expression, as in a task's terms, or a function. */
  readonly when: TermSource<O>;
}

/** Status bit of the first of the user's conditions; the others follow. */
export const FIRST_TRIP = 1 << 16;
export const MOST_TRIPS = 8;
/** Terms and parts that are told apart: bits of a float. */
export const MOST_TERMS = 24;

/** Bits of the conditions that hold. */
export function tripBits<O extends object>(trips: readonly Trip<O>[], scene: Scene<O>): Int {
  const bits = trips.map(({ name, when }, i) => {
    const holds: Bool = termCondition(when, scene, { name: `trip "${name}"`, takes: [] });
    return select(holds, FIRST_TRIP << i, 0, "u32");
  });
  return bits.reduce<Int>(bor, 0);
}

/** Parameter of the kernels that changes whenever the host has read results; never 0, which results of a snapshot have. */
export const EPOCH = "epoch";
/** Floats count as far as this. */
const MOST_EPOCHS = 2 ** 24;

export const nextEpoch = (epoch: number): number => 1 + (epoch % (MOST_EPOCHS - 1));

/** Bits of the terms of the reward, then of the parts of the observation, then of the infos, that are not finite. */
export function badTerms(
  shape: TaskShape,
  terms: readonly Scalar[],
  observation: readonly Scalar[],
  infos: readonly Scalar[] = [],
): Scalar {
  let at = 0;
  const parts = shape.observation.map(({ size }) => observation.slice(at, (at += size)));
  const groups = [...terms.map((x) => [x]), ...parts, ...infos.map((x) => [x])].slice(0, MOST_TERMS);
  return toF32(groups.map((values, i) => badBit(values, 2 ** i)).reduce<Int>(bor, 0));
}

/** What went wrong since the host last read, with this call; `last` is the result before it. */
export function tripped(
  last: readonly Scalar[],
  now: { readonly status: Int; readonly badTerms: Scalar; readonly steps: number },
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
