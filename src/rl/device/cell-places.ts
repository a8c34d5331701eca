// where recurrent cells keep their rows, and of how many jobs they are: what arenas are planned by
import { CELLS, type CellKind, type Layer, type Networks } from "../networks/networks.ts";

/** Where one network's cell keeps its rows: vec4s in `work`. */
export interface CellPlaces {
  readonly below: number;
  readonly gates: number;
  readonly before: number;
  readonly state: number;
  readonly carry: number;
  readonly memory: number;
  readonly memory_carry: number;
}

/** Cells of one kind that run side by side. */
export interface CellSet {
  /** What their jobs are called. */
  readonly name: string;
  readonly kind: CellKind;
  /** vec4s of what a cell puts out, and of a whole state. */
  readonly s4: number;
  readonly state4: number;
  /** Steps of a sequence, and sequences that there is room for. */
  readonly unroll: number;
  readonly lanes: number;
  readonly cells: readonly { readonly hh: Layer; readonly at: CellPlaces }[];
}

/** Sizes of the cells of networks. */
export const cellSizes = ({ kind, size }: Pick<NonNullable<Networks["cells"]>, "kind" | "size">) => ({
  kind,
  s4: size / 4,
  state4: (CELLS[kind].parts * size) / 4,
});

/** The places of a cell, whose gates get from below what lies there: `take` hands out vec4s. */
export function placeCell(
  { kind, s4, lanes }: Pick<CellSet, "kind" | "s4" | "lanes">,
  rows: number,
  below: number,
  take: (vec4s: number) => number,
): CellPlaces {
  const { gates, parts } = CELLS[kind];
  return {
    below,
    gates: take(rows * gates * s4),
    before: take(rows * s4),
    state: take(rows * s4),
    carry: take(lanes * s4),
    memory: take((parts - 1) * rows * s4),
    memory_carry: take((parts - 1) * lanes * s4),
  };
}

/** Jobs of cells, at most. */
export const cellJobs = ({ unroll }: Pick<CellSet, "unroll">): number => 4 * unroll + 4;
