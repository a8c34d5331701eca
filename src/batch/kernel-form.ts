// which form a model's kernels take: straight-line code, or runtime loops over tables
import { constraintBound, geomPairs } from "../model/pairs.ts";
import type { Model } from "../model/model.ts";
import { MAX_POOL } from "../physics/collision/collision.ts";
import { pairDofs } from "../physics/constraint/contact-rows.ts";
import { rowDofs } from "../physics/constraint/make_constraint.ts";
import { coupledPattern } from "../physics/smooth/sparsity.ts";

/**
 * Products of one factorisation beyond which straight-line code takes long to compile on a software driver. Dense
 * matrices of 31 dofs have 4,960; the rolled form does not factor a matrix over dofs.
 */
const MAX_FACTOR_PRODUCTS = 5000;
/** Bodies beyond which the smooth dynamics alone are too long. */
const MAX_BODIES = 80;
/** Dofs in a line beyond which what depends on what is too deep: registers run out, and compiling takes a minute. */
const MAX_DEPTH = 20;

/** Whether a model's kernels are straight-line code unless an option says otherwise. Decided by the model alone. */
export function unrollByDefault(model: Model): boolean {
  if (model.nbody > MAX_BODIES || Math.max(0, ...model.M_rownnz) > MAX_DEPTH) return false;
  const groups = [...geomPairs(model).map((p) => [...pairDofs(model, p).keys()]), ...rowDofs(model)];
  const { rows } = coupledPattern(model, groups);
  const products = rows.reduce((n, { length }) => n + (length * (length - 1)) / 2, 0);
  return products <= MAX_FACTOR_PRODUCTS;
}

/** Room for contacts where none is asked for: all that the candidate pairs can make, or the most that a pool keeps. */
export function defaultContacts(model: Model): number {
  return Math.min(constraintBound(model).nconmax, MAX_POOL);
}
