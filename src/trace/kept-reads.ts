// elements of private memory that a compiler reads once and keeps: read again at indices that it does not know
import { current, impure, pure, type Trace } from "./graph.ts";
import { analyse, type Liveness } from "./liveness.ts";
import { TraceNode, type ArrayRef, type Block, type Operand, type Statement } from "./nodes.ts";
import { indexedAtRunTime } from "./private-memory.ts";
import { recordAnew, Retrace } from "./retrace.ts";
import { add, mul, type Int } from "./scalar.ts";

/** Statements for which an element that was read may stay in a register. */
const NEAR = 24;

/** An element between two writes that may be of any element: where it is first touched, and last. */
interface Kept {
  readonly first: number;
  last: number;
}

interface Rereads {
  /** Most elements that are kept at once. */
  readonly most: number;
  /** Reads long after the element was touched. */
  readonly far: ReadonlySet<TraceNode>;
}

/**
 * Elements that constants index of arrays that run-time indices reach too: all of these are one array on GPUs, and where
 * no such index writes to it a compiler makes the second read of an element the first, or the write, and keeps it.
 */
export function rereadsOf(trace: Trace, live: Liveness): Rereads {
  const { arrays } = indexedAtRunTime(trace, live);
  const far = new Set<TraceNode>();
  const kept = new Map<string, Kept>();
  const all: Kept[] = [];
  let most = 0;
  let at = 0;
  const end = (): void => {
    const change = new Map<number, number>();
    const by = (when: number, n: number) => change.set(when, (change.get(when) ?? 0) + n);
    for (const { first, last } of all) {
      if (last === first) continue;
      by(first, 1);
      by(last, -1);
    }
    all.length = 0;
    kept.clear();
    let now = 0;
    for (const when of [...change.keys()].sort((a, b) => a - b)) most = Math.max(most, (now += change.get(when)!));
  };
  const isMerged = ({ id, kept: lies }: ArrayRef): boolean => !lies && arrays.has(id);
  const begin = (name: string): void => {
    const one = { first: at, last: at };
    kept.set(name, one);
    all.push(one);
  };
  const read = (node: TraceNode, name: string): void => {
    const known = kept.get(name);
    if (!known) return begin(name);
    if (at - known.last > NEAR) far.add(node);
    known.last = at;
  };
  const walk = (block: Block): void => {
    for (const s of block.statements) {
      if (s.kind === "stage" || !live.isLive(s) || (s.kind === "let" && live.resolve(s.node) !== s.node)) continue;
      at++;
      if (s.kind === "let" && s.node.op === "at" && isMerged(s.node.source as ArrayRef)) {
        const index = live.resolve(s.node.args[0]);
        if (typeof index === "number") read(s.node, `${(s.node.source as ArrayRef).id} ${index}`);
      }
      if (s.kind === "put" && isMerged(s.target)) {
        const index = live.resolve(s.index);
        if (typeof index === "number") begin(`${s.target.id} ${index}`);
        else end();
      }
      if (s.kind === "break" || s.kind === "when" || s.kind === "loop") end();
      for (const inner of blocksOf(s)) {
        walk(inner);
        end();
      }
    }
  };
  walk(trace.root);
  end();
  return { most, far };
}

const blocksOf = (s: Statement): readonly Block[] =>
  s.kind === "when" ? [s.then, s.otherwise] : s.kind === "loop" ? [s.block] : [];

/** A trace in which what would keep more than `most` elements is read again, at indices that no compiler knows. */
export function readAgain(whole: Trace, most: number): Trace {
  const live = analyse(whole);
  const rereads = rereadsOf(whole, live);
  if (rereads.most <= most) return whole;
  return recordAnew(whole, () => new Rereader(live, rereads.far).all(whole));
}

class Rereader extends Retrace {
  readonly #far: ReadonlySet<TraceNode>;
  readonly #turns: TraceNode[] = [];
  #zero: { readonly value: Int; readonly block: Block; readonly reads: number } | undefined;
  #reads = 0;

  constructor(live: Liveness, far: ReadonlySet<TraceNode>) {
    super(live);
    this.#far = far;
  }

  all({ root }: Trace): void {
    this.block(root);
  }

  protected override turn(s: Extract<Statement, { kind: "loop" }>, index: TraceNode): void {
    this.#turns.push(index);
    super.turn(s, index);
    this.#turns.pop();
  }

  protected override make(node: TraceNode): Operand {
    if (!this.#far.has(node)) return super.make(node);
    const index = add(this.#nothing(), this.live.resolve(node.args[0]) as number);
    const made = impure("at", node.type, [index], this.array(node.source as ArrayRef));
    made.name ??= node.name;
    this.made.set(node, made);
    return made;
  }

  /** A zero of which compilers do not know that it is one, nor that it is the same elsewhere and in each turn of a loop. */
  #nothing(): Int {
    const { block } = current();
    const known = this.#zero;
    if (known?.block === block && ++this.#reads - known.reads <= NEAR) return known.value;
    const value = mul(pure("hide", "i32", [0]), add(this.#turns.at(-1) ?? 0, ++this.#reads));
    this.#zero = { value, block, reads: this.#reads };
    return value;
  }
}
