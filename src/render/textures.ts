// textures of a model: what is kept of their texels, and their smaller and smaller copies
/** A picture, or the six faces of a cube behind each other (+x, -x, +y, -y, +z, -z): a word a texel, red lowest. */
export interface Texture {
  readonly kind: "image" | "cube";
  readonly width: number;
  readonly height: number;
  readonly texels: Uint32Array<ArrayBuffer>;
}

/** Texels of a side that are kept: larger ones are halved until they fit. */
const MOST = { image: 1024, cube: 512 } as const;

/** Reads texels of 1 to 4 channels; one face alone stands for all six. */
export function textureOf(
  kind: Texture["kind"],
  width: number,
  height: number,
  channels: number,
  data: Uint8Array,
): Texture {
  const isWhole = kind === "image" || height === 6 * width;
  const one = data.length / channels;
  const words = new Uint32Array(one);
  for (let i = 0; i < one; i++) {
    const at = channels * i;
    const [r, g, b] = channels < 3 ? [data[at], data[at], data[at]] : [data[at], data[at + 1], data[at + 2]];
    const a = channels % 2 === 0 ? data[at + channels - 1] : 255;
    words[i] = (r | (g << 8) | (b << 16) | (a << 24)) >>> 0;
  }
  let texels = words;
  if (!isWhole) {
    texels = new Uint32Array(6 * one);
    for (let face = 0; face < 6; face++) texels.set(words, face * one);
  }
  let texture: Texture = { kind, width, height: kind === "image" ? height : width, texels };
  while (Math.max(texture.width, texture.height) > MOST[kind]) texture = halved(texture);
  return texture;
}

export const facesOf = ({ kind }: Pick<Texture, "kind">): number => (kind === "image" ? 1 : 6);

/** A texture of half the size: means of two by two texels. */
function halved({ kind, width, height, texels }: Texture): Texture {
  const [w, h] = [Math.max(1, width >> 1), Math.max(1, height >> 1)];
  const [across, down] = [width > 1 ? 1 : 0, height > 1 ? 1 : 0];
  const faces = facesOf({ kind });
  const from = new Uint8Array(texels.buffer, texels.byteOffset, texels.byteLength);
  const out = new Uint8Array(4 * w * h * faces);
  for (let face = 0; face < faces; face++) {
    for (let y = 0; y < h; y++) {
      for (let x = 0; x < w; x++) {
        const at = 4 * (face * width * height + (y << down) * width + (x << across));
        const to = 4 * (face * w * h + y * w + x);
        for (let c = 0; c < 4; c++) {
          const right = at + c + 4 * across;
          const sum = from[at + c] + from[right] + from[at + c + 4 * down * width] + from[right + 4 * down * width];
          out[to + c] = (sum + 2) >> 2;
        }
      }
    }
  }
  return { kind, width: w, height: h, texels: new Uint32Array(out.buffer) };
}

/** A texture and its copies, each half as large, down to one texel. */
export function levelsOf(texture: Texture): readonly Texture[] {
  const levels = [texture];
  for (let last = texture; last.width > 1 || last.height > 1; levels.push(last)) last = halved(last);
  return levels;
}

/** What a skybox shows at the horizon, linear: the mean of the middle rows of its four sides. */
export function horizonOf({ width, texels }: Texture): readonly [number, number, number] {
  const sum = [0, 0, 0];
  const sides = [0, 1, 4, 5];
  for (const face of sides) {
    for (let x = 0; x < width; x++) {
      const word = texels[face * width * width + (width >> 1) * width + x];
      for (let c = 0; c < 3; c++) sum[c] += (((word >> (8 * c)) & 255) / 255) ** 2 / (sides.length * width);
    }
  }
  return [sum[0], sum[1], sum[2]];
}
