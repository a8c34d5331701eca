// draws a list of instances with WebGPU: maps of shadows, four samples a pixel, transparent parts last. Knows neither Node nor a
// page: it takes a device, the text of shaders/render/scene.wgsl as a module, and what to draw into.
import { BufferUsage } from "../gpu/constants.ts";
import { directionsOf, pixelsOf, projectionOf, type Point, type View } from "./camera.ts";
import { coarser, DETAIL_PIXELS, detailed } from "./crowd.ts";
import { CrowdPlacer } from "./crowd-placer.ts";
import { INSTANCE_FLOATS, type Packed } from "./draw-list.ts";
import { MOST_LIGHTS, MOST_SHADOWS, packLights, type Casters } from "./lights.ts";
import { CASTER_BYTES, DEPTH, pipelinesOf, SAMPLES } from "./painter-pipelines.ts";
import { PainterTextures, TEXTURE } from "./painter-textures.ts";
import { coarse, radiusOf, SURFACE, type Draw, type Shape } from "./shapes.ts";
import type { Texture } from "./textures.ts";

/** Pixels of a side of the map of shadows, and looks into it for a pixel. */
const SHADOWS = { gpu: { pixels: 2048, looks: 4 }, software: { pixels: 1024, looks: 2 } } as const;
/** Floats of `Frame` in shaders/render/scene.wgsl, without and with its lights. */
const HEAD_FLOATS = 44;
const FRAME_FLOATS = HEAD_FLOATS + 40 * MOST_LIGHTS;
/** Radii of what is shown that fog lets see. */
const CLARITY = 12;

export interface PainterOptions {
  readonly format: GPUTextureFormat;
  /** Instances there is room for at first; more make room. */
  readonly capacity: number;
  /** On a processor shadows are coarser. */
  readonly adapter: "gpu" | "software";
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
  /** Of a sphere around it, at unit size. */
  readonly radius: number;
}

/** What of a scene goes to the device once. */
export interface Paintable {
  readonly shapes: readonly Shape[];
  readonly textures: readonly Texture[];
}

export class Painter {
  readonly #device: GPUDevice;
  readonly #format: GPUTextureFormat;
  readonly #meshes: readonly Mesh[];
  readonly #frame: GPUBuffer;
  readonly #shadows: GPUTexture;
  readonly #layers: readonly GPUTextureView[];
  readonly #sampler: GPUSampler;
  readonly #casters: GPUBuffer;
  readonly #textures: PainterTextures;
  readonly #pipelines: ReturnType<typeof pipelinesOf>;
  readonly #values = new Float32Array(FRAME_FLOATS);
  #instances: GPUBuffer;
  #groups: { readonly frame: GPUBindGroup; readonly lit: GPUBindGroup; readonly caster: GPUBindGroup };
  #sized: Sized | undefined;
  readonly #placer: CrowdPlacer;
  readonly #shapes: number;
  /** Of the last picture, shadows aside. */
  triangles = 0;

  /** Makes buffers, textures and pipelines; errors are the device's own, in its error scopes. */
  constructor(
    device: GPUDevice,
    module: GPUShaderModule,
    { shapes, textures }: Paintable,
    { format, capacity, adapter }: PainterOptions,
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
    this.#meshes = [...shapes, ...coarse()].map((shape, i) => ({
      vertices: filled(`vertices.${i}`, shape.vertices, BufferUsage.VERTEX),
      indices: filled(`indices.${i}`, shape.indices, BufferUsage.INDEX),
      count: shape.indices.length,
      radius: radiusOf(shape),
    }));
    this.#frame = filled("frame", this.#values, BufferUsage.UNIFORM);
    const { pixels: side, looks } = SHADOWS[adapter];
    this.#shadows = device.createTexture({
      size: [side, side, MOST_SHADOWS],
      format: DEPTH,
      usage: TEXTURE.attachment | TEXTURE.binding,
    });
    this.#layers = Array.from({ length: MOST_SHADOWS }, (_, layer) =>
      this.#shadows.createView({ dimension: "2d", baseArrayLayer: layer, arrayLayerCount: 1 }),
    );
    const numbers = new Uint32Array((CASTER_BYTES / 4) * MOST_LIGHTS);
    for (let i = 0; i < MOST_LIGHTS; i++) numbers[(CASTER_BYTES / 4) * i] = i;
    this.#casters = filled("casters", numbers, BufferUsage.UNIFORM);
    this.#sampler = device.createSampler({ compare: "less", minFilter: "linear", magFilter: "linear" });
    this.#pipelines = pipelinesOf(device, module, format, looks);
    this.#textures = new PainterTextures(device, textures, this.#pipelines.layouts);
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
      { binding: 2, resource: this.#shadows.createView({ dimension: "2d-array" }) },
      { binding: 3, resource: this.#sampler },
    ];
    return {
      frame: this.#device.createBindGroup({ layout: layouts.frame, entries: common }),
      caster: this.#device.createBindGroup({
        layout: layouts.caster,
        entries: [{ binding: 0, resource: { buffer: this.#casters, size: 16 } }],
      }),
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
    { instances, draws, crowd, lighting }: Packed,
    view: View,
    reach: number,
  ): void {
    const { width, height } = into;
    const first = instances.length / INSTANCE_FLOATS;
    const wanted = first + (crowd ? crowd.parts.length * crowd.worlds.length : 0);
    const { samples, depth } = this.resize(width, height);
    const listed = this.#inDetail(draws, instances, view, height);
    const casters = crowd ? undefined : this.#spheres(listed, instances);
    const around = middleOf(casters, reach) ?? view.target;
    const { lights, low, high, haze, sky } = lighting;
    const { floats, casting, constants } = packLights(lights, casters, around, reach);
    const [ahead, right, up] = directionsOf(view, width / height);
    this.#values.set(projectionOf(view, width / height, 0.01 * reach, 100 * reach), 0);
    this.#values.set([...view.eye, 0, ...haze, CLARITY * reach, ...low, 0, ...high, 0], 16);
    this.#values.set([...ahead, 0, ...right, 0, ...up, 0], 32);
    this.#values.set(floats, HEAD_FLOATS);
    if (4 * INSTANCE_FLOATS * wanted > this.#instances.size) {
      this.#instances.destroy();
      this.#instances = this.#room(2 * wanted);
      this.#groups = this.#bound();
    }
    const { queue } = this.#device;
    queue.writeBuffer(this.#frame, 0, this.#values);
    if (instances.length > 0) queue.writeBuffer(this.#instances, 0, instances);

    const placed = crowd && this.#placer.encode(encoder, crowd, view, height, this.#instances, first, this.#shapes);
    const all: readonly Draw[] = placed ? [...placed, ...listed] : listed;
    this.triangles = all.reduce((sum, { shape, count }) => sum + (count * this.#meshes[shape].count) / 3, 0);
    const draw = (pass: GPURenderPassEncoder, { shape, first: from, count }: Draw) => {
      const mesh = this.#meshes[shape];
      pass.setVertexBuffer(0, mesh.vertices);
      pass.setIndexBuffer(mesh.indices, "uint32");
      pass.drawIndexed(mesh.count, count, 0, 0, from);
    };
    const cleared = (target: GPUTextureView, depthStoreOp: GPUStoreOp) =>
      ({ view: target, depthClearValue: 1, depthLoadOp: "clear", depthStoreOp }) as const;
    casting.forEach((light, layer) => {
      const shade = encoder.beginRenderPass({
        colorAttachments: [],
        depthStencilAttachment: cleared(this.#layers[layer], "store"),
      });
      shade.setPipeline(this.#pipelines.shadow());
      shade.setBindGroup(0, this.#groups.frame);
      shade.setBindGroup(1, this.#groups.caster, [CASTER_BYTES * light]);
      // nobody sees the faces of a shadow
      for (const each of all) if (each.casts) draw(shade, { ...each, shape: coarser(each.shape, this.#shapes) });
      shade.end();
    });

    const main = encoder.beginRenderPass({
      colorAttachments: [
        {
          view: samples.createView(),
          resolveTarget: into.createView(),
          loadOp: "clear",
          storeOp: "discard",
          clearValue: [...haze.map(Math.sqrt), 1],
        },
      ],
      depthStencilAttachment: cleared(depth.createView(), "discard"),
    });
    main.setBindGroup(0, this.#groups.lit);
    for (const clear of [false, true]) {
      for (const each of all) {
        if (each.clear !== clear) continue;
        const texture = each.surface - SURFACE.texture;
        const kind =
          texture >= 0 ? this.#textures.kind(texture) : each.surface === SURFACE.checker ? "checker" : "plain";
        main.setPipeline(this.#pipelines.of(kind, clear, constants));
        if (texture >= 0) main.setBindGroup(1, this.#textures.group(texture));
        draw(main, each);
      }
      // where nothing opaque is
      if (!clear && sky >= 0) {
        main.setPipeline(this.#pipelines.sky());
        main.setBindGroup(1, this.#textures.group(sky));
        main.draw(3);
      }
    }
    main.end();
  }

  /** The calls of a list, in less detail where what they draw is small. */
  #inDetail(draws: readonly Draw[], instances: Float32Array, view: View, height: number): Draw[] {
    const { eye } = view;
    const pixels = pixelsOf(view, height);
    return draws.flatMap((each) => {
      const runs: Draw[] = [];
      for (let first = each.first; first < each.first + each.count; first++) {
        const [ux, uy, uz] = [3, 7, 11].map((k, axis) => instances[INSTANCE_FLOATS * first + k] - eye[axis]);
        const half = Math.max(...instances.subarray(INSTANCE_FLOATS * first + 12, INSTANCE_FLOATS * first + 15));
        const seen = (half * pixels) / Math.max(Math.hypot(ux, uy, uz) - half, 1e-6);
        const detail = DETAIL_PIXELS.findIndex((least) => seen >= least);
        const shape = detailed(each.shape, detail < 0 ? DETAIL_PIXELS.length : detail, this.#shapes);
        const last = runs.at(-1);
        if (last?.shape === shape) runs[runs.length - 1] = { ...last, count: last.count + 1 };
        else runs.push({ ...each, shape, first, count: 1 });
      }
      return runs;
    });
  }

  /** Spheres around what casts shadows. */
  #spheres(draws: readonly Draw[], instances: Float32Array): Casters {
    return draws.flatMap(({ shape, first, count, casts }) => {
      if (!casts) return [];
      return Array.from({ length: count }, (_, i) => {
        const at = INSTANCE_FLOATS * (first + i);
        const [x, y, z, end] = instances.subarray(at + 12, at + 16);
        const radius = this.#meshes[shape].radius * Math.max(x, y, z) + end;
        return [instances[at + 3], instances[at + 7], instances[at + 11], radius] as const;
      });
    });
  }

  destroy(): void {
    this.#placer.destroy();
    for (const { vertices, indices } of this.#meshes) for (const buffer of [vertices, indices]) buffer.destroy();
    this.#textures.destroy();
    const { samples, depth } = this.#sized ?? {};
    for (const made of [this.#frame, this.#casters, this.#instances, this.#shadows, samples, depth]) made?.destroy();
  }
}

/** The middle of what casts shadows, if a map that reaches so far holds all of it. */
function middleOf(casters: Casters | undefined, reach: number): Point | undefined {
  if (casters === undefined || casters.length === 0) return undefined;
  const side = (k: number, sign: number) => sign * Math.max(...casters.map((of) => sign * of[k] + of[3]));
  const [low, high] = [-1, 1].map((sign) => [0, 1, 2].map((k) => side(k, sign)));
  if (low.some((x, k) => !(high[k] - x < 2 * reach))) return undefined;
  return [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, (low[2] + high[2]) / 2];
}
