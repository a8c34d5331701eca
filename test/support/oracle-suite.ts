// runs a stage on every model, in both precisions and both forms, and compares it with MuJoCo
import { existsSync, readdirSync } from "node:fs";
import { expect } from "vitest";
import { CorralError } from "../../src/core/errors.ts";
import { mjtConstraint } from "../../src/model/enums.ts";
import { loadModel } from "../../src/model/model.ts";
import type { Precision } from "../../src/trace/javascript.ts";
import { fixture, type Fixture, type ModelChoice, type Truth } from "./fixture.ts";
import { ENV_MODELS, TEST_MODELS } from "./mjcf.ts";
import { createMjcf } from "./random-mjcf.ts";
import type { StageName } from "../../src/physics/stages.ts";
import { packContacts, packForces, stageOf } from "./stage-table.ts";
import { evaluate, type How, type Stage } from "./stages.ts";
import { isFull, sweep } from "./sweep.ts";
import { stageBounds } from "./tolerances.ts";

export interface OracleCase {
  readonly name: string;
  /** Why it cannot be loaded here. */
  readonly absent?: string;
  readonly load: () => Promise<ModelChoice>;
  /** Whether what it has is in smaller models too: each stage of it runs in one of the ways of STAGE_HOWS, by turns. */
  readonly isMixed?: boolean;
}

const reference = new URL("../../../shared/reference/", import.meta.url);

/** The others are models of envs in other colours, or the humanoid lying down. */
const UNLIKE_ENVS = ["gymnasium/humanoid.xml", "gymnasium/inverted_double_pendulum.xml", "mujoco_warp/humanoid.xml"];

function referenceCases(): readonly OracleCase[] {
  const name = "reference models";
  const load = () => Promise.reject(new Error("absent"));
  if (!existsSync(reference)) return [{ name, absent: "../shared/reference is not here", load }];
  const all = ["gymnasium", "mujoco_warp"].flatMap((folder) => {
    const files = readdirSync(new URL(`${folder}/`, reference)).filter((f) => f.endsWith(".xml"));
    return files.map((f) => ({ name: `${folder}/${f}`, load: () => loadModel(new URL(`${folder}/${f}`, reference)) }));
  });
  return sweep(all, UNLIKE_ENVS, ({ name }) => name);
}

/** Seeds of random models: some in every run, all of them in the full one. */
export const randomSeeds = (sample: number, full: number): number[] =>
  Array.from({ length: isFull ? full : sample }, (_, i) => i + 1);

/** In every run those with flags that no model of test/models has, and with most features at once. */
const randomCases = (): OracleCase[] =>
  sweep(randomSeeds(200, 200), ["2", "3", "4", "6", "7", "8"]).map((seed) => ({
    name: `random model ${seed}`,
    load: async () => createMjcf(seed),
  }));

/** Whole steps of a model run in one form in each precision, in the other form in the other; with `test:full` in all. */
export const formsOf = (place: number, straight: boolean): readonly boolean[] =>
  isFull ? [true, false] : [(place % 2 === 0) === straight];

/** The models of this repository, those of ../shared/reference, and random ones. */
export const oracleCases = (): OracleCase[] => [
  ...TEST_MODELS.map((name) => ({ name, load: async () => name })),
  ...[
    ...ENV_MODELS.map((name) => ({ name: `envs/${name}`, load: async () => `envs/${name}` })),
    ...referenceCases(),
    ...randomCases(),
  ].map((mixed) => ({ ...mixed, isMixed: true })),
];

/** max |x - ref| / (1 + max |ref|), infinite if a number is missing or none. `scale`: a larger |ref| to go by. */
export function difference(x: ArrayLike<number>, ref: ArrayLike<number>, scale = 0): number {
  if (x.length !== ref.length) return Infinity;
  let [error, size] = [0, scale];
  for (let i = 0; i < ref.length; i++) {
    const e = Math.abs(x[i] - ref[i]);
    error = Number.isNaN(e) ? Infinity : Math.max(error, e);
    size = Math.max(size, Math.abs(ref[i]));
  }
  return error / (1 + size);
}

const [STRAIGHT64, ROLLED64, STRAIGHT32, ROLLED32]: readonly How[] = [
  { on: "f64", unroll: true },
  { on: "f64", unroll: false },
  { on: "f32", unroll: true },
  { on: "f32", unroll: false },
];

export const HOWS = [STRAIGHT64, ROLLED64, STRAIGHT32, ROLLED32] as const;

/**
 * Each form and each precision once. Of all stages in a row, step.test.ts has one form in float64, forward.test.ts the
 * other in float32.
 */
export const STAGE_HOWS: readonly How[] = isFull ? HOWS : [STRAIGHT64, ROLLED32];

export const describeHow = (how: How): string =>
  `${typeof how.on === "string" ? how.on : how.on.info.driver}, ${how.unroll ? "straight" : "rolled"}${how.roomy ? ", with room" : ""}`;

/** What a stage reads of MuJoCo's data. */
export function inputsOf(f: Fixture, truth: Truth): Record<string, ArrayLike<number>> {
  return { ...truth.fields, contacts: packContacts(f.model, truth), ...packForces(f.model, truth) };
}

const largest = (x: Float64Array): number => x.reduce((m, v) => Math.max(m, Math.abs(v)), 0);

/** The largest force that a contact or the state applies to a body, N. */
const pushes = (t: Truth): number =>
  Math.max(largest(t.fields.xfrc_applied), ...t.contacts.map((c) => largest(c.force)));

/** The largest product of a body's inertia and an acceleration of it that `of` gives, gravity included, N. */
function inertialForce({ fields: { cinert, cacc } }: Truth, of: (b: number) => number): number {
  const gravity = largest(cacc.subarray(0, 6));
  const bodies = Array.from({ length: cacc.length / 6 }, (_, b) => b);
  return Math.max(...bodies.map((b) => largest(cinert.subarray(10 * b, 10 * b + 10)) * Math.max(gravity, of(b))));
}

const ofBody = (x: Float64Array, b: number): number => largest(x.subarray(6 * b, 6 * b + 6));

/** What constraints and smooth forces each want the acceleration to be, m/s² or rad/s². */
const wanted = (t: Truth): number => Math.max(largest(t.fields.qacc_smooth), ...t.rows.map((r) => Math.abs(r.aref)));

/** Sums whose terms cancel: their errors are those of the terms, of this size. */
const TERMS: Readonly<Record<string, (t: Truth) => number>> = {
  qacc: wanted,
  qacc_warmstart: wanted,
  cacc: wanted,
  qfrc_constraint: (t) => Math.max(largest(t.fields.qfrc_smooth), ...t.rows.map((r) => Math.abs(r.force))),
  cfrc_ext: pushes,
  cfrc_int: (t) =>
    Math.max(
      pushes(t),
      inertialForce(t, (b) => ofBody(t.fields.cacc, b)),
      largest(t.fields.cfrc_ext),
    ),
  qfrc_bias: (t) => inertialForce(t, (b) => ofBody(t.fields.cvel, b) ** 2),
};

/** The size of the terms that cancel in a field, if any do. */
export const termsOf = (name: string, truth: Truth): number => TERMS[name]?.(truth) ?? 0;

/** The difference of one field of a result from MuJoCo's. */
export function fieldDifference(name: string, x: Float64Array, truth: Truth): number {
  return difference(x, truth.fields[name], termsOf(name, truth));
}

export type Check = (
  result: Record<string, Float64Array>,
  truth: Truth,
  f: Fixture,
  precision: Precision,
  label: string,
) => void;

/** States of each model. */
export const STATES: readonly number[] = isFull ? [1, 2, 3, 4, 5, 6, 7, 8, 9] : [1, 2, 3, 4];

/** The fixture of a case, or why there is none: it is absent, or its model is refused. */
export async function fixtureOf(c: OracleCase, seeds: readonly number[] = STATES): Promise<Fixture | string> {
  if (c.absent) return c.absent;
  try {
    return await fixture(await c.load(), seeds);
  } catch (error) {
    if (error instanceof CorralError && error.code === "unsupported-feature") return error.message;
    throw error;
  }
}

/** Runs `body` on the fixture of a case; skips where there is none, saying why. */
export function withFixture(c: OracleCase, seeds: readonly number[], body: (f: Fixture) => Promise<void> | void) {
  return async (context: { skip: (note?: string) => void }): Promise<void> => {
    const f = await fixtureOf(c, seeds);
    if (typeof f === "string") return context.skip(f);
    await body(f);
  };
}

/** What a stage's results are compared with, if it is not fields of the state itself. */
export interface StageChecks {
  /** Looks at one result, whose fields have been compared. */
  readonly check?: Check;
  /** The fields to compare with; by default those of MuJoCo's data. */
  readonly against?: (truth: Truth) => Truth["fields"];
  /** Models that the stage applies to. */
  readonly only?: (f: Fixture) => boolean;
}

/** The bound of a stage in a precision. */
export function boundOf(name: string, precision: Precision): number {
  const bounds: Readonly<Record<string, { value: number }>> = stageBounds;
  const suffix = precision === "f64" ? "64" : "32";
  return (bounds[`${name}${suffix}`] ?? bounds[`any${suffix}`]).value;
}

/**
 * Compares a stage with MuJoCo's: the fields it writes to the named bounds, and what `check` looks at. Everything that
 * a stage reads is MuJoCo's.
 */
export async function compareStage(
  f: Fixture,
  name: StageName,
  checks: StageChecks = {},
  hows: readonly How[] = STAGE_HOWS,
): Promise<void> {
  if (checks.only?.(f) === false) return;
  for (const how of hows) await compare(f, stageOf(name), how, checks);
}

/** The bound of accelerations under constraints: anchors of equality constraints are global points. */
export function constrainedBound(name: string, precision: Precision, truth: Truth): number {
  const bound = boundOf(name, precision);
  const anchored = truth.rows.some((r) => r.type === mjtConstraint.EQUALITY);
  return anchored && precision === "f32" ? Math.max(bound, boundOf("equality", precision)) : bound;
}

async function compare(f: Fixture, stage: Stage, how: How, { check, against }: StageChecks): Promise<void> {
  const results = await evaluate(
    f.model,
    stage,
    f.truths.map((t) => inputsOf(f, t)),
    how,
  );
  const precision = how.on as Precision;
  results.forEach((result, i) => {
    const truth = f.truths[i];
    const bound =
      stage.name === "solver" ? constrainedBound(stage.name, precision, truth) : boundOf(stage.name, precision);
    const label = `${truth.label}, ${describeHow(how)}`;
    for (const field of stage.writes) {
      const to = against ? { ...truth, fields: against(truth) } : truth;
      expect(fieldDifference(field, result[field], to), `${label}: ${field}`).toBeLessThanOrEqual(bound);
    }
    check?.(result, truth, f, precision, label);
  });
}
