// contacts of searched pairs where some first geoms are height fields: prism by prism, in one loop with the others
import { breakIf, loop, variable, when } from "../../trace/control.ts";
import { add, eq, ge, mul, select, type Int, type Scalar } from "../../trace/scalar.ts";
import { add3, select3, ZERO3 } from "../../trace/vector.ts";
import { mjtGeom } from "../../model/enums.ts";
import { MOST_FIELD_CONTACTS } from "../../model/pairs.ts";
import {
  convexContacts,
  isKind,
  vector,
  type ConvexContacts,
  type ConvexOptions,
  type ConvexShape,
} from "./convex/index.ts";
import type { Prisms } from "./hfield.ts";

/**
 * Calls `take` with the contacts of two shapes (mjc_Convex), or of each prism that the second shape covers of a first one
 * that is a height field (mjc_ConvexHField): at most one of each, and not more than 50. `before` are those taken before.
 */
export function prismContacts(
  prisms: Prisms,
  field: Int,
  a: ConvexShape,
  b: ConvexShape,
  reach: Scalar,
  options: ConvexOptions,
  take: (found: ConvexContacts, before: Int) => void,
): void {
  const isField = isKind(a, mjtGeom.HFIELD);
  const count = variable("pieces", 1, "i32");
  when(isField, () => {
    prisms.cover(field, a, b, reach);
    count.set(prisms.count);
  });
  const made = variable("pieces_met", 0, "i32");
  loop(
    count.get(),
    (k) => {
      breakIf(ge(made.get(), MOST_FIELD_CONTACTS));
      const isHigh = variable("piece_high", 1, "i32");
      const pos = vector("piece_pos", a.pos);
      const radius = variable("piece_radius", a.radius);
      const corners = [0, 1, 2].map((i) => vector(`piece_corner${i}_`));
      const base = variable("piece_base", 0);
      when(isField, () => {
        const piece = prisms.at(k, field, a, b, reach);
        isHigh.set(select(piece.isHigh, 1, 0, "i32"));
        pos.set(piece.pos);
        radius.set(piece.radius);
        piece.prism.corners.forEach((v, i) => corners[i].set(v));
        base.set(piece.prism.base);
      });
      when(eq(isHigh.get(), 1), () => {
        // prisms are placed from the second shape, where few digits are lost
        const origin = select3(isField, b.pos, ZERO3);
        const [c0, c1, c2] = corners.map((v) => v.get());
        const first = {
          ...a,
          pos: pos.get(),
          radius: radius.get(),
          prism: { corners: [c0, c1, c2], base: base.get() },
        } as const;
        // MuJoCo raises the field by the margin, and swells the geom by half of it too
        const second = { ...b, pos: select3(isField, ZERO3, b.pos), inflate: select(isField, mul(0.5, reach), 0) };
        const found = convexContacts(first, second, select(isField, 0, reach), options);
        const before = made.get();
        const at = (i: Int) => {
          const c = found.at(i);
          return { ...c, pos: add3(c.pos, origin) };
        };
        take({ count: found.count, at }, before);
        made.set(add(before, found.count));
      });
    },
    { label: "prisms" },
  );
}
