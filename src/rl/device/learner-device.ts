// where a learner runs, what bounds its arenas there, and what it holds
import { CorralError } from "../../core/errors.ts";
import type { GpuDevice } from "../../gpu/device.ts";
import type { Plan } from "../../memory/plan.ts";
import { wasmLimits, type PlanLimits } from "../../memory/request.ts";
import type { LearnerEnv } from "./learner-env.ts";
import { learnerInWasm, type LearnerPlan } from "./wasm-plan.ts";

/** Where a learner runs: on an open device, or without any adapter, in the calling thread and at most so many beside it. */
export type LearnerDevice = GpuDevice | { readonly threads: number };

export const isGpu = (device: LearnerDevice): device is GpuDevice => !("threads" in device);

/** What bounds a learner's arenas. */
export const limitsOf = (device: LearnerDevice): PlanLimits => (isGpu(device) ? device.limits : wasmLimits);

/** What a learner of a plan holds. */
export const heldOn = (device: LearnerDevice, plan: LearnerPlan): Plan =>
  isGpu(device) ? plan : learnerInWasm(plan, device.threads);

/** The device that a learner of an environment runs on. Throws `gpu-required`. */
export function learnerDeviceOf(env: LearnerEnv): LearnerDevice {
  if (env.gpu) return env.gpu.device;
  if (env.wasm) return { threads: env.wasm.threads };
  throw new CorralError(
    "gpu-required",
    `${env.id} runs on ${env.deviceName}, where no learner runs. Make it with device: "wasm", or on a GPU.`,
  );
}
