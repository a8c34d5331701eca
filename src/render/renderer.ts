// pictures of a scene without a screen: the painter on a device of Node, and what it drew read back
import { shaderText } from "../core/shader-text.ts";
import { BufferUsage } from "../gpu/constants.ts";
import type { GpuDevice } from "../gpu/device.ts";
import { Readback } from "../gpu/readback.ts";
import { inScopes } from "../gpu/scopes.ts";
import { compileShader } from "../gpu/shader.ts";
import type { View } from "./camera.ts";
import type { DrawList } from "./draw-list.ts";
import { Painter, type Paintable } from "./painter.ts";
import { TEXTURE } from "./painter-textures.ts";
import type { Picture } from "./png.ts";

export interface RendererOptions {
  readonly width: number;
  readonly height: number;
  /** Instances of a picture there is room for. */
  readonly capacity: number;
}

const FORMAT = "rgba8unorm";
/** Rows of a texture are copied to multiples of this. */
const ROW_BYTES = 256;

/** The shader of pictures. */
export const sceneShader = (): string => shaderText("render/scene.wgsl");

interface Made {
  readonly painter: Painter;
  readonly picture: GPUTexture;
  readonly pixels: GPUBuffer;
  destroy(): void;
}

export class Renderer {
  readonly width: number;
  readonly height: number;
  readonly #gpu: GpuDevice;
  readonly #made: Made;
  readonly #readback: Readback;
  /** One for each picture that may be under way. */
  readonly #bytes: readonly Uint8Array<ArrayBuffer>[];
  #turn = 0;

  private constructor(gpu: GpuDevice, { width, height }: RendererOptions, made: Made, readback: Readback) {
    this.width = width;
    this.height = height;
    this.#gpu = gpu;
    this.#made = made;
    this.#readback = readback;
    this.#bytes = [0, 1].map(() => new Uint8Array(made.pixels.size));
  }

  /**
   * Makes everything that pictures of a scene take.
   * @throws GpuCreationError, ShaderError; nothing is left behind
   */
  static async create(gpu: GpuDevice, scene: Paintable, options: RendererOptions): Promise<Renderer> {
    const { width, height, capacity } = options;
    const { device } = gpu;
    const module = await compileShader(gpu, "render", sceneShader());
    const bytes = (Math.ceil((4 * width) / ROW_BYTES) * ROW_BYTES * height) | 0;
    const made = await inScopes(gpu, { what: "what pictures are drawn with", bytes }, () => {
      const painter = new Painter(device, module, scene, { format: FORMAT, capacity, adapter: gpu.info.kind });
      painter.resize(width, height);
      const usage = TEXTURE.attachment | TEXTURE.copySrc;
      const picture = device.createTexture({ size: [width, height], format: FORMAT, usage });
      const pixels = device.createBuffer({
        label: "render.pixels",
        size: bytes,
        usage: BufferUsage.COPY_SRC | BufferUsage.COPY_DST,
      });
      const destroy = () => {
        for (const each of [painter, picture, pixels]) each.destroy();
      };
      return { painter, picture, pixels, destroy };
    });
    try {
      const readback = await Readback.create(gpu, { slots: 2, slotBytes: bytes, label: "render.readback" });
      return new Renderer(gpu, options, made, readback);
    } catch (error) {
      made.destroy();
      throw error;
    }
  }

  /**
   * One picture of a list; shadows reach `reach` (m). A second may be asked for while the first is drawn, no third.
   * Throws `DeviceLostError`.
   */
  async draw(list: DrawList, view: View, reach: number): Promise<Picture> {
    const { width, height } = this;
    const { painter, picture, pixels } = this.#made;
    const { device } = this.#gpu;
    const encoder = device.createCommandEncoder();
    painter.encode(encoder, picture, list.pack(), view, reach);
    const bytes = this.#bytes[this.#turn++ % 2];
    const rowBytes = bytes.length / height;
    encoder.copyTextureToBuffer({ texture: picture }, { buffer: pixels, bytesPerRow: rowBytes }, [width, height]);
    device.queue.submit([encoder.finish()]);
    await this.#readback.read(pixels, 0, bytes.length, bytes);
    const rgba = new Uint8Array(4 * width * height);
    for (let y = 0; y < height; y++) rgba.set(bytes.subarray(y * rowBytes, y * rowBytes + 4 * width), 4 * width * y);
    return { width, height, rgba };
  }

  /** Of the last picture, shadows aside. */
  get triangles(): number {
    return this.#made.painter.triangles;
  }

  close(): void {
    this.#readback.close();
    this.#made.destroy();
  }
}
