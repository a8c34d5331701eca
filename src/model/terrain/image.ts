// a terrain from a picture: bright is high
import { optionsOf } from "../../core/options.ts";
import { loadModel } from "../model.ts";
import { readFile } from "../read-file.ts";
import { bad, MOST_POINTS, onlyOptions, UNIT, unitsOf, wanted, type Terrain } from "./terrain.ts";

export interface ImageTerrainOptions {
  /** Width of a pixel (m). Default 0.1. */
  readonly cell?: number;
  /** Height of the brightest pixel above the darkest (m). */
  readonly height: number;
}

const SIGNATURE = [137, 80, 78, 71, 13, 10, 26, 10];

/** Throws `bad-terrain` for a picture of more pixels than a terrain has, which a small file may say: MuJoCo has no memory for all. */
function assertPixels(bytes: Uint8Array, name: string): void {
  if (bytes.length < 24 || SIGNATURE.some((byte, i) => bytes[i] !== byte)) return;
  const header = new DataView(bytes.buffer, bytes.byteOffset + 16, 8);
  const [width, height] = [header.getUint32(0), header.getUint32(4)];
  if (width * height > MOST_POINTS)
    throw bad(`${name} has ${width} x ${height} pixels; a terrain has at most ${MOST_POINTS} points. Make it smaller`);
}

/**
 * The terrain that a PNG shows, its brightest pixel the highest: one patch, whose middle is the picture's. MuJoCo reads the
 * picture: 256 greys (of 16 bits the upper 8; of colours the red), stretched from the darkest to the brightest. Alpha is nothing.
 * @throws CorralError bad-terrain, of a picture that cannot be read with MuJoCo's own words, missing-file
 */
export async function terrainFromImage(png: URL | string | Uint8Array, options: ImageTerrainOptions): Promise<Terrain> {
  const { cell = 0.1, height } = optionsOf(options, "options of a terrain");
  onlyOptions("a terrain from a picture", options, ["cell", "height"]);
  wanted("cell", cell, 1e-3);
  wanted("height", height, 0);
  const bytes = png instanceof Uint8Array ? png : await readFile(png, "the picture");
  const name = png instanceof Uint8Array ? "the picture" : `the picture ${String(png)}`;
  assertPixels(bytes, name);
  const field = `<hfield name="h" file="h.png" size="1 1 1 1"/>`;
  const xml = `<mujoco><asset>${field}</asset><worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>`;
  const { surfaces } = await loadModel(xml, { assets: { "h.png": bytes } }).catch((cause: unknown) => {
    const said = /PNG file 'h\.png'(?:: (.*))?/.exec(String(cause))?.[1];
    const why = said ?? (bytes.length === 0 ? "it is empty" : "MuJoCo does not say why");
    throw bad(`${name} is no PNG that can be read: ${why}. Save it as a PNG`, { cause });
  });
  const [nrow, ncol] = [surfaces!.nrow[0], surfaces!.ncol[0]];
  if (nrow < 2 || ncol < 2) throw bad(`${name} has ${ncol} x ${nrow} pixels; a terrain has at least 2 x 2 points`);
  if (height > 0 && surfaces!.elevations.every((x) => x === surfaces!.elevations[0]))
    throw bad(
      `${name} has one grey, of the 256 that are read, and would be level: stretch its greys from black to white, or pass height: 0`,
    );
  const heights = Int32Array.from(surfaces!.elevations, (x) => unitsOf(x * height));
  return {
    as: "field",
    ncol,
    nrow,
    cell,
    heights,
    unit: UNIT,
    rows: 1,
    columns: 1,
    patch: Math.min(ncol - 1, nrow - 1) * cell,
  };
}
