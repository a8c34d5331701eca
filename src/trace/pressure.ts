// how many values of a program live at once: what a compiler needs registers for, as far as the order of its text says
import type { Trace } from "./graph.ts";
import { operandsOf, type Liveness } from "./liveness.ts";
import { TraceNode, type Block, type Operand, type VarRef } from "./nodes.ts";

interface Span {
  readonly start: number;
  end: number;
}

/** A place where a value or a variable is made or used: its number in the text, and the loops around it. */
interface Event {
  readonly at: number;
  readonly loops: readonly Span[];
}

/** Where a stage begins: its number in the text. */
export interface StageStart {
  readonly name: string;
  readonly at: number;
}

export interface Pressure {
  /** Stages outside branches and in no loops but those that hold stages, in order. */
  readonly stages: readonly StageStart[];
  /** Statements of the text. */
  readonly length: number;
  /** The most values that live at once in a part of the text that is a program of its own. */
  most(start: number, end: number): number;
}

/** Numbers the live statements of a trace, and says what lives in parts of them. */
export function pressureOf(trace: Trace, live: Liveness): Pressure {
  const values = new Map<TraceNode | VarRef, Event[]>();
  const stages: StageStart[] = [];
  let at = 0;
  const touch = (value: TraceNode | VarRef, loops: readonly Span[]) => {
    if (value.type === "bool") return;
    const events = values.get(value);
    if (events) events.push({ at, loops });
    else values.set(value, [{ at, loops }]);
  };
  const use = (a: Operand, loops: readonly Span[]) => {
    const node = live.resolve(a);
    if (node instanceof TraceNode && node.op !== "param" && node.op !== "world") touch(node, loops);
  };
  const walk = (block: Block, loops: readonly Span[], isSpine: boolean): void => {
    for (const s of block.statements) {
      if (s.kind === "stage") {
        if (isSpine) stages.push({ name: s.name, at });
        continue;
      }
      if (!live.isLive(s) || (s.kind === "let" && live.resolve(s.node) !== s.node)) continue;
      for (const a of operandsOf(s)) use(a, loops);
      at++;
      if (s.kind === "let" && s.node.op !== "load4") touch(s.node, loops);
      if (s.kind === "let" && s.node.op === "load") touch(s.node.source as VarRef, loops);
      if (s.kind === "set" && live.liveVars.has(s.target)) touch(s.target, loops);
      if (s.kind === "when") for (const b of [s.then, s.otherwise]) walk(b, loops, false);
      if (s.kind === "loop") {
        const span: Span = { start: at, end: at };
        walk(s.block, [...loops, span], isSpine);
        span.end = at;
      }
    }
  };
  walk(trace.root, [], true);
  return { stages, length: at, most: (start, end) => mostOf([...values.entries()], start, end) };
}

function mostOf(values: readonly (readonly [TraceNode | VarRef, readonly Event[]])[], start: number, end: number) {
  const changes = new Int32Array(end - start + 2);
  for (const [value, all] of values) {
    const events = all.filter((e) => e.at >= start && e.at < end);
    if (events.length === 0) continue;
    const isVariable = "kind" in value;
    let from = events[0].at;
    let to = from;
    for (const { at, loops } of events) {
      // a loop that a value is carried into, or a variable around, keeps it to its end
      const around = loops.find(
        (l) => l.start >= start && l.end <= end && (isVariable || l.start > from || all[0].at < start),
      );
      to = Math.max(to, around ? around.end : at);
      if (around && (isVariable || all[0].at < start)) from = Math.min(from, around.start);
    }
    changes[from - start]++;
    changes[to - start + 1]--;
  }
  let now = 0;
  return changes.reduce((most, change) => Math.max(most, (now += change)), 0);
}
