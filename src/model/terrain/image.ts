// a terrain from a picture: bright is high
import { optionsOf } from "../../core/options.ts";
import { loadModel } from "../model.ts";
import { readImage } from "./read-image.ts";
import { UNIT, wanted, type Terrain } from "./terrain.ts";

export interface ImageTerrainOptions {
  /** Width of a pixel (m). Default 0.1. */
  readonly cell?: number;
  /** Height of white above black (m). */
  readonly height: number;
}

/**
 * The terrain that a PNG shows, white the highest: one patch, whose middle is the picture's. MuJoCo reads the picture, and
 * stretches its greys from black to white.
 * @throws CorralError bad-terrain, missing-file, model-compile with MuJoCo's own text of a picture that it cannot read
 */
export async function terrainFromImage(png: URL | string | Uint8Array, options: ImageTerrainOptions): Promise<Terrain> {
  const { cell = 0.1, height } = optionsOf(options, "options of a terrain");
  wanted("cell", cell, 1e-3);
  wanted("height", height, 0);
  const bytes = png instanceof Uint8Array ? png : await readImage(png);
  const field = `<hfield name="h" file="h.png" size="1 1 1 1"/>`;
  const xml = `<mujoco><asset>${field}</asset><worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>`;
  const { surfaces } = await loadModel(xml, { assets: { "h.png": bytes } });
  const [nrow, ncol] = [surfaces!.nrow[0], surfaces!.ncol[0]];
  const heights = Int32Array.from(surfaces!.elevations, (x) => Math.round((x * height) / UNIT));
  return { ncol, nrow, cell, heights, unit: UNIT, rows: 1, columns: 1, patch: Math.min(ncol - 1, nrow - 1) * cell };
}
