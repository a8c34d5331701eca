import { expect } from "vitest";

import { isCertain, ourContacts, reachOf, theirContacts } from "../support/contacts.ts";
import { boundOf, describeStage, difference } from "../support/oracle-suite.ts";

// contacts in MuJoCo's order; those that rounding makes or loses at the margin are left out on both sides
describeStage("collision", {
  check(result, truth, f, precision, label) {
    const slack = boundOf("margin", precision);
    const bound = boundOf("collision", precision);
    const ours = ourContacts(f.model, result).filter((c) =>
      isCertain(c.at("dist", 1)[0], c.pair.margin + c.pair.gap, slack),
    );
    const theirs = theirContacts(truth).filter((c) => isCertain(c.dist, reachOf(f.model, c.geom), slack));

    const pair = (geoms: readonly number[]) => geoms.join("-");
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

    // those within the gap count too
    const doubtful = truth.contacts.some((c) => !isCertain(c.dist, reachOf(f.model, c.geom), slack));
    if (!doubtful && precision === "f64") expect(result.ncon[0], `${label}: ncon`).toBe(truth.fields.ncon[0]);
  },
});
