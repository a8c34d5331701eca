// how much MuJoCo's own float64 step changes under changes that float32 cannot tell from none
import { SENSITIVITY_CHANGE, SENSITIVITY_MARGIN, TOUCHING } from "../monitor/measure.ts";
import type { MuJoCoWorld, StepResult } from "../monitor/mujoco-world.ts";
import { nearbyState } from "../monitor/nearby.ts";
import { distances, type Quantity } from "./quantities.ts";
import type { Sample } from "./trajectory.ts";

/** Changed states that are tried. */
const PROBES = 8;
/**
 * And with changes that leave next to nothing but MuJoCo's own rounding: forces of 1e17 N, which cancel, move its velocities by
 * as much under any change, and a step may happen to be where eight others are.
 */
const ROUNDING_PROBES = 4;
const ROUNDING_CHANGE = 1e-10;
/**
 * Geoms that lie by a few last places of float64 elsewhere (m, rad), which no change of a state may do: a link that turns about
 * the axis of what it stands in stays on it, and what MuJoCo meets of level sides is its rounding alone.
 */
const PLACING_PROBES = 4;
const PLACING_CHANGE = 1e-15;

/** What nearby steps of MuJoCo differ by from the step itself. */
export interface Sensitivity {
  /** Of each quantity: the largest distance to the results from states changed by SENSITIVITY_CHANGE. */
  readonly distances: readonly number[];
  /** Counts over those states, and with all margins shifted by TOUCHING. */
  readonly ncon: readonly [number, number];
  readonly nefc: readonly [number, number];
}

/** What steps worlds. */
export type Steps = Pick<MuJoCoWorld, "step" | "withMargins">;

/** An error that MuJoCo's own changes account for. */
export const isExcused = (error: number, sensitivity: number): boolean => error <= SENSITIVITY_MARGIN * sensitivity;

/** Gathers how far results are from a sample's. */
function gathered({ result }: Pick<Sample, "result">, quantities: readonly Quantity[]) {
  const most = quantities.map(() => 0);
  const ncon: [number, number] = [result.ncon, result.ncon];
  const nefc: [number, number] = [result.nefc, result.nefc];
  const count = (r: StepResult) => {
    for (const [range, n] of [
      [ncon, r.ncon],
      [nefc, r.nefc],
    ] as const) {
      range[0] = Math.min(range[0], n);
      range[1] = Math.max(range[1], n);
    }
  };
  const collect = (r: StepResult) => {
    distances(quantities, r, result).forEach((x, q) => (most[q] = Math.max(most[q], x)));
  };
  return { count, collect, sensitivity: { distances: most, ncon, nefc } };
}

/** MuJoCo's sensitivity at a sample. Where a shift of the margins makes or ends a contact or limit, that counts too. */
export function sensitivityOf(
  world: Steps,
  { from, result }: Pick<Sample, "from" | "result">,
  quantities: readonly Quantity[],
): Sensitivity {
  const { count, collect, sensitivity } = gathered({ result }, quantities);
  for (let k = 0; k < PROBES + ROUNDING_PROBES; k++) {
    const probe = world.step(nearbyState(from, k, k < PROBES ? SENSITIVITY_CHANGE : ROUNDING_CHANGE));
    collect(probe);
    count(probe);
  }
  for (const shift of [TOUCHING, -TOUCHING]) {
    const probe = world.withMargins(shift, () => world.step(from));
    // a shift that turns nothing on or off only stretches the constraints that are there
    if (probe.ncon !== result.ncon || probe.nefc !== result.nefc) collect(probe);
    count(probe);
  }
  return sensitivity;
}

/** The same of where geoms lie on their bodies, by float64's own rounding. */
export function placingOf(
  world: MuJoCoWorld,
  { from, result }: Pick<Sample, "from" | "result">,
  quantities: readonly Quantity[],
): Sensitivity {
  const { count, collect, sensitivity } = gathered({ result }, quantities);
  for (let k = 0; k < PLACING_PROBES; k++) {
    const probe = world.withGeomsMoved(k, PLACING_CHANGE, () => world.step(from));
    collect(probe);
    count(probe);
  }
  return sensitivity;
}
