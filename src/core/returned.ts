// what code of a user's own returned, and what it threw, as errors that name the call and the world
import { CorralError } from "./errors.ts";
import { show } from "./show.ts";

/** A call of a user's code. */
export interface Call {
  /** The environment. */
  readonly id: string;
  /** "reset", "step", "makeWorld" */
  readonly place: string;
  /** Left out where the call is for all worlds. */
  readonly world?: number;
}

/** `bad-env`: what a call did and what it should do. */
export function badReturn({ id, place, world }: Call, text: string, options?: ErrorOptions): CorralError {
  const where = world === undefined ? place : `${place} of world ${world}`;
  return new CorralError("bad-env", `${id}, ${where}: ${text}.`, { id, place, world }, options);
}

/** Whether something is waited for. Nobody will: a rejection of it is not to end the process. */
function isPromise(value: unknown): boolean {
  if (typeof (value as { then?: unknown } | null | undefined)?.then !== "function") return false;
  Promise.resolve(value).catch(() => {});
  return true;
}

/** What a user's code threw, in a sentence. */
export const whyThrown = (error: unknown): string =>
  (error instanceof Error ? error.message : show(error)).replace(/\.$/, "");

/** `bad-env` with the cause, for an error of a user's code. */
export function thrown(call: Call, error: unknown): CorralError {
  const why = whyThrown(error);
  const again = ["reset", "step"].includes(call.place) ? "Mend it, then call reset()" : "Mend it";
  return badReturn(call, `it threw ${why}. ${again}`, { cause: error });
}

/** Throws `bad-env` for what is no object. */
export function assertObject(call: Call, value: unknown, want: string): void {
  if (typeof value !== "object" || value === null) throw badReturn(call, `it returned ${show(value)}; return ${want}`);
}

/** What a user's code returns. Throws `bad-env` with the cause if it throws, and for promises and all but objects. */
export function objectOf<T extends object>(call: Call, made: () => T, want: string): T {
  let value: T;
  try {
    value = made();
  } catch (error) {
    throw thrown(call, error);
  }
  if (isPromise(value))
    throw badReturn(
      call,
      `it returned a promise, and worlds step synchronously: return ${want}, not async. What has to be waited for steps all worlds at once, as an object with numEnvs, reset and step of all of them, which may return promises`,
    );
  assertObject(call, value, want);
  return value;
}

/** Throws `bad-env` for what is no flat list of so many finite numbers. */
export function assertRow(call: Call, name: string, row: unknown, size: number): void {
  const { length } = Object(row) as { readonly length?: unknown };
  if (typeof row !== "object" || typeof length !== "number")
    throw badReturn(call, `${name} is ${show(row)}; return ${size} numbers in a list or a typed array`);
  const values = row as ArrayLike<unknown>;
  for (let i = 0; i < length; i++) {
    const x = values[i];
    if (typeof x === "number" && Number.isFinite(Math.fround(x))) continue;
    const want = typeof x === "object" && x !== null ? `${size} numbers in one flat list` : "finite numbers of float32";
    throw badReturn(call, `${name}[${i}] is ${show(x)}; return ${want}`);
  }
  if (length !== size) throw badReturn(call, `${name} has ${length} numbers; return ${size}`);
}

/** How deep lists and objects of saved data may lie in each other; cycles have no end. */
const DEEPEST = 64;

/** Where in saved data something is that JSON does not hold, and what; undefined if all is plain. */
function notPlain(value: unknown, path: string, left: number): string | undefined {
  if (value === null || typeof value === "string" || typeof value === "boolean") return undefined;
  if (typeof value === "number" && Number.isFinite(value)) return undefined;
  if (typeof value !== "object") return `${path} is ${show(value)}`;
  const isList = Array.isArray(value);
  const prototype = Object.getPrototypeOf(value) as object | null;
  const isPlain = isList || prototype === null || Object.getPrototypeOf(prototype) === null;
  if (!isPlain) return `${path} is a ${prototype.constructor.name}`;
  if (left === 0) return `some of it lies deeper than ${DEEPEST}, or in itself`;
  const entries = isList ? value.entries() : Object.entries(value);
  for (const [key, each] of entries) {
    // what is undefined is left out, and so it is after it
    if (each === undefined && !isList) continue;
    const wrong = notPlain(each, isList ? `${path}[${key}]` : `${path}.${key}`, left - 1);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

/** What a user's code saved. Throws `bad-env` if it throws, and for what JSON would change: it is read from there. */
export function savedBy(call: Call, made: () => unknown): unknown {
  const value = calling(call, made);
  const wrong = notPlain(value, "what it returned", DEEPEST);
  if (wrong === undefined) return value;
  throw badReturn(
    call,
    `${wrong}; return plain data: null, true, false, text, finite numbers, and lists and objects of these (Array.from of typed arrays)`,
  );
}

/** Runs a user's code. What it throws is `bad-env` with the cause; errors with a code pass. */
export function calling<T>(call: Call, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof CorralError ? error : thrown(call, error);
  }
}
