// what the search keeps of a direction
import { variable } from "../../../trace/control.ts";
import { eq, select, toI32, type Bool, type Int, type Scalar } from "../../../trace/scalar.ts";
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

/** The face of the difference of two shapes at which a search ends. */
export function faceRecord() {
  const isFace = variable("is_face", 0, "i32");
  const corners = [0, 1].map((side) => vector(`triangle${side}_`));
  const three = (side: number): Corner3 => corners[side].get().map(toI32) as unknown as Corner3;
  return {
    keep: (triangle: readonly [Vec3, Vec3]) => corners.forEach((c, side) => c.set(triangle[side])),
    confirm: (certain: Bool) => isFace.set(select(certain, 1, 0, "i32")),
    /** As it is, to be kept. */
    kept: () => ({ isFace: isFace.get(), triangle: corners.map((c) => c.get()) }),
    found: (): Pick<Found, "isFace" | "triangle"> => ({ isFace: eq(isFace.get(), 1), triangle: [three(0), three(1)] }),
  };
}

/** Three corners of a shape, some of them perhaps one (`Core.corner`). */
export type Corner3 = readonly [Int, Int, Int];

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
  /** Whether boxes and hulls overlap least along a face of their difference, and the corners of each that make its triangle. */
  readonly isFace: Bool;
  readonly triangle: readonly [Corner3, Corner3];
  /** Whether `triangle` is the one that MuJoCo's own steps ended with, and where either shape, the first a cylinder, is at its first corner, in its own frame. */
  readonly rim?: { readonly is: Bool; readonly at: readonly [Vec3, Vec3] };
}
