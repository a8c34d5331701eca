// models whose simulations compute in float64 by default, where float32 is beyond the bounds of one step
import { expect } from "vitest";
import { isWide } from "../../src/batch/kernel/wide.ts";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import type { Verdict } from "../../src/compare/verdict.ts";
import type { Model } from "../../src/model/model.ts";

const SETTINGS = { steps: 30, envs: 3, device: "wasm" } as const;

/**
 * That a model is told to be thrown by float32, is stepped in float64 within the bounds, and in float32 beyond them. Within on
 * `cpu-f64` alone where states in float32, as `wasm` keeps them, pick others of what ties: it is then nearer than float32.
 */
export async function expectFloat64ByDefault(model: Model, within: "wasm" | "cpu-f64" = "wasm"): Promise<void> {
  expect(model.restRounding).toBeGreaterThan(1e-4);
  // a task may start it elsewhere
  expect(isWide(model, undefined, "none")).toBe(false);
  const { arithmetic, verdict } = await compareWithMuJoCo(model, SETTINGS);
  expect(arithmetic).toBe("float64");
  const inFloat32 = (await compareWithMuJoCo(model, { ...SETTINGS, arithmetic: "float32" })).verdict;
  expect(inFloat32.reasons).not.toEqual([]);
  if (within === "wasm") expect(verdict.reasons).toEqual([]);
  else {
    expect((await compareWithMuJoCo(model, { ...SETTINGS, device: within })).verdict.reasons).toEqual([]);
    expect(unexplained(verdict)).toBeLessThan(unexplained(inFloat32));
  }
}

const unexplained = ({ beyond, explained }: Verdict): number => beyond - explained;
