// how many contacts and constraint rows a world has
import { increase, variable } from "../../trace/control.ts";
import { select, type Int } from "../../trace/scalar.ts";
import { mjtCone } from "../../model/enums.ts";
import type { Evaluation } from "../forward.ts";
import { eachRow } from "./rows.ts";
import type { ModelView } from "../view.ts";

/** Rows of the constraint Jacobian: friction loss, active limits, active contacts (mjData.nefc). */
export function nefc(m: ModelView, e: Evaluation): Int {
  const total = variable("nefc", 0, "i32");
  eachRow(e.rows, (row) => increase(total, select(row.active, 1, 0, "i32")));
  if (e.slots.nslot === 0) return total.get();
  const pyramidal = m.opt.cone === mjtCone.PYRAMIDAL;
  const rowsOf = e.slots.ofKind(
    "con_rows",
    ({ condim }) => (condim === 1 ? 1 : pyramidal ? 2 * (condim - 1) : condim),
    "i32",
  );
  e.slots.each((_, slot) => {
    const rows = select(e.contacts.isTether(slot), 1, rowsOf(slot), "i32");
    increase(total, select(e.contacts.makesRows(slot), rows, 0, "i32"));
  });
  return total.get();
}
