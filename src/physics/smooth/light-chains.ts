// chains of links whose M float32 cannot factor: their dofs resist far less than the composite bodies on M's diagonal
import { geomPairs } from "../../model/pairs.ts";
import type { Model } from "../../model/model.ts";

/**
 * M's diagonal entry over what a dof resists while all others are free, from which on M is not factored: accelerations of a
 * six-link swimmer (620) are off by 2e-4, of one of fifteen links (13,600) by 5e-3. Humanoids have 100.
 */
const LIGHT = 300;

/** Whether some dof is so light beside what it carries that others would have to move with it. */
export function hasLightChain({ nv, dof_M0, dof_invweight0, dof_armature }: Model): boolean {
  for (let i = 0; i < nv; i++) {
    // invweight0 is without armature, of which M0 has its own
    if (dof_M0[i] > LIGHT * (1 / dof_invweight0[i] + dof_armature[i])) return true;
  }
  return false;
}

/** Whether articulated bodies can be written out: contacts, and rows over several dofs, read of bodies at indices of run time. */
export const isWrittenOut = (model: Model): boolean =>
  geomPairs(model).length === 0 && model.neq === 0 && model.ntendon === 0;
