// which pairs of geoms come near: one geom against all others in line
import { array, breakIf, each, increase, loop, table, variable, when, type LocalArray } from "../../trace/control.ts";
import {
  add,
  band,
  bor,
  eq,
  firstTrailingBit,
  isNode,
  mul,
  ne,
  not,
  or,
  select,
  shl,
  shr,
  sub,
  toI32,
  toU32,
  type Bool,
  type Int,
} from "../../trace/scalar.ts";
import { mjtJoint } from "../../model/enums.ts";
import type { GeomPairs } from "../../model/pairs.ts";
import { near, type Bounds } from "./colliders/index.ts";
import type { GeomFrames } from "./geom-frames.ts";
import type { ModelView } from "../view.ts";
import { fixedIn } from "./fixed-boxes.ts";
import { besidePlane, bitsOfCluster, CLUSTER, type Clustered, type GridOrder } from "./geom-clusters.ts";
import { column } from "../../trace/vector.ts";
import type { WorldBox } from "./geom-boxes.ts";
import { gridsOf, WORD } from "./pair-grids.ts";
import { readRule, ruleOf } from "./pair-rule.ts";
import { overlap, worldBoxes } from "./world-boxes.ts";

/** Bits of a part of a word that is looked at together. */
const BYTE = 8;
/** Geoms that are tested against a box about all of them first. */
const GROUP = CLUSTER;
/** Words of a row beyond which code loops over them, where private memory is a CPU's. */
const MANY_WORDS = 8;
/** Floating bodies beyond which worlds differ in what is near. */
const MOST_LOOSE = 3;

/** What is asked of one geom and another by its column, or of a group of others before them. */
interface NearRow {
  readonly any?: (group: Int) => Bool;
  readonly isNear: (column: Int) => Bool;
  /** Of all in a box. */
  readonly reaches?: (box: WorldBox) => Bool;
  /** Of a group that is a cluster, by places in it. */
  readonly inCluster?: (group: Int) => ((place: Int) => Bool) | undefined;
}

/** A table of whole numbers, two a word if they fit: tables that are small are read faster. */
export function halves(name: string, values: Int32Array): (index: Int) => Int {
  let most = 0;
  for (let i = 0; i < values.length; i++) if (values[i] > most) most = values[i];
  if (most > 0xffff) return table(name, values, "i32");
  const words = new Int32Array(Math.ceil(values.length / 2));
  for (let i = 0; i < values.length; i++) words[i >> 1] |= (values[i] & 0xffff) << (16 * (i & 1));
  const read = table(name, words, "i32");
  return (index) => {
    const at = toU32(index);
    const word = toU32(read(toI32(shr(at, 1))));
    return toI32(band(shr(word, mul(band(at, 1), 16)), 0xffff));
  };
}

/** Pairs in their order, as a list. */
export interface PairList {
  readonly count: Int;
  at(i: Int): Int;
}

/** The pairs that `eachNearPair` visits. */
export function nearPairs(...[m, frames, pairs, isApart, clustered]: SearchOf): PairList {
  const found = foundNear(m, frames, pairs, isApart, clustered);
  const list = array("near_list", pairs.length, "i32", true);
  const count = variable("near_count", 0, "i32");
  const keep = (k: Int) => {
    list.set(count.get(), k);
    increase(count, 1);
  };
  if (areAlike(m)) eachTogether(found, "listed", keep);
  else eachOf(found, pairs.length, "boxes", (k) => when(not(isApart(k)), () => keep(k)));
  return { count: count.get(), at: (i) => list.get(i) };
}

type SearchOf = readonly [ModelView, GeomFrames, GeomPairs, (pair: Int) => Bool, Clustered];

/**
 * Runs `body` with the index of each pair whose bounding spheres, or a sphere and a plane, come within reach, in the
 * order of the pairs, unless `isApart` says otherwise. Where there is room, boxes along the world's axes stand for the
 * spheres. A runtime loop takes one geom after the other and tests all others in line: values at constant indices cost
 * a fiftieth of those at runtime indices. Reads geom_xpos, geom_xmat.
 */
export function eachNearPair(
  ...[m, frames, pairs, isApart, clustered, body]: [...SearchOf, body: (pair: Int) => void]
): void {
  const found = foundNear(m, frames, pairs, isApart, clustered);
  if (!areAlike(m)) eachOf(found, pairs.length, "boxes", (k) => when(isApart(k), () => clear(found, k)));
  eachOf(found, pairs.length, "near", body);
}

/** Whether pairs are tested in loops that all worlds share: those that are near in one are mostly near in others. */
const areAlike = ({ form, model }: ModelView): boolean =>
  form.hasRoom && model.jnt_type.filter((type) => type === mjtJoint.FREE).length <= MOST_LOOSE;

/** A bit for each pair whose bounds come within reach; where worlds are alike, of those that are not apart. */
function foundNear(...[m, frames, pairs, isApart, clustered]: SearchOf): LocalArray {
  // one bound for all: colliders tell exactly
  const look = pairs.kinds.reduce((most, p) => Math.max(most, p.margin + p.gap), -Infinity);
  const count = Math.ceil(pairs.length / WORD);
  const found = array("near", count, "u32", m.form.hasRoom);
  each(count, (w) => found.set(w, 0));

  const fixedOnes = fixedIn(m, pairs);
  const boxes = m.form.hasRoom || fixedOnes.length > 0 ? worldBoxes(m, frames, pairs, fixedOnes, clustered) : undefined;

  const order: GridOrder = {
    fixed: boxes?.fixed?.geoms ?? [],
    clusters: boxes?.clusters.all.map(({ geoms }) => geoms) ?? [],
    group: GROUP,
  };
  for (const { planes, grid } of gridsOf(m.model.ngeom, pairs, order)) {
    const { rows, columns, masks } = grid;
    const words = Math.ceil(columns.length / WORD);
    const bounds = (g: Int): Bounds => ({
      pos: frames.pos(g),
      mat: planes ? frames.mat(g) : [1, 0, 0, 0, 1, 0, 0, 0, 1],
      rbound: m.geom_rbound.at(g),
    });
    const isLong = m.form.hasRoom && words > MANY_WORDS;
    const line = boxes && !planes ? boxes.inLine(columns, GROUP, isLong) : undefined;
    const columnAt = table("near_column", padded(columns), "i32");
    /** The cluster of a group of columns. */
    const clusterAt = (k: Int) => (isNode(k) ? undefined : boxes?.clusters.of(columns[GROUP * k]));
    const nearBox = (box: WorldBox): NearRow => ({
      reaches: (other) => overlap(box, other),
      any: (k) => overlap(box, line!.around(k)),
      isNear: (c) => overlap(box, line!.of(c)),
      inCluster: (k) => {
        const cluster = clusterAt(k);
        return cluster === undefined ? undefined : boxes!.clusters.within(cluster, box);
      },
    });
    const hasClusters = boxes !== undefined && columns.some((g) => boxes.clusters.of(g) !== undefined);
    const nearRow = (first: Int): NearRow => {
      if (line) return nearBox(boxes!.of(first));
      const row = bounds(first);
      const sphere = planes ? { ...row, rbound: 0 } : row;
      const isNear = (c: Int) => near(sphere, bounds(columnAt(c)), look);
      if (!planes || !hasClusters) return { isNear };
      const plane = { pos: row.pos, normal: column(row.mat, 2) };
      return { isNear, ...besidePlane(boxes.clusters, clusterAt, plane, look) };
    };
    const geom = table("near_geom", rows, "i32");
    const mask = table("near_mask", masks, "i32");
    const rule = isLong ? ruleOf(grid, m.model.geom_bodyid) : undefined;
    const byRule = rule && readRule(rule, mask);
    const listed = rule ? undefined : halves("near_pair", grid.index());
    /** The pair of a row and a column; `cell` counts columns of all rows. */
    const pairAt = (r: Int, column: Int, cell: () => Int): Int => (byRule ? byRule(r, column) : listed!(cell()));
    const rowBits = areAlike(m) ? array("near_row", words, "u32", m.form.hasRoom) : undefined;

    // words of clusters alone are passed over by geoms that are near none of them, all words by fixed geoms that are near nothing
    const isOfCluster = (w: number) => clusterAt((WORD / GROUP) * w) !== undefined;
    const firstOf = Array.from({ length: words }, (_, w) => w).find(isOfCluster);
    const far = firstOf === undefined || isLong ? words : firstOf;
    const farBox = far < words ? line?.aboutGroups?.((WORD / GROUP) * far) : undefined;
    const whole = m.form.hasRoom ? line?.aboutGroups?.(0) : undefined;

    const visit = (r: Int, row: NearRow): void => {
      const test = (w: Int): void => {
        const at = add(mul(r, words), w);
        const known = mask(at);
        rowBits?.set(w, toU32(0));
        when(ne(known, 0), () => {
          const bits = nearBits(isLong ? words * WORD : columns.length, w, row, m.form.hasRoom ? known : undefined);
          if (rowBits) rowBits.set(w, band(bits, toU32(known)));
          else
            mark(found, band(bits, toU32(known)), (bit) =>
              pairAt(r, add(mul(w, WORD), bit), () => add(mul(at, WORD), bit)),
            );
        });
      };
      if (isLong) loop(words, test, { label: "broad_words" });
      else for (let w = 0; w < far; w++) test(w);
      const rest = Array.from({ length: words - far }, (_, i) => far + i);
      if (farBox && row.reaches)
        when(
          row.reaches(farBox),
          () => rest.forEach(test),
          () => rest.forEach((w) => rowBits?.set(w, toU32(0))),
        );
      else rest.forEach(test);
      if (!rowBits) return;
      eachTogether(rowBits, "boxes", (bit) => {
        const k = pairAt(r, bit, () => add(mul(mul(r, words), WORD), bit));
        when(not(isApart(k)), () => setBit(found, k));
      });
    };
    const fixed = planes ? undefined : boxes?.fixed;
    const still = fixed
      ? fixed.visit(
          rows,
          (box) => line!.anyGroup((group) => overlap(box, group)),
          (r, box) => {
            const all = () => visit(r, nearBox(box));
            if (whole) when(overlap(box, whole), all);
            else all();
          },
        )
      : 0;
    loop(rows.length, (r) => visit(r, nearRow(geom(r))), { start: still, label: "broad" });
  }

  return found;
}

/** Columns of whole words: the last geom stands where there is none, and is no pair there. */
const padded = (columns: readonly number[]): number[] =>
  Array.from({ length: WORD * Math.ceil(columns.length / WORD) }, (_, c) => columns[c] ?? columns.at(-1)!);

/**
 * Which geoms of a word of so many columns come near the one of a row: bits, the lowest for the first. `known`: those that make a
 * pair with it.
 */
function nearBits(columns: number, word: Int, { any, isNear, inCluster }: NearRow, known?: Int): Int {
  const first = mul(word, WORD);
  const count = isNode(first) ? WORD : Math.min(WORD, columns - first);
  const of = (from: number, to: number): Int => {
    let bits: Int = 0;
    for (let i = from; i < to; i++) bits = bor(bits, select(isNear(add(first, i)), (1 << i) >>> 0, 0, "u32"));
    return bits;
  };
  /** Whether there is a pair among some bits: all worlds share that. */
  const hasPair = (from: number, to: number) => ne(band(toU32(known!), ((2 ** (to - from) - 1) * 2 ** from) >>> 0), 0);
  if (!any || (columns <= GROUP && !inCluster?.(0))) return of(0, count);
  const found = variable("near_bits", 0, "u32");
  for (let from = 0; from < count; from += GROUP) {
    const group = add(mul(word, WORD / GROUP), from / GROUP);
    const test = () =>
      when(any(group), () => {
        const isNearAt = inCluster?.(group);
        if (!isNearAt) {
          const to = Math.min(from + GROUP, count);
          if (known === undefined) return found.set(bor(found.get(), of(from, to)));
          for (let at = from; at < to; at += BYTE) {
            const end = Math.min(at + BYTE, to);
            when(hasPair(at, end), () => found.set(bor(found.get(), of(at, end))));
          }
          return;
        }
        bitsOfCluster(found, isNearAt, from);
      });
    // all worlds skip a group without pairs
    if (known === undefined) test();
    else when(hasPair(from, from + GROUP), test);
  }
  return found.get();
}

/** Clears a bit that is set. */
export function clear(bits: LocalArray, k: Int): void {
  const at = toI32(shr(toU32(k), 5));
  bits.set(at, sub(bits.get(at), shl(1, band(toU32(k), WORD - 1))));
}

/** Runs `body` for each of the bits that is set, lowest first, in one loop: lanes need not be at the same word. */
export function eachOf(bits: LocalArray, count: number, label: string, body: (bit: Int) => void): void {
  const at = variable(`${label}_word`, 0, "i32");
  const rest = variable(`${label}_bits`, bits.get(0), "u32");
  loop(
    count,
    () => {
      if (bits.length > 1)
        loop(bits.length - 1, () => {
          const next = add(at.get(), 1);
          breakIf(or(ne(rest.get(), 0), eq(next, bits.length)));
          at.set(next);
          rest.set(bits.get(next));
        });
      const word = rest.get();
      breakIf(eq(word, 0));
      rest.set(band(word, sub(word, 1)));
      body(add(mul(at.get(), WORD), firstTrailingBit(word)));
    },
    { label },
  );
}

/**
 * The same in loops whose indices all worlds share: what the body reads at a bit lies side by side for them. For bodies that read
 * much and are short.
 */
function eachTogether(bits: LocalArray, label: string, body: (bit: Int) => void): void {
  const isSet = (word: Int, mask: number, at: Int) => ne(band(shr(word, toU32(at)), mask), 0);
  loop(
    bits.length,
    (w) => {
      const word = bits.get(w);
      const inBytes = (b: Int) =>
        when(isSet(word, 0xff, mul(b, BYTE)), () =>
          loop(BYTE, (i) => {
            const bit = add(mul(b, BYTE), i);
            when(isSet(word, 1, bit), () => body(add(mul(w, WORD), bit)));
          }),
        );
      when(ne(word, 0), () => loop(WORD / BYTE, inBytes));
    },
    { label },
  );
}

/** Sets the bits of the pairs that `pairOf` names for the bits of a word. */
function mark(found: LocalArray, bits: Int, pairOf: (bit: Int) => Int): void {
  const word = variable("near", bits, "u32");
  eachBit(word, (bit) => setBit(found, pairOf(bit)));
}

function setBit(bits: LocalArray, index: Int): void {
  const k = toU32(index);
  const at = toI32(shr(k, 5));
  bits.set(at, bor(bits.get(at), shl(1, band(k, WORD - 1))));
}

/** Runs `body` for each bit of a word, lowest first. */
function eachBit(word: ReturnType<typeof variable>, body: (bit: Int) => void): void {
  loop(WORD, () => {
    const bits = word.get();
    breakIf(eq(bits, 0));
    word.set(band(bits, sub(bits, 1)));
    body(firstTrailingBit(bits));
  });
}
