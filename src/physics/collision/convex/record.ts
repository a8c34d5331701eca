// what the search keeps of a direction
import { variable } from "../../../trace/control.ts";
import type { Bool, Int, Scalar } from "../../../trace/scalar.ts";
import type { Vec3 } from "../../../trace/vector.ts";
import { vector, type VectorVariable } from "./registers.ts";

/** No overlap is that large. */
export const NONE = 1e30;

/** A direction, its overlap `h`, and points of the cores at its ends. */
export interface Best {
  readonly h: { get(): Scalar; set(x: Scalar): void };
  readonly normal: VectorVariable;
  readonly a: VectorVariable;
  readonly b: VectorVariable;
}
export const record = (name: string): Best => ({
  h: variable(`${name}_h`, NONE),
  normal: vector(`${name}_n`, [0, 0, 1]),
  a: vector(`${name}_a`),
  b: vector(`${name}_b`),
});

export function keep(into: Best, h: Scalar, n: Vec3, onA: Vec3, onB: Vec3): void {
  into.h.set(h);
  into.normal.set(n);
  into.a.set(onA);
  into.b.set(onB);
}

/** What a search found, in units of the pair's size and the frame of the first shape. */
export interface Found {
  /** False if the shapes are farther apart than the reach. */
  readonly hit: Bool;
  /** Signed distance of the cores. */
  readonly distance: Scalar;
  readonly normal: Vec3;
  /** Points of the cores. */
  readonly a: Vec3;
  readonly b: Vec3;
  /** Support points taken. */
  readonly turns: Int;
}
