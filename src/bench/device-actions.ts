// actions that never leave the GPU: a kernel that takes them from a pool, as a policy would make them
import { BufferUsage } from "../gpu/constants.ts";
import type { GpuDevice } from "../gpu/device.ts";
import { createBuffer } from "../gpu/scopes.ts";
import { compileShader, createBindGroup } from "../gpu/shader.ts";
import type { GpuView } from "../env/host/gpu-views.ts";
import { PHASES, type ActionPool } from "./actions.ts";

const GROUP = 64;
const MAX_GROUPS = 65535;

const code = `
@group(0) @binding(0) var<storage, read> pool: array<u32>;
@group(0) @binding(1) var<storage, read_write> tick: array<u32>;
@group(0) @binding(2) var<storage, read_write> action: array<u32>;
override worlds: u32; override first: u32; override groups: u32; override size: u32; override stride: u32;
override random: bool;

fn pcg(x: u32) -> u32 {
  let s = x * 747796405u + 2891336453u;
  let w = ((s >> ((s >> 28u) + 4u)) ^ s) * 277803737u;
  return (w >> 22u) ^ w;
}

@compute @workgroup_size(${GROUP})
fn act(@builtin(global_invocation_id) id: vec3u) {
  let w = id.x + id.y * ${MAX_GROUPS * GROUP}u;
  if (w >= worlds) { return; }
  let t = tick[w];
  tick[w] = t + 1u;
  let swing = ((first + w) % groups) * ${PHASES}u + t % ${PHASES}u;
  let row = select(swing, pcg((first + w) ^ pcg(t)) % (groups * ${PHASES}u), random);
  for (var i = 0u; i < size; i++) { action[w * stride + i] = pool[row * size + i]; }
}
`;

/** Writes actions of all worlds within compute passes. `close()` it. */
export class DeviceActions {
  readonly #encode: (pass: GPUComputePassEncoder) => void;
  readonly #buffers: readonly GPUBuffer[];

  private constructor(encode: (pass: GPUComputePassEncoder) => void, buffers: readonly GPUBuffer[]) {
    this.#encode = encode;
    this.#buffers = buffers;
  }

  /** @throws ShaderError, GpuCreationError */
  static async create(gpu: GpuDevice, view: GpuView, pool: ActionPool): Promise<DeviceActions> {
    const usage = BufferUsage.STORAGE | BufferUsage.COPY_DST;
    const values = await createBuffer(gpu, "bench.pool", pool.values.byteLength, usage);
    const buffers = [values];
    gpu.device.queue.writeBuffer(values, 0, pool.values as Float32Array<ArrayBuffer>);

    const module = await compileShader(gpu, "bench.actions", code);
    const runs: { pipeline: GPUComputePipeline; group: GPUBindGroup; count: number }[] = [];
    for (const { buffer, firstWorld, worlds } of view.shards) {
      const tick = await createBuffer(gpu, "bench.tick", 4 * worlds, usage);
      buffers.push(tick);
      const random = pool.motion === "random" ? 1 : 0;
      const own = { worlds, first: firstWorld, groups: pool.groups, size: pool.size, stride: view.stride / 4, random };
      const compute = { module, entryPoint: "act", constants: own };
      const pipeline = gpu.device.createComputePipeline({ label: "bench.actions", layout: "auto", compute });
      const group = await createBindGroup(gpu, {
        label: "bench.actions",
        layout: pipeline.getBindGroupLayout(0),
        entries: [values, tick, buffer].map((bound, binding) => ({ binding, resource: { buffer: bound } })),
      });
      runs.push({ pipeline, group, count: Math.ceil(worlds / GROUP) });
    }

    const encode = (pass: GPUComputePassEncoder) => {
      for (const { pipeline, group, count } of runs) {
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, group);
        pass.dispatchWorkgroups(Math.min(count, MAX_GROUPS), Math.ceil(count / MAX_GROUPS));
      }
    };
    return new DeviceActions(encode, buffers);
  }

  /** Encodes the actions of the next control step. */
  encode(pass: GPUComputePassEncoder): void {
    this.#encode(pass);
  }

  close(): void {
    for (const buffer of this.#buffers) buffer.destroy();
  }
}
