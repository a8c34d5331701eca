// what body and pair decide together of contacts' R, as lists of numbers over millions of pairs
import type { GeomPairs, PairNumbers } from "../../model/pairs.ts";
import { MINVAL } from "../../trace/vector.ts";

/** What of a kind of pairs goes into it. */
export interface WeighedKind {
  /** Factors of diagApprox one after the other: 1 + mu² and 2 mu² / impratio; undefined without edges of a pyramid. */
  readonly edges: readonly [number, number] | undefined;
  /** The least (1 - d) / d. */
  readonly softness: number;
}

/** Lists over pairs. */
export interface PairColumns {
  /** diagApprox of the first row. */
  readonly diag: Float64Array;
  /** The least R of the first row; undefined: mjMINVAL throughout. */
  readonly least: Float64Array | undefined;
}

/** `weights`: the inverse weight of each geom's body. Undefined where a number is beyond float64. */
export function pairColumns(
  { length, geom1, geom2, kind, kinds }: GeomPairs,
  weights: Float64Array,
  of: (kind: PairNumbers, place: number) => WeighedKind,
): PairColumns | undefined {
  const diag = new Float64Array(length);
  let least: Float64Array | undefined;
  const weighed = kinds.map(of);
  for (let k = 0; k < length; k++) {
    const { edges, softness } = weighed[kind[k]];
    const w = weights[geom1[k]] + weights[geom2[k]];
    const own = edges ? w * edges[0] * edges[1] : w;
    const R = softness * own;
    if (!Number.isFinite(R)) return undefined;
    diag[k] = own;
    if (edges && !(R >= MINVAL)) (least ??= new Float64Array(length).fill(MINVAL))[k] = MINVAL * edges[1];
  }
  return { diag, least };
}
