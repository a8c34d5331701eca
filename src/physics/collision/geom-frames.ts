// where geoms are: frames that can be read at runtime indices
import { isNode, type Int } from "../../trace/scalar.ts";
import type { Mat3, Vec3 } from "../../trace/vector.ts";
import { indexed } from "../smooth/sparsity.ts";
import type { ModelView, WorldData } from "../view.ts";

/** Frames of geoms, at indices known when the kernel is traced or only at run time. */
export interface GeomFrames {
  pos(geom: Int): Vec3;
  mat(geom: Int): Mat3;
  /** Where a body is. */
  body(body: number): Vec3;
}

/**
 * Frames of geoms; those in registers are copied to where a runtime index can read them, before it does, and so are sizes
 * that are a world's own.
 */
export function framesOf(m: ModelView, d: WorldData): GeomFrames & { copy(): void } {
  const from = { pos: d.geom_xpos, mat: d.geom_xmat };
  let readable = from;
  const copy = () => {
    m.geom_size.copyOwn();
    m.geom_rbound.copyOwn();
    if (readable === from) readable = { pos: indexed(from.pos), mat: indexed(from.mat) };
  };
  const of = (g: Int) => (isNode(g) ? readable : from);
  return { pos: (g) => of(g).pos.vec3(g), mat: (g) => of(g).mat.mat3(g), body: (b) => d.xpos.vec3(b), copy };
}
