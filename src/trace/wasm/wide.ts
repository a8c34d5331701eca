// writes a program as one WebAssembly function that runs one world in float64: buffers and parameters stay float32
import type { Trace } from "../graph.ts";
import {
  operandType,
  TraceNode,
  type ArrayRef,
  type Block,
  type BufferRef,
  type Operand,
  type ParamRef,
  type Statement,
  type TableRef,
  type VarRef,
} from "../nodes.ts";
import type { Liveness } from "../liveness.ts";
import { isComputed, type Type } from "../operations.ts";
import { Code, type Kind } from "./code.ts";
import { isEmpty, Survey } from "./survey.ts";
import { emitWide } from "./wide-operations.ts";
import { PLACE, type WideMap } from "./wide-map.ts";
import { PARAMETERS } from "./values.ts";

/** Parameters of the function: the world, then (after the last one of the shard) where the frame and the pool are. */
const [WORLD, FRAME, POOL] = [0, 2, 3];

const kindOf = (type: Type): Kind => (type === "f32" ? "double" : "scalar");

export class WideEmitter {
  readonly code = new Code(PARAMETERS);
  readonly #live: Liveness;
  readonly #map: WideMap;
  readonly #survey: Survey;
  /** By node; -1 if it has none. */
  readonly #locals: Int32Array;
  readonly #variables = new Map<VarRef, number>();
  /** Values by the statement that uses them last, of the block that is written. */
  #ends = new Map<number, TraceNode[]>();

  constructor(trace: Trace, live: Liveness, map: WideMap) {
    this.#live = live;
    this.#map = map;
    this.#survey = new Survey(trace, live);
    this.#locals = new Int32Array(trace.nodes).fill(-1);
    const { code } = this;
    for (const v of trace.vars) if (live.liveVars.has(v)) this.#variables.set(v, code.local(kindOf(v.type)));
    code.clear(FRAME, map.zeroed);
    this.#block(trace.root, undefined);
  }

  #block(block: Block, exit: number | undefined): void {
    const outer = this.#ends;
    this.#ends = new Map();
    for (const node of this.#survey.sunkInto(block)) this.#define(node);
    block.statements.forEach((s, at) => {
      if (s.kind !== "stage" && this.#live.isLive(s)) this.#statement(s, exit);
      for (const node of this.#ends.get(at) ?? []) this.#drop(node);
    });
    this.#ends = outer;
  }

  #statement(s: Exclude<Statement, { kind: "stage" }>, exit: number | undefined): void {
    const { code } = this;
    switch (s.kind) {
      case "let":
        if (!this.#survey.isSunk(s.node)) this.#define(s.node);
        return;
      case "set": {
        const local = this.#variables.get(s.target);
        if (local === undefined) return;
        this.#push(s.value, s.target.type);
        code.set(local);
        return;
      }
      case "put": {
        if (!this.#live.liveArrays.has(s.target.id)) return;
        const offset = this.#element(s.index, s.target);
        this.#push(s.value, s.target.type);
        code.storeAt(s.target.type === "f32" ? "f64.store" : "i32.store", offset);
        return;
      }
      case "store":
        return this.#store(s);
      case "when":
        this.#push(s.cond, "bool");
        code.open("if");
        this.#block(s.then, exit);
        if (!isEmpty(s.otherwise, this.#live)) {
          code.op("else");
          this.#block(s.otherwise, exit);
        }
        return code.close();
      case "loop":
        return this.#loop(s);
      case "break":
        this.#push(s.cond, "bool");
        code.branch("br_if", exit!);
    }
  }

  #loop(s: Extract<Statement, { kind: "loop" }>): void {
    const { code } = this;
    const index = code.local("scalar");
    this.#locals[s.index.id] = index;
    this.#push(s.start, "i32");
    code.set(index);
    const exit = code.open("block");
    const top = code.open("loop");
    code.get(index);
    this.#push(s.bound, "i32");
    code.op("i32.ge_s").branch("br_if", exit);
    this.#block(s.block, exit);
    code.get(index).int(1).op("i32.add").set(index).branch("br", top);
    code.close();
    code.close();
    code.release(index);
    this.#locals[s.index.id] = -1;
  }

  /** Pushes the address of four numbers of a buffer. */
  #four(index: Operand, ref: BufferRef): void {
    this.code.get(FRAME).loadInt(this.#map.buffer(ref));
    this.#push(index, "i32");
    this.code.int(4).op("i32.shl", "i32.add");
  }

  #store({ values, type, index, target }: Extract<Statement, { kind: "store" }>): void {
    const { code } = this;
    const address = code.local("scalar");
    this.#four(index, target);
    code.set(address);
    values.forEach((v, k) => {
      code.get(address);
      this.#push(v, type);
      if (type === "f32") code.op("f32.demote_f64").storeAt("f32.store", 4 * k);
      else code.storeAt("i32.store", 4 * k);
    });
    code.release(address);
  }

  #define(node: TraceNode): void {
    const { op } = node;
    if (this.#live.resolve(node) !== node || this.#survey.isInlined(node) || op === "component" || op === "world")
      return;
    if (op !== "load4") {
      this.#value(node);
      return this.#keep(node);
    }
    const used = (this.#survey.components.get(node) ?? []).filter((c) => this.#survey.lastUse(c) >= 0);
    if (used.length === 0) return;
    const { code } = this;
    const address = code.local("scalar");
    this.#four(node.args[0], node.source as BufferRef);
    code.set(address);
    for (const component of used) {
      const offset = 4 * (component.args[1] as number);
      code.get(address);
      if (component.type === "f32") code.loadAt("f32.load", offset).op("f64.promote_f32");
      else code.loadAt("i32.load", offset);
      this.#keep(component);
    }
    code.release(address);
  }

  #push(a: Operand, type: Type): void {
    const { code } = this;
    const node = this.#live.resolve(a);
    if (!(node instanceof TraceNode)) {
      if (type === "f32") code.double(Number(node));
      else code.int(Number(node));
    } else if (node.op === "world") code.get(WORLD);
    else if (this.#survey.isInlined(node)) this.#value(node);
    else code.get(this.#locals[node.id]);
  }

  #value(node: TraceNode): void {
    const { code } = this;
    const { op, args, type, source } = node;
    const map = this.#map;
    if (isComputed(op)) return emitWide(op, { code, node, push: (i) => this.#push(args[i], operandType(node, i)) });
    switch (op) {
      case "param":
        code.get(FRAME);
        if (type === "f32") code.loadAt("f32.load", map.param(source as ParamRef)).op("f64.promote_f32");
        else code.loadAt("i32.load", map.param(source as ParamRef));
        return;
      case "table": {
        const ref = source as TableRef;
        code.get(POOL);
        this.#index(args[0], ref.values.length - 1);
        code.op("i32.add").loadAt(type === "f32" ? "f64.load" : "i32.load", map.table(ref));
        return;
      }
      case "load":
        code.get(this.#variables.get(source as VarRef)!);
        return;
      case "at": {
        const offset = this.#element(args[0], source as ArrayRef);
        code.loadAt(type === "f32" ? "f64.load" : "i32.load", offset);
        return;
      }
      case "world":
      case "index":
      case "load4":
      case "component":
        throw new Error(`${op} is not written where it is used`);
      default:
        op satisfies never;
    }
  }

  /** Pushes an index, at most `most`, times the bytes of a place. */
  #index(index: Operand, most: number): void {
    const { code } = this;
    const at = code.local("scalar");
    this.#push(index, "i32");
    code.tee(at).int(most).get(at).int(most).op("i32.lt_u", "select").int(Math.log2(PLACE)).op("i32.shl");
    code.release(at);
  }

  /** Pushes an address of an element of a private array; returns what is to be added to it. */
  #element(index: Operand, ref: ArrayRef): number {
    const { code } = this;
    const at = this.#live.resolve(index);
    const base = this.#map.array(ref);
    code.get(FRAME);
    if (typeof at === "number") return base + PLACE * at;
    this.#index(index, ref.length);
    code.op("i32.add");
    return base;
  }

  /** Gives a value that was just pushed a local, until its last use. */
  #keep(node: TraceNode): void {
    const local = this.code.local(kindOf(node.type));
    this.#locals[node.id] = local;
    this.code.set(local);
    const last = this.#survey.lastUse(node);
    if (last < 0) return this.#drop(node);
    const known = this.#ends.get(last);
    if (known) known.push(node);
    else this.#ends.set(last, [node]);
  }

  #drop(node: TraceNode): void {
    if (this.#locals[node.id] >= 0) this.code.release(this.#locals[node.id]);
    this.#locals[node.id] = -1;
  }
}
