// back end: what a trace costs, for the plan and the tuner
import type { Trace } from "./graph.ts";
import { Block, TraceNode } from "./nodes.ts";
import { analyse } from "./liveness.ts";
import { isComputed, OPERATIONS, type Op } from "./operations.ts";

/** Static counts of one kernel; loops count their body once. */
export interface Cost {
  /** Arithmetic operations by name. */
  operations: Record<string, number>;
  arithmetic: number;
  /** Reads and writes of buffers, four values each. */
  loads: number;
  stores: number;
  /** Reads and writes of private arrays at an index known only at run time. */
  indexed: number;
  branches: number;
  loops: number;
  /** Squares of the lengths of private arrays, summed. */
  squares: number;
  /** Arithmetic operations after each stage mark. */
  stages: Record<string, number>;
}

/** Arithmetic operations that a value counts as. */
const weightOf = (op: Op): number => (isComputed(op) ? OPERATIONS[op].cost : op === "table" ? 1 : 0);

export function costOf(trace: Trace): Cost {
  const live = analyse(trace);
  const cost: Cost = {
    operations: {},
    arithmetic: 0,
    loads: 0,
    stores: 0,
    indexed: 0,
    branches: 0,
    loops: 0,
    squares: 0,
    stages: {},
  };
  for (const source of live.sources)
    if ("length" in source && source.kind === "array") cost.squares += source.length ** 2;
  let stageName = "entry";
  const visit = (block: Block): void => {
    for (const s of block.statements) {
      if (s.kind === "stage") stageName = s.name;
      if (!live.isLive(s)) continue;
      if (s.kind === "let") {
        const { op } = s.node;
        if (op === "load4") cost.loads++;
        else if (op === "at") {
          if (s.node.args[0] instanceof TraceNode) cost.indexed++;
        } else if (weightOf(op) > 0) {
          cost.operations[op] = (cost.operations[op] ?? 0) + 1;
          cost.arithmetic++;
          cost.stages[stageName] = (cost.stages[stageName] ?? 0) + 1;
        }
      } else if (s.kind === "store") cost.stores++;
      else if (s.kind === "put" && s.index instanceof TraceNode) cost.indexed++;
      else if (s.kind === "when") {
        cost.branches++;
        visit(s.then);
        visit(s.otherwise);
      } else if (s.kind === "loop") {
        cost.loops++;
        visit(s.block);
      }
    }
  };
  visit(trace.root);
  return cost;
}
