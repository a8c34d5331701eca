// the textures of a scene on a device, each made when it is first drawn
import type { Pipelines } from "./painter-pipelines.ts";
import { facesOf, levelsOf, type Texture } from "./textures.ts";

/** GPUTextureUsage. */
export const TEXTURE = { copySrc: 1, copyDst: 2, binding: 4, attachment: 16 } as const;

export class PainterTextures {
  readonly #device: GPUDevice;
  readonly #textures: readonly Texture[];
  readonly #layouts: Pipelines["layouts"];
  readonly #sampler: GPUSampler;
  readonly #made = new Map<number, { readonly texture: GPUTexture; readonly group: GPUBindGroup }>();

  constructor(device: GPUDevice, textures: readonly Texture[], layouts: Pipelines["layouts"]) {
    this.#device = device;
    this.#textures = textures;
    this.#layouts = layouts;
    const [linear, repeat] = ["linear", "repeat"] as const;
    const filters = { minFilter: linear, magFilter: linear, mipmapFilter: linear };
    this.#sampler = device.createSampler({ ...filters, addressModeU: repeat, addressModeV: repeat });
  }

  kind(index: number): Texture["kind"] {
    return this.#textures[index].kind;
  }

  group(index: number): GPUBindGroup {
    let made = this.#made.get(index);
    if (made === undefined) this.#made.set(index, (made = this.#make(this.#textures[index])));
    return made.group;
  }

  #make(of: Texture) {
    const levels = levelsOf(of);
    const layers = facesOf(of);
    const texture = this.#device.createTexture({
      label: "render.texture",
      size: [of.width, of.height, layers],
      format: "rgba8unorm",
      mipLevelCount: levels.length,
      usage: TEXTURE.binding | TEXTURE.copyDst,
    });
    levels.forEach(({ width, height, texels }, mipLevel) => {
      const rows = { bytesPerRow: 4 * width, rowsPerImage: height };
      this.#device.queue.writeTexture({ texture, mipLevel }, texels, rows, [width, height, layers]);
    });
    const [layout, binding, dimension] =
      of.kind === "image" ? ([this.#layouts.image, 2, "2d"] as const) : ([this.#layouts.cube, 3, "cube"] as const);
    const group = this.#device.createBindGroup({
      layout,
      entries: [
        { binding: 1, resource: this.#sampler },
        { binding, resource: texture.createView({ dimension }) },
      ],
    });
    return { texture, group };
  }

  destroy(): void {
    for (const { texture } of this.#made.values()) texture.destroy();
  }
}
