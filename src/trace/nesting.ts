// what the text of a kernel keeps alive because values are written where they are used, and not where they are made
import type { Trace } from "./graph.ts";
import { operandsOf, type Liveness } from "./liveness.ts";
import { TraceNode, type Block, type Statement } from "./nodes.ts";
import { placesOf } from "./places.ts";

/** Statements between a value and its use beyond which it is written where it is made. */
const FAR = 24;

export interface Nesting {
  /** Values with names, and variables, that live at once in the text, the most. */
  readonly most: number;
  /** Values that are written far behind where they are made; what they are made of lives until there. */
  readonly far: ReadonlySet<TraceNode>;
}

/** Of a text in which `isInlined` says what has no name. */
export function nestingOf(trace: Trace, live: Liveness, isInlined: (node: TraceNode) => boolean): Nesting {
  const made = new Map<TraceNode, number>();
  /** By value, the statement that uses it last, and the value that this makes, if it has no name either. */
  const uses = new Map<TraceNode, { at: number; by: TraceNode | undefined }[]>();
  const loops: { readonly start: number; end: number }[] = [];
  let at = 0;
  const walk = (block: Block): void => {
    for (const s of block.statements) {
      if (s.kind === "stage" || !live.isLive(s) || (s.kind === "let" && live.resolve(s.node) !== s.node)) continue;
      at++;
      const by = s.kind === "let" && isInlined(s.node) ? s.node : undefined;
      for (const operand of operandsOf(s)) {
        const node = live.resolve(operand);
        if (!(node instanceof TraceNode)) continue;
        const known = uses.get(node);
        if (known) known.push({ at, by });
        else uses.set(node, [{ at, by }]);
      }
      if (s.kind === "let") made.set(s.node, at);
      const span = { start: at, end: at };
      if (s.kind === "loop") loops.push(span);
      for (const inner of blocksOf(s)) walk(inner);
      span.end = at;
    }
  };
  walk(trace.root);

  // where a value without a name is written: with what uses it
  const written = new Map<TraceNode, number>();
  const lastUse = (node: TraceNode): number => {
    let last = written.get(node);
    if (last === undefined) {
      last = 0;
      for (const use of uses.get(node) ?? []) last = Math.max(last, use.by ? lastUse(use.by) : use.at);
      written.set(node, last);
    }
    return last;
  };
  const { accesses, holder, spans } = placesOf(trace, live);
  const far = new Set<TraceNode>();
  const changes = new Int32Array(at + 2);
  for (const [node, from] of made) {
    const last = lastUse(node);
    if (isInlined(node)) {
      if (node.op !== "component" && uses.get(node)?.some((use) => use.at - from > FAR)) far.add(node);
      continue;
    }
    if (node.type === "bool" || last === 0 || holder.has(node)) continue;
    // a loop that it is carried into keeps it to its end
    const around = loops.find(({ start, end }) => start >= from && start < last && last <= end);
    changes[from]++;
    changes[around?.end ?? last]--;
  }
  for (const place of accesses.keys()) {
    if (place instanceof TraceNode) continue;
    for (const { start, end } of spans(place)) {
      changes[start + 1]++;
      changes[Math.min(end, at) + 1]--;
    }
  }
  let now = 0;
  return { most: changes.reduce((most, change) => Math.max(most, (now += change)), 0), far };
}

const blocksOf = (s: Statement): readonly Block[] =>
  s.kind === "when" ? [s.then, s.otherwise] : s.kind === "loop" ? [s.block] : [];
