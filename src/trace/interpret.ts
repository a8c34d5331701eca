// back end: a trace evaluated operation by operation, in float32 or float64. It traces every number that is not finite
// back to its origin: the operation that made it from finite ones, or the buffer that held it.
import type { Trace } from "./graph.ts";
import {
  Block,
  operandType,
  TraceNode,
  type ArrayRef,
  type BufferRef,
  type Operand,
  type ParamRef,
  type Statement,
  type TableRef,
  type VarRef,
} from "./nodes.ts";
import type { JsBindings, Precision } from "./javascript.ts";
import { exponentBehind, floatBehind, nameOf } from "./operands.ts";
import { isComputed, meaningOf, type Read, type Type } from "./operations.ts";
import { unnamed } from "./text.ts";
import { FIXED_PARAMS } from "./wgsl.ts";

/** Where the program is: the stage, and the loops around it, outermost first. */
export interface Place {
  readonly stage: string;
  readonly loops: readonly { readonly label: string; readonly index: number }[];
}

/** How a number that is not finite came to be. */
export interface Origin extends Place {
  /** The operation, or "load" for a number that a buffer held. */
  readonly op: string;
  /** Name of the value, from the first field it was assigned to; of a load, buffer and element. */
  readonly name: string;
  readonly value: number;
  readonly operands: readonly { readonly name: string; readonly value: number }[];
}

/** A number that the program looked at the bits of, and that is not finite or beyond the bound. */
export interface Finding extends Place {
  readonly name: string;
  readonly value: number;
  readonly origin: Origin | undefined;
}

/** An assignment of a number that is not finite or beyond the bound to a variable or an array. */
export interface Assignment extends Finding {
  readonly element: number | undefined;
  readonly operands: Origin["operands"];
}

export interface Interpretation {
  /** Bad numbers that the program itself tested, in order. */
  readonly findings: readonly Finding[];
  /** The first bad number of each variable or element, in order. */
  readonly assignments: readonly Assignment[];
  /** Whether it came to the stage of `until`. */
  readonly stopped: boolean;
  /** The values of a field at the end, by the name of its variables or array. */
  readonly read: (field: string, length: number) => Float64Array;
}

export interface RunOptions {
  readonly world?: number;
  /** Numbers larger than this count as bad too. Default: none. */
  readonly bound?: number;
  /** The stage before which the program stops. */
  readonly until?: string;
  /** Called before each stage, where it may change what the program has. */
  readonly visit?: (stage: string, at: Visited) => Onward;
}

export interface InterpretOptions extends RunOptions {
  readonly precision: Precision;
}

/** Where the program goes on: here (true), nowhere (false), or with the next turn of the loop of this label. */
export type Onward = boolean | string;

/** What the program has before a stage, by the names of its variables and arrays. */
export interface Visited {
  readonly read: Interpretation["read"];
  readonly write: (field: string, values: ArrayLike<number>) => void;
}

/** A program that was made ready once, to be run often. */
export type Interpreted = (bindings: JsBindings, options?: RunOptions) => Interpretation;

/** Findings and assignments that are kept. */
const MOST = 4096;

/** Runs a trace for one world. */
export const interpret = (trace: Trace, bindings: JsBindings, options: InterpretOptions): Interpretation =>
  interpreted(trace, options.precision)(bindings, options);

/** Makes a trace ready to be run, which takes as long as running it. */
export function interpreted(trace: Trace, precision: Precision): Interpreted {
  // of the run that goes on
  let bindings: JsBindings = { buffers: {}, params: new Float64Array() };
  let options: RunOptions = {};
  let bound = Infinity;
  /** What buffers and parameters hold. */
  const held = precision === "f32" ? Math.fround : (x: number) => x;
  const round = trace.wide ? (x: number) => x : held;
  const constants: number[] = [];
  const slots = new Map<string, number>();
  const constant = (value: number | boolean, type: Type): number => {
    const number = type === "f32" ? round(Number(value)) : type === "u32" ? Number(value) >>> 0 : Number(value);
    const key = Object.is(number, -0) ? "-0" : String(number);
    if (!slots.has(key)) slots.set(key, trace.nodes + constants.push(number) - 1);
    return slots.get(key)!;
  };
  // all of a type side by side, once: reads of them are thousands, and tables of meshes long
  const tables = new Map<Type, Float64Array>();
  const tablesOf = (type: Type): Float64Array => {
    const made = tables.get(type);
    if (made) return made;
    const values = trace.tables.filter((t) => t.type === type).flatMap((t) => Array.from(t.values));
    const all = Float64Array.from(values, type === "f32" ? round : Number);
    tables.set(type, all);
    return all;
  };
  const vars = new Float64Array(trace.vars.length);
  const varOrigins = new Int32Array(trace.vars.length);
  const arrays = trace.arrays.map((a) => new Float64Array(a.length));
  const arrayOrigins = trace.arrays.map((a) => new Int32Array(a.length));
  let origins: Origin[] = [];
  let findings: Finding[] = [];
  let assignments: Assignment[] = [];
  const seen = new Set<string>();
  const loops: { label: string; index: number }[] = [];
  let [stage, stopped] = ["entry", false];
  /** The loop whose next turn the program goes on with. */
  let left: string | undefined;
  // made when all constants are known
  let V = new Float64Array();
  let O = new Int32Array();

  const place = (): Place => ({ stage, loops: loops.map((l) => ({ ...l })) });
  const isBad = (x: number) => !(Math.abs(x) <= bound) || !Number.isFinite(x);
  const valuesOf = (node: Operand): Origin["operands"] =>
    node instanceof TraceNode
      ? node.args.map((a) => ({ name: nameOf(a), value: a instanceof TraceNode ? V[a.id] : Number(a) }))
      : [];
  const born = (node: TraceNode, value: number, name = nameOf(node), op = node.op): number => {
    const x = exponentBehind(node);
    if (x) return origins.push({ ...place(), op: "exp", name, value, operands: [{ name: nameOf(x), value: V[x.id] }] });
    return origins.push({
      ...place(),
      op,
      name,
      value,
      operands: valuesOf(op === "bitcast_f32" ? floatBehind(node) : node),
    });
  };
  const originOf = (o: number): Origin | undefined => (o > 0 ? origins[o - 1] : undefined);

  const assigned = (name: string, element: number | undefined, value: number, node: Operand, o: number) => {
    if (!isBad(value) || assignments.length >= MOST) return;
    const key = `${name}[${element}]`;
    if (seen.has(key)) return;
    seen.add(key);
    assignments.push({ ...place(), name, element, value, origin: originOf(o), operands: valuesOf(node) });
  };

  const slotOf = (a: Operand, type: Type): number => (a instanceof TraceNode ? a.id : constant(a, type));

  /** How each read is made. */
  const reads: Readonly<Record<Read, (node: TraceNode) => () => void>> = {
    load: ({ id, source }) => {
      const v = (source as VarRef).id;
      return () => {
        V[id] = vars[v];
        O[id] = varOrigins[v];
      };
    },
    at: ({ id, source, args }) => {
      const a = (source as ArrayRef).id;
      const index = slotOf(args[0], "i32");
      return () => {
        V[id] = arrays[a][V[index]];
        O[id] = arrayOrigins[a][V[index]];
      };
    },
    param: (node) => {
      const { id, type, source } = node;
      const slot = (source as ParamRef).slot + FIXED_PARAMS.length;
      return () => {
        V[id] = type === "f32" ? held(bindings.params[slot]) : bindings.params[slot];
        O[id] = Number.isFinite(V[id]) ? 0 : born(node, V[id]);
      };
    },
    table: (node) => {
      const { id, type, args } = node;
      const { offset, type: kind } = node.source as TableRef;
      const all = tablesOf(kind);
      const index = slotOf(args[0], "i32");
      return () => {
        V[id] = all[V[index] + offset];
        O[id] = type === "f32" && !Number.isFinite(V[id]) ? born(node, V[id]) : 0;
      };
    },
    load4: ({ id, args }) => {
      const index = slotOf(args[0], "i32");
      return () => void (V[id] = 4 * V[index]);
    },
    component: (node) => {
      const { id, type, args } = node;
      const from = args[0] as TraceNode;
      const { name } = from.source as BufferRef;
      const part = args[1] as number;
      return () => {
        const at = V[from.id] + part;
        V[id] = type === "f32" ? held(bindings.buffers[name][at]) : bindings.buffers[name][at];
        O[id] = type === "f32" && !Number.isFinite(V[id]) ? born(node, V[id], `${name}[${at}]`, "load") : 0;
      };
    },
    world:
      ({ id }) =>
      () =>
        void (V[id] = options.world ?? 0),
    index: unnamed,
  };

  const compileLet = (node: TraceNode): (() => void) => {
    const { id, op, type } = node;
    if (!isComputed(op)) return reads[op](node);
    const types = node.args.map((_, i) => operandType(node, i));
    const args = node.args.map((a, i) => slotOf(a, types[i]));
    const [a, b, c] = args;
    if (op === "select") {
      return () => {
        const chosen = V[a] ? b : c;
        V[id] = V[chosen];
        O[id] = O[chosen];
      };
    }
    if (op === "bitcast_u32") {
      const of = node.args[0];
      const bits = meaningOf(op, type, types[0], round);
      return () => {
        const x = held(V[a]);
        if (isBad(x) && of instanceof TraceNode && findings.length < MOST)
          findings.push({ ...place(), name: nameOf(of), value: x, origin: originOf(O[a]) });
        V[id] = bits(x, 0, 0);
      };
    }
    const apply = meaningOf(op, type, types[0], round);
    const second = b ?? a;
    if (type !== "f32") return () => void (V[id] = apply(V[a], V[second], 0));
    return () => {
      const x = apply(V[a], V[second], 0);
      V[id] = x;
      // finite numbers have no origin
      O[id] =
        x - x === 0
          ? 0
          : (Number.isFinite(V[a]) ? 0 : O[a]) || (Number.isFinite(V[second]) ? 0 : O[second]) || born(node, x);
    };
  };

  /** Runs a block; true if it leaves the loop around it. */
  type Run = () => boolean;
  const compile = (s: Statement): Run => {
    switch (s.kind) {
      case "stage":
        return () => {
          stage = s.name;
          const onward = options.visit?.(s.name, { read, write }) ?? true;
          if (typeof onward === "string") left = onward;
          stopped ||= s.name === options.until || onward === false;
          return stopped || left !== undefined;
        };
      case "let": {
        const run = compileLet(s.node);
        return () => {
          run();
          return false;
        };
      }
      case "set": {
        const { id, name, type } = s.target;
        const value = slotOf(s.value, type);
        const tested = type === "f32";
        return () => {
          vars[id] = V[value];
          varOrigins[id] = O[value];
          if (tested && isBad(V[value])) assigned(name, undefined, V[value], s.value, O[value]);
          return false;
        };
      }
      case "put": {
        const { id, name, type } = s.target;
        const [index, value] = [slotOf(s.index, "i32"), slotOf(s.value, type)];
        return () => {
          arrays[id][V[index]] = V[value];
          arrayOrigins[id][V[index]] = O[value];
          if (type === "f32" && isBad(V[value])) assigned(name, V[index], V[value], s.value, O[value]);
          return false;
        };
      }
      case "store": {
        const index = slotOf(s.index, "i32");
        const values = s.values.map((v) => slotOf(v, s.type));
        const kept = trace.wide && s.type === "f32" ? held : (x: number) => x;
        return () => {
          const buffer = bindings.buffers[s.target.name];
          values.forEach((v, k) => (buffer[4 * V[index] + k] = kept(V[v])));
          return false;
        };
      }
      case "when": {
        const [then, otherwise] = [compileBlock(s.then), compileBlock(s.otherwise)];
        const cond = slotOf(s.cond, "bool");
        return () => (V[cond] ? then() : otherwise());
      }
      case "loop": {
        const [from, to] = [slotOf(s.start, "i32"), slotOf(s.bound, "i32")];
        const body = compileBlock(s.block);
        const { id } = s.index;
        return () => {
          const { onTurns } = bindings;
          let turns = 0;
          const here = { label: s.label, index: 0 };
          loops.push(here);
          const end = V[to];
          for (let i = V[from]; i < end; i++) {
            V[id] = here.index = i;
            if (onTurns && (turns++ & 255) === 0) onTurns();
            if (!body()) continue;
            if (left !== s.label) break;
            left = undefined;
          }
          loops.pop();
          return stopped || left !== undefined;
        };
      }
      case "break": {
        const cond = slotOf(s.cond, "bool");
        return () => V[cond] !== 0;
      }
    }
  };
  const compileBlock = (block: Block): Run => {
    const runs = block.statements.map(compile);
    return () => {
      for (const run of runs) if (run()) return true;
      return false;
    };
  };

  // the first of a name is the world's: where numbers are drawn that others are derived of, a second state at qpos0 follows
  const firstOf = (all: readonly { readonly name: string; readonly id: number }[]) =>
    new Map(all.toReversed().map(({ name, id }) => [name, id]));
  const [byName, arrayNames] = [firstOf(trace.vars), firstOf(trace.arrays)];
  const wholeOf = (field: string, length: number) => trace.arrays.find((a) => a.name === field && a.length === length);
  const placeOf = (field: string, i: number) => byName.get(`${field}_${i}`) ?? (i === 0 ? byName.get(field) : -1) ?? -1;
  const read = (field: string, length: number): Float64Array => {
    const whole = wholeOf(field, length);
    if (whole) return arrays[whole.id].slice();
    if (placeOf(field, 0) >= 0) return Float64Array.from({ length }, (_, i) => vars[placeOf(field, i)] ?? 0);
    // rows of several numbers are an array for each of them; arrays that records pass through have such names too
    const parts: Float64Array[] = [];
    for (let k = 0; arrayNames.has(`${field}_${k}`); k++) parts.push(arrays[arrayNames.get(`${field}_${k}`)!]);
    const n = parts.length;
    if (n === 0 || n * parts[0].length !== length) return new Float64Array(length);
    return Float64Array.from({ length }, (_, i) => parts[i % n][Math.floor(i / n)]);
  };
  const write = (field: string, values: ArrayLike<number>): void => {
    const whole = wholeOf(field, values.length);
    const [into, made] = whole ? [arrays[whole.id], arrayOrigins[whole.id]] : [vars, varOrigins];
    for (let i = 0; i < values.length; i++) {
      const place = whole ? i : placeOf(field, i);
      into[place] = values[i];
      made[place] = 0;
    }
  };

  const run = compileBlock(trace.root);
  V = new Float64Array(trace.nodes + constants.length);
  O = new Int32Array(V.length);
  const memory = [vars, varOrigins, ...arrays, ...arrayOrigins];
  return (given, chosen = {}) => {
    bindings = given;
    options = chosen;
    bound = chosen.bound ?? Infinity;
    for (const kept of [V, O, ...memory]) kept.fill(0);
    V.set(constants, trace.nodes);
    [origins, findings, assignments] = [[], [], []];
    seen.clear();
    loops.length = 0;
    [stage, stopped, left] = ["entry", false, undefined];
    run();
    return { findings, assignments, stopped, read };
  };
}
