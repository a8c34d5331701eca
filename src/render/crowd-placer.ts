// has the device place the parts of many worlds: poses and parts go in, one matrix an instance comes out
import { BufferUsage, ShaderStage } from "../gpu/constants.ts";
import type { View } from "./camera.ts";
import { arrange, packParts, type Crowd } from "./crowd.ts";
import type { Draw } from "./shapes.ts";

/** Of the kernel `place` in shaders/render/scene.wgsl, and most of them along one axis. */
const WORKGROUP = 64;
const MOST_GROUPS = 65_535;

type Floats = Float32Array<ArrayBuffer>;

export class CrowdPlacer {
  readonly #device: GPUDevice;
  readonly #pipeline: GPUComputePipeline;
  readonly #layout: GPUBindGroupLayout;
  readonly #facts: GPUBuffer;
  readonly #buffers = new Map<string, GPUBuffer>();

  constructor(device: GPUDevice, module: GPUShaderModule) {
    this.#device = device;
    const visibility = ShaderStage.COMPUTE;
    this.#layout = device.createBindGroupLayout({
      entries: [
        { binding: 4, visibility, buffer: {} },
        ...[5, 6, 7].map((binding) => ({ binding, visibility, buffer: { type: "read-only-storage" } as const })),
        { binding: 8, visibility, buffer: { type: "storage" } },
      ],
    });
    this.#pipeline = device.createComputePipeline({
      layout: device.createPipelineLayout({ bindGroupLayouts: [this.#layout] }),
      compute: { module, entryPoint: "place" },
    });
    const usage = BufferUsage.UNIFORM | BufferUsage.COPY_DST;
    this.#facts = device.createBuffer({ label: "render.crowd", size: 16, usage });
  }

  /** A buffer that holds these numbers: kept, and made anew where it is too small. */
  #filled(name: string, values: Floats): GPUBuffer {
    let buffer = this.#buffers.get(name);
    if (buffer === undefined || buffer.size < values.byteLength) {
      buffer?.destroy();
      const usage = BufferUsage.STORAGE | BufferUsage.COPY_DST;
      const size = Math.max(16, values.byteLength);
      buffer = this.#device.createBuffer({ label: `render.crowd.${name}`, size, usage });
      this.#buffers.set(name, buffer);
    }
    this.#device.queue.writeBuffer(buffer, 0, values);
    return buffer;
  }

  /** Encodes the pass that writes instances from `first` on; returns what draws them. */
  encode(
    encoder: GPUCommandEncoder,
    crowd: Crowd,
    view: View,
    height: number,
    instances: GPUBuffer,
    first: number,
    shapes: number,
  ): readonly Draw[] {
    const { parts, worlds, nbody, bodies, opacity } = crowd;
    const { ranks, draws } = arrange(crowd, view, height, first, shapes);
    const count = parts.length * worlds.length;
    if (count === 0) return [];
    this.#device.queue.writeBuffer(this.#facts, 0, Uint32Array.of(parts.length, worlds.length, nbody, first));
    const inputs = [bodies as Floats, packParts(parts, opacity), ranks].map((values, i) =>
      this.#filled(["bodies", "parts", "ranks"][i], values),
    );
    const resources = [this.#facts, ...inputs, instances];
    const pass = encoder.beginComputePass();
    pass.setPipeline(this.#pipeline);
    const entries = resources.map((buffer, i) => ({ binding: 4 + i, resource: { buffer } }));
    pass.setBindGroup(0, this.#device.createBindGroup({ layout: this.#layout, entries }));
    const groups = Math.ceil(count / WORKGROUP);
    const across = Math.min(groups, MOST_GROUPS);
    pass.dispatchWorkgroups(across, Math.ceil(groups / across));
    pass.end();
    return draws;
  }

  destroy(): void {
    for (const buffer of [this.#facts, ...this.#buffers.values()]) buffer.destroy();
  }
}
