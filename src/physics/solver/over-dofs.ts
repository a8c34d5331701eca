// which Hessian over dofs solves what couples the bodies of a model, if one does
import type { ContactRows } from "../constraint/contact-rows.ts";
import type { Row } from "../constraint/rows.ts";
import type { BodyFrames } from "../smooth/body-frames.ts";
import type { ModelView, WorldData } from "../view.ts";
import { DofHessian, factorsOverDofs, isLoose } from "./dof-hessian.ts";
import { TreeHessian } from "./tree-hessian.ts";
import { treeTiles } from "./tree-tiles.ts";

export type OverDofs = DofHessian | TreeHessian;

/** `rows`: those over several dofs. */
export function hessianOverDofs(
  m: ModelView,
  d: WorldData,
  frames: BodyFrames,
  contacts: ContactRows,
  rows: readonly Row[],
): OverDofs | undefined {
  if (!(contacts.anyCoupled || contacts.anyStiff || rows.length > 0) || isLoose(m.model)) return undefined;
  if (factorsOverDofs(m)) return new DofHessian(m, d, frames, contacts, rows);
  const tiles = m.form.hasRoom ? treeTiles(m.model) : undefined;
  return tiles && new TreeHessian(m, d, frames, contacts, rows, tiles);
}
