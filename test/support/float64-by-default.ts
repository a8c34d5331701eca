// models whose simulations compute in float64 by default, where float32 is beyond the bounds of one step
import { expect } from "vitest";
import { isWide } from "../../src/batch/kernel/wide.ts";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import type { Model } from "../../src/model/model.ts";

const SETTINGS = { steps: 30, envs: 3, device: "wasm" } as const;

/** That a model is told to be thrown by float32, is stepped in float64 within the bounds, and in float32 beyond them. */
export async function expectFloat64ByDefault(model: Model): Promise<void> {
  expect(model.restRounding).toBeGreaterThan(1e-4);
  // a task may start it elsewhere
  expect(isWide(model, undefined, "none")).toBe(false);
  const { arithmetic, verdict } = await compareWithMuJoCo(model, SETTINGS);
  expect(arithmetic).toBe("float64");
  expect(verdict.reasons).toEqual([]);
  expect((await compareWithMuJoCo(model, { ...SETTINGS, arithmetic: "float32" })).verdict.reasons).not.toEqual([]);
}
