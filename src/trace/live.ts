// what of a trace has an effect, and how often each value is used: shared by every back end
import { Block, Node, type Operand, type Source, type Statement, type Trace, type VarRef } from "./graph.ts";
import { overwritten } from "./overwritten.ts";

interface Place {
  statement: Statement;
  block: Block;
  order: number;
  /** The `when` or `loop` statement that holds this block, if any. */
  parent: Place | undefined;
}

/** The part of a trace that matters, with single-assignment variables replaced by their values. */
export interface Live {
  isLive(statement: Statement): boolean;
  /** Follows loads of variables that were assigned once, a node, to that node. */
  resolve(a: Operand): Operand;
  uses(node: Node): number;
  /** The block of the only statement or expression that uses a node, if there is just one. */
  userBlock(node: Node): Block | undefined;
  /** Buffers, tables and parameters that live statements touch. */
  sources: ReadonlySet<Source>;
  liveVars: ReadonlySet<VarRef>;
  liveArrays: ReadonlySet<number>;
}

function walk(block: Block, parent: Place | undefined, visit: (p: Place) => void, counter = { n: 0 }) {
  for (const statement of block.statements) {
    const place = { statement, block, order: counter.n++, parent };
    visit(place);
    if (statement.kind === "when") {
      walk(statement.then, place, visit, counter);
      walk(statement.otherwise, place, visit, counter);
    } else if (statement.kind === "loop") {
      walk(statement.block, place, visit, counter);
    }
  }
}

function isWithin(inner: Block, outer: Block): boolean {
  for (let b: Block | undefined = inner; b; b = b.parent) if (b === outer) return true;
  return false;
}

/** The operands a statement reads, without those of nested blocks. */
export function operandsOf(s: Statement): readonly Operand[] {
  switch (s.kind) {
    case "let":
      return s.node.args;
    case "set":
      return [s.value];
    case "put":
      return [s.index, s.value];
    case "store":
      return [s.index, ...s.values];
    case "when":
    case "break":
      return [s.cond];
    case "loop":
      return [s.start, s.bound];
    case "stage":
      return [];
  }
}

/** What a trace holds, in program order. */
interface Survey {
  /** By node id. */
  readonly lets: readonly (Place | undefined)[];
  readonly sets: ReadonlyMap<VarRef, readonly Place[]>;
  readonly puts: ReadonlyMap<number, readonly Place[]>;
  readonly loads: ReadonlyMap<VarRef, readonly Place[]>;
  /** By loop. */
  readonly breaks: ReadonlyMap<Place, readonly Place[]>;
  readonly stores: readonly Place[];
}

function survey(trace: Trace): Survey {
  const lets = Array.from<Place | undefined>({ length: trace.nodes });
  const sets = new Map<VarRef, Place[]>();
  const puts = new Map<number, Place[]>();
  const loads = new Map<VarRef, Place[]>();
  const breaks = new Map<Place, Place[]>();
  const stores: Place[] = [];
  const append = <K>(map: Map<K, Place[]>, key: K, place: Place) => {
    const list = map.get(key);
    if (list) list.push(place);
    else map.set(key, [place]);
  };

  walk(trace.root, undefined, (place) => {
    const s = place.statement;
    if (s.kind === "let") {
      lets[s.node.id] = place;
      if (s.node.op === "load") append(loads, s.node.source as VarRef, place);
    } else if (s.kind === "set") append(sets, s.target, place);
    else if (s.kind === "put") append(puts, s.target.id, place);
    else if (s.kind === "store") stores.push(place);
    else if (s.kind === "break") {
      let up = place.parent;
      while (up && up.statement.kind !== "loop") up = up.parent;
      if (up) append(breaks, up, place);
    }
  });
  return { lets, sets, puts, loads, breaks, stores };
}

/** What matters of a trace. Without an assignment that is overwritten, less is read, and more are overwritten. */
export function analyse(trace: Trace): Live {
  const surveyed = survey(trace);
  for (let dead: ReadonlySet<Statement> = new Set(); ;) {
    const live = analyseWithout(dead, surveyed);
    const next = overwritten(trace.root, live);
    if (next.size === dead.size) return live;
    dead = next;
  }
}

function analyseWithout(dead: ReadonlySet<Statement>, { lets, sets, puts, loads, breaks, stores }: Survey): Live {
  const writesOf = (ref: VarRef) => (sets.get(ref) ?? []).filter(({ statement }) => !dead.has(statement));

  // a variable assigned once, before and around all its reads, is its value
  const values = new Map<VarRef, Operand>();
  for (const [ref, reads] of loads) {
    const writes = writesOf(ref);
    if (writes.length !== 1) continue;
    const [write] = writes;
    // a constant would make constant expressions, which compilers evaluate and refuse (1 / 0)
    if (!((write.statement as { value: Operand }).value instanceof Node)) continue;
    const dominated = reads.every((r) => r.order > write.order && isWithin(r.block, write.block));
    if (dominated) values.set(ref, (write.statement as { value: Operand }).value);
  }
  const resolve = (a: Operand): Operand => {
    let at = a;
    while (at instanceof Node && at.op === "load") {
      const value = values.get(at.source as VarRef);
      if (value === undefined) break;
      at = value;
    }
    return at;
  };

  const live = new Set<Statement>();
  // by node id: how often each is used, and where first
  const counts = new Uint32Array(lets.length);
  const users = Array.from<Block | undefined>({ length: lets.length });
  const sources = new Set<Source>();
  const liveVars = new Set<VarRef>();
  const liveArrays = new Set<number>();
  const work: Place[] = [];
  const mark = (place: Place | undefined) => {
    if (place && !live.has(place.statement)) {
      live.add(place.statement);
      work.push(place);
    }
  };
  const use = (a: Operand, block: Block) => {
    const node = resolve(a);
    if (!(node instanceof Node)) return;
    if (counts[node.id]++ > 0) return;
    users[node.id] = block;
    mark(lets[node.id]);
  };

  stores.forEach(mark);
  for (let place = work.pop(); place; place = work.pop()) {
    const s = place.statement;
    mark(place.parent);
    for (const a of operandsOf(s)) use(a, place.block);
    if (s.kind === "store") sources.add(s.target);
    if (s.kind === "let" && s.node.source) sources.add(s.node.source);
    if (s.kind === "loop") breaks.get(place)?.forEach(mark);
    if (s.kind === "let" && s.node.op === "load") {
      const ref = s.node.source as VarRef;
      if (!liveVars.has(ref)) writesOf(ref).forEach(mark);
      liveVars.add(ref);
    }
    if (s.kind === "let" && s.node.op === "at") {
      const { id } = s.node.source as { id: number };
      if (!liveArrays.has(id)) puts.get(id)?.forEach(mark);
      liveArrays.add(id);
    }
  }

  return {
    isLive: (s) => live.has(s),
    resolve,
    uses: (n) => counts[n.id],
    userBlock: (n) => (counts[n.id] === 1 ? users[n.id] : undefined),
    sources,
    liveVars,
    liveArrays,
  };
}
