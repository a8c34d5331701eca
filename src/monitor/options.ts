// options of the drift monitor
import { badOption, fillInPart, type ConfigOf, type Given, type OptionTable } from "../core/options.ts";
import { described, integer, list, real } from "../core/schema.ts";

/** Each check of a world costs milliseconds. */
const MOST_WORLDS = 64;

export const MONITOR_OPTIONS = {
  worlds: {
    kind: described(`a list of 1 to ${MOST_WORLDS} different worlds`, list(integer(0), { max: MOST_WORLDS })),
    doc: "places of the worlds in the batch",
  },
  everySteps: { default: 100, kind: integer(1), doc: "control steps from one check to the next" },
  threshold: {
    default: Infinity,
    kind: described("a number above 0", real(Number.MIN_VALUE, Infinity, false)),
    doc: "error of one control step, |x - ref| / (1 + max |ref|), beyond which a bundle is written",
  },
} as const satisfies OptionTable;

type Row = typeof MONITOR_OPTIONS;

/** Worlds that run beside MuJoCo in float64, a control step now and then; `MONITOR_OPTIONS` says what each option means. */
export type MonitorOptions = Given<Row> & { readonly worlds: readonly number[] };
export type MonitorSettings = Required<ConfigOf<Row>>;

/** The monitor's settings; undefined if there is none. Throws `bad-option`, `unknown-option`. */
export function monitorSettings(given: unknown, numEnvs: number): MonitorSettings | undefined {
  if (given === undefined || given === false) return undefined;
  const { worlds = [], ...settings } = fillInPart("monitor", MONITOR_OPTIONS, given);
  if (worlds.length === 0 || worlds.some((w) => w >= numEnvs) || new Set(worlds).size < worlds.length)
    throw badOption(
      "monitor.worlds",
      (given as MonitorOptions).worlds,
      `pass a list of 1 to ${MOST_WORLDS} different worlds from 0 to ${numEnvs - 1}`,
    );
  return { worlds, ...settings };
}
