// the learner's kernels: which source, which entry point, which buffers
import { readFileSync } from "node:fs";
import type { GpuDevice } from "../gpu/device.ts";
import { createBindGroup, pipelinesOf } from "../gpu/shader.ts";
import {
  backwardKernel,
  forwardKernel,
  gradientKernel,
  headBackwardKernel,
  lanesBackwardKernel,
  lanesForwardKernel,
  LANES,
  wholeGradientKernel,
  type Sharing,
} from "./linear-wgsl.ts";

/** A kernel: files of `shaders/`, then text; the entry point; arenas by binding. Binding 0 is the clock. */
interface KernelSource {
  readonly files: readonly string[];
  readonly code?: (sharing: Sharing) => string;
  readonly entry?: string;
  /** Whether it reads the clock; if nothing is said, it does. */
  readonly clock?: boolean;
  /** Whether binding 1 holds the numbers of the job. */
  readonly job: boolean;
  readonly buffers: Readonly<Record<number, string>>;
}

const MATH = "lib/math.wgsl";
const RANDOM = ["lib/philox.wgsl", MATH, "rl/random.wgsl"];
const only = (holds: boolean, buffers: Record<number, string>): Record<number, string> => (holds ? buffers : {});
const act = (head: string): KernelSource => ({
  files: [...RANDOM, `rl/act_${head}.wgsl`],
  job: true,
  buffers: {
    ...only(head === "gaussian", { 2: "params", 4: "norm" }),
    3: "work",
    5: "worlds",
    6: "env.action",
    7: "rollout_actions",
    8: "samples",
  },
});
const loss = (head: string): KernelSource => ({
  files: [MATH, "rl/shuffle.wgsl", "rl/surrogate.wgsl", `rl/loss_${head}.wgsl`],
  job: true,
  buffers: {
    ...only(head === "gaussian", { 2: "params" }),
    3: "work",
    4: "rollout_actions",
    5: "samples",
    6: "state",
  },
});
const head = (entry: string, files: readonly string[], buffers: Record<number, string>): KernelSource => ({
  files: [...files, "rl/head.wgsl"],
  entry,
  job: true,
  buffers: { 3: "work", ...buffers },
});
const gru = (entry: string, buffers: Record<number, string>): KernelSource => ({
  files: [MATH, "rl/shuffle.wgsl", "rl/gru.wgsl"],
  entry,
  job: true,
  buffers,
});
const optimize = (entry: string, buffers: Record<number, string>): KernelSource => ({
  files: [MATH, "rl/optimize.wgsl"],
  entry,
  job: true,
  buffers,
});
const moments = (entry: string, buffers: Record<number, string>): KernelSource => ({
  files: [MATH, "rl/moments.wgsl"],
  entry,
  job: false,
  buffers,
});
const gae = (entry: string): KernelSource => ({
  files: [MATH, "rl/gae.wgsl"],
  entry,
  job: false,
  buffers: { 1: "samples", 2: "worlds", 3: "state" },
});

const SQUASHED = [...RANDOM, "rl/squashed.wgsl"];
const sac = (entry: string): KernelSource => ({
  files: [...SQUASHED, "rl/sac.wgsl"],
  entry,
  job: true,
  buffers: { ...only(entry === "load", { 2: "batch" }), 3: "work", ...only(entry.endsWith("_loss"), { 4: "state" }) },
});
const judge = (entry: string, buffers: Record<number, string>): KernelSource => ({
  files: [MATH, "rl/optimize.wgsl", "rl/sac_judge.wgsl"],
  entry,
  job: true,
  buffers: { ...buffers, 4: "state" },
});

export const KERNELS = {
  observe: {
    files: ["rl/observe.wgsl"],
    job: false,
    buffers: { 2: "env.obs", 3: "norm", 4: "rollout_obs", 5: "work" },
  },
  forward: { files: [MATH], code: forwardKernel, job: true, buffers: { 2: "params", 3: "work" } },
  backward: { files: [], code: backwardKernel, job: true, buffers: { 2: "params", 3: "work" } },
  gradient: { files: [], code: gradientKernel, job: true, buffers: { 3: "work", 4: "partials" } },
  gradient_whole: { files: [], code: wholeGradientKernel, job: true, buffers: { 3: "work", 4: "grads" } },
  act_gaussian: act("gaussian"),
  act_categorical: act("categorical"),
  act_squashed: {
    files: [...SQUASHED, "rl/act_squashed.wgsl"],
    job: true,
    buffers: { 3: "work", 4: "norm", 5: "worlds", 6: "env.action", 7: "rollout_actions" },
  },
  act_streamed: {
    files: [MATH, "rl/act_streamed.wgsl"],
    job: true,
    buffers: { 3: "work", 5: "worlds", 6: "env.action", 7: "rollout_actions", 8: "samples" },
  },
  forward_embedded: { files: [MATH], code: forwardKernel, job: true, buffers: { 2: "embedding", 3: "work" } },
  head_act: head("act", [...RANDOM, "rl/shuffle.wgsl"], { 5: "worlds" }),
  head_loss: head("loss", [...RANDOM, "rl/shuffle.wgsl"], { 4: "rollout_actions" }),
  head_slope: head("slope", [...RANDOM, "rl/shuffle.wgsl"], {}),
  gradient_embedded: {
    files: [],
    code: wholeGradientKernel,
    job: true,
    buffers: { 3: "work", 4: "embedding_grads" },
  },
  head_backward: { files: [], code: headBackwardKernel, job: true, buffers: { 2: "params", 3: "work" } },
  head_backward_embedded: { files: [], code: headBackwardKernel, job: true, buffers: { 2: "embedding", 3: "work" } },
  loss_streamed: {
    files: [MATH, "rl/shuffle.wgsl", "rl/surrogate.wgsl", "rl/loss_streamed.wgsl"],
    job: true,
    buffers: { 3: "work", 5: "samples", 6: "state" },
  },
  forward_lanes: { files: [MATH], code: lanesForwardKernel, job: true, buffers: { 2: "params", 3: "work" } },
  backward_lanes: { files: [], code: lanesBackwardKernel, job: true, buffers: { 2: "params", 3: "work" } },
  gru_enter: gru("enter", { 3: "work", 5: "rollout_hidden" }),
  gru_step: gru("step", { 3: "work", 6: "samples" }),
  gru_back: gru("back", { 3: "work", 6: "samples" }),
  gru_enter_act: gru("enter_acting", { 3: "work", 4: "hidden", 5: "rollout_hidden" }),
  gru_enter_evaluate: gru("enter_acting", { 3: "work", 4: "eval_hidden", 5: "rollout_hidden" }),
  gru_step_act: gru("step_acting", { 3: "work", 4: "hidden" }),
  gru_step_evaluate: gru("step_acting", { 3: "work", 4: "eval_hidden" }),
  gru_forget: gru("forget", { 4: "hidden", 6: "samples" }),
  embed: { files: ["rl/embed.wgsl"], clock: false, job: true, buffers: { 2: "params", 3: "features", 4: "embedding" } },
  embed_gradient: {
    files: ["rl/embed.wgsl"],
    entry: "gradient",
    clock: false,
    job: true,
    buffers: { 3: "features", 5: "embedding_grads", 6: "grads" },
  },
  store: { files: ["rl/store.wgsl"], job: true, buffers: { 2: "env.result", 3: "samples", 4: "worlds" } },
  returns: gae("returns"),
  advantages: gae("advantages"),
  sum_worlds: { files: [MATH, "rl/summary.wgsl"], entry: "parts", job: false, buffers: { 1: "worlds", 2: "scratch" } },
  scale_rewards: {
    files: [MATH, "rl/summary.wgsl"],
    entry: "scale_rewards",
    job: false,
    buffers: { 2: "scratch", 3: "state" },
  },
  episodes: { files: [MATH, "rl/summary.wgsl"], entry: "episodes", job: false, buffers: { 2: "scratch", 3: "state" } },
  scale_advantages: {
    files: [MATH, "rl/summary.wgsl"],
    entry: "scale_advantages",
    job: false,
    buffers: { 2: "scratch", 3: "state" },
  },
  gather: {
    files: ["rl/shuffle.wgsl", "rl/gather.wgsl"],
    job: false,
    buffers: { 2: "rollout_obs", 3: "norm", 4: "work" },
  },
  loss_gaussian: loss("gaussian"),
  loss_categorical: loss("categorical"),
  reduce: optimize("reduce", { 2: "grads", 7: "partials" }),
  judge: optimize("judge", { 2: "grads", 3: "scratch", 4: "state", 5: "moments", 6: "params" }),
  adam: optimize("adam", { 2: "grads", 4: "state", 5: "moments", 6: "params" }),
  sum_obs: moments("parts", { 2: "rollout_obs", 3: "scratch", 4: "norm" }),
  merge_obs: moments("merge", { 2: "rollout_obs", 3: "scratch", 4: "norm" }),
  count_clipped: moments("clipped", { 2: "rollout_obs", 3: "scratch", 4: "norm" }),
  tally_clipped: moments("tally", { 3: "scratch", 5: "state" }),
  sample: {
    files: [...RANDOM, "rl/replay.wgsl"],
    entry: "sample",
    job: true,
    buffers: { 2: "replay_obs", 3: "replay_actions", 4: "replay_steps", 5: "batch" },
  },
  load: sac("load"),
  next_actions: sac("next_actions"),
  critic_loss: sac("critic_loss"),
  new_actions: sac("new_actions"),
  lower_value: sac("lower_value"),
  policy_loss: sac("policy_loss"),
  judge_critic: judge("judge_critic", { 2: "grads", 3: "scratch", 5: "moments", 6: "params" }),
  judge_policy: judge("judge_policy", { 2: "grads", 3: "scratch", 5: "moments", 6: "params" }),
  follow: judge("follow", { 6: "params" }),
} as const satisfies Record<string, KernelSource>;

export type KernelName = keyof typeof KERNELS;

const texts = new Map<string, string>();

function textOf(file: string): string {
  let text = texts.get(file);
  if (text === undefined)
    texts.set(file, (text = readFileSync(new URL(`../../shaders/${file}`, import.meta.url), "utf8")));
  return text;
}

/** Whether kernels may share loads among lanes: if every subgroup has 8. */
export function sharingOf({ features, info }: Pick<GpuDevice, "features" | "info">): Sharing {
  const { subgroupMinSize: least, subgroupMaxSize: most } = info;
  return features.has("subgroups") && least === LANES && most === LANES ? "lanes" : "none";
}

/** The WGSL of a kernel. */
export function kernelCode(name: KernelName, sharing: Sharing = "none"): string {
  const { files, code }: KernelSource = KERNELS[name];
  const enable = code && sharing === "lanes" ? "enable subgroups;\n" : "";
  return enable + ["rl/common.wgsl", ...files].map(textOf).join("\n") + (code?.(sharing) ?? "");
}

/** The name of a kernel's entry point. */
export function entryOf(name: KernelName): string {
  const { entry = "main" }: KernelSource = KERNELS[name];
  return entry;
}

/** Workgroups of 32 invocations. */
export const WORKGROUP = 32;
const MAX_GROUPS = 65535;

/** A kernel with all that it reads and writes. */
export interface Job {
  readonly pipeline: GPUComputePipeline;
  readonly group: GPUBindGroup;
}

/** Compiles a kernel; equal ones on a device share one pipeline. */
export function compileKernel(gpu: GpuDevice, name: KernelName): Promise<GPUComputePipeline> {
  return pipelinesOf(gpu).compute({
    label: `rl.${name}`,
    code: kernelCode(name, sharingOf(gpu)),
    entryPoint: entryOf(name),
  });
}

/** Binds a kernel: `bufferOf` knows arenas by name, `job` is where its numbers lie in the uniform buffer. */
export async function bindKernel(
  gpu: GpuDevice,
  name: KernelName,
  bufferOf: (arena: string) => GPUBuffer,
  job?: GPUBufferBinding,
): Promise<Job> {
  const pipeline = await compileKernel(gpu, name);
  const source: KernelSource = KERNELS[name];
  const entries: GPUBindGroupEntry[] = [];
  if (source.clock !== false) entries.push({ binding: 0, resource: { buffer: bufferOf("clock") } });
  if (source.job) entries.push({ binding: 1, resource: job! });
  for (const [binding, arena] of Object.entries(source.buffers)) {
    entries.push({ binding: Number(binding), resource: { buffer: bufferOf(arena) } });
  }
  const layout = pipeline.getBindGroupLayout(0);
  const group = await createBindGroup(gpu, { label: `rl.${name}`, layout, entries });
  return { pipeline, group };
}

/** Adds one run of a job to a pass, for `count` invocations of each of its parts, or for so many workgroups by so many. */
export function dispatch(
  pass: GPUComputePassEncoder,
  { pipeline, group }: Job,
  count: number | readonly [x: number, y: number],
  parts = 1,
): void {
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  if (typeof count !== "number") return pass.dispatchWorkgroups(...count, parts);
  const groups = Math.ceil(count / WORKGROUP);
  pass.dispatchWorkgroups(Math.min(groups, MAX_GROUPS), Math.ceil(groups / MAX_GROUPS), parts);
}
