// the numbers of a batch that may change between steps without a new kernel
import { CorralError } from "../core/errors.ts";
import { badOption, optionsOf } from "../core/options.ts";
import { isHeld, type FloatPrecision } from "../core/float32.ts";
import type { Model } from "../model/model.ts";
import { ADJUSTABLE, slotOf } from "./adjustable.ts";
import type { BatchParam } from "./batch.ts";

/** Options of the simulation that are parameters of its kernels, by MuJoCo's names. */
export interface SimParams {
  readonly timestep: number;
  readonly gravity: readonly [number, number, number];
  readonly tolerance: number;
  readonly ls_tolerance: number;
  /** What `adjustable` of the simulation names. */
  readonly [number: `actuator_${string}`]: number;
}

/** The parameters in the order in which kernels see them. */
export function simParams(model: Model): BatchParam[] {
  const { timestep, gravity, tolerance, ls_tolerance } = model.opt;
  const values = {
    timestep,
    gravity_x: gravity[0],
    gravity_y: gravity[1],
    gravity_z: gravity[2],
    tolerance,
    ls_tolerance,
  };
  return [
    ...Object.entries(values).map(([name, initial]) => ({ name, type: "f32" as const, initial })),
    { name: "nstep", type: "i32", initial: 1 },
  ];
}

/**
 * Checks a change of parameters and lists the slots it sets.
 * @throws CorralError bad-option
 */
export function paramChanges(
  change: Partial<SimParams>,
  precision: FloatPrecision,
  params: readonly Pick<BatchParam, "name">[] = [],
): [string, number][] {
  const out: [string, number][] = [];
  for (const [name, value] of Object.entries(optionsOf(change))) {
    if (value === undefined) continue;
    if (name === "gravity") {
      const g = value as readonly number[];
      if (!Array.isArray(g) || g.length !== 3 || !g.every((x) => isHeld(x as number, precision))) {
        throw new CorralError(
          "bad-option",
          `gravity is ${String(value)}; it is three finite numbers of ${precision === "f32" ? "float32" : "float64"}, m/s^2.`,
          {
            value,
          },
        );
      }
      ["gravity_x", "gravity_y", "gravity_z"].forEach((slot, i) => out.push([slot, g[i]]));
      continue;
    }
    if (ADJUSTABLE.test(name) && params.some((p) => p.name === slotOf(name))) {
      if (!isHeld(value as number, precision)) throw badOption(name, value, "pass a finite number");
      out.push([slotOf(name), value as number]);
      continue;
    }
    if (name !== "timestep" && name !== "tolerance" && name !== "ls_tolerance") {
      throw new CorralError(
        "bad-option",
        `${name} is compiled into the kernels. Only timestep, gravity, tolerance and ls_tolerance change between ` +
          `steps${ADJUSTABLE.test(name) ? ", and what `adjustable` of a simulation names" : ""}; make a new simulation for the others.`,
        { name },
      );
    }
    const number = value as number;
    const low = name === "timestep" ? Number.MIN_VALUE : 0;
    // what float32 rounds to zero is no timestep
    const held = precision === "f32" ? Math.fround(number) : number;
    if (typeof number !== "number" || !Number.isFinite(held) || held < low) {
      throw new CorralError(
        "bad-option",
        `${name} is ${String(value)}; it is a ${low ? "positive" : "non-negative"} number of ${precision === "f32" ? "float32" : "float64"}.`,
        { name, value },
      );
    }
    out.push([name, number]);
  }
  return out;
}
