// all stages in a row: what errors of one become in the next
import { describe, expect, test } from "vitest";
import type { Precision } from "../../src/trace/javascript.ts";
import type { Fixture, Truth } from "../support/fixture.ts";
import {
  boundOf,
  constrainedBound,
  describeHow,
  fieldDifference,
  formsOf,
  HOWS,
  inputsOf,
  oracleCases,
  STATES,
  withFixture,
} from "../support/oracle-suite.ts";
import { isFull } from "../support/sweep.ts";
import { forwardStage } from "../support/stage-table.ts";
import { evaluate, type How } from "../support/stages.ts";

const SMOOTH = ["xpos", "cdof", "M", "cvel", "qfrc_bias", "qfrc_smooth", "qacc_smooth"] as const;
const CONSTRAINED = ["qacc", "qfrc_constraint", "cacc", "cfrc_ext", "cfrc_int", "sensordata"] as const;
const FORWARD = forwardStage([...SMOOTH, ...CONSTRAINED]);
/** In float64 each stage is held to its own bound, and step.test.ts to what all of them leave. */
const howsOf = (place: number): readonly How[] =>
  isFull ? HOWS : formsOf(place, false).map((unroll) => ({ on: "f32", unroll }));

/** Whether something is so near to touching that rounding may make or end it. */
const isTouching = (truth: Truth, result: Record<string, Float64Array>): boolean =>
  result.nefc[0] !== truth.fields.nefc[0] || result.ncon[0] !== truth.fields.ncon[0];

async function compare(f: Fixture, how: How): Promise<void> {
  const results = await evaluate(
    f.model,
    FORWARD,
    f.truths.map((t) => inputsOf(f, t)),
    how,
  );
  const precision = how.on as Precision;
  results.forEach((result, i) => {
    const truth = f.truths[i];
    const label = `${truth.label}, ${describeHow(how)}`;
    const check = (field: string, bound: number) =>
      expect(fieldDifference(field, result[field], truth), `${label}: ${field}`).toBeLessThanOrEqual(bound);

    for (const field of SMOOTH) check(field, boundOf("forward_smooth", precision));
    expect(isTouching(truth, result), `${label}: contacts and rows`).toBe(false);
    for (const field of CONSTRAINED) check(field, constrainedBound("forward", precision, truth));
  });
}

describe("forward equals MuJoCo", () => {
  for (const [place, c] of oracleCases().entries()) {
    test(
      c.name,
      withFixture(c, STATES, async (f) => {
        for (const how of howsOf(place)) await compare(f, how);
      }),
    );
  }
});
