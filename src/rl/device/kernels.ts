// the learner's kernels: which source, which entry point, which buffers
import { shaderText } from "../../core/shader-text.ts";
import { ShaderStage } from "../../gpu/constants.ts";
import type { GpuDevice } from "../../gpu/device.ts";
import { createBindGroup, pipelinesOf } from "../../gpu/shader.ts";
import { WORKGROUP, workgroupOf } from "../../gpu/workgroup.ts";
import { COMMON_WGSL, UNIFORMS_BYTES } from "../tables/device-tables.ts";
import { SLOPE_WGSL } from "../networks/activations.ts";
import type { DeviceStruct, ValuesOf } from "../tables/device-struct.ts";
import { JOBS, type JobTable } from "../tables/job-tables.ts";
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
} from "../networks/linear-wgsl.ts";

/** A kernel: files of `shaders/`, then text; the entry point; arenas by binding. Binding 0 holds the uniforms. */
interface KernelSource {
  readonly files: readonly string[];
  readonly code?: (sharing: Sharing) => string;
  readonly entry?: string;
  /** What binding 1 holds, if the kernel has numbers of its own. */
  readonly job?: JobTable;
  readonly buffers: Readonly<Record<number, string>>;
}

const MATH = "lib/math.wgsl";
const RANDOM = ["lib/philox.wgsl", MATH, "rl/random.wgsl"];
const only = (holds: boolean, buffers: Record<number, string>): Record<number, string> => (holds ? buffers : {});
const act = <J extends JobTable>(head: "gaussian" | "categorical", job: J) => ({
  files: [...RANDOM, `rl/act_${head}.wgsl`],
  job,
  buffers: {
    ...only(head === "gaussian", { 2: "params", 4: "norm" }),
    3: "work",
    5: "worlds",
    6: "env.action",
    7: "rollout_actions",
    8: "samples",
  },
});
const loss = <J extends JobTable>(head: "gaussian" | "categorical", job: J) => ({
  files: [MATH, "rl/shuffle.wgsl", "rl/ppo_loss.wgsl", `rl/loss_${head}.wgsl`],
  job,
  buffers: {
    ...only(head === "gaussian", { 2: "params" }),
    3: "work",
    4: "rollout_actions",
    5: "samples",
    6: "state",
  },
});
const head = (entry: string, files: readonly string[], buffers: Record<number, string>) => ({
  files: [...files, "rl/block.wgsl", "rl/streamed_head.wgsl"],
  entry,
  job: JOBS.block,
  buffers: { 3: "work", ...buffers },
});
/** Kernels of a file with numbers of one kind. */
const family =
  <J extends JobTable>(files: readonly string[], job: J) =>
  (entry: string, buffers: Record<number, string>) => ({ files, entry, job, buffers });
const CELL = [MATH, "rl/shuffle.wgsl", "rl/cell_state.wgsl"];
const cell = family([...CELL, "rl/cell_enter.wgsl"], JOBS.cell);
const gru = family([...CELL, "rl/gru.wgsl"], JOBS.cell);
const lstm = family([...CELL, "rl/lstm.wgsl"], JOBS.cell);
const optimize = family([MATH, "rl/optimize.wgsl"], JOBS.range);
const optimizeSac = family([MATH, "rl/optimize.wgsl", "rl/sac_optimize.wgsl"], JOBS.range);
const normaliser = (entry: string, buffers: Record<number, string>) => ({
  files: [MATH, "rl/observation_normaliser.wgsl"],
  entry,
  buffers,
});
const gae = (entry: string) => ({
  files: [MATH, "rl/gae.wgsl"],
  entry,
  buffers: { 1: "samples", 2: "worlds", 3: "state" },
});

const SQUASHED = [...RANDOM, "rl/squashed.wgsl"];
const sac = (entry: string) => ({
  files: [...SQUASHED, "rl/sac_loss.wgsl"],
  entry,
  job: JOBS.sac,
  buffers: { ...only(entry === "load", { 2: "batch" }), 3: "work", ...only(entry.endsWith("_loss"), { 4: "state" }) },
});
const dqn = (entry: string, buffers: Record<number, string>) => ({
  files: [MATH, "rl/dqn.wgsl"],
  code: () => SLOPE_WGSL,
  entry,
  job: JOBS.dqn,
  buffers: { 3: "work", ...buffers },
});

export const KERNELS = {
  observe: {
    files: ["rl/observe.wgsl"],
    buffers: { 2: "env.obs", 3: "norm", 4: "rollout_obs", 5: "work" },
  },
  observation_groups: { files: ["rl/observation_groups.wgsl"], job: JOBS.groups, buffers: { 3: "work" } },
  forward: { files: [MATH], code: forwardKernel, job: JOBS.linear, buffers: { 2: "params", 3: "work" } },
  backward: { files: [MATH], code: backwardKernel, job: JOBS.linear, buffers: { 2: "params", 3: "work" } },
  gradient: { files: [], code: gradientKernel, job: JOBS.linear, buffers: { 3: "work", 4: "partials" } },
  gradient_whole: { files: [], code: wholeGradientKernel, job: JOBS.linear, buffers: { 3: "work", 4: "grads" } },
  act_gaussian: act("gaussian", JOBS.actGaussian),
  act_categorical: act("categorical", JOBS.actCategorical),
  act_squashed: {
    files: [...SQUASHED, "rl/act_squashed.wgsl"],
    job: JOBS.actSquashed,
    buffers: { 3: "work", 4: "norm", 5: "worlds", 6: "env.action", 7: "rollout_actions" },
  },
  act_streamed: {
    files: [MATH, "rl/act_streamed.wgsl"],
    job: JOBS.actStreamed,
    buffers: { 3: "work", 5: "worlds", 6: "env.action", 7: "rollout_actions", 8: "samples" },
  },
  forward_embedded: { files: [MATH], code: forwardKernel, job: JOBS.linear, buffers: { 2: "embedding", 3: "work" } },
  head_act: head("act", [...RANDOM, "rl/shuffle.wgsl"], { 5: "worlds" }),
  head_loss: head("loss", [...RANDOM, "rl/shuffle.wgsl"], { 4: "rollout_actions" }),
  head_slope: head("slope", [...RANDOM, "rl/shuffle.wgsl"], {}),
  gradient_embedded: {
    files: [],
    code: wholeGradientKernel,
    job: JOBS.linear,
    buffers: { 3: "work", 4: "embedding_grads" },
  },
  head_backward: { files: [MATH], code: headBackwardKernel, job: JOBS.linear, buffers: { 2: "params", 3: "work" } },
  head_backward_embedded: {
    files: [MATH],
    code: headBackwardKernel,
    job: JOBS.linear,
    buffers: { 2: "embedding", 3: "work" },
  },
  loss_streamed: {
    files: [MATH, "rl/shuffle.wgsl", "rl/ppo_loss.wgsl", "rl/loss_streamed.wgsl"],
    job: JOBS.lossStreamed,
    buffers: { 3: "work", 5: "samples", 6: "state" },
  },
  forward_lanes: { files: [MATH], code: lanesForwardKernel, job: JOBS.linear, buffers: { 2: "params", 3: "work" } },
  backward_lanes: { files: [MATH], code: lanesBackwardKernel, job: JOBS.linear, buffers: { 2: "params", 3: "work" } },
  cell_enter: cell("enter", { 3: "work", 5: "rollout_hidden" }),
  cell_enter_act: cell("enter_acting", { 3: "work", 4: "hidden", 5: "rollout_hidden" }),
  cell_enter_evaluate: cell("enter_acting", { 3: "work", 4: "eval_hidden", 5: "rollout_hidden" }),
  cell_forget: cell("forget", { 4: "hidden", 6: "samples" }),
  gru_step: gru("step", { 3: "work", 6: "samples" }),
  gru_back: gru("back", { 3: "work", 6: "samples" }),
  gru_step_act: gru("step_acting", { 3: "work", 4: "hidden" }),
  gru_step_evaluate: gru("step_acting", { 3: "work", 4: "eval_hidden" }),
  lstm_step: lstm("step", { 3: "work", 6: "samples" }),
  lstm_back: lstm("back", { 3: "work", 6: "samples" }),
  lstm_step_act: lstm("step_acting", { 3: "work", 4: "hidden" }),
  lstm_step_evaluate: lstm("step_acting", { 3: "work", 4: "eval_hidden" }),
  embed: {
    files: ["rl/embed.wgsl"],
    job: JOBS.embed,
    buffers: { 2: "params", 3: "features", 4: "embedding" },
  },
  embed_gradient: {
    files: ["rl/embed.wgsl"],
    entry: "gradient",
    job: JOBS.embed,
    buffers: { 3: "features", 5: "embedding_grads", 6: "grads" },
  },
  store: { files: ["rl/store.wgsl"], job: JOBS.store, buffers: { 2: "env.result", 3: "samples", 4: "worlds" } },
  returns: gae("returns"),
  advantages: gae("advantages"),
  sum_worlds: { files: [MATH, "rl/summary.wgsl"], entry: "parts", buffers: { 1: "worlds", 2: "scratch" } },
  scale_rewards: {
    files: [MATH, "rl/summary.wgsl"],
    entry: "scale_rewards",
    buffers: { 2: "scratch", 3: "state" },
  },
  episodes: { files: [MATH, "rl/summary.wgsl"], entry: "episodes", buffers: { 2: "scratch", 3: "state" } },
  scale_advantages: {
    files: [MATH, "rl/summary.wgsl"],
    entry: "scale_advantages",
    buffers: { 2: "scratch", 3: "state" },
  },
  gather: {
    files: ["rl/shuffle.wgsl", "rl/gather.wgsl"],
    buffers: { 2: "rollout_obs", 3: "norm", 4: "work" },
  },
  loss_gaussian: loss("gaussian", JOBS.lossGaussian),
  loss_categorical: loss("categorical", JOBS.lossCategorical),
  reduce: optimize("reduce", { 2: "grads", 7: "partials" }),
  gradient_gate: optimize("gradient_gate", { 2: "grads", 3: "scratch", 4: "state", 5: "moments", 6: "params" }),
  adam: optimize("adam", { 2: "grads", 4: "state", 5: "moments", 6: "params" }),
  sum_obs: normaliser("parts", { 2: "rollout_obs", 3: "scratch", 4: "norm" }),
  merge_obs: normaliser("merge", { 2: "rollout_obs", 3: "scratch", 4: "norm" }),
  count_clipped: normaliser("clipped", { 2: "rollout_obs", 3: "scratch", 4: "norm" }),
  tally_clipped: normaliser("tally", { 3: "scratch", 5: "state" }),
  sample: {
    files: [...RANDOM, "rl/replay.wgsl"],
    entry: "sample",
    job: JOBS.sample,
    buffers: { 2: "replay_obs", 3: "replay_actions", 4: "replay_steps", 5: "batch" },
  },
  load: sac("load"),
  next_actions: sac("next_actions"),
  critic_loss: sac("critic_loss"),
  new_actions: sac("new_actions"),
  lower_value: sac("lower_value"),
  policy_loss: sac("policy_loss"),
  best_block: { files: ["rl/block.wgsl", "rl/best_block.wgsl"], job: JOBS.block, buffers: { 3: "work" } },
  act_greedy: {
    files: [...RANDOM, "rl/act_greedy.wgsl"],
    job: JOBS.actGreedy,
    buffers: { 3: "work", 5: "worlds", 6: "env.action", 7: "rollout_actions" },
  },
  dqn_load: dqn("load", { 2: "batch" }),
  dqn_loss: dqn("loss", { 2: "batch", 4: "params", 5: "features" }),
  dqn_clear_head: dqn("clear_head", { 6: "grads" }),
  dqn_head_gradient: dqn("head_gradient", { 6: "grads" }),
  dqn_map_gradient: dqn("map_gradient", { 5: "features", 6: "grads" }),
  dqn_head_slope: dqn("head_slope", { 4: "params", 5: "features" }),
  gate_critic: optimizeSac("gate_critic", { 2: "grads", 3: "scratch", 4: "state", 5: "moments", 6: "params" }),
  gate_policy: optimizeSac("gate_policy", { 2: "grads", 3: "scratch", 4: "state", 5: "moments", 6: "params" }),
  polyak_update: optimizeSac("polyak_update", { 4: "state", 6: "params" }),
} as const satisfies Record<string, KernelSource>;

export type KernelName = keyof typeof KERNELS;

type TableOf<K extends KernelName> = (typeof KERNELS)[K] extends { readonly job: infer J extends JobTable } ? J : never;
type NamesOf<J extends JobTable> = J["table"]["members"][number];

/** The numbers that a kernel is bound with, by name: one record, or a list of those that run side by side. */
export type JobOf<K extends KernelName> =
  TableOf<K> extends { readonly most: 1 } ? ValuesOf<NamesOf<TableOf<K>>> : readonly ValuesOf<NamesOf<TableOf<K>>>[];

/** Binds a kernel under a name. */
export type Bind = <K extends KernelName>(name: string, kernel: K, job?: JobOf<K>) => void;

/** The words of a job. */
export function jobWords<K extends KernelName>(name: K, job: JobOf<K>): Uint32Array<ArrayBuffer> {
  const { job: tables }: KernelSource = KERNELS[name];
  const records = (Array.isArray(job) ? job : [job]) as ValuesOf<string>[];
  return (tables!.table as DeviceStruct).words(...records);
}

/** The struct of a job, and where it is bound. */
function jobCode({ table, variable, most }: JobTable): string {
  const type = most === 1 ? table.name : `array<${table.name}, ${most}>`;
  return `${table.wgsl}@group(0) @binding(1) var<uniform> ${variable}: ${type};\n`;
}

const MAX_GROUPS = 65535;

/** The invocation of a dispatch, which may take two axes. */
const threadOf = (workgroup: number): string => `fn thread_of(gid: vec3<u32>) -> u32 {
  return gid.x + gid.y * (${MAX_GROUPS}u * ${workgroup}u);
}
`;

const texts = new Map<string, string>();

function textOf(file: string): string {
  let text = texts.get(file);
  if (text === undefined) texts.set(file, (text = shaderText(file)));
  return text;
}

/** Whether kernels may share loads among lanes: if every subgroup has 8. */
export function sharingOf({ features, info }: Pick<GpuDevice, "features" | "info">): Sharing {
  const { subgroupMinSize: least, subgroupMaxSize: most } = info;
  return features.has("subgroups") && least === LANES && most === LANES ? "lanes" : "none";
}

/** The WGSL of a kernel, by how its lanes share loads and the invocations of its workgroups. */
export function kernelCode(name: KernelName, sharing: Sharing = "none", workgroup = WORKGROUP): string {
  const { files, code, job }: KernelSource = KERNELS[name];
  const enable = code && sharing === "lanes" ? "enable subgroups;\n" : "";
  const parts = [
    COMMON_WGSL,
    threadOf(workgroup),
    ...(job ? [jobCode(job)] : []),
    ...files.map(textOf),
    code?.(sharing) ?? "",
  ];
  return enable + parts.join("\n").replaceAll(`@workgroup_size(${WORKGROUP})`, `@workgroup_size(${workgroup})`);
}

/** The name of a kernel's entry point. */
export function entryOf(name: KernelName): string {
  const { entry = "main" }: KernelSource = KERNELS[name];
  return entry;
}

/** Bindings of a kernel in order, and the arena of each. */
export function bindingsOf(name: KernelName): { readonly binding: number; readonly arena: string }[] {
  const { buffers, job }: KernelSource = KERNELS[name];
  const own = Object.entries(buffers).map(([binding, arena]) => ({ binding: Number(binding), arena }));
  return [{ binding: 0, arena: "uniforms" }, ...(job ? [{ binding: 1, arena: "jobs" }] : []), ...own];
}

/** A kernel with all that it reads and writes; what it is made of is known to what runs it. */
export type Job = object;

/** A kernel on a GPU. */
interface GpuJob {
  readonly pipeline: GPUComputePipeline;
  readonly group: GPUBindGroup;
}

/** What jobs are added to. All of them read the same uniforms. */
export interface JobPass {
  /** Invocations of a workgroup of the kernels that are dispatched by counts of invocations. */
  readonly workgroup: number;
  /** Adds one run of a job, of this many workgroups. */
  add(job: Job, x: number, y: number, z: number): void;
}

/** A part of a compute pass whose jobs read the uniforms at a byte of their buffer. */
export class GpuPass implements JobPass {
  readonly #encoder: GPUComputePassEncoder;
  readonly #uniformsAt: readonly [number];
  readonly workgroup: number;

  constructor(encoder: GPUComputePassEncoder, uniformsAt: number, { info }: Pick<GpuDevice, "info">) {
    this.workgroup = workgroupOf(info);
    this.#encoder = encoder;
    this.#uniformsAt = [uniformsAt];
  }

  add(job: Job, x: number, y: number, z: number): void {
    const { pipeline, group } = job as GpuJob;
    this.#encoder.setPipeline(pipeline);
    this.#encoder.setBindGroup(0, group, this.#uniformsAt);
    this.#encoder.dispatchWorkgroups(x, y, z);
  }
}

/** Layouts of the kernels of a device, by what they bind. */
const layouts = new WeakMap<GpuDevice, Map<string, readonly [GPUBindGroupLayout, GPUPipelineLayout]>>();

/** The layout of a kernel, of what it binds of all that its text declares: its uniforms lie where a part of a pass says. */
function layoutOf(gpu: GpuDevice, name: KernelName, code: string): readonly [GPUBindGroupLayout, GPUPipelineLayout] {
  const { buffers, job }: KernelSource = KERNELS[name];
  const declared = [...code.matchAll(/@binding\((\d+)\) var<(uniform|storage, read_write|storage, read)>/g)];
  const bindings = declared.filter(
    ([, binding, space]) => binding === UNIFORMS_BINDING || binding in buffers || (job && space === "uniform"),
  );
  const key = bindings.map(([, binding, space]) => `${binding} ${space}`).join();
  let known = layouts.get(gpu);
  if (!known) layouts.set(gpu, (known = new Map()));
  let layout = known.get(key);
  if (layout) return layout;
  const entries = bindings.map(([, binding, space]): GPUBindGroupLayoutEntry => {
    const hasDynamicOffset = binding === UNIFORMS_BINDING;
    const buffer: GPUBufferBindingLayout = { type: BINDING_TYPE[space as keyof typeof BINDING_TYPE], hasDynamicOffset };
    return { binding: Number(binding), visibility: ShaderStage.COMPUTE, buffer };
  });
  const group = gpu.device.createBindGroupLayout({ label: "rl", entries });
  layout = [group, gpu.device.createPipelineLayout({ label: "rl", bindGroupLayouts: [group] })];
  known.set(key, layout);
  return layout;
}

const UNIFORMS_BINDING = "0";
const BINDING_TYPE = {
  uniform: "uniform",
  "storage, read": "read-only-storage",
  "storage, read_write": "storage",
} as const;

/** The WGSL of a kernel on a device. */
const codeOn = (gpu: GpuDevice, name: KernelName): string => kernelCode(name, sharingOf(gpu), workgroupOf(gpu.info));

/** Compiles a kernel; equal ones on a device share one pipeline. */
function compileKernel(gpu: GpuDevice, name: KernelName): Promise<GPUComputePipeline> {
  const code = codeOn(gpu, name);
  const [, layout] = layoutOf(gpu, name, code);
  return pipelinesOf(gpu).compute({ label: `rl.${name}`, code, entryPoint: entryOf(name), layout });
}

/** Binds a kernel: `bufferOf` knows arenas by name, `job` is where its numbers lie in the uniform buffer. */
export async function bindKernel(
  gpu: GpuDevice,
  name: KernelName,
  bufferOf: (arena: string) => GPUBuffer,
  job?: GPUBufferBinding,
): Promise<GpuJob> {
  const pipeline = await compileKernel(gpu, name);
  const resourceOf = (arena: string): GPUBufferBinding => {
    if (arena === "jobs") return job!;
    return { buffer: bufferOf(arena), ...(arena === "uniforms" && { size: UNIFORMS_BYTES }) };
  };
  const entries = bindingsOf(name).map(({ binding, arena }) => ({ binding, resource: resourceOf(arena) }));
  const [layout] = layoutOf(gpu, name, codeOn(gpu, name));
  const group = await createBindGroup(gpu, { label: `rl.${name}`, layout, entries });
  return { pipeline, group };
}

/** Adds one run of a job to a pass, for `count` invocations of each of its parts, or for so many workgroups by so many. */
export function dispatch(pass: JobPass, job: Job, count: number | readonly [x: number, y: number], parts = 1): void {
  if (typeof count !== "number") return pass.add(job, ...count, parts);
  const groups = Math.ceil(count / pass.workgroup);
  pass.add(job, Math.min(groups, MAX_GROUPS), Math.ceil(groups / MAX_GROUPS), parts);
}
