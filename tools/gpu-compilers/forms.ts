// one environment in the forms of kernels for software drivers and for GPUs, on one driver: whether bits are the same
import { createHash } from "node:crypto";
import { makeVec, type VectorEnv } from "../../src/env/index.ts";
import { GpuDevice } from "../../src/gpu/device.ts";

export interface FormOptions {
  readonly unroll?: boolean;
  readonly cut?: boolean;
  readonly mostLive?: number;
}

export interface Played {
  /** Of observations and rewards of each control step, and of the state at the end. */
  readonly hash: string;
  readonly env: VectorEnv;
}

/** The same device, that says to be a GPU whose subgroups have 64 lanes. */
export function posingAsGpu(gpu: GpuDevice): GpuDevice {
  const info = { ...gpu.info, kind: "gpu", subgroupMaxSize: 64 } as const;
  return new GpuDevice(gpu.device, { refusals: [] } as never, info, gpu.limits);
}

/** Steps worlds under random actions, through the ends of episodes. What is returned is closed. */
export async function play(
  target: string,
  device: GpuDevice,
  form: FormOptions,
  { worlds, steps }: { readonly worlds: number; readonly steps: number },
): Promise<Played> {
  await using env = await makeVec(target, { numEnvs: worlds, seed: 5, device, maxEpisodeSteps: 20, ...form });
  const hash = createHash("sha256");
  await env.reset();
  for (let step = 0; step < steps; step++) {
    const { observations, rewards } = await env.step(env.actionSpace.sample(3, { draw: step, worldIds: env.worldIds }));
    hash.update(observations as Float32Array).update(rewards);
  }
  for (const values of Object.values(await env.getState(["qpos", "qvel", "qacc_warmstart", "episode_length"])))
    hash.update(values);
  return { hash: hash.digest("hex"), env };
}
