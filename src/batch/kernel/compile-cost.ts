// how long a software driver takes to compile a kernel: a model that was fitted to measurements (docs/decisions/0021)
import type { Cost } from "../../trace/cost.ts";

/** Processor seconds for each of what a kernel has. */
interface DriverCost {
  readonly operation: number;
  /** For each operation and each other one: registers are sought among values that live at once. */
  readonly operationSquared: number;
  /** Reads and writes of private arrays at runtime indices. */
  readonly indexed: number;
  /** Squares of the lengths of private arrays. */
  readonly square: number;
}

/** Fitted to kernels of robots, straight-line and rolled, on two cores of an EPYC. */
export const DRIVERS = {
  lavapipe: { operation: 1.413e-4, operationSquared: 4.64e-10, indexed: 6.546e-3, square: 1.219e-6 },
  swiftshader: { operation: 1.516e-4, operationSquared: 2.374e-9, indexed: 4.525e-3, square: 8.82e-7 },
} as const satisfies Record<string, DriverCost>;

/** Processor seconds that a software driver takes to compile a kernel. */
export function compileSeconds(
  { arithmetic, indexed, squares }: Pick<Cost, "arithmetic" | "indexed" | "squares">,
  driver: keyof typeof DRIVERS,
): number {
  const cost = DRIVERS[driver];
  return (
    cost.operation * arithmetic +
    cost.operationSquared * arithmetic ** 2 +
    cost.indexed * indexed +
    cost.square * squares
  );
}

/** The longest that any of them takes. */
export const mostCompileSeconds = (cost: Pick<Cost, "arithmetic" | "indexed" | "squares">): number =>
  Math.max(...(Object.keys(DRIVERS) as (keyof typeof DRIVERS)[]).map((driver) => compileSeconds(cost, driver)));
