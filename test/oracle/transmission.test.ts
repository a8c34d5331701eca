import { expect } from "vitest";

import { boundOf, describeStage, difference } from "../support/oracle-suite.ts";

describeStage("transmission", {
  check(result, truth, _f, precision, label) {
    expect(difference(result.moment, truth.moment), `${label}: moment`).toBeLessThanOrEqual(
      boundOf("transmission", precision),
    );
  },
});
