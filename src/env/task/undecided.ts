// where a condition has no truth: it compares what is not a number
import { operandType, TraceNode } from "../../trace/nodes.ts";
import { and, isNode, not, or, select, type Bool, type Scalar } from "../../trace/scalar.ts";
import { isNaN32 } from "./finite.ts";

/** Positions and velocities: the status word has bits for those that are not finite. */
const STATE = /^(qpos|qvel)(_\d+)?$/;
function isState(node: TraceNode): boolean {
  const { op, source, name } = node;
  if ((op === "abs" || op === "neg") && node.args[0] instanceof TraceNode) return isState(node.args[0]);
  return STATE.test((source && "name" in source ? source.name : name) ?? "");
}

/** The floats that a comparison compares. */
function comparedBy(node: TraceNode): readonly TraceNode[] {
  if (!COMPARISONS.has(node.op) || operandType(node, 0) !== "f32") return [];
  return node.args.filter((x): x is TraceNode => x instanceof TraceNode && !isState(x));
}
const COMPARISONS: ReadonlySet<string> = new Set(["lt", "le", "gt", "ge", "eq", "ne"]);

const isCondition = (x: unknown): x is TraceNode => x instanceof TraceNode && x.type === "bool" && !x.block.ended;

/** The conditions that a condition is made of, itself last; without recursion, since there may be many. */
function partsOf(cond: TraceNode): ReadonlySet<TraceNode> {
  const done = new Set<TraceNode>();
  const open = [cond];
  while (open.length > 0) {
    const node = open[open.length - 1];
    const rest = done.has(node) ? [] : node.args.filter((x): x is TraceNode => isCondition(x) && !done.has(x));
    if (rest.length > 0) open.push(...rest);
    else done.add(open.pop()!);
  }
  return done;
}

/**
 * Where a condition has no truth: where it compares NaN, and the other side of an `and` or an `or` does not decide
 * (Kleene's logic). What was computed in a branch or a loop that has ended is not looked into.
 */
export function isUndecided(cond: Bool): Bool {
  if (!isNode(cond)) return false;
  const known = new Map<unknown, Bool>();
  const of = (x: unknown): Bool => known.get(x) ?? false;
  for (const node of partsOf(cond)) {
    const [a, b] = node.args as Bool[];
    if (node.op === "not") known.set(node, of(a));
    else if (node.op === "and" || node.op === "or") {
      const isOpen = (x: Bool) => or(of(x), node.op === "and" ? x : not(x));
      known.set(node, or(and(of(a), isOpen(b)), and(of(b), isOpen(a))));
    } else known.set(node, comparedBy(node).map(isNaN32).reduce<Bool>(or, false));
  }
  return of(cond);
}

/** A number that a condition decides: NaN, one that was compared, if the condition has no truth. */
export function decided(cond: Bool, value: Scalar): Scalar {
  const doubtful = isUndecided(cond);
  if (doubtful === false || !isNode(cond)) return value;
  const [first, ...others] = [...partsOf(cond)].flatMap(comparedBy);
  const culprit = others.reduce<Scalar>((y, x) => select(isNaN32(x), x, y), first);
  return select(doubtful, culprit, value, "f32");
}
