// what the layout of a kernel's code means for the physics: said once, so that no stage asks how it is unrolled
import { mjtSolver } from "../model/enums.ts";
import type { Model } from "../model/model.ts";
import { current } from "../trace/graph.ts";

export interface KernelForm {
  /** Whether code loops over rows of fields; articulated bodies then stand in for a mass matrix, where the model allows. */
  readonly loops: boolean;
  /** Whether a world has private memory for matrices over pairs of bodies. */
  readonly hasRoom: boolean;
  /** Whether an arena of a CPU's memory has it. */
  readonly hasArena: boolean;
  /**
   * The least R that numbers resolve, relative to J M⁻¹ Jᵀ. MuJoCo's R follows from diagApprox, which may be wrong by any
   * factor: 0 for a body that turns about its centre of mass. With a smaller R the Hessian loses M to rounding; with this
   * one a constraint yields by that part of what is asked of it. Couplings that are solved beside the trees lose more.
   */
  readonly resolvedCompliance: number;
  /** The same of contacts that may have less of it, as far as the model tells: all others keep MuJoCo's R in both forms. */
  readonly stiffCompliance: number;
  /**
   * Those that may have less keep what they have at this step down to this: it costs digits of M, which another step of
   * Newton brings back. 0: none does.
   */
  readonly keptCompliance: number;
  /** With less R than this one step of Newton is not exact; 0: it always is. */
  readonly inexactCompliance: number;
  /** Whether trees can be weighed beside contacts whose D is beyond float32: not where a Hessian over dofs rounds them. */
  readonly weighsStiffContacts: boolean;
}

/** Whether the kernel that is being traced loops over rows of fields. */
export const hasLoops = (): boolean => !current().unroll;

/** The form of a model's kernel that is being traced. */
export function formOf(model: Model): KernelForm {
  const { exact, unroll, roomy, hasArena } = current();
  const ofHessians = exact ? (unroll ? 1e-12 : 1e-10) : unroll ? 2e-7 : 2e-5;
  return {
    loops: hasLoops(),
    hasRoom: roomy,
    hasArena,
    // PGS adds R to J M⁻¹ Jᵀ and inverts blocks of that alone
    resolvedCompliance: model.opt.solver === mjtSolver.PGS ? 0 : ofHessians,
    stiffCompliance: exact ? 1e-12 : 2e-7,
    keptCompliance: exact ? 0 : 2e-8,
    inexactCompliance: exact ? 0 : 1e-4,
    weighsStiffContacts: exact || !unroll,
  };
}
