// why a world broke, in words

export interface Cause {
  /** A stable name: "timestep-stiffness", "mass-ratio", ... */
  readonly name: string;
  /** Whether this is seen in the numbers of the step, or a condition of the model that makes such a failure likely. */
  readonly certainty: "certain" | "likely" | "possible";
  readonly text: string;
  readonly remedy: string;
}

/** A number as people read it. */
export const n = (x: number): string =>
  Number.isInteger(x) && Math.abs(x) < 1e6 ? String(x) : String(Number(x.toPrecision(3)));
