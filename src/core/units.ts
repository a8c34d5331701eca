// bytes as people write and read them
import { CorralError } from "./errors.ts";

/** A number with so many decimals; what rounds to zero has no sign. */
export const fixed = (x: number, decimals: number): string => x.toFixed(decimals).replace(/^-(0(?:\.0*)?)$/, "$1");

/** A number of bytes, text such as `"6GiB"`, or, if a whole is known, a fraction of it: `0.8`, `"80%"`. */
export type Bytes = number | string;

const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

const PRINTED = ["TiB", "GiB", "MiB", "KiB"] as const;
const TEXT = /^(\d+(?:\.\d+)?)(?: ?([A-Za-z]+|%))?$/;

/**
 * A whole number of bytes, rounded down. `whole` is what fractions are of, in bytes; without it they are refused.
 * Throws `bad-bytes` for anything that is not such a size, and for the number 1 if it could also mean the whole.
 */
export function parseBytes(value: Bytes, what = "size", whole?: number): number {
  if (typeof value === "number") return fromNumber(value, value, what, whole);
  if (typeof value !== "string") throw badBytes(value, what, "it is neither a number nor text");

  const match = TEXT.exec(value);
  if (match === null) throw badBytes(value, what, "it is not a number with a unit");

  const [, digits, unit] = match;
  const number = Number(digits);
  if (unit === undefined) return fromNumber(number, value, what, whole);
  if (unit === "%") return ofWhole(number / 100, value, what, whole);

  const factor = Object.hasOwn(UNITS, unit) ? UNITS[unit] : undefined;
  if (factor === undefined) throw badBytes(value, what, `"${unit}" is no unit of bytes`);
  return checked(Math.floor(number * factor), value, what);
}

/** Bytes in the largest binary unit that leaves at least 1, three digits: `56.2 MiB`, `1,020 KiB`, `12 B`. */
export function formatBytes(bytes: number): string {
  for (const unit of PRINTED) {
    const amount = bytes / UNITS[unit];
    if (amount < 1) continue;

    const decimals = amount < 9.995 ? 2 : amount < 99.95 ? 1 : 0;
    return `${grouped(amount.toFixed(decimals))} ${unit}`;
  }

  return `${bytes} B`;
}

/** Bytes rounded for reading and, from 1 KiB, to the byte: `56.2 MiB (58,982,400 B)`. */
export function formatBytesExactly(bytes: number): string {
  return bytes < 1024 ? formatBytes(bytes) : `${formatBytes(bytes)} (${formatCount(bytes)} B)`;
}

/** Bytes that are needed and bytes that there are: to the byte too where rounding would print two that differ alike. */
export function formatApart(needed: number, there: number): readonly [needed: string, there: string] {
  const [a, b] = [formatBytes(needed), formatBytes(there)];
  return a === b && needed !== there ? [formatBytesExactly(needed), formatBytesExactly(there)] : [a, b];
}

/** An integer with commas: `1,000,000`. */
export function formatCount(count: number): string {
  return grouped(String(count));
}

/** A count with what is counted: `1 episode`, `1,000 episodes`. */
export const countOf = (count: number, one: string): string => `${formatCount(count)} ${one}${count === 1 ? "" : "s"}`;

function fromNumber(number: number, given: Bytes, what: string, whole?: number): number {
  if (!Number.isFinite(number) || number < 0) throw badBytes(given, what, "it is not a size");
  if (number > 0 && number < 1) return ofWhole(number, given, what, whole);
  if (!Number.isInteger(number)) throw badBytes(given, what, "it is not a whole number of bytes");

  if (number === 1 && whole !== undefined) {
    throw badBytes(given, what, "it could be one byte or all of it; write '1B' or '100%'");
  }

  return checked(number, given, what);
}

function ofWhole(fraction: number, given: Bytes, what: string, whole?: number): number {
  if (whole === undefined) throw badBytes(given, what, "what it is a part of is not known here");
  if (fraction > 1) throw badBytes(given, what, "it is more than all of it");
  return Math.floor(fraction * whole);
}

function checked(bytes: number, given: Bytes, what: string): number {
  if (!Number.isSafeInteger(bytes)) throw badBytes(given, what, "it is above 2^53 bytes");
  return bytes;
}

function badBytes(value: unknown, what: string, why: string): CorralError {
  const shown = typeof value === "string" ? JSON.stringify(value) : String(value);
  return new CorralError(
    "bad-bytes",
    `${what} is ${shown}: ${why}. Pass bytes as a number, or text such as "6GiB" or "512MB", or a part such as 0.8 or "80%".`,
    { what, value },
  );
}

function grouped(digits: string): string {
  const [integer, fraction] = digits.split(".");
  const commas = integer.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? commas : `${commas}.${fraction}`;
}

/** Whether a rate and the time between two say the same; either may be rounded. */
export const ratesAgree = (perSecond: number, dt: number): boolean => Math.abs(perSecond * dt - 1) <= 1e-3;
