// every stage of the pipeline alone, on every model: given the inputs that MuJoCo's stage read, ours makes the outputs that it wrote.
// compareStage (support/oracle-suite.ts) runs a stage on states of fixture.ts, as stage-table.ts says, to the bounds of tolerances.ts
import { afterAll, describe, expect, test } from "vitest";
import { mjtIntegrator } from "../../src/model/enums.ts";
import { STAGE_NAMES, type StageName } from "../../src/physics/stages.ts";
import { isCertain, ourContacts, ourRows, reachOf, theirContacts, theirRows } from "../support/contacts.ts";
import {
  boundOf,
  compareStage,
  difference,
  fixtureOf,
  oracleCases,
  STAGE_HOWS,
  type StageChecks,
} from "../support/oracle-suite.ts";
import { isFull } from "../support/sweep.ts";

const pair = (geoms: readonly number[]) => geoms.join("-");

/** Contacts in MuJoCo's order; those that rounding makes or loses at the margin are left out on both sides. */
const collision: StageChecks = {
  check(result, truth, fixture, precision, label) {
    const slack = boundOf("margin", precision);
    const bound = boundOf("collision", precision);
    const ours = ourContacts(fixture.model, result).filter((c) =>
      isCertain(c.at("dist", 1)[0], c.pair.margin + c.pair.gap, slack),
    );
    const theirs = theirContacts(truth).filter((c) => isCertain(c.dist, reachOf(fixture.model, c.geom), slack));

    expect(
      ours.map((c) => pair([c.pair.geom1, c.pair.geom2])),
      label,
    ).toEqual(theirs.map((c) => pair(c.geom)));
    ours.forEach((c, i) => {
      const at = `${label}: contact ${i} of geoms ${pair(theirs[i].geom)}`;
      expect(difference(c.at("dist", 1), [theirs[i].dist]), `${at}, dist`).toBeLessThanOrEqual(bound);
      expect(difference(c.at("pos", 3), theirs[i].pos), `${at}, pos`).toBeLessThanOrEqual(bound);
      expect(difference(c.at("frame", 9), theirs[i].frame), `${at}, frame`).toBeLessThanOrEqual(bound);
    });

    // ncon counts contacts within the gap too: it is compared where none is near the limit of detection
    const doubtful = truth.contacts.some((c) => !isCertain(c.dist, reachOf(fixture.model, c.geom), slack));
    if (!doubtful && precision === "f64") expect(result.ncon[0], `${label}: ncon`).toBe(truth.fields.ncon[0]);
  },
};

/** Rows in MuJoCo's order: equalities, friction loss, limits, contacts with their cones written out. */
const constraints: StageChecks = {
  check(result, truth, fixture, precision, label) {
    const slack = boundOf("margin", precision);
    const ours = ourRows(fixture.model, result, slack).filter((r) => r.certain);
    const theirs = theirRows(truth, slack).filter((r) => r.certain);
    expect(
      ours.map((r) => r.name),
      label,
    ).toEqual(theirs.map((r) => r.name));

    const bound = (name: string) => boundOf(name.startsWith("equality") ? "equality" : "make_constraint", precision);
    ours.forEach((row, i) => {
      const at = `${label}: row ${i}, ${row.name}`;
      expect(difference(row.J, theirs[i].J), `${at}, J`).toBeLessThanOrEqual(bound(row.name));
      expect(difference([row.aref], [theirs[i].aref]), `${at}, aref`).toBeLessThanOrEqual(boundOf("aref", precision));
      expect(Math.abs(row.D / theirs[i].D - 1), `${at}, D`).toBeLessThanOrEqual(boundOf("impedance", precision));
    });
  },
};

/** What stages are compared with beside the fields that they write. */
const CHECKS: Partial<Record<StageName, StageChecks>> = {
  collision,
  transmission: {
    check(result, truth, _f, precision, label) {
      const bound = boundOf("transmission", precision);
      expect(difference(result.moment, truth.moment), `${label}: moment`).toBeLessThanOrEqual(bound);
    },
  },
  make_constraint: constraints,
  // RK4 evaluates four times: step.test.ts compares it
  integrate: {
    against: (truth) => truth.next,
    only: ({ model }) => model.opt.integrator !== mjtIntegrator.RK4,
  },
};

describe.each(oracleCases().map((one, place) => [one.name, one, place] as const))(
  "stages of %s equal MuJoCo",
  (_, oracleCase, place) => {
    let made: ReturnType<typeof fixtureOf> | undefined;
    afterAll(() => (made = undefined));

    test.for(STAGE_NAMES)("%s", async (name, context) => {
      const fixture = await (made ??= fixtureOf(oracleCase));
      if (typeof fixture === "string") return context.skip(fixture);
      // whole steps of each model are in both precisions and both forms: step.test.ts, forward.test.ts
      const turn = (place + STAGE_NAMES.indexOf(name)) % STAGE_HOWS.length;
      const hows = oracleCase.isMixed && !isFull ? [STAGE_HOWS[turn]] : STAGE_HOWS;
      await compareStage(fixture, name, CHECKS[name], hows);
    });
  },
);
