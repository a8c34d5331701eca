// what options of an environment or a model would save, found by planning without them
import type { Plan } from "../memory/index.ts";
import { RECORDER_OPTIONS, type RecorderOptions } from "../record/options.ts";

/** A change of one option, and what it takes off a plan. */
export interface Saving {
  /** As `--set` takes it, or in words. */
  readonly change: string;
  readonly bytesPerWorld: number;
  readonly bytes: number;
  /** The most worlds that fit with it. */
  readonly largestNumEnvs: number;
}

/** A change that may save something: options to plan with instead. */
export interface Candidate {
  readonly change: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** Changes of an environment's options, or of a simulation's if `defaults` is undefined, from those that were given. */
export function candidatesOf(given: Readonly<Record<string, unknown>>, defaults: object | undefined): Candidate[] {
  const candidates: Candidate[] = [];
  if (given.snapshotEvery !== undefined)
    candidates.push({ change: "no snapshotEvery", options: { snapshotEvery: undefined } });
  if (given.autoreset === "same-step")
    candidates.push({ change: "autoreset=next-step", options: { autoreset: "next-step" } });
  if (defaults === undefined) {
    if (given.applied !== false) candidates.push({ change: "applied=false", options: { applied: false } });
    const outputs = (given.outputs ?? []) as readonly string[];
    for (const name of outputs) {
      candidates.push({ change: `no output ${name}`, options: { outputs: outputs.filter((other) => other !== name) } });
    }
    return candidates;
  }

  if (given.recorder !== false) {
    const recorder = typeof given.recorder === "object" ? (given.recorder as RecorderOptions) : {};
    const everySteps = Math.ceil((recorder.everySteps ?? RECORDER_OPTIONS.everySteps.default) / 2);
    candidates.push(
      { change: "recorder=false", options: { recorder: false } },
      { change: `recorder.everySteps: ${everySteps}`, options: { recorder: { ...recorder, everySteps } } },
    );
  }
  for (const [name, normal] of Object.entries(defaults)) {
    if (typeof normal !== "boolean") continue;
    const value = !(given[name] ?? normal);
    candidates.push({ change: `${name}=${value}`, options: { [name]: value } });
  }
  return candidates;
}

/** The candidates that save bytes, most first. */
export function savingsOf(
  plan: Plan,
  candidates: readonly Candidate[],
  planWith: (options: Readonly<Record<string, unknown>>) => Plan,
): Saving[] {
  const savings: Saving[] = [];
  for (const { change, options } of candidates) {
    const other = planWith(options);
    const bytes = plan.totalBytes - other.totalBytes;
    if (bytes <= 0) continue;
    const bytesPerWorld = plan.bytesPerWorld - other.bytesPerWorld;
    savings.push({ change, bytesPerWorld, bytes, largestNumEnvs: other.largestNumEnvs });
  }
  return savings.sort((a, b) => b.bytes - a.bytes);
}
