// what the operands of a program are called, and what is behind those that are made of bits
import { TraceNode, type Operand } from "./nodes.ts";

/** Operations of an exponential from its power of two back to its argument. */
const EXPONENTIAL = ["i32", "add", "min", "round", "mul", "min", "max"];

/** What a value is called: by itself, or by what it is read of. */
export const nameOf = (a: Operand): string => {
  if (!(a instanceof TraceNode)) return "constant";
  const { source } = a;
  if (a.name !== undefined) return a.name;
  if (a.op === "component") return `${((a.args[0] as TraceNode).source as { name: string }).name}[]`;
  if (source && "name" in source) return source.name;
  return a.op;
};

/** Of a float made from bits: the node whose float those bits were taken from. */
export const floatBehind = (node: TraceNode): TraceNode => {
  const from = node.args.find((a) => a instanceof TraceNode);
  return from === undefined || from.type === "f32" ? node : floatBehind(from);
};

/** The argument of an exponential, if the node is the last product of one (src/trace/math.ts). */
export const exponentBehind = (node: TraceNode): TraceNode | undefined => {
  const power = node.op === "mul" && node.args.find((a) => a instanceof TraceNode && a.op === "bitcast_f32");
  if (!power) return undefined;
  let at: TraceNode | undefined = floatBehind(power as TraceNode);
  for (const op of EXPONENTIAL) {
    if (at?.op !== op) return undefined;
    at = at.args.find((a) => a instanceof TraceNode);
  }
  return at;
};
