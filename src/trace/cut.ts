// a kernel cut into pieces that run one after the other: where the compilers of GPUs have no registers for all of it.
// Pieces begin at marked stages. What one leaves to another lies in cells of an arena; loops around cuts are the host's.
import type { Trace } from "./graph.ts";
import { analyse, operandsOf, type Liveness } from "./liveness.ts";
import { TraceNode, type ArrayRef, type Block, type Operand, type Statement, type VarRef } from "./nodes.ts";
import { isComputed } from "./operations.ts";

export type Loop = Extract<Statement, { kind: "loop" }>;

/** A straight run of statements between two cuts. */
export interface Segment {
  readonly name: string;
  readonly statements: Statement[];
  /** The loops of the host around it, outermost first. */
  readonly loops: readonly Loop[];
  /** The loop that begins behind it, and the one whose turn ends with it. */
  enters?: Loop;
  advances?: Loop;
}

/** The order in which pieces run: one by its number, or turns of others, as many as parameters say. */
export type Turn = number | { readonly most: Count; readonly turns: readonly Turn[] };

export interface Uses {
  reads: number;
  writes: number;
}

/** What lives across cuts. */
export interface Crossing {
  readonly segments: readonly Segment[];
  readonly turns: readonly Turn[];
  readonly live: Liveness;
  /** Values that other segments use than the one that makes them. */
  readonly nodes: ReadonlySet<TraceNode>;
  /** Variables by segment: to be read before it, and written after it. */
  readonly loads: readonly ReadonlySet<VarRef>[];
  readonly stores: readonly ReadonlySet<VarRef>[];
  readonly arrays: readonly ArrayRef[];
  /** How often each segment reads and writes each of them in its text. */
  readonly uses: ReadonlyMap<ArrayRef, readonly Uses[]>;
  /** Whether a value needs no cell, being made of parameters and counters of the host's loops alone. */
  isFree(node: TraceNode): boolean;
}

/** Statements with those of nested blocks, in order. */
function* within(statements: readonly Statement[]): Generator<Statement> {
  for (const s of statements) {
    yield s;
    if (s.kind === "when") {
      yield* within(s.then.statements);
      yield* within(s.otherwise.statements);
    } else if (s.kind === "loop") yield* within(s.block.statements);
  }
}

/** How often a stage is in a trace. */
export function stagesIn({ root }: Pick<Trace, "root">, name: string): number {
  let count = 0;
  for (const s of within(root.statements)) if (s.kind === "stage" && s.name === name) count++;
  return count;
}

/** Loops of the host around a cut, and pieces: more than any model's, so that what strangers write stays small. */
const DEEPEST = 8;
const MOST_PIECES = 64;

/** Whether one of the stages is where a kernel can be cut: outside branches. */
const isMarked = (block: Block, marks: ReadonlySet<string>): boolean =>
  block.statements.some((s) =>
    s.kind === "stage" ? marks.has(s.name) : s.kind === "loop" && isMarked(s.block, marks),
  );

/** Whether a trace can be cut at a stage: it is there once, outside branches. */
export const canCutAt = (trace: Trace, mark: string): boolean =>
  stagesIn(trace, mark) === 1 && isMarked(trace.root, new Set([mark]));

/** Dispatches of all turns, with these parameters. NaN if one of them is none. */
export const dispatchesOf = (turns: readonly Turn[], params: Readonly<Record<string, number>>): number =>
  turns.reduce<number>((sum, turn) => {
    if (typeof turn === "number") return sum + 1;
    return (
      sum +
      Math.max(
        0,
        turn.most((name) => params[name]),
      ) *
        dispatchesOf(turn.turns, params)
    );
  }, 0);

/** What parts of a trace at stages say of each other; undefined if none of the stages is where a kernel can be cut. */
export function crossingOf(trace: Trace, marks: ReadonlySet<string>): Crossing | undefined {
  const live = analyse(trace);
  if (!isMarked(trace.root, marks)) return undefined;

  let canCount = true;
  const segments: Segment[] = [];
  const around = new Map<Loop, { first: number; after: number }>();
  const split = (block: Block, loops: readonly Loop[], name: string): Turn[] => {
    const turns: Turn[] = [];
    let segment: Segment = { name, statements: [], loops };
    const close = (next: string): void => {
      const isEmpty = segment.enters === undefined && !segment.statements.some((s) => s.kind !== "stage");
      if (!isEmpty) {
        turns.push(segments.length);
        segments.push(segment);
      }
      segment = { name: next, statements: isEmpty ? segment.statements : [], loops };
    };
    for (const s of block.statements) {
      if (s.kind !== "stage" && !live.isLive(s)) continue;
      if (s.kind === "loop" && isMarked(s.block, marks)) {
        segment.enters = s;
        close(`after ${s.label}`);
        const first = segments.length;
        const most = mostOf(live.resolve(s.bound), live);
        canCount &&=
          loops.length < DEEPEST &&
          most !== undefined &&
          !s.block.statements.some((inner) => inner.kind === "when" && breaks(inner));
        turns.push({ most: most ?? (() => 0), turns: split(s.block, [...loops, s], s.label) });
        segments.at(-1)!.advances = s;
        around.set(s, { first, after: segments.length });
        continue;
      }
      if (s.kind === "stage" && marks.has(s.name)) close(s.name);
      segment.statements.push(s);
    }
    close("");
    return turns;
  };
  const turns = split(trace.root, [], "");
  if (!canCount || segments.length > MOST_PIECES) return undefined;
  return { segments, turns, live, ...flow(segments, around, live) };
}

/** Whether a branch leaves the loop around it. */
const breaks = (s: Statement): boolean =>
  s.kind === "break" || (s.kind === "when" && [s.then, s.otherwise].some((b) => b.statements.some(breaks)));

/** A number of turns, by the parameters of the kernel. */
type Count = (param: (name: string) => number) => number;

/** The most turns of a loop: lanes whose bound is less wait. Undefined if the host cannot know. */
function mostOf(bound: Operand, live: Liveness, depth = 0): Count | undefined {
  if (!(bound instanceof TraceNode)) return () => Number(bound);
  const { op, source } = bound;
  if (depth === DEEPEST) return undefined;
  const of = (i: number) => mostOf(live.resolve(bound.args[i]), live, depth + 1);
  if (op === "hide") return of(0);
  if (op === "param") return (param) => param((source as { name: string }).name);
  if (op !== "max" && op !== "select") return undefined;
  const [a, b] = op === "max" ? [of(0), of(1)] : [of(1), of(2)];
  return a && b && ((param) => Math.max(a(param), b(param)));
}

/** What flows between segments. */
function flow(
  segments: readonly Segment[],
  around: ReadonlyMap<Loop, { first: number; after: number }>,
  live: Liveness,
): Pick<Crossing, "nodes" | "loads" | "stores" | "arrays" | "uses" | "isFree"> {
  const hostCounters = new Set([...around.keys()].map(({ index }) => index));
  const free = new Map<TraceNode, boolean>();
  const isFree = (node: TraceNode): boolean => {
    let is = free.get(node);
    if (is === undefined) {
      const { op } = node;
      is = hostCounters.has(node) || op === "param" || op === "world";
      if (!is && (isComputed(op) || op === "table"))
        is = node.args.every((a) => {
          const value = live.resolve(a);
          return !(value instanceof TraceNode) || isFree(value);
        });
      free.set(node, is);
    }
    return is;
  };

  const homes = segments.map(() => new Set<TraceNode>());
  const nodes = new Set<TraceNode>();
  const uses = new Map<ArrayRef, Uses[]>();
  const flows = segments.map((segment, at) => {
    const touch = (array: ArrayRef, how: keyof Uses) => {
      const all = uses.get(array) ?? segments.map(() => ({ reads: 0, writes: 0 }));
      all[at][how]++;
      uses.set(array, all);
    };
    for (const s of within(segment.statements)) {
      if (s.kind === "loop") homes[at].add(s.index);
      if (s.kind !== "stage" && !live.isLive(s)) continue;
      if (s.kind === "put") touch(s.target, "writes");
      if (s.kind !== "let") continue;
      homes[at].add(s.node);
      if (s.node.op === "at") touch(s.node.source as ArrayRef, "reads");
    }
    return variablesOf(segment, live);
  });
  segments.forEach((segment, at) => {
    const use = (a: Operand) => {
      const node = live.resolve(a);
      if (node instanceof TraceNode && !homes[at].has(node) && !isFree(node)) nodes.add(node);
    };
    for (const s of within(segment.statements)) if (s.kind === "stage" || live.isLive(s)) operandsOf(s).forEach(use);
    for (const loop of [segment.enters, segment.advances]) if (loop) [loop.start, loop.bound].forEach(use);
  });

  const next = segments.map((_, at) => (at + 1 < segments.length ? [at + 1] : []));
  for (const { first, after } of around.values()) {
    next[after - 1].push(first);
    // a loop may end at any break of it, or never begin
    if (after < segments.length) for (let at = first - 1; at < after; at++) next[at].push(after);
  }
  const liveIn = segments.map((_, at) => new Set(flows[at].exposed));
  const liveOut = segments.map(() => new Set<VarRef>());
  for (let changed = true; changed;) {
    changed = false;
    for (let at = segments.length - 1; at >= 0; at--) {
      for (const to of next[at]) for (const ref of liveIn[to]) liveOut[at].add(ref);
      for (const ref of liveOut[at]) {
        if (flows[at].definite.has(ref) || liveIn[at].has(ref)) continue;
        liveIn[at].add(ref);
        changed = true;
      }
    }
  }
  // a variable is zero before it is assigned
  const stores = segments.map(
    (_, at) => new Set([...liveOut[at]].filter((ref) => at === 0 || flows[at].assigned.has(ref))),
  );
  const loads = segments.map(
    (_, at) =>
      new Set(at === 0 ? [] : [...liveIn[at]].filter((ref) => flows[at].exposed.has(ref) || stores[at].has(ref))),
  );
  const isPassed = (by: readonly Uses[]) => by.filter(({ reads, writes }) => reads + writes > 0).length > 1;
  const arrays = [...uses].filter(([, by]) => isPassed(by)).map(([array]) => array);
  return { nodes, loads, stores, arrays, uses, isFree };
}

/** What a segment does with variables: reads before it has assigned them, assigns, and assigns for certain. */
function variablesOf(segment: Segment, live: Liveness) {
  const exposed = new Set<VarRef>();
  const assigned = new Set<VarRef>();
  const definite = new Set<VarRef>();
  const walk = (statements: readonly Statement[], before: ReadonlySet<VarRef>, isTop: boolean): void => {
    const known = new Set(before);
    let certain = isTop;
    for (const s of statements) {
      if (s.kind === "stage" || !live.isLive(s)) continue;
      if (s.kind === "let" && s.node.op === "load" && live.resolve(s.node) === s.node) {
        const ref = s.node.source as VarRef;
        if (!known.has(ref)) exposed.add(ref);
      } else if (s.kind === "set") {
        known.add(s.target);
        assigned.add(s.target);
        if (certain) definite.add(s.target);
      } else if (s.kind === "break") certain = false;
      else if (s.kind === "when") for (const b of [s.then, s.otherwise]) walk(b.statements, known, false);
      else if (s.kind === "loop") walk(s.block.statements, known, false);
    }
  };
  walk(segment.statements, new Set(), true);
  return { exposed, assigned, definite };
}
