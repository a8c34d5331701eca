import { expect } from "vitest";

import { ourRows, theirRows } from "../support/contacts.ts";
import { boundOf, describeStage, difference } from "../support/oracle-suite.ts";

// rows in MuJoCo's order: friction loss, limits, contacts with their cones written out
describeStage("make_constraint", {
  check(result, truth, f, precision, label) {
    const slack = boundOf("margin", precision);
    const ours = ourRows(f.model, result, slack).filter((r) => r.certain);
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
});
