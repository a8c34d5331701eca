// what the solver over bodies is given, and holds
import type { Field } from "../view.ts";

/** The implicit integration of velocities: -h dF/dv of each dof, and the accelerations that result. */
export interface ImplicitDofs {
  readonly diagonal: Field;
  readonly qacc: Field;
}

/** What is solved for beside qacc, and in what in place of M: more armature on dofs, and forces with qfrc_smooth. */
export interface BodyTerms {
  readonly implicit: ImplicitDofs | undefined;
  readonly metric: { readonly diagonal: Field; readonly shift: Field } | undefined;
}

/** A vector over dofs and what it is on bodies. */
export interface OnBoth {
  readonly dofs: Field;
  readonly bodies: Field;
}
