// variables, and values that live long, as elements of private arrays: SwiftShader's compiler takes longest over what lives across much code
import type { Trace } from "./graph.ts";
import type { Liveness } from "./liveness.ts";
import { TraceNode, type VarRef } from "./nodes.ts";
import type { Type } from "./operations.ts";
import { placesOf } from "./places.ts";
import type { Dialect } from "./text.ts";

export interface InMemory {
  /** Lines that declare the arrays, one for each type. */
  readonly declared: readonly string[];
  readonly dialect: Dialect;
}

/** How a dialect of WGSL writes all variables, and values that live for more than so many statements. */
export function inMemory(dialect: Dialect, trace: Trace, live: Liveness, statements = Infinity): InMemory | undefined {
  // straight-line code has few variables, and no loops around values
  if (trace.unroll || statements === Infinity) return undefined;
  const lengths = new Map<Type, number>();
  const places = new Map<VarRef | TraceNode, string>();
  const keep = (of: VarRef | TraceNode) => {
    const at = lengths.get(of.type) ?? 0;
    lengths.set(of.type, at + 1);
    places.set(of, `kept_${of.type}[${at}]`);
  };
  for (const ref of trace.vars) if (live.liveVars.has(ref)) keep(ref);
  const { accesses, holder, spans } = placesOf(trace, live);
  for (const of of [...accesses.keys(), ...holder.keys()]) {
    if (!(of instanceof TraceNode) || places.has(of)) continue;
    const [{ start, end }] = spans(of);
    if (end - start > statements) keep(of);
  }
  return {
    // a write at an index known at run time keeps the driver from making variables of the elements
    declared: [...lengths].flatMap(([type, length]) => [
      `  var kept_${type} = array<${type}, ${Math.max(length, 2)}>();`,
      `  kept_${type}[U.zero] = ${type}(0);`,
    ]),
    dialect: {
      ...dialect,
      expression: (node, arg) =>
        node.op === "load" ? places.get(node.source as VarRef)! : dialect.expression(node, arg),
      place: (_, node) => places.get(node),
      constant: (name, node, expression) =>
        places.has(node) ? `${name} = ${expression};` : dialect.constant(name, node, expression),
      set: (target, value) => `${places.get(target)!} = ${value};`,
    },
  };
}
