// what values and variables of a program live where, in the order of its text: what takes a compiler's registers
import type { Trace } from "./graph.ts";
import { operandsOf, type Liveness } from "./liveness.ts";
import { TraceNode, type Block, type Operand, type Statement, type VarRef } from "./nodes.ts";
import { isComputed } from "./operations.ts";

export interface Span {
  readonly start: number;
  end: number;
}

/** A variable or a value that takes a register while it lives. */
export type Place = VarRef | TraceNode;

/** Where a place is written or read: its number in the text, its block, and the loops around it, outermost first. */
export interface Access {
  readonly at: number;
  readonly block: Block;
  readonly loops: readonly Span[];
  readonly writes: boolean;
}

export interface Places {
  /** Statements of the text. */
  readonly length: number;
  /** The number at which a statement reads; what it makes is there at the next. */
  readonly numbers: ReadonlyMap<Statement, number>;
  readonly accesses: ReadonlyMap<Place, readonly Access[]>;
  /** The variable that holds a value as long as that is used: read from it, or assigned to it. */
  readonly holder: ReadonlyMap<TraceNode, VarRef>;
  /** Spans in which a place lives. */
  spans(place: Place): readonly Span[];
}

const isVariable = (place: Place): place is VarRef => !(place instanceof TraceNode);

/** Statements that values may pass between their making and their assignment to a variable that holds them from then on. */
const SOON = 16;

/** Finds the places of a program. */
export function placesOf(trace: Trace, live: Liveness): Places {
  const numbers = new Map<Statement, number>();
  const values = new Map<TraceNode, Access[]>();
  const sets = new Map<VarRef, { readonly access: Access; readonly value: Operand }[]>();
  const isFree = freeNodes(live);
  let at = 0;
  const walk = (block: Block, loops: readonly Span[]): void => {
    const access = (writes: boolean): Access => ({ at, block, loops, writes });
    const touch = (node: TraceNode, writes: boolean): void => {
      if (node.type === "bool" || node.op === "load4" || node.op === "index" || isFree(node)) return;
      const known = values.get(node);
      if (known) known.push(access(writes));
      else values.set(node, [access(writes)]);
    };
    for (const s of block.statements) {
      if (s.kind === "stage" || !live.isLive(s) || (s.kind === "let" && live.resolve(s.node) !== s.node)) continue;
      numbers.set(s, at);
      for (const a of operandsOf(s)) {
        const node = live.resolve(a);
        if (node instanceof TraceNode) touch(node, false);
      }
      at++;
      if (s.kind === "let") touch(s.node, true);
      if (s.kind === "set" && s.target.type !== "bool" && live.liveVars.has(s.target)) {
        const all = sets.get(s.target);
        const one = { access: access(true), value: live.resolve(s.value) };
        if (all) all.push(one);
        else sets.set(s.target, [one]);
      }
      if (s.kind === "when") for (const b of [s.then, s.otherwise]) walk(b, loops);
      if (s.kind === "loop") {
        const span: Span = { start: at, end: at };
        walk(s.block, [...loops, span]);
        span.end = at;
      }
    }
  };
  walk(trace.root, []);

  const whole = new Map([...values].map(([node, all]) => [node, spanOf(all)]));
  const isSetWithin = (ref: VarRef, start: number, end: number): boolean =>
    sets.get(ref)?.some(({ access }) => access.at > start && access.at <= end) ?? false;
  const holder = new Map<TraceNode, VarRef>();
  for (const [node, { start, end }] of whole) {
    const ref = node.op === "load" ? (node.source as VarRef) : undefined;
    if (ref && !isSetWithin(ref, start, end)) holder.set(node, ref);
  }
  for (const [ref, all] of sets) {
    for (const { access, value } of all) {
      const span = value instanceof TraceNode ? whole.get(value) : undefined;
      if (!span || holder.has(value as TraceNode) || access.at - span.start > SOON) continue;
      const [made, ...others] = values.get(value as TraceNode)!;
      const isHere = made.writes && others.every((o) => o.at >= access.at || o.block === access.block);
      if (isHere && made.block === access.block && !isSetWithin(ref, access.at, span.end))
        holder.set(value as TraceNode, ref);
    }
  }

  const accesses = new Map<Place, Access[]>();
  for (const [ref, all] of sets)
    accesses.set(
      ref,
      all.map(({ access }) => access),
    );
  for (const [node, all] of values) {
    const ref = holder.get(node);
    if (ref === undefined) accesses.set(node, all);
    // a variable that is never assigned is zero
    if (ref === undefined || !accesses.has(ref)) continue;
    const isLoad = node.op === "load";
    accesses.get(ref)!.push(...all.filter(({ writes }) => !(writes && isLoad)).map((a) => ({ ...a, writes: false })));
  }
  for (const [node, all] of values) {
    const ref = node.op === "load" && !holder.has(node) ? (node.source as VarRef) : undefined;
    if (ref) accesses.get(ref)?.push({ ...all[0], at: all[0].at - 1, writes: false });
  }
  for (const [place, all] of accesses) if (isVariable(place)) all.sort((a, b) => a.at - b.at || +a.writes - +b.writes);

  return {
    length: at,
    numbers,
    accesses,
    holder,
    spans: (place) => {
      const all = accesses.get(place)!;
      return isVariable(place) ? variableSpans(all) : [whole.get(place)!];
    },
  };
}

/** From where a value is made to its last use, or the end of the loops that it is carried into. */
function spanOf(all: readonly Access[]): Span {
  const [{ at: start }] = all;
  let end = start;
  for (const { at, loops } of all) end = Math.max(end, loops.find((l) => l.start > start)?.end ?? at);
  return { start, end };
}

/**
 * A variable lives from an assignment to the last read before the next one that is certain: in the same block, or around
 * it. In a loop whose first access is no such assignment it lives throughout.
 */
function variableSpans(all: readonly Access[]): Span[] {
  const spans: Span[] = [];
  const within = (loops: readonly Span[]) => all.filter((a) => a.loops[loops.length - 1] === loops.at(-1));
  for (const [i, access] of all.entries()) {
    if (access.writes) continue;
    // the loops that it is carried around: those that do not begin with an assignment of their own
    let { at: end } = access;
    let start = end;
    const depth = access.loops.findIndex((_, k) => {
      const loops = access.loops.slice(0, k + 1);
      const [first] = within(loops);
      return !(first.writes && first.loops.length === loops.length && first.block.isLoop);
    });
    if (depth >= 0) {
      start = access.loops[depth].start;
      end = Math.max(end, access.loops[depth].end);
    }
    // back to the assignment that is certain
    for (let k = i - 1; k >= 0; k--) {
      start = Math.min(start, all[k].at);
      if (all[k].writes && all[k].loops.every((l, d) => access.loops[d] === l) && isAround(all[k].block, access.block))
        break;
    }
    spans.push({ start, end });
  }
  return merged(spans);
}

function isAround(outer: Block, inner: Block): boolean {
  for (let b: Block | undefined = inner; b; b = b.parent) if (b === outer) return true;
  return false;
}

function merged(spans: Span[]): Span[] {
  const all: Span[] = [];
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else all.push({ start, end });
  }
  return all;
}

/** What is made of parameters and constants alone is made again where it is used: it takes no register. */
function freeNodes(live: Liveness): (node: TraceNode) => boolean {
  const known = new Map<TraceNode, boolean>();
  const isFree = (node: TraceNode): boolean => {
    let is = known.get(node);
    if (is === undefined) {
      const { op } = node;
      is = op === "param" || op === "world";
      if (!is && isComputed(op))
        is = node.args.every((a) => {
          const value = live.resolve(a);
          return !(value instanceof TraceNode) || isFree(value);
        });
      known.set(node, is);
    }
    return is;
  };
  return isFree;
}
