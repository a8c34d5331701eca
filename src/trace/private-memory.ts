// private arrays as one, for compilers that keep a small one in registers and reach it by a ladder of selects
import type { Trace } from "./graph.ts";
import type { Liveness } from "./liveness.ts";
import { TraceNode, type ArrayRef, type Block, type Operand, type TableRef } from "./nodes.ts";
import { isComputed } from "./operations.ts";
import { arrayName } from "./text.ts";

/** What indices known only at run time reach. */
export interface IndexedAtRunTime {
  /** Ids of private arrays. */
  readonly arrays: ReadonlySet<number>;
  /** Reads and writes of private arrays in the text, by id, at whatever index. */
  readonly accesses: ReadonlyMap<number, number>;
  /** Tables that neighbouring lanes may read at different indices. */
  readonly lanesApart: ReadonlySet<TableRef>;
}

/** Finds what live statements reach by indices that are known only at run time. */
export function indexedAtRunTime(trace: Trace, live: Liveness): IndexedAtRunTime {
  const arrays = new Set<number>();
  const accesses = new Map<number, number>();
  const tables = new Map<TableRef, Operand[]>();
  const starts = new Map<TraceNode, Operand>();
  const isRuntime = (index: Operand) => live.resolve(index) instanceof TraceNode;
  const reach = ({ id }: ArrayRef, index: Operand) => {
    accesses.set(id, (accesses.get(id) ?? 0) + 1);
    if (isRuntime(index)) arrays.add(id);
  };
  const walk = (block: Block): void => {
    for (const s of block.statements) {
      if (s.kind === "stage" || !live.isLive(s)) continue;
      if (s.kind === "put") reach(s.target, s.index);
      if (s.kind === "let") {
        const { op, source, args } = s.node;
        if (op === "at") reach(source as ArrayRef, args[0]);
        if (op !== "table") continue;
        const table = source as TableRef;
        tables.set(table, [...(tables.get(table) ?? []), args[0]]);
      }
      if (s.kind === "loop") starts.set(s.index, s.start);
      if (s.kind === "loop") walk(s.block);
      if (s.kind === "when") [s.then, s.otherwise].forEach(walk);
    }
  };
  walk(trace.root);

  // lanes that run a loop are at the same turn of it
  const known = new Map<TraceNode, boolean>();
  const isShared = (operand: Operand): boolean => {
    const node = live.resolve(operand);
    if (!(node instanceof TraceNode)) return true;
    let shared = known.get(node);
    if (shared === undefined) {
      const { op } = node;
      if (op === "index") shared = isShared(starts.get(node) ?? 0);
      else shared = (isComputed(op) || op === "param" || op === "table") && node.args.every(isShared);
      known.set(node, shared);
    }
    return shared;
  };
  const lanesApart = new Set([...tables].filter(([, indices]) => !indices.every(isShared)).map(([table]) => table));
  return { arrays, accesses, lanesApart };
}

/** Where the elements of private arrays are, as WGSL. */
export interface PrivateMemory {
  /** Arrays that stay apart. */
  readonly apart: readonly ArrayRef[];
  /** Elements of the one that holds the others; 0 if there are none. */
  readonly length: number;
  read(ref: ArrayRef, index: string): string;
  write(ref: ArrayRef, index: string, value: string): string;
}

/** The name of the array that holds others. */
export const MERGED = "private_memory";

type Kept = NonNullable<ArrayRef["kept"]>;

/** A buffer whose words of neighbouring worlds lie side by side, as an array of tiles: one of them is this world's. */
export interface Tiled {
  readonly buffer: string;
  /** Fours of a tile. */
  readonly fours: number;
  /** Lines that say where this world's are: once, since drivers that compile for CPUs divide lane by lane. */
  readonly declared: readonly string[];
  /** A four by its number in the whole buffer. */
  four(index: string): string;
}

export function tiledBuffer(arrays: readonly ArrayRef[]): Tiled | undefined {
  const kept = arrays.find((a) => a.kept?.byWorld)?.kept;
  if (!kept) return undefined;
  const { buffer, tile, stride } = kept;
  const fours = stride * tile;
  return {
    buffer: buffer.name,
    fours,
    declared: [
      `  let kept_tile = &${buffer.name}[world / ${tile}];`,
      `  let kept_start = (world / ${tile}) * ${fours};`,
      `  let kept_from = (world % ${tile}) / 4;`,
    ],
    four: (index) => `(*kept_tile)[(${index}) - kept_start]`,
  };
}

/** Neighbouring lanes that read one element read neighbouring words, which SwiftShader does at once. */
function byWorld({ tile, first }: Kept, index: string): string {
  const four = /^\d+$/.test(index)
    ? String((Number(index) + 4 * first) * (tile / 4))
    : first === 0
      ? `(${index}) * ${tile / 4}`
      : `(${index} + ${4 * first}) * ${tile / 4}`;
  return `(*kept_tile)[kept_from + ${four}][world & 3]`;
}

/** Places of live arrays: those of `merged`, by id, one behind the other in one array of words, the others apart. */
export function privateMemory(arrays: readonly ArrayRef[], merged: ReadonlySet<number>): PrivateMemory {
  const offsets = new Map<number, number>();
  let length = 0;
  for (const { id, length: elements, kept } of arrays) {
    if (kept || !merged.has(id)) continue;
    offsets.set(id, length);
    length += elements;
  }
  const place = (ref: ArrayRef, index: string) => {
    const { kept } = ref;
    if (kept?.byWorld) return byWorld(kept, index);
    if (kept) {
      const world = `(world / ${kept.tile}) * ${kept.stride * kept.tile} + world % ${kept.tile}`;
      return `${kept.buffer.name}[${world} + ((${index}) / 4 + ${kept.first}) * ${kept.tile}][(${index}) & 3]`;
    }
    const offset = offsets.get(ref.id);
    if (offset === undefined) return undefined;
    if (/^\d+$/.test(index)) return `${MERGED}[${Number(index) + offset}]`;
    return offset === 0 ? `${MERGED}[${index}]` : `${MERGED}[${index} + ${offset}]`;
  };
  return {
    apart: arrays.filter(({ id, kept }) => !kept && !offsets.has(id)),
    length,
    read(ref, index) {
      const word = place(ref, index);
      if (word === undefined) return `${arrayName(ref)}[${index}]`;
      if (ref.type === "bool") return `(${word} != 0u)`;
      return ref.type === "u32" ? word : `bitcast<${ref.type}>(${word})`;
    },
    write(ref, index, value) {
      const word = place(ref, index);
      if (word === undefined) return `${arrayName(ref)}[${index}] = ${value};`;
      const bits = {
        bool: `select(0u, 1u, ${value})`,
        u32: value,
        i32: `bitcast<u32>(${value})`,
        f32: `bitcast<u32>(${value})`,
      };
      return `${word} = ${bits[ref.type]};`;
    },
  };
}
