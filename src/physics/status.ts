// the status word: what went wrong in a world, one bit each
import { each, flag } from "../trace/control.ts";
import { mjMAXVAL } from "../model/enums.ts";
import {
  and,
  band,
  bitcastU32,
  isFinite32,
  le,
  not,
  select,
  type Bool,
  type Int,
  type Scalar,
} from "../trace/scalar.ts";
import type { Field } from "./view.ts";

/** Bits of the status word of a world. */
export const Status = {
  BAD_QPOS: 1 << 0,
  BAD_QVEL: 1 << 1,
  BAD_QACC: 1 << 2,
  BAD_CTRL: 1 << 3,
  BAD_REWARD: 1 << 4,
  BAD_OBS: 1 << 5,
  CONTACT_OVERFLOW: 1 << 6,
  // bits 7 and 8 are free: nothing that they once stood for can happen unseen (docs/decisions/0015)
  /** A number that a task reports beside its reward; it harms nothing else. */
  BAD_INFO: 1 << 9,
  /** A condition that ends an episode compares what is not a number. */
  BAD_CONDITION: 1 << 10,
} as const;

/** Bits of what ends an episode by default because something went wrong. */
export const FAILED = Object.values(Status).reduce((all, bit) => all | bit, 0) & ~Status.BAD_INFO;

export type StatusName = keyof typeof Status;

/** Names of the bits set in a status word. */
export function statusNames(word: number): StatusName[] {
  return (Object.keys(Status) as StatusName[]).filter((name) => word & Status[name]);
}

/** Whether all values are finite, by their exponent bits. */
const allFinite = (values: readonly Scalar[]): Bool => values.reduce<Bool>((ok, x) => and(ok, isFinite32(x)), true);

/** `bit` where not all values are finite, else 0 (u32). */
export const badBit = (values: readonly Scalar[], bit: number): Int => unless(allFinite(values), bit);

/** `bit` if a value is not finite or beyond mjMAXVAL, else 0 (u32): what MuJoCo calls bad (mju_isBad). */
export const badStateBit = (values: readonly Scalar[], bit: number): Int =>
  unless(
    values.reduce<Bool>((ok, x) => and(ok, isWithinMax(x)), true),
    bit,
  );

/** The same of a field. */
export function badFieldBit(field: Field, bit: number): Int {
  const ok = flag("ok", true);
  each(field.length, (i) => ok.set(and(ok.get(), isWithinMax(field.at(i)))));
  return unless(ok.get(), bit);
}

// on the bits, as isFinite32
const isWithinMax = (x: Scalar): Bool => le(band(bitcastU32(x), 0x7fffffff), bitcastU32(mjMAXVAL));

const unless = (ok: Bool, bit: number): Int => select(not(ok), bit, 0, "u32");
