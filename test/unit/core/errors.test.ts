// errors keep their names where a minifier gives classes its own
import { expect, test } from "vitest";
import { UsageError } from "../../../src/cli/io.ts";
import * as errors from "../../../src/core/errors.ts";
import { AllocationRefusedError } from "../../../src/memory/errors.ts";

const classes = Object.entries({ ...errors, AllocationRefusedError, UsageError });

test.each(classes)("%s is called so whatever its class is", (name, Made) => {
  const before = Object.getOwnPropertyDescriptor(Made, "name")!;
  Object.defineProperty(Made, "name", { ...before, value: "j" });
  try {
    expect(String(new Made("some-code", "said"))).toMatch(new RegExp(`^${name}: \\[`));
  } finally {
    Object.defineProperty(Made, "name", before);
  }
});
