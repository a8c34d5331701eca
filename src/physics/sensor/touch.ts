// the touch sensor: normal forces of contacts whose line of force meets a site's volume
import { and, eq, gt, isNode, lt, or, select, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { increase, variable } from "../../trace/control.ts";
import { mulMatTVec, neg3, row, select3, sub3 } from "../../trace/vector.ts";
import type { Contacts } from "../constraint/constraint-forces.ts";
import { MISS, rayShape } from "../ray/shapes.ts";
import type { WorldData, ModelView } from "../view.ts";

/** The touch sensor of a site (mjSENS_TOUCH), N. */
export function touch(m: ModelView, d: WorldData, contacts: Contacts, site: number): Scalar {
  const { model } = m;
  const body = model.site_bodyid[site];
  const size = m.site_size.vec3(site);
  const mat = d.site_xmat.mat3(site);
  const pos = d.site_xpos.vec3(site);
  const total = variable("touch", 0);
  const is = (b: Int): Bool => (isNode(b) ? eq(b, body) : b === body);
  contacts.each((c) => {
    const normal = row(c.frame, 0);
    const ray = select3(is(c.body2), neg3(normal), normal);
    const { x } = rayShape(
      model.site_type[site],
      { p: mulMatTVec(mat, sub3(c.pos, pos)), v: mulMatTVec(mat, ray) },
      size,
    );
    const counts = and(and(or(is(c.body1), is(c.body2)), gt(c.force[0], 0)), lt(x, MISS));
    increase(total, select(counts, c.force[0], 0));
  });
  return total.get();
}
