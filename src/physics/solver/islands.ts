// which constraints hang together: trees that active constraints tie, at run time (mj_island)
import { array, each, table, when } from "../../trace/control.ts";
import { and, eq, ge, max, min, ne, select, type Int } from "../../trace/scalar.ts";
import { mjtDisableBit } from "../../model/enums.ts";
import type { ContactRows } from "../constraint/contact-rows.ts";
import type { Row } from "../constraint/rows.ts";
import type { ModelView } from "../view.ts";
import type { Coupled } from "./space.ts";

/** Islands of a world: each has the label of one of its trees. */
export interface Islands {
  /** Labels that islands may have: 1 if all constraints are one island. */
  readonly labels: number;
  ofRow(row: Int): Int;
  ofContact(slot: Int): Int;
  ofTree(tree: Int): Int;
}

const ALL: Islands = { labels: 1, ofRow: () => 0, ofContact: () => 0, ofTree: () => 0 };

/** Finds the islands; all is one if the model has one tree, or the flag for islands is off. `coupled`: dofs held together always. */
export function findIslands(m: ModelView, rows: readonly Row[], contacts: ContactRows, coupled: Coupled = []): Islands {
  const { model } = m;
  const labels = model.ntree;
  if (labels <= 1 || (model.opt.disableflags & mjtDisableBit.ISLAND) !== 0) return ALL;
  const label = array("island", labels, "i32");
  each(labels, (t) => label.set(t, t));
  const join = (a: Int, b: Int) => {
    const [x, y] = [label.get(a), label.get(b)];
    when(ne(x, y), () => {
      const [low, high] = [min(x, y), max(x, y)];
      each(labels, (t) => label.set(t, select(eq(label.get(t), high), low, label.get(t), "i32")));
    });
  };

  for (const dofs of coupled) {
    const [first, ...others] = new Set(dofs.map((dof) => model.dof_treeid[dof]));
    others.forEach((t) => join(first, t));
  }

  const trees = rows.map((row) => [...new Set(row.jac.map(({ dof }) => model.dof_treeid[dof as number]))]);
  rows.forEach((row, r) => {
    const [first, ...others] = trees[r];
    if (others.length > 0) when(row.active, () => others.forEach((t) => join(first, t)));
  });
  const treeOfBody = (slot: Int, which: 0 | 1) => m.body_treeid.at(contacts.body(slot, which));
  if (contacts.anyCoupled) {
    contacts.slots.each((_, slot) => {
      const [a, b] = [treeOfBody(slot, 0), treeOfBody(slot, 1)];
      when(and(and(ge(a, 0), ge(b, 0)), contacts.makesRows(slot)), () => join(a, b));
    });
  }
  const rowTree = table(
    "row_tree",
    trees.map(([t]) => t ?? 0),
    "i32",
  );
  return {
    labels,
    ofRow: (row) => label.get(rowTree(row)),
    ofContact: (slot) => label.get(max(treeOfBody(slot, 0), treeOfBody(slot, 1))),
    ofTree: (tree) => label.get(tree),
  };
}
