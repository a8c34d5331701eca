// pictures of a scene by WebGPU: shadows, four samples a pixel, transparent parts last
import { readFileSync } from "node:fs";
import { BufferUsage, ShaderStage } from "../gpu/constants.ts";
import type { GpuDevice } from "../gpu/device.ts";
import { Readback } from "../gpu/readback.ts";
import { createBuffer, inScopes } from "../gpu/scopes.ts";
import { compileShader } from "../gpu/shader.ts";
import { lightProjection, projectionOf, type Point, type View } from "./camera.ts";
import type { Picture } from "./png.ts";
import { INSTANCE_FLOATS } from "./poses.ts";
import type { Part, Scene } from "./scene.ts";
import { VERTEX_FLOATS } from "./shapes.ts";

export interface RendererOptions {
  readonly width: number;
  readonly height: number;
  /** Worlds of a picture. */
  readonly worlds: number;
}

const FORMAT = "rgba8unorm";
const DEPTH = "depth32float";
const SAMPLES = 4;
const SHADOW_PIXELS = 2048;
/** GPUTextureUsage. */
const TEXTURE = { copySrc: 1, binding: 4, attachment: 16 } as const;
/** Rows of a texture are copied to multiples of this. */
const ROW_BYTES = 256;

const SUN: Point = [0.37, -0.29, 0.88];
const SKY = [0.55, 0.68, 0.8] as const;
/** Floats of `Frame` in shaders/render/scene.wgsl. */
const FRAME_FLOATS = 44;

/** Parts of one shape that are drawn in one call. */
interface Draw {
  readonly shape: number;
  readonly first: number;
  readonly count: number;
  readonly clear: boolean;
}

/** Parts that follow each other and have a shape, and a pipeline, in common. */
function drawsOf(parts: readonly Part[], worlds: number): Draw[] {
  const draws: { shape: number; first: number; count: number; clear: boolean }[] = [];
  parts.forEach(({ shape, rgba }, k) => {
    const clear = rgba[3] < 1;
    const last = draws.at(-1);
    if (last?.shape === shape && last.clear === clear) last.count += worlds;
    else draws.push({ shape, first: k * worlds, count: worlds, clear });
  });
  return draws;
}

type Encode = (encoder: GPUCommandEncoder) => void;

interface Made {
  readonly buffers: readonly GPUBuffer[];
  readonly textures: readonly GPUTexture[];
}

export class Renderer {
  readonly width: number;
  readonly height: number;
  /** Floats of the instances of a picture. */
  readonly instanceFloats: number;
  readonly #gpu: GpuDevice;
  readonly #made: Made;
  readonly #readback: Readback;
  readonly #encode: Encode;
  readonly #frame = new Float32Array(FRAME_FLOATS);
  readonly #bytes: Uint8Array<ArrayBuffer>;

  private constructor(gpu: GpuDevice, options: RendererOptions, made: Made, readback: Readback, encode: Encode) {
    const { width, height } = options;
    this.width = width;
    this.height = height;
    this.#gpu = gpu;
    this.#made = made;
    this.#readback = readback;
    this.#encode = encode;
    this.instanceFloats = made.buffers[1].size / 4;
    this.#bytes = new Uint8Array(made.buffers[2].size);
  }

  /**
   * Makes everything that pictures of a scene take; nothing is made later.
   * @throws GpuCreationError, ShaderError; nothing is left behind
   */
  static async create(
    gpu: GpuDevice,
    scene: Scene,
    parts: readonly Part[],
    options: RendererOptions,
  ): Promise<Renderer> {
    const { width, height, worlds } = options;
    const { device } = gpu;
    const module = await compileShader(
      gpu,
      "render",
      readFileSync(new URL("../../shaders/render/scene.wgsl", import.meta.url), "utf8"),
    );
    const rowBytes = Math.ceil((4 * width) / ROW_BYTES) * ROW_BYTES;
    const buffers: GPUBuffer[] = [];
    const textures: GPUTexture[] = [];
    const give = () => {
      for (const made of [...buffers, ...textures]) made.destroy();
    };
    const buffer = async (label: string, size: number, usage: number): Promise<GPUBuffer> => {
      const made = await createBuffer(gpu, `render.${label}`, Math.ceil(size / 16) * 16, usage | BufferUsage.COPY_DST);
      buffers.push(made);
      return made;
    };
    try {
      const frame = await buffer("frame", 4 * FRAME_FLOATS, BufferUsage.UNIFORM);
      const instances = await buffer(
        "instances",
        Math.max(1, parts.length * worlds) * 4 * INSTANCE_FLOATS,
        BufferUsage.STORAGE,
      );
      const pixels = await buffer("pixels", rowBytes * height, BufferUsage.COPY_SRC);
      const shapes: { vertices: GPUBuffer; indices: GPUBuffer; count: number }[] = [];
      for (const [i, { vertices, indices }] of scene.shapes.entries()) {
        const [v, x] = [
          await buffer(`vertices.${i}`, vertices.byteLength, BufferUsage.VERTEX),
          await buffer(`indices.${i}`, indices.byteLength, BufferUsage.INDEX),
        ];
        device.queue.writeBuffer(v, 0, vertices);
        device.queue.writeBuffer(x, 0, indices);
        shapes.push({ vertices: v, indices: x, count: indices.length });
      }
      const readback = await Readback.create(gpu, { slots: 1, slotBytes: rowBytes * height, label: "render.readback" });
      const encode = await inScopes(
        gpu,
        { what: "textures and pipelines of a picture", bytes: rowBytes * height },
        () => {
          const texture = (size: [number, number], format: GPUTextureFormat, usage: number, sampleCount = 1) => {
            const made = device.createTexture({ size, format, usage, sampleCount });
            textures.push(made);
            return made;
          };
          const size: [number, number] = [width, height];
          const shadows = texture(
            [SHADOW_PIXELS, SHADOW_PIXELS],
            DEPTH,
            TEXTURE.attachment | TEXTURE.binding,
          ).createView();
          const samples = texture(size, FORMAT, TEXTURE.attachment, SAMPLES).createView();
          const depth = texture(size, DEPTH, TEXTURE.attachment, SAMPLES).createView();
          const picture = texture(size, FORMAT, TEXTURE.attachment | TEXTURE.copySrc);
          const pipelines = pipelinesOf(device, module);
          const common = [frame, instances].map((each, binding) => ({ binding, resource: { buffer: each } }));
          const lit = [
            ...common,
            { binding: 2, resource: shadows },
            {
              binding: 3,
              resource: device.createSampler({ compare: "less", minFilter: "linear", magFilter: "linear" }),
            },
          ];
          const groups = {
            shadow: device.createBindGroup({ layout: pipelines.layouts.shadow, entries: common }),
            lit: device.createBindGroup({ layout: pipelines.layouts.lit, entries: lit }),
          };
          const draws = drawsOf(parts, worlds);
          const draw = (pass: GPURenderPassEncoder, which: (draw: Draw) => boolean) => {
            for (const { shape, first, count } of draws.filter(which)) {
              pass.setVertexBuffer(0, shapes[shape].vertices);
              pass.setIndexBuffer(shapes[shape].indices, "uint32");
              pass.drawIndexed(shapes[shape].count, count, 0, 0, first);
            }
          };
          const cleared = (view: GPUTextureView, depthStoreOp: GPUStoreOp) =>
            ({ view, depthClearValue: 1, depthLoadOp: "clear", depthStoreOp }) as const;
          const clearValue = [...SKY.map((x) => x ** (1 / 2.2)), 1];
          return (encoder: GPUCommandEncoder) => {
            const shade = encoder.beginRenderPass({
              colorAttachments: [],
              depthStencilAttachment: cleared(shadows, "store"),
            });
            shade.setPipeline(pipelines.shadow);
            shade.setBindGroup(0, groups.shadow);
            draw(shade, ({ clear }) => !clear);
            shade.end();
            const target = {
              view: samples,
              resolveTarget: picture.createView(),
              loadOp: "clear",
              storeOp: "discard",
              clearValue,
            } as const;
            const main = encoder.beginRenderPass({
              colorAttachments: [target],
              depthStencilAttachment: cleared(depth, "discard"),
            });
            main.setBindGroup(0, groups.lit);
            main.setPipeline(pipelines.opaque);
            draw(main, ({ clear }) => !clear);
            main.setPipeline(pipelines.clear);
            draw(main, ({ clear }) => clear);
            main.end();
            encoder.copyTextureToBuffer({ texture: picture }, { buffer: pixels, bytesPerRow: rowBytes }, size);
          };
        },
      );
      return new Renderer(gpu, options, { buffers, textures }, readback, encode);
    } catch (error) {
      give();
      throw error;
    }
  }

  /** One picture of instances that `Stage.instances` has written; shadows reach `reach` (m). Throws `DeviceLostError`. */
  async draw(instances: Float32Array<ArrayBuffer>, view: View, reach: number): Promise<Picture> {
    const { width, height } = this;
    const { device } = this.#gpu;
    this.#frame.set(projectionOf(view, width / height, 0.01 * reach, 100 * reach), 0);
    this.#frame.set(lightProjection(SUN, view.target, reach), 16);
    this.#frame.set([...view.eye, 0, ...SUN, 12 * reach, ...SKY, 0], 32);
    const [frame, parts, pixels] = this.#made.buffers;
    device.queue.writeBuffer(frame, 0, this.#frame);
    device.queue.writeBuffer(parts, 0, instances);
    const encoder = device.createCommandEncoder();
    this.#encode(encoder);
    device.queue.submit([encoder.finish()]);
    await this.#readback.read(pixels, 0, this.#bytes.length, this.#bytes);
    const rowBytes = this.#bytes.length / height;
    const rgba = new Uint8Array(4 * width * height);
    for (let y = 0; y < height; y++)
      rgba.set(this.#bytes.subarray(y * rowBytes, y * rowBytes + 4 * width), 4 * width * y);
    return { width, height, rgba };
  }

  close(): void {
    this.#readback.close();
    for (const made of [...this.#made.buffers, ...this.#made.textures]) made.destroy();
  }
}

function pipelinesOf(device: GPUDevice, module: GPUShaderModule) {
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
        targets: [{ format: FORMAT, ...(clear ? { blend: { color: over, alpha: over } } : {}) }],
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
