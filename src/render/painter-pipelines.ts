// the pipelines of pictures, each made when it is first needed
import { ShaderStage } from "../gpu/constants.ts";
import { VERTEX_FLOATS } from "./shapes.ts";

export const DEPTH = "depth32float";
export const SAMPLES = 4;
/** Bytes between the numbers of lights, whose maps are drawn one after the other. */
export const CASTER_BYTES = 256;

/** What shapes are drawn with. */
export type Kind = "plain" | "checker" | "image" | "cube";

export interface Pipelines {
  readonly layouts: Readonly<Record<"frame" | "lit" | "caster" | "image" | "cube", GPUBindGroupLayout>>;
  readonly shadow: () => GPURenderPipeline;
  readonly sky: () => GPURenderPipeline;
  readonly of: (kind: Kind, clear: boolean, constants: LightConstants) => GPURenderPipeline;
}

/** What pipelines know of the lights: how many, and a bit each for those that shine from a place, and for maps of shadows. */
export type LightConstants = Record<"lights" | "near" | "casting", number>;

/** `looks`: into the map of shadows for a pixel. */
export function pipelinesOf(
  device: GPUDevice,
  module: GPUShaderModule,
  format: GPUTextureFormat,
  looks: 2 | 4,
): Pipelines {
  const { VERTEX, FRAGMENT } = ShaderStage;
  const frame: GPUBindGroupLayoutEntry[] = [
    { binding: 0, visibility: VERTEX | FRAGMENT, buffer: {} },
    { binding: 1, visibility: VERTEX, buffer: { type: "read-only-storage" } },
  ];
  const lit: GPUBindGroupLayoutEntry[] = [
    ...frame,
    { binding: 2, visibility: FRAGMENT, texture: { sampleType: "depth", viewDimension: "2d-array" } },
    { binding: 3, visibility: FRAGMENT, sampler: { type: "comparison" } },
  ];
  const textured = (binding: number, viewDimension: "2d" | "cube"): GPUBindGroupLayoutEntry[] => [
    { binding: 1, visibility: FRAGMENT, sampler: {} },
    { binding, visibility: FRAGMENT, texture: { viewDimension } },
  ];
  const made = (entries: GPUBindGroupLayoutEntry[]) => device.createBindGroupLayout({ entries });
  const layouts = {
    frame: made(frame),
    lit: made(lit),
    caster: made([{ binding: 0, visibility: VERTEX, buffer: { hasDynamicOffset: true } }]),
    image: made(textured(2, "2d")),
    cube: made(textured(3, "cube")),
  };
  const attributes: GPUVertexAttribute[] = [
    { shaderLocation: 0, offset: 0, format: "float32x3" },
    { shaderLocation: 1, offset: 12, format: "float32x3" },
    { shaderLocation: 2, offset: 24, format: "float32" },
    { shaderLocation: 3, offset: 28, format: "float32x2" },
  ];
  const buffers = [{ arrayStride: 4 * VERTEX_FLOATS, attributes }];
  const layout = (...of: GPUBindGroupLayout[]) => device.createPipelineLayout({ bindGroupLayouts: of });
  const over = { srcFactor: "src-alpha", dstFactor: "one-minus-src-alpha" } as const;
  const kept = new Map<string, GPURenderPipeline>();
  const once = (key: string, make: () => GPURenderPipelineDescriptor): GPURenderPipeline => {
    const found = kept.get(key) ?? device.createRenderPipeline(make());
    kept.set(key, found);
    return found;
  };
  const multisample = { count: SAMPLES };
  return {
    layouts,
    of: (kind, clear, constants) =>
      once([kind, clear, ...Object.values(constants)].join(" "), () => ({
        layout: kind === "image" || kind === "cube" ? layout(layouts.lit, layouts[kind]) : layout(layouts.lit),
        vertex: { module, entryPoint: `vertex_${kind}`, buffers, constants },
        fragment: {
          module,
          entryPoint: kind === "image" || kind === "cube" ? `with_${kind}` : kind,
          constants: { ...constants, looks },
          targets: [{ format, ...(clear ? { blend: { color: over, alpha: over } } : {}) }],
        },
        primitive: { cullMode: "back" },
        depthStencil: { format: DEPTH, depthWriteEnabled: !clear, depthCompare: "less" },
        multisample,
      })),
    sky: () =>
      once("sky", () => ({
        layout: layout(layouts.lit, layouts.cube),
        vertex: { module, entryPoint: "vertex_sky" },
        fragment: { module, entryPoint: "with_sky", targets: [{ format }] },
        depthStencil: { format: DEPTH, depthWriteEnabled: false, depthCompare: "less-equal" },
        multisample,
      })),
    shadow: () =>
      once("shadow", () => ({
        layout: layout(layouts.frame, layouts.caster),
        vertex: { module, entryPoint: "vertex_shadow", buffers },
        primitive: { cullMode: "back" },
        depthStencil: { format: DEPTH, depthWriteEnabled: true, depthCompare: "less" },
      })),
  };
}
