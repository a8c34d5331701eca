// pictures as H.264 in MP4, by an encoder that is loaded if it is there: it carries a library under the MPL 1.1, which is
// why it is not among the dependencies (docs/decisions/0042)
import { CorralError } from "../core/errors.ts";
import type { Picture } from "./png.ts";

/** What is used of h264-mp4-encoder. */
interface Encoder {
  width: number;
  height: number;
  frameRate: number;
  quantizationParameter: number;
  speed: number;
  outputFilename: string;
  initialize(): void;
  addFrameRgba(rgba: Uint8Array): void;
  finalize(): void;
  delete(): void;
  readonly FS: { readFile(name: string): Uint8Array; unlink(name: string): void };
}

/** By a name that is not resolved before it is needed. */
const PACKAGE: string = "h264-mp4-encoder";
/** Quality (10 best, 51 worst), and speed of the search for motion (10 fastest). */
const QUANTIZATION = 28;
const SPEED = 10;

/** Takes pictures of one size, and has the bytes of a file. `close` it. */
export class Mp4 {
  readonly #encoder: Encoder;

  private constructor(encoder: Encoder) {
    this.#encoder = encoder;
  }

  /**
   * `seconds` between two pictures. H.264 stores blocks of two pixels.
   * @throws CorralError mp4-encoder-missing, odd-size
   */
  static async create(width: number, height: number, seconds: number): Promise<Mp4> {
    if (width % 2 !== 0 || height % 2 !== 0)
      throw new CorralError("odd-size", `an MP4 of ${width} x ${height}: both must be even. Pass another --size.`);
    let create: () => Promise<Encoder>;
    try {
      const module = (await import(PACKAGE)) as unknown as {
        readonly createH264MP4Encoder?: () => Promise<Encoder>;
        readonly default?: { readonly createH264MP4Encoder: () => Promise<Encoder> };
      };
      create = module.createH264MP4Encoder ?? module.default!.createH264MP4Encoder;
    } catch (cause) {
      throw new CorralError(
        "mp4-encoder-missing",
        `MP4 takes an encoder that corral does not bring along: npm install h264-mp4-encoder (MIT; its parts are public domain and MPL 1.1). GIF and HTML need none.`,
        {},
        { cause },
      );
    }
    const encoder = await create();
    const frameRate = Math.min(120, Math.max(1, Math.round(1 / Math.max(seconds, 1e-3))));
    Object.assign(encoder, { width, height, frameRate, quantizationParameter: QUANTIZATION, speed: SPEED });
    encoder.initialize();
    return new Mp4(encoder);
  }

  add({ rgba }: Picture): void {
    this.#encoder.addFrameRgba(rgba);
  }

  bytes(): Uint8Array {
    this.#encoder.finalize();
    return this.#encoder.FS.readFile(this.#encoder.outputFilename);
  }

  close(): void {
    this.#encoder.delete();
  }
}
