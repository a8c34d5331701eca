// what of a trace has an effect, and how often each value is used: shared by every back end
import type { Trace } from "./graph.ts";
import { Block, TraceNode, type ArrayRef, type Operand, type Source, type Statement, type VarRef } from "./nodes.ts";
import { overwritten, sketch } from "./overwritten.ts";

/** A statement that is not a `let`, and where it is; `order` counts all statements of the program. */
interface Place {
  readonly statement: Statement;
  readonly block: Block;
  readonly order: number;
}

/** The part of a trace that matters, with single-assignment variables replaced by their values. */
export interface Liveness {
  isLive(statement: Statement): boolean;
  /** Follows loads of variables that were assigned once, a node, to that node. */
  resolve(a: Operand): Operand;
  uses(node: TraceNode): number;
  /** The block of the only statement or expression that uses a node, if there is just one. */
  userBlock(node: TraceNode): Block | undefined;
  /** Buffers, tables and parameters that live statements touch. */
  sources: ReadonlySet<Source>;
  liveVars: ReadonlySet<VarRef>;
  liveArrays: ReadonlySet<number>;
}

export function isWithin(inner: Block, outer: Block): boolean {
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
  /** Where each `let` is, by the id of its node. */
  readonly orders: Int32Array;
  /** Room for the block that first uses each node, by id. */
  readonly users: (Block | undefined)[];
  readonly sets: ReadonlyMap<VarRef, readonly Place[]>;
  readonly puts: ReadonlyMap<number, readonly Place[]>;
  readonly loads: ReadonlyMap<VarRef, readonly TraceNode[]>;
  /** By loop. */
  readonly breaks: ReadonlyMap<Statement, readonly Place[]>;
  readonly stores: readonly Place[];
  /** The `when` or `loop` that holds each block but the outermost. */
  readonly owners: ReadonlyMap<Block, Place>;
}

function survey(trace: Trace): Survey {
  const orders = new Int32Array(trace.nodes).fill(-1);
  const sets = new Map<VarRef, Place[]>();
  const puts = new Map<number, Place[]>();
  const loads = new Map<VarRef, TraceNode[]>();
  const breaks = new Map<Statement, Place[]>();
  const stores: Place[] = [];
  const owners = new Map<Block, Place>();
  let order = 0;

  const walk = (block: Block, loop: Statement | undefined): void => {
    for (const s of block.statements) {
      order++;
      if (s.kind === "let") {
        orders[s.node.id] = order;
        if (s.node.op === "load") append(loads, s.node.source as VarRef, s.node);
        continue;
      }
      if (s.kind === "stage") continue;
      const place = { statement: s, block, order };
      if (s.kind === "set") append(sets, s.target, place);
      else if (s.kind === "put") {
        append(puts, s.target.id, place);
        if (s.target.kept) stores.push(place);
      } else if (s.kind === "store") stores.push(place);
      else if (s.kind === "break") append(breaks, loop!, place);
      else {
        for (const inner of s.kind === "when" ? [s.then, s.otherwise] : [s.block]) {
          owners.set(inner, place);
          walk(inner, s.kind === "loop" ? s : loop);
        }
      }
    }
  };
  walk(trace.root, undefined);
  const users = Array.from<Block | undefined>({ length: trace.nodes });
  return { orders, users, sets, puts, loads, breaks, stores, owners };
}

function append<K, T>(map: Map<K, T[]>, key: K, value: T): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

const analysed = new WeakMap<Trace, Liveness>();

/** What matters of a trace, which nothing is added to any more: found once, for the plan and for every back end. */
export function analyse(trace: Trace): Liveness {
  const known = analysed.get(trace);
  if (known) return known;
  const live = analyseAnew(trace);
  analysed.set(trace, live);
  return live;
}

/**
 * Repeated until nothing changes: an assignment that is always overwritten, and a load that
 * nothing needs, may have been the only reader of another.
 */
function analyseAnew(trace: Trace): Liveness {
  const surveyed = survey(trace);
  const assignments = sketch(trace.root);
  let dead: ReadonlySet<Statement> = new Set();
  for (let asked: Uint8Array | undefined; ;) {
    const reached = new Uint8Array(trace.nodes);
    const live = analyseWithout(dead, asked, surveyed, reached);
    const next = overwritten(assignments, live);
    const isSettled = next.size === dead.size && asked?.every((was, id) => was === reached[id]);
    if (isSettled) return live;
    dead = next;
    asked = reached;
  }
}

/** `asked`: loads that may matter, by node id, default all. Sets `reached` for those that do. */
function analyseWithout(
  dead: ReadonlySet<Statement>,
  asked: Uint8Array | undefined,
  surveyed: Survey,
  reached: Uint8Array,
): Liveness {
  const { orders, users, sets, puts, loads, breaks, stores, owners } = surveyed;
  const writesOf = (ref: VarRef) => (sets.get(ref) ?? []).filter(({ statement }) => !dead.has(statement));

  // a variable assigned once, before and around all its reads, is its value
  const values = new Map<Operand, Operand>();
  for (const [ref, all] of loads) {
    const reads = asked ? all.filter(({ id }) => asked[id] > 0) : all;
    const writes = writesOf(ref);
    if (writes.length !== 1) continue;
    const [write] = writes;
    const { value } = write.statement as { value: Operand };
    // a constant would make constant expressions, which compilers evaluate and refuse (1 / 0)
    if (!(value instanceof TraceNode)) continue;
    const dominated = reads.every((r) => orders[r.id] > write.order && isWithin(r.block, write.block));
    if (dominated) for (const read of reads) values.set(read, value);
  }
  const resolve = (a: Operand): Operand => {
    let at = a;
    while (at instanceof TraceNode && at.op === "load") {
      reached[at.id] = 1;
      const value = values.get(at);
      if (value === undefined) break;
      at = value;
    }
    return at;
  };

  // how often each node is used, by id
  const counts = new Uint32Array(orders.length);
  const live = new Set<Statement>();
  const sources = new Set<Source>();
  const liveVars = new Set<VarRef>();
  const liveArrays = new Set<number>();
  const nodes: TraceNode[] = [];
  const work: Place[] = [];
  const mark = (place: Place | undefined) => {
    if (place && !live.has(place.statement)) {
      live.add(place.statement);
      work.push(place);
    }
  };
  const use = (a: Operand, block: Block) => {
    const node = resolve(a);
    if (!(node instanceof TraceNode)) return;
    if (counts[node.id]++ > 0) return;
    users[node.id] = block;
    // an index has no statement of its own
    if (orders[node.id] >= 0) nodes.push(node);
  };
  const keep = ({ kept }: ArrayRef) => {
    if (kept) sources.add(kept.buffer);
  };
  const read = (node: TraceNode) => {
    mark(owners.get(node.block));
    for (const a of node.args) use(a, node.block);
    const { source } = node;
    if (!source) return;
    sources.add(source);
    if (node.op === "load") {
      const ref = source as VarRef;
      if (!liveVars.has(ref)) writesOf(ref).forEach(mark);
      liveVars.add(ref);
    } else if (node.op === "at") {
      const { id } = source as { id: number };
      if (!liveArrays.has(id)) puts.get(id)?.forEach(mark);
      liveArrays.add(id);
      keep(source as ArrayRef);
    }
  };
  const perform = ({ statement, block }: Place) => {
    mark(owners.get(block));
    for (const a of operandsOf(statement)) use(a, block);
    if (statement.kind === "store") sources.add(statement.target);
    if (statement.kind === "put") keep(statement.target);
    if (statement.kind === "loop") breaks.get(statement)?.forEach(mark);
  };

  stores.forEach(mark);
  while (work.length + nodes.length > 0) {
    const node = nodes.pop();
    if (node) read(node);
    else perform(work.pop()!);
  }

  return {
    // a `let` lives if its value is used
    isLive: (s) => (s.kind === "let" ? counts[s.node.id] > 0 : live.has(s)),
    resolve,
    uses: (n) => counts[n.id],
    userBlock: (n) => (counts[n.id] === 1 ? users[n.id] : undefined),
    sources,
    liveVars,
    liveArrays,
  };
}
