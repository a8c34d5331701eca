// draws a list of instances with WebGPU: shadows, four samples a pixel, transparent parts last. Knows neither Node nor a
// page: it takes a device, the text of shaders/render/scene.wgsl as a module, and what to draw into.
import { BufferUsage, ShaderStage } from "../gpu/constants.ts";
import { lightProjection, projectionOf, type Point, type View } from "./camera.ts";
import { CrowdPlacer } from "./crowd-placer.ts";
import { INSTANCE_FLOATS, type Packed } from "./draw-list.ts";
import { coarse, VERTEX_FLOATS, type Draw, type Shape } from "./shapes.ts";

const DEPTH = "depth32float";
const SAMPLES = 4;
const SHADOW_PIXELS = 2048;
/** GPUTextureUsage. */
export const TEXTURE = { copySrc: 1, binding: 4, attachment: 16 } as const;

const SUN: Point = [0.37, -0.29, 0.88];
const SKY = [0.55, 0.68, 0.8] as const;
/** Floats of `Frame` in shaders/render/scene.wgsl. */
const FRAME_FLOATS = 44;
/** Radii of what is shown that fog lets see. */
const CLARITY = 12;

export interface PainterOptions {
  readonly format: GPUTextureFormat;
  /** Instances there is room for at first; more make room. */
  readonly capacity: number;
  /** Pixels of a side of the map of shadows; 0 for none. */
  readonly shadowPixels?: number;
}

interface Sized {
  readonly width: number;
  readonly height: number;
  readonly samples: GPUTexture;
  readonly depth: GPUTexture;
}

interface Mesh {
  readonly vertices: GPUBuffer;
  readonly indices: GPUBuffer;
  readonly count: number;
}

export class Painter {
  readonly #device: GPUDevice;
  readonly #format: GPUTextureFormat;
  readonly #meshes: readonly Mesh[];
  readonly #frame: GPUBuffer;
  readonly #shadows: GPUTexture;
  readonly #sampler: GPUSampler;
  readonly #pipelines: ReturnType<typeof pipelinesOf>;
  readonly #values = new Float32Array(FRAME_FLOATS);
  #instances: GPUBuffer;
  #groups: { readonly shadow: GPUBindGroup; readonly lit: GPUBindGroup };
  #sized: Sized | undefined;
  readonly #placer: CrowdPlacer;
  readonly #shapes: number;
  /** Of the last picture, shadows aside. */
  triangles = 0;

  /** Makes buffers, textures and pipelines; errors are the device's own, in its error scopes. */
  constructor(
    device: GPUDevice,
    module: GPUShaderModule,
    shapes: readonly Shape[],
    { format, capacity, shadowPixels = SHADOW_PIXELS }: PainterOptions,
  ) {
    this.#device = device;
    this.#format = format;
    const filled = (label: string, data: Float32Array<ArrayBuffer> | Uint32Array<ArrayBuffer>, usage: number) => {
      const size = Math.max(16, Math.ceil(data.byteLength / 4) * 4);
      const made = device.createBuffer({ label: `render.${label}`, size, usage: usage | BufferUsage.COPY_DST });
      device.queue.writeBuffer(made, 0, data);
      return made;
    };
    this.#shapes = shapes.length;
    this.#placer = new CrowdPlacer(device, module);
    this.#meshes = [...shapes, ...coarse()].map(({ vertices, indices }, i) => ({
      vertices: filled(`vertices.${i}`, vertices, BufferUsage.VERTEX),
      indices: filled(`indices.${i}`, indices, BufferUsage.INDEX),
      count: indices.length,
    }));
    this.#frame = filled("frame", this.#values, BufferUsage.UNIFORM);
    const side = Math.max(1, shadowPixels);
    this.#shadows = device.createTexture({
      size: [side, side],
      format: DEPTH,
      usage: TEXTURE.attachment | TEXTURE.binding,
    });
    this.#sampler = device.createSampler({ compare: "less", minFilter: "linear", magFilter: "linear" });
    this.#pipelines = pipelinesOf(device, module, format);
    this.#instances = this.#room(capacity);
    this.#groups = this.#bound();
  }

  #room(instances: number): GPUBuffer {
    const size = Math.max(1, instances) * 4 * INSTANCE_FLOATS;
    return this.#device.createBuffer({
      label: "render.instances",
      size,
      usage: BufferUsage.STORAGE | BufferUsage.COPY_DST,
    });
  }

  #bound() {
    const { layouts } = this.#pipelines;
    const common = [this.#frame, this.#instances].map((buffer, binding) => ({ binding, resource: { buffer } }));
    const lit = [
      ...common,
      { binding: 2, resource: this.#shadows.createView() },
      { binding: 3, resource: this.#sampler },
    ];
    return {
      shadow: this.#device.createBindGroup({ layout: layouts.shadow, entries: common }),
      lit: this.#device.createBindGroup({ layout: layouts.lit, entries: lit }),
    };
  }

  /** The targets of a picture's size. */
  resize(width: number, height: number): Sized {
    if (this.#sized?.width === width && this.#sized.height === height) return this.#sized;
    this.#sized?.samples.destroy();
    this.#sized?.depth.destroy();
    const target = (format: GPUTextureFormat) =>
      this.#device.createTexture({
        size: [width, height],
        format,
        usage: TEXTURE.attachment,
        sampleCount: SAMPLES,
      });
    return (this.#sized = { width, height, samples: target(this.#format), depth: target(DEPTH) });
  }

  /** Encodes a picture into a texture; shadows reach `reach` (m) around what is looked at. */
  encode(
    encoder: GPUCommandEncoder,
    into: GPUTexture,
    { instances, draws: listed, crowd }: Packed,
    view: View,
    reach: number,
  ): void {
    const { width, height } = into;
    const first = instances.length / INSTANCE_FLOATS;
    const wanted = first + (crowd ? crowd.parts.length * crowd.worlds.length : 0);
    const { samples, depth } = this.resize(width, height);
    this.#values.set(projectionOf(view, width / height, 0.01 * reach, 100 * reach), 0);
    this.#values.set(lightProjection(SUN, view.target, reach), 16);
    this.#values.set([...view.eye, 0, ...SUN, CLARITY * reach, ...SKY, 0], 32);
    if (4 * INSTANCE_FLOATS * wanted > this.#instances.size) {
      this.#instances.destroy();
      this.#instances = this.#room(2 * wanted);
      this.#groups = this.#bound();
    }
    const { queue } = this.#device;
    queue.writeBuffer(this.#frame, 0, this.#values);
    if (instances.length > 0) queue.writeBuffer(this.#instances, 0, instances);

    const placed = crowd && this.#placer.encode(encoder, crowd, view, height, this.#instances, first, this.#shapes);
    const draws: readonly Draw[] = placed ? [...listed, ...placed] : listed;
    this.triangles = draws.reduce((sum, { shape, count }) => sum + (count * this.#meshes[shape].count) / 3, 0);
    const draw = (pass: GPURenderPassEncoder, clear: boolean) => {
      for (const { shape, first, count, clear: isClear } of draws) {
        if (isClear !== clear) continue;
        const mesh = this.#meshes[shape];
        pass.setVertexBuffer(0, mesh.vertices);
        pass.setIndexBuffer(mesh.indices, "uint32");
        pass.drawIndexed(mesh.count, count, 0, 0, first);
      }
    };
    const cleared = (texture: GPUTexture, depthStoreOp: GPUStoreOp) =>
      ({ view: texture.createView(), depthClearValue: 1, depthLoadOp: "clear", depthStoreOp }) as const;
    const shade = encoder.beginRenderPass({
      colorAttachments: [],
      depthStencilAttachment: cleared(this.#shadows, "store"),
    });
    shade.setPipeline(this.#pipelines.shadow);
    shade.setBindGroup(0, this.#groups.shadow);
    draw(shade, false);
    shade.end();

    const main = encoder.beginRenderPass({
      colorAttachments: [
        {
          view: samples.createView(),
          resolveTarget: into.createView(),
          loadOp: "clear",
          storeOp: "discard",
          clearValue: [...SKY.map((x) => x ** (1 / 2.2)), 1],
        },
      ],
      depthStencilAttachment: cleared(depth, "discard"),
    });
    main.setBindGroup(0, this.#groups.lit);
    main.setPipeline(this.#pipelines.opaque);
    draw(main, false);
    main.setPipeline(this.#pipelines.clear);
    draw(main, true);
    main.end();
  }

  destroy(): void {
    this.#placer.destroy();
    for (const { vertices, indices } of this.#meshes) for (const buffer of [vertices, indices]) buffer.destroy();
    for (const made of [this.#frame, this.#instances, this.#shadows, this.#sized?.samples, this.#sized?.depth])
      made?.destroy();
  }
}

function pipelinesOf(device: GPUDevice, module: GPUShaderModule, format: GPUTextureFormat) {
  const { VERTEX, FRAGMENT } = ShaderStage;
  const entries: GPUBindGroupLayoutEntry[] = [
    { binding: 0, visibility: VERTEX | FRAGMENT, buffer: {} },
    { binding: 1, visibility: VERTEX, buffer: { type: "read-only-storage" } },
  ];
  const layouts = {
    shadow: device.createBindGroupLayout({ entries }),
    lit: device.createBindGroupLayout({
      entries: [
        ...entries,
        { binding: 2, visibility: FRAGMENT, texture: { sampleType: "depth" } },
        { binding: 3, visibility: FRAGMENT, sampler: { type: "comparison" } },
      ],
    }),
  };
  const attributes: GPUVertexAttribute[] = [
    { shaderLocation: 0, offset: 0, format: "float32x3" },
    { shaderLocation: 1, offset: 12, format: "float32x3" },
    { shaderLocation: 2, offset: 24, format: "float32" },
  ];
  const buffers = [{ arrayStride: 4 * VERTEX_FLOATS, attributes }];
  const layout = (of: GPUBindGroupLayout) => device.createPipelineLayout({ bindGroupLayouts: [of] });
  const primitive = { cullMode: "none" } as const;
  const over = { srcFactor: "src-alpha", dstFactor: "one-minus-src-alpha" } as const;
  const main = (clear: boolean) =>
    device.createRenderPipeline({
      layout: layout(layouts.lit),
      vertex: { module, entryPoint: "vertex", buffers },
      fragment: {
        module,
        entryPoint: "fragment",
        targets: [{ format, ...(clear ? { blend: { color: over, alpha: over } } : {}) }],
      },
      primitive,
      depthStencil: { format: DEPTH, depthWriteEnabled: !clear, depthCompare: "less" },
      multisample: { count: SAMPLES },
    });
  return {
    layouts,
    opaque: main(false),
    clear: main(true),
    shadow: device.createRenderPipeline({
      layout: layout(layouts.shadow),
      vertex: { module, entryPoint: "shadow", buffers },
      primitive,
      depthStencil: { format: DEPTH, depthWriteEnabled: true, depthCompare: "less" },
    }),
  };
}
