// options of the drift monitor, checked
import { CorralError } from "../core/errors.ts";
import { show } from "../core/show.ts";

/** Worlds that run beside MuJoCo in float64, a control step now and then. */
export interface MonitorOptions {
  /** Places of the worlds in the batch. */
  readonly worlds: readonly number[];
  /** Control steps from one check to the next. Default 100. */
  readonly everySteps?: number;
  /** Error of one control step, |x - ref| / (1 + max |ref|), beyond which a bundle is written. Default: none is. */
  readonly threshold?: number;
}

export interface MonitorSettings {
  readonly worlds: readonly number[];
  readonly everySteps: number;
  readonly threshold: number;
}

const NAMES = ["worlds", "everySteps", "threshold"];
const EVERY_STEPS = 100;
/** Each check of a world costs milliseconds. */
const MOST_WORLDS = 64;

const bad = (name: string, value: unknown, want: string) =>
  new CorralError("bad-option", `monitor${name && `.${name}`} is ${show(value)}; ${want}.`, {
    name,
    value,
  });

/** The monitor's settings; undefined if there is none. Throws `bad-option`. */
export function monitorSettings(given: unknown, numEnvs: number): MonitorSettings | undefined {
  if (given === undefined || given === false) return undefined;
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw bad("", given, `it is an object of ${NAMES.join(", ")}`);
  const options = given as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(options).find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw bad(unknown, options[unknown], `the monitor has only ${NAMES.join(", ")}`);
  const { worlds, everySteps = EVERY_STEPS, threshold = Infinity } = options;
  const list = Array.isArray(worlds) ? (worlds as unknown[]) : [];
  const isWorld = (w: unknown) => Number.isInteger(w) && (w as number) >= 0 && (w as number) < numEnvs;
  if (list.length === 0 || list.length > MOST_WORLDS || !list.every(isWorld) || new Set(list).size < list.length)
    throw bad("worlds", worlds, `it is a list of 1 to ${MOST_WORLDS} different worlds from 0 to ${numEnvs - 1}`);
  if (!Number.isInteger(everySteps) || (everySteps as number) < 1)
    throw bad("everySteps", everySteps, "it is a whole number of at least 1");
  if (typeof threshold !== "number" || !(threshold > 0)) throw bad("threshold", threshold, "it is a positive number");
  return { worlds: list as number[], everySteps: everySteps as number, threshold };
}
