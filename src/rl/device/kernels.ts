// the learner's kernels on a device: their WGSL, what they bind, how they are dispatched
import { shaderText } from "../../core/shader-text.ts";
import { ShaderStage } from "../../gpu/constants.ts";
import type { GpuDevice } from "../../gpu/device.ts";
import { createBindGroup, pipelinesOf } from "../../gpu/shader.ts";
import { WORKGROUP, workgroupOf } from "../../gpu/workgroup.ts";
import { COMMON_WGSL, UNIFORMS_BYTES } from "../tables/device-tables.ts";
import type { JobTable } from "../tables/job-tables.ts";
import { LANES, type Sharing } from "../networks/linear-groups.ts";
import { KERNELS, type KernelName, type KernelSource } from "./kernel-table.ts";

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
  const declared = [...code.matchAll(/@binding\((\d+)\)\s*var<(uniform|storage,\s*read_write|storage,\s*read)>/g)].map(
    // a bundle for browsers has texts without spaces
    ([, binding, space]) => [binding, space.replace(/,\s*/, ", ")] as const,
  );
  const bindings = declared.filter(
    ([binding, space]) => binding === UNIFORMS_BINDING || binding in buffers || (job && space === "uniform"),
  );
  const key = bindings.map(([binding, space]) => `${binding} ${space}`).join();
  let known = layouts.get(gpu);
  if (!known) layouts.set(gpu, (known = new Map()));
  let layout = known.get(key);
  if (layout) return layout;
  const entries = bindings.map(([binding, space]): GPUBindGroupLayoutEntry => {
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
