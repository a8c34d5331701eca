// where a streamed head keeps its rows in the memory of the networks
import { HEAD_ROW } from "../tables/device-tables.ts";
import type { Networks } from "./networks.ts";

/** Where the head keeps its rows: vec4s in `work`. */
export interface HeadLayout {
  /** Its inputs, and vec4s of their rows. */
  readonly x: number;
  readonly k4: number;
  /** Logits of a block, derivatives by the inputs, and what is kept of each row. */
  readonly logits: number;
  readonly slopes: number;
  readonly kept: number;
  readonly size4: number;
}

/** Lays out the head behind what lies in `work` already. `x`: where its inputs lie. */
export function layOutHead(nets: Networks, rows: number, x: number, at: number): HeadLayout {
  const head = nets.head!;
  const k4 = head.blocks[0].k / 4;
  const logits = at;
  const slopes = logits + (rows * head.width) / 4;
  const kept = slopes + rows * k4;
  return { x, k4, logits, slopes, kept, size4: kept + (rows * HEAD_ROW.size) / 4 - at };
}
