// pictures one after the other as an animated GIF: one table of colours, of the first picture, and what did not change left out
import { createRequire } from "node:module";
import type { Picture } from "./png.ts";

/** What is used of gifenc, which has no types of its own. */
interface Gifenc {
  readonly GIFEncoder: () => {
    writeFrame(index: Uint8Array, width: number, height: number, options: FrameOptions): void;
    finish(): void;
    bytes(): Uint8Array;
  };
  readonly quantize: (rgba: Uint8Array, colours: number, options?: { readonly format?: string }) => number[][];
  readonly nearestColorIndex: (palette: number[][], colour: readonly number[]) => number;
}

interface FrameOptions {
  readonly palette?: number[][];
  /** Milliseconds. */
  readonly delay: number;
  readonly transparent: boolean;
  readonly transparentIndex: number;
  readonly dispose: number;
}

// bundlers and Node do not agree on what its default export is
const { GIFEncoder, nearestColorIndex, quantize } = createRequire(import.meta.url)("gifenc") as Gifenc;

/** Colours of the table, one less than there may be: the last says that a pixel stays. */
const COLOURS = 255;
const STAYS = 255;

/** The entry of the table for each colour of five, six and five bits. */
function tableOf(palette: number[][]): Uint8Array {
  return Uint8Array.from({ length: 65_536 }, (_, colour) => {
    const [r, g, b] = [colour >> 11, (colour >> 5) & 63, colour & 31];
    return nearestColorIndex(palette, [(r * 255) / 31, (g * 255) / 63, (b * 255) / 31]);
  });
}

/** Takes pictures of one size, and has the bytes of a file. */
export class Gif {
  readonly #encoder = GIFEncoder();
  readonly #delay: number;
  #palette: number[][] | undefined;
  #table: Uint8Array = new Uint8Array(0);
  #last: Uint8Array | undefined;

  /** `seconds` between two pictures; a GIF counts hundredths. */
  constructor(seconds: number) {
    this.#delay = Math.max(20, Math.round(seconds * 100) * 10);
  }

  add({ width, height, rgba }: Picture): void {
    const first = this.#palette === undefined;
    if (first) {
      this.#palette = quantize(rgba, COLOURS, { format: "rgb565" });
      while (this.#palette.length <= STAYS) this.#palette.push([0, 0, 0]);
      this.#table = tableOf(this.#palette.slice(0, COLOURS));
    }
    const count = width * height;
    const now = new Uint8Array(count);
    const drawn = new Uint8Array(count);
    const table = this.#table;
    // no entry is what the first picture is compared with
    const last = this.#last ?? new Uint8Array(count).fill(STAYS);
    for (let i = 0, at = 0; i < count; i++, at += 4) {
      const entry = table[((rgba[at] & 0xf8) << 8) | ((rgba[at + 1] & 0xfc) << 3) | (rgba[at + 2] >> 3)];
      now[i] = entry;
      drawn[i] = entry === last[i] ? STAYS : entry;
    }
    this.#encoder.writeFrame(drawn, width, height, {
      ...(first ? { palette: this.#palette! } : {}),
      delay: this.#delay,
      transparent: true,
      transparentIndex: STAYS,
      dispose: 1,
    });
    this.#last = now;
  }

  bytes(): Uint8Array {
    this.#encoder.finish();
    return this.#encoder.bytes();
  }
}
