// what the parts of a random model share
import type { Random } from "./mjcf-random.ts";

/** What a random model may hold; everything by default. */
export interface MjcfOptions {
  /** Most moving bodies. */
  readonly bodies?: number;
  readonly contacts?: boolean;
  readonly actuators?: boolean;
  readonly sensors?: boolean;
  readonly limits?: boolean;
  readonly frictionloss?: boolean;
  readonly tendons?: boolean;
  readonly equalities?: boolean;
  /** Attributes of <option> that are fixed instead of drawn. */
  readonly option?: Readonly<Record<string, string | number>>;
}

export const text = (x: number) => String(Number(x.toFixed(4)));
export const list = (...xs: number[]) => xs.map(text).join(" ");
export const attributes = (values: Readonly<Record<string, string | number>>) =>
  Object.entries(values)
    .map(([k, v]) => ` ${k}="${v}"`)
    .join("");

/** What has been made so far, for actuators and sensors to refer to. */
export interface Made {
  readonly random: Random;
  readonly allow: Required<Omit<MjcfOptions, "option">>;
  bodies: number;
  readonly names: string[];
  readonly joints: { name: string; type: string; limited: boolean; heavy: boolean }[];
  readonly geoms: string[];
  /** Spheres, which tendons can wrap around. */
  readonly rounds: string[];
  readonly sites: string[];
}

export const axis = (r: Random) => list(r.between(-1, 1), r.between(-1, 1), r.pick([-1, 1]) * r.between(0.3, 1));
export const angles = (r: Random, x: number) => list(r.between(-x, x), r.between(-x, x), r.between(-x, x));

/** Solver parameters of a limit, a friction loss or a contact. */
export function solver(r: Random, suffix: string): string {
  const out: Record<string, string> = {};
  if (r.chance(0.3)) {
    const direct = r.chance(0.3);
    out[`solref${suffix}`] = direct
      ? list(-r.between(100, 900), -r.between(10, 60))
      : list(r.between(0.015, 0.06), r.between(0.6, 1.3));
  }
  if (r.chance(0.3)) {
    const low = r.between(0.3, 0.9);
    out[`solimp${suffix}`] = list(
      low,
      r.between(low, 0.97),
      r.between(0.001, 0.05),
      r.between(0.2, 0.8),
      r.whole(1, 4),
    );
  }
  return attributes(out);
}
