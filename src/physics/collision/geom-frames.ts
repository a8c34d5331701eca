// where geoms are: frames that can be read at runtime indices
import { isNode, type Int } from "../../trace/scalar.ts";
import type { Mat3, Vec3 } from "../../trace/vector.ts";
import { attached } from "../smooth/kinematics.ts";
import { indexed } from "../smooth/sparsity.ts";
import type { ModelView, WorldData } from "../view.ts";

/** Frames of geoms, at indices known when the kernel is traced or only at run time. */
export interface GeomFrames {
  pos(geom: Int): Vec3;
  mat(geom: Int): Mat3;
  /** Where a body is, and its axes. */
  body(body: number): Vec3;
  axes(body: number): Mat3;
}

/** Frames of geoms in private arrays. */
export interface FrameCopy extends GeomFrames {
  /** Copies frames from registers to where a runtime index can read them, but those that come `late`. */
  copy(late?: ReadonlySet<number>): void;
  /** Makes one that comes late, of a geom known only at run time whose body is known. */
  make(geom: Int, body: number): void;
}

/**
 * Frames of geoms; those in registers are copied to where a runtime index can read them, before it does, and so are sizes
 * that are a world's own.
 */
export function framesOf(m: ModelView, d: WorldData): FrameCopy {
  const from = { pos: d.geom_xpos, mat: d.geom_xmat };
  let readable = from;
  const copy: FrameCopy["copy"] = (late) => {
    m.geom_size.copyOwn();
    m.geom_rbound.copyOwn();
    if (readable !== from) return;
    const { hasRoom } = m.form;
    readable = { pos: indexed(from.pos, late, hasRoom), mat: indexed(from.mat, late, hasRoom) };
  };
  const of = (g: Int) => (isNode(g) ? readable : from);
  return {
    pos: (g) => of(g).pos.vec3(g),
    mat: (g) => of(g).mat.mat3(g),
    body: (b) => d.xpos.vec3(b),
    axes: (b) => d.xmat.mat3(b),
    copy,
    make(geom, body) {
      const { pos, mat } = attached(
        d.xpos.vec3(body),
        d.xquat.quat(body),
        m.geom_pos.vec3(geom),
        m.geom_quat.quat(geom),
      );
      readable.pos.setRow(geom, pos);
      readable.mat.setRow(geom, mat);
    },
  };
}
