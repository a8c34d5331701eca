// how a dense layer is shared out among workgroups
import { TILE } from "./networks.ts";

/** Lanes that hand loads to each other, if a device has such subgroups. */
export const LANES = 8;

/**
 * How the kernels of a device share loads: among the 8 lanes of a subgroup, or not; "vectors": not, and registers are few,
 * as those of WebAssembly.
 */
export type Sharing = "lanes" | "none" | "vectors";

/** Rows of a tile: fewer if loads are shared, so that 64 rows fill two workgroups, and if registers are few. */
export const tileRows = (sharing: Sharing): number => (sharing === "none" ? TILE : 4);

/** Workgroups for so many rows by `width` outputs or inputs. */
export function rowGroups(sharing: Sharing, rows: number, width: number): number | [number, number] {
  const tiles = Math.ceil(rows / tileRows(sharing));
  const columns = width / TILE;
  return sharing === "lanes" ? [Math.ceil(tiles / LANES), columns] : tiles * columns;
}

/** Weights [k, n] of a layer, and where its norm lies, if it has one. */
export interface Weights {
  readonly k: number;
  readonly n: number;
  readonly norm?: number;
}

/** Workgroups for the weights of layers side by side. */
export function weightGroups(sharing: Sharing, chunks: number, layers: readonly Weights[]): number | [number, number] {
  if (sharing !== "lanes") return chunks * Math.max(...layers.map(({ k, n }) => (k / TILE) * (n / TILE)));
  const groups = (width: number) => Math.ceil(width / 4 / LANES);
  // as the kernel turns them
  const sizes = layers.map(({ k, n }) => (groups(k) * n > groups(n) * k ? [n, k] : [k, n]));
  const most = (of: (size: readonly number[]) => number) => Math.max(...sizes.map(of));
  return [chunks * most(([own]) => groups(own)), most(([, other]) => other / TILE)];
}
