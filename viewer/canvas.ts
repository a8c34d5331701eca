// the picture of a page: the renderer of corral render, on the canvas
import type { View } from "../src/render/camera.ts";
import type { DrawList } from "../src/render/draw-list.ts";
import { Painter, type Paintable } from "../src/render/painter.ts";

/** Of the last picture in the mean. */
const SHARE = 0.1;

export class Canvas {
  readonly element: HTMLCanvasElement;
  readonly #device: GPUDevice;
  readonly #context: GPUCanvasContext;
  readonly #painter: Painter;
  #pace: number | undefined;

  private constructor(element: HTMLCanvasElement, device: GPUDevice, context: GPUCanvasContext, painter: Painter) {
    this.element = element;
    this.#device = device;
    this.#context = context;
    this.#painter = painter;
  }

  /** Throws an Error whose text says why nothing can be drawn. */
  static async open(
    element: HTMLCanvasElement,
    shader: string,
    scene: Paintable,
    onLost: (why: string) => void,
  ): Promise<Canvas> {
    if (!navigator.gpu)
      throw new Error(
        "This browser has no WebGPU, which the viewer draws with. Chrome and Edge 113, Firefox 141 and Safari 26 have it; corral render makes pictures without a browser.",
      );
    const adapter = await navigator.gpu.requestAdapter();
    if (!adapter)
      throw new Error(
        "This browser has WebGPU but no adapter for it: graphics acceleration is off, or the GPU is blocked. corral render makes pictures without a browser.",
      );
    const device = await adapter.requestDevice();
    void device.lost.then(({ message }) => onLost(message));
    const format = navigator.gpu.getPreferredCanvasFormat();
    const context = element.getContext("webgpu")!;
    context.configure({ device, format });
    const module = device.createShaderModule({ code: shader });
    const kind = adapter.info?.isFallbackAdapter ? "software" : "gpu";
    const painter = new Painter(device, module, scene, { format, capacity: 256, adapter: kind });
    return new Canvas(element, device, context, painter);
  }

  /** Milliseconds that a picture takes until the GPU has drawn it, a mean of the last ones. */
  get pace(): number | undefined {
    return this.#pace;
  }

  draw(list: DrawList, view: View, reach: number): void {
    const { element } = this;
    const begun = performance.now();
    const scale = Math.min(2, devicePixelRatio);
    const [width, height] = [element.clientWidth, element.clientHeight].map((n) => Math.max(1, Math.round(n * scale)));
    if (element.width !== width || element.height !== height) Object.assign(element, { width, height });
    const encoder = this.#device.createCommandEncoder();
    this.#painter.encode(encoder, this.#context.getCurrentTexture(), list.pack(), view, reach);
    this.#device.queue.submit([encoder.finish()]);
    void this.#device.queue.onSubmittedWorkDone().then(() => {
      const took = performance.now() - begun;
      this.#pace = this.#pace === undefined ? took : this.#pace + SHARE * (took - this.#pace);
    });
  }
}
