// actions that never leave the GPU: a kernel that takes them from a pool, as a policy would make them
import { BufferUsage } from "../../gpu/constants.ts";
import type { GpuDevice } from "../../gpu/device.ts";
import { createBuffer } from "../../gpu/scopes.ts";
import { compileShader, createBindGroup } from "../../gpu/shader.ts";
import type { GpuView } from "../../env/gpu-views.ts";
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
  let swing = ((first + w) % groups) * ${PHASES}u + tick[0] % ${PHASES}u;
  let row = select(swing, pcg((first + w) ^ pcg(tick[0])) % (groups * ${PHASES}u), random);
  for (var i = 0u; i < size; i++) { action[w * stride + i] = pool[row * size + i]; }
}

@compute @workgroup_size(1)
fn advance() { tick[0] += 1u; }
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
    const tick = await createBuffer(gpu, "bench.tick", 16, usage);
    gpu.device.queue.writeBuffer(values, 0, pool.values as Float32Array<ArrayBuffer>);

    const module = await compileShader(gpu, "bench.actions", code);
    const runs: { pipeline: GPUComputePipeline; group: GPUBindGroup; x: number; y: number }[] = [];
    const add = async (
      entryPoint: string,
      constants: Record<string, number>,
      buffers: [number, GPUBuffer][],
      n: number,
    ) => {
      const compute = { module, entryPoint, constants };
      const pipeline = gpu.device.createComputePipeline({ label: `bench.${entryPoint}`, layout: "auto", compute });
      const group = await createBindGroup(gpu, {
        label: `bench.${entryPoint}`,
        layout: pipeline.getBindGroupLayout(0),
        entries: buffers.map(([binding, buffer]) => ({ binding, resource: { buffer } })),
      });
      runs.push({ pipeline, group, x: Math.min(n, MAX_GROUPS), y: Math.ceil(n / MAX_GROUPS) });
    };
    for (const { buffer, firstWorld, worlds } of view.shards) {
      const random = pool.motion === "random" ? 1 : 0;
      const own = { worlds, first: firstWorld, groups: pool.groups, size: pool.size, stride: view.stride / 4, random };
      const bound: [number, GPUBuffer][] = [
        [0, values],
        [1, tick],
        [2, buffer],
      ];
      await add("act", own, bound, Math.ceil(worlds / GROUP));
    }
    await add("advance", {}, [[1, tick]], 1);

    const encode = (pass: GPUComputePassEncoder) => {
      for (const { pipeline, group, x, y } of runs) {
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, group);
        pass.dispatchWorkgroups(x, y);
      }
    };
    return new DeviceActions(encode, [values, tick]);
  }

  /** Encodes the actions of the next control step. */
  encode(pass: GPUComputePassEncoder): void {
    this.#encode(pass);
  }

  close(): void {
    for (const buffer of this.#buffers) buffer.destroy();
  }
}
