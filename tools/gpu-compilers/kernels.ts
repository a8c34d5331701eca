// the kernels that are measured, as a GPU whose subgroups have 64 lanes gets them
import { emissionFor } from "../../src/batch/kernel/emission.ts";
import { kernelCode } from "../../src/rl/device/kernels.ts";
import { KERNELS, type KernelName } from "../../src/rl/device/kernel-table.ts";
import { planKernelsOf, plannerOf } from "../../src/sizing/plan.ts";
import "../../envs/index.ts";

const LANES = 64;

/** How kernels are written: as on a GPU, there whole or in pieces, straight-line or rolled; or as on software drivers. */
export const FORMS = ["gpu", "whole", "cut", "straight", "rolled", "software"] as const;
export type Form = (typeof FORMS)[number];

/** The WGSL of the step kernel of an environment or a model by `name`, or of its pieces. */
export async function stepKernels(target: string, name: string, form: Form = "gpu"): Promise<Record<string, string>> {
  const unroll = form === "straight" || form === "rolled" ? { unroll: form === "straight" } : {};
  const cut = form === "whole" || form === "cut" ? { cut: form === "cut" } : {};
  const options = { numEnvs: 1, ...unroll, ...cut };
  const emission = emissionFor(form === "software" ? undefined : { kind: "gpu", subgroupMaxSize: LANES }, options);
  const { kernels, cuts } = planKernelsOf(await plannerOf(target, options), options, { emission });
  const pieces = cuts.get("step")?.pieces;
  if (!pieces) return { [name]: kernels.get("step")!.code };
  return Object.fromEntries(pieces.map(({ kernel, stage }, i) => [`${name} ${i} ${stage}`.trim(), kernel.code]));
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
