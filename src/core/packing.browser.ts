// digests and packed bytes in a page: its own SHA-256 is of secure pages alone, and answers later

/** The first 32 bits of the fractions of the `power`th roots of the first primes (FIPS 180-4, 4.2.2 and 5.3.3). */
function fractions(count: number, power: number): Uint32Array {
  const out = new Uint32Array(count);
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n++) if (primes.every((p) => n % p !== 0)) primes.push(n);
  primes.forEach((p, i) => (out[i] = (p ** (1 / power) % 1) * 2 ** 32));
  return out;
}

const START = fractions(8, 2);
const ROUNDS = fractions(64, 3);

const turned = (x: number, by: number): number => (x >>> by) | (x << (32 - by));

/** One block of 64 bytes (FIPS 180-4, 6.2.2); `w` is scratch. */
function mix(state: Uint32Array, view: DataView, at: number, w: Uint32Array): void {
  for (let t = 0; t < 16; t++) w[t] = view.getUint32(at + 4 * t);
  for (let t = 16; t < 64; t++) {
    const [x, y] = [w[t - 15], w[t - 2]];
    const low = turned(x, 7) ^ turned(x, 18) ^ (x >>> 3);
    const high = turned(y, 17) ^ turned(y, 19) ^ (y >>> 10);
    w[t] = w[t - 16] + low + w[t - 7] + high;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let t = 0; t < 64; t++) {
    const choice = (e & f) ^ (~e & g);
    const most = (a & b) ^ (a & c) ^ (b & c);
    const one = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + choice + ROUNDS[t] + w[t]) >>> 0;
    const two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + most;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) >>> 0, c, b, a, (one + two) >>> 0];
  }
  [a, b, c, d, e, f, g, h].forEach((x, i) => (state[i] += x));
}

/** SHA-256 of bytes and texts one after the other, in hex. */
export function sha256(...parts: readonly (Uint8Array | string)[]): string {
  const pieces = parts.map((part) => (typeof part === "string" ? new TextEncoder().encode(part) : part));
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const bytes = new Uint8Array(64 * Math.ceil((length + 9) / 64));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  bytes[length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setUint32(bytes.length - 8, Math.floor(length / 2 ** 29));
  view.setUint32(bytes.length - 4, length * 8);
  const [state, scratch] = [START.slice(), new Uint32Array(64)];
  for (let block = 0; block < bytes.length; block += 64) mix(state, view, block, scratch);
  return Array.from(state, (word) => word.toString(16).padStart(8, "0")).join("");
}

export async function gzip(bytes: Uint8Array): Promise<Uint8Array> {
  const packed = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}
