// what the machine cannot give is 3, what was asked wrongly 2, what broke on its way 1
import { expect, test } from "vitest";
import { exitCodeOf } from "../../../src/cli/main.ts";
import { CorralError } from "../../../src/core/errors.ts";

test.each([
  [3, ["budget-exceeded", "limit-exceeded", "allocation-refused", "wasm-memory", "kernel-too-large"]],
  [2, ["bad-option", "unknown-env", "does-not-fit"]],
  [1, ["disk-full", "stopped", "non-finite-update", "run-not-written"]],
] as const)("exit code %i", (code, codes) => {
  for (const one of codes) expect(exitCodeOf(new CorralError(one, "why.")), one).toBe(code);
});
