// how a rollout is cut into sequences for policies and values that remember. The state that each sequence began with is
// stored while acting, so history costs two states for each world and sequence, whatever the length of episodes.
import { cellSizes, placeCell, type CellPlaces, type CellSet } from "../device/cell-places.ts";
import { padTo, TILE, type Layer, type Networks } from "../networks/networks.ts";
import type { PpoConfig } from "./config.ts";

export interface CellsLayout extends CellSet {
  /** Sequences of a rollout, and those of a minibatch; the last may have fewer. */
  readonly sequences: number;
  readonly each: number;
  readonly policy: CellPlaces;
  readonly value: CellPlaces;
  readonly size4: number;
}

type Sizes = Pick<CellsLayout, "unroll" | "lanes" | "sequences" | "each">;

/** How a rollout of this many samples is cut. */
export function sequencesOf(samples: number, config: PpoConfig): Sizes {
  const unroll = Math.min(config.recurrentSteps, config.rolloutSteps);
  const sequences = samples / unroll;
  const each = Math.ceil(sequences / Math.min(config.minibatches, sequences));
  return { unroll, sequences, each, lanes: padTo(each, TILE) };
}

/** Lays out both cells behind what lies in `work` already. */
export function layOutCells(
  nets: Networks,
  sizes: Sizes,
  rows: number,
  outputs: ReadonlyMap<Layer, number>,
  start: number,
): CellsLayout {
  const both = nets.cells!;
  const own = { ...sizes, ...cellSizes(both) };
  let at = start;
  const take = (vec4s: number): number => (at += vec4s) - vec4s;
  const [policy, value] = [both.policy, both.value].map(({ ih }) => placeCell(own, rows, outputs.get(ih)!, take));
  const cells = [
    { hh: both.policy.hh, at: policy },
    { hh: both.value.hh, at: value },
  ];
  return { ...own, name: "cell", cells, policy, value, size4: at - start };
}
