// the kernels that are measured, as a GPU whose subgroups have 64 lanes gets them
import { emissionFor } from "../../src/batch/kernel/emission.ts";
import { KERNELS, kernelCode, type KernelName } from "../../src/rl/device/kernels.ts";
import { planKernelsOf, plannerOf } from "../../src/sizing/plan.ts";
import "../../envs/index.ts";

const LANES = 64;

/** How kernels are written: as on a GPU, as on software drivers, or as on a GPU but straight-line or rolled. */
export const FORMS = ["gpu", "software", "straight", "rolled"] as const;
export type Form = (typeof FORMS)[number];

/** The WGSL of the step kernel of an environment or a model. */
export async function stepKernel(target: string, form: Form = "gpu"): Promise<string> {
  const forced = form === "straight" || form === "rolled" ? { unroll: form === "straight" } : {};
  const options = { numEnvs: 1, ...forced };
  const emission = emissionFor(form === "software" ? undefined : { kind: "gpu", subgroupMaxSize: LANES });
  return planKernelsOf(await plannerOf(target, options), options, { emission }).kernels.get("step")!.code;
}

/** The WGSL of all kernels of the learner, each text once. */
export function learnerKernels(): Record<string, string> {
  const texts = new Map<string, string>();
  for (const name of Object.keys(KERNELS) as KernelName[]) {
    const code = kernelCode(name, "none", LANES);
    if (![...texts.values()].includes(code)) texts.set(`learner.${name}`, code);
  }
  return Object.fromEntries(texts);
}
