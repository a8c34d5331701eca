// how many contacts and constraint rows a world has
import { variable } from "../trace/control.ts";
import { add, select, type Int } from "../trace/scalar.ts";
import { mjtCone } from "../model/enums.ts";
import type { Evaluation } from "./forward.ts";
import { slotTable } from "./slots.ts";
import type { ModelView } from "./view.ts";

/** Rows of the constraint Jacobian: friction loss, active limits, active contacts (mjData.nefc). */
export function nefc(m: ModelView, e: Evaluation): Int {
  let rows: Int = 0;
  for (const row of e.rows) rows = add(rows, select(row.active, 1, 0, "i32"));
  if (e.slots.nslot === 0) return rows;
  const pyramidal = m.opt.cone === mjtCone.PYRAMIDAL;
  const per = e.slots.pairOf.map((k) => {
    const { condim } = e.slots.pairs[k];
    return condim === 1 ? 1 : pyramidal ? 2 * (condim - 1) : condim;
  });
  const rowsOf = slotTable("con_rows", per, "i32");
  const total = variable("nefc", rows, "i32");
  e.slots.each((_, slot) => total.set(add(total.get(), rowsOf(slot))));
  return total.get();
}
