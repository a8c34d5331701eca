// pictures as PNG (ISO/IEC 15948): eight bits of red, green and blue
import { crc32, deflateSync } from "node:zlib";

/** A picture: rows from the top, RGBA, eight bits each. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly rgba: Uint8Array<ArrayBuffer>;
}

const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
/** The filter that stores differences to the pixel on the left. */
const SUB = 1;
const CHANNELS = 3;

/** The bytes of a file. */
export function png({ width, height, rgba }: Picture): Buffer {
  const stride = 1 + CHANNELS * width;
  const rows = new Uint8Array(height * stride);
  for (let y = 0; y < height; y++) {
    rows[y * stride] = SUB;
    for (let x = 0; x < width; x++) {
      for (let c = 0; c < CHANNELS; c++) {
        const at = 4 * (y * width + x) + c;
        rows[y * stride + 1 + CHANNELS * x + c] = rgba[at] - (x > 0 ? rgba[at - 4] : 0);
      }
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), out.length - 4);
  return out;
}
