// writes a program as one WebAssembly function that runs four worlds: masked control flow, values in locals
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
  type Trace,
  type Type,
  type VarRef,
} from "../graph.ts";
import type { Live } from "../live.ts";
import { isComputed, type Computed } from "../operations.ts";
import { Code } from "./code.ts";
import { emitVectors, SCALARS } from "./instructions.ts";
import { bitsOf, VECTOR, type MemoryMap } from "./memory-map.ts";
import { breaks, isEmpty, Survey } from "./survey.ts";

/** Parameters of the function: the first world, the last of the shard, where the frame and the pool are. */
const [FIRST, LAST, FRAME, POOL] = [0, 1, 2, 3];
export const PARAMETERS = 4;

/** Lanes that take part; without a mask all do. */
interface Lanes {
  readonly mask: number | undefined;
  readonly outer: Lanes | undefined;
}

/** The loop around a place: its lanes, and the depth that leaves it. */
interface Loop {
  readonly lanes: Lanes;
  readonly exit: number;
}

/** Where a block is: the loop around it, and the depth of the branch whose lanes it has. */
interface Around {
  readonly loop: Loop | undefined;
  readonly branch: number;
}

export class Emitter {
  readonly code = new Code(PARAMETERS);
  private readonly live: Live;
  private readonly map: MemoryMap;
  private readonly survey: Survey;
  /** By node; -1 where it has none. */
  private readonly locals: Int32Array;
  private readonly variables = new Map<VarRef, number>();
  private readonly worlds: number;
  private lanes: Lanes = { mask: undefined, outer: undefined };
  /** The lanes of each block. */
  private readonly lanesOf = new Map<Block, Lanes>();
  /** Values by the statement that uses them last, of the blocks around this place. */
  private ends = new Map<number, TraceNode[]>();

  constructor(trace: Trace, live: Live, map: MemoryMap) {
    this.live = live;
    this.map = map;
    this.survey = new Survey(trace, live);
    this.locals = new Int32Array(trace.nodes).fill(-1);
    const { code } = this;
    for (const v of trace.vars) if (live.liveVars.has(v)) this.variables.set(v, code.local("vector"));
    this.worlds = code.local("vector");

    const { from, to } = map.arrays;
    if (to > from) {
      code
        .get(FRAME)
        .int(from)
        .op("i32.add")
        .int(0)
        .int(to - from);
      // memory.fill
      code.bytes.byte(0xfc, 0x0b, 0);
    }
    // lanes beyond the last world do again what its lane does
    code.get(FIRST).simd("i32x4.splat").constant([0, 1, 2, 3]).simd("i32x4.add");
    code.get(LAST).simd("i32x4.splat").simd("i32x4.min_s").set(this.worlds);
    this.block(trace.root, { loop: undefined, branch: 0 });
  }

  private resolved(a: Operand): Operand {
    return this.live.resolve(a);
  }

  private splat(value: number | boolean, type: Type): void {
    const bits = type === "bool" ? (value ? -1 : 0) : type === "f32" ? bitsOf(Number(value)) : Number(value) | 0;
    if (bits === 0 || bits === -1) this.code.constant([bits, bits, bits, bits]);
    else this.code.get(POOL).memory("v128.load32_splat", this.map.constant(bits));
  }

  /** Pushes an operand as a vector. */
  private push(a: Operand, type: Type): void {
    const { code } = this;
    const node = this.resolved(a);
    if (!(node instanceof TraceNode)) return this.splat(node, typeof node === "boolean" ? "bool" : type);
    if (node.op === "world") code.get(this.worlds);
    else if (this.survey.isUniform(node)) {
      if (node.type === "bool") code.int(0);
      this.pushScalar(node);
      if (node.type === "bool") code.op("i32.sub");
      code.simd("i32x4.splat");
    } else if (this.survey.isInlined(node)) this.vector(node);
    else code.get(this.locals[node.id]);
  }

  /** Pushes an integer or a condition that all lanes share. */
  private pushScalar(a: Operand): void {
    const node = this.resolved(a);
    if (!(node instanceof TraceNode)) this.code.int(Number(node));
    else if (this.survey.isInlined(node)) this.scalar(node);
    else this.code.get(this.locals[node.id]);
  }

  private scalar(node: TraceNode): void {
    const { code, map } = this;
    const { op, args } = node;
    if (op === "param") {
      code.get(FRAME).loadInt(map.param(node.source as ParamRef));
    } else if (op === "table") {
      code.get(POOL);
      this.offset(args[0], 4);
      code.op("i32.add").loadInt(map.table(node.source as TableRef));
    } else {
      args.forEach((a) => this.pushScalar(a));
      const names = SCALARS[op as Computed]!(operandType(node, 0) === "u32");
      code.op(...names);
    }
  }

  /** Pushes a shared index times the bytes of what it counts. */
  private offset(index: Operand, bytes: 4 | 16): void {
    this.pushScalar(index);
    this.code.int(Math.log2(bytes)).op("i32.shl");
  }

  private vector(node: TraceNode): void {
    const { code, map } = this;
    const { op, args } = node;
    if (isComputed(op)) {
      return emitVectors(op, {
        code,
        node,
        push: (i) => this.push(args[i], operandType(node, i)),
        splat: (value, type) => this.splat(value, type),
        isUniform: (i) => this.survey.isUniform(args[i]),
        pushScalar: (i) => this.pushScalar(args[i]),
      });
    }
    switch (op) {
      case "param":
        code.get(FRAME).memory("v128.load32_splat", map.param(node.source as ParamRef));
        return;
      case "table": {
        const ref = node.source as TableRef;
        if (!this.survey.isUniform(args[0]))
          return this.gather(args[0], ref.values.length - 1, 4, POOL, map.table(ref), 0);
        code.get(POOL);
        this.offset(args[0], 4);
        code.op("i32.add").memory("v128.load32_splat", map.table(ref));
        return;
      }
      case "load":
        code.get(this.variables.get(node.source as VarRef)!);
        return;
      case "at":
        return this.element(args[0], node.source as ArrayRef);
      case "world":
      case "index":
      case "load4":
      case "component":
        throw new Error(`${op} is not written where it is used`);
    }
  }

  private element(index: Operand, ref: ArrayRef): void {
    const { code, map } = this;
    if (!this.survey.isUniform(index)) return this.gather(index, ref.length, VECTOR, FRAME, map.array(ref), 4);
    code.get(FRAME);
    this.offset(index, VECTOR);
    code.op("i32.add").memory("v128.load", map.array(ref));
  }

  /** Words at an index of each lane, at most `most`; those of a lane `stride` bytes after those of the lane before. */
  private gather(index: Operand, most: number, bytes: 4 | 16, base: number, offset: number, stride: number): void {
    const { code } = this;
    const [at, out] = [code.local("vector"), code.local("vector")];
    this.push(index, "i32");
    this.splat(most, "i32");
    code.simd("i32x4.min_u").int(Math.log2(bytes)).simd("i32x4.shl").set(at);
    for (let k = 0; k < 4; k++) {
      code.get(base).get(at).lane("i32x4.extract_lane", k).op("i32.add");
      if (k === 0) code.memory("v128.load32_zero", offset);
      else code.get(out).memory("v128.load32_lane", offset + k * stride, k);
      code.set(out);
    }
    code.get(out).release(at, out);
  }

  /** Gives a value that was just pushed a local, until its last use. */
  private keep(node: TraceNode, kind: "vector" | "scalar"): void {
    const local = this.code.local(kind);
    this.locals[node.id] = local;
    this.code.set(local);
    const last = this.survey.lastUse(node);
    if (last < 0) return this.drop(node);
    const known = this.ends.get(last);
    if (known) known.push(node);
    else this.ends.set(last, [node]);
  }

  private drop(node: TraceNode): void {
    if (this.locals[node.id] >= 0) this.code.release(this.locals[node.id]);
    this.locals[node.id] = -1;
  }

  private block(block: Block, around: Around): void {
    const outer = this.ends;
    this.ends = new Map();
    this.lanesOf.set(block, this.lanes);
    block.statements.forEach((s, at) => {
      if (s.kind !== "stage" && this.live.isLive(s)) this.statement(s, around);
      for (const node of this.ends.get(at) ?? []) this.drop(node);
    });
    this.ends = outer;
  }

  private statement(s: Exclude<Statement, { kind: "stage" }>, around: Around): void {
    switch (s.kind) {
      case "let":
        return this.define(s.node);
      case "set":
        return this.assign(s.target, s.value);
      case "put":
        return this.put(s.target, s.index, s.value);
      case "store":
        return this.store(s);
      case "when":
        return this.when(s, around);
      case "loop":
        return this.loop(s);
      case "break":
        return this.leave(s.cond, around);
    }
  }

  private define(node: TraceNode): void {
    const { op } = node;
    if (this.resolved(node) !== node || this.survey.isInlined(node) || op === "component" || op === "world") return;
    if (op === "load4") return this.load4(node);
    if (this.survey.isUniform(node)) {
      this.scalar(node);
      return this.keep(node, "scalar");
    }
    this.vector(node);
    this.keep(node, "vector");
  }

  /** Where lanes are masked, what the others hold stays. */
  private blend(old: () => void): void {
    if (this.lanes.mask === undefined) return;
    old();
    this.code.get(this.lanes.mask).simd("v128.bitselect");
  }

  private assign(target: VarRef, value: Operand): void {
    const local = this.variables.get(target);
    if (local === undefined) return;
    this.push(value, target.type);
    const own = this.lanesOf.get(target.block) === this.lanes && this.survey.isSetFirst(target);
    if (!own) this.blend(() => this.code.get(local));
    this.code.set(local);
  }

  private put(target: ArrayRef, index: Operand, value: Operand): void {
    if (!this.live.liveArrays.has(target.id)) return;
    const { code } = this;
    const at = this.map.array(target);
    if (this.survey.isUniform(index)) {
      const address = code.local("scalar");
      code.get(FRAME);
      this.offset(index, VECTOR);
      code.op("i32.add").tee(address);
      this.push(value, target.type);
      this.blend(() => code.get(address).memory("v128.load", at));
      code.memory("v128.store", at).release(address);
      return;
    }
    const [to, x] = [code.local("vector"), code.local("vector")];
    this.push(index, "i32");
    this.splat(target.length, "i32");
    code.simd("i32x4.min_u");
    // the element after the last is nobody's
    this.blend(() => this.splat(target.length, "i32"));
    code.int(4).simd("i32x4.shl").set(to);
    this.push(value, target.type);
    code.set(x);
    for (let k = 0; k < 4; k++) {
      code.get(FRAME).get(to).lane("i32x4.extract_lane", k).op("i32.add");
      code.get(x).memory("v128.store32_lane", at + 4 * k, k);
    }
    code.release(to, x);
  }

  /** Locals with the addresses of four numbers of a buffer, for each lane. */
  private addresses(index: Operand, ref: BufferRef): number[] {
    const { code } = this;
    const [at, base] = [code.local("vector"), code.local("scalar")];
    this.push(index, "i32");
    if (this.lanes.mask !== undefined) code.get(this.lanes.mask).simd("v128.and");
    code.int(4).simd("i32x4.shl").set(at);
    code.get(FRAME).loadInt(this.map.buffer(ref)).set(base);
    const all = [0, 1, 2, 3].map((k) => {
      const address = code.local("scalar");
      code.get(base).get(at).lane("i32x4.extract_lane", k).op("i32.add").set(address);
      return address;
    });
    code.release(at, base);
    return all;
  }

  private load4(node: TraceNode): void {
    const { code } = this;
    const used = (this.survey.components.get(node) ?? []).filter((c) => this.survey.lastUse(c) >= 0);
    if (used.length === 0) return;
    const addresses = this.addresses(node.args[0], node.source as BufferRef);
    const rows = addresses.map((address) => {
      const row = code.local("vector");
      code.get(address).memory("v128.load", 0).set(row);
      return row;
    });
    code.release(...addresses);
    for (const component of used) {
      // a column of the four rows
      const part = component.args[1] as number;
      const pairs = part < 2 ? [0, 4, 1, 5] : [2, 6, 3, 7];
      code.get(rows[0]).get(rows[1]).shuffle(pairs);
      code.get(rows[2]).get(rows[3]).shuffle(pairs);
      code.shuffle(part % 2 === 1 ? [2, 3, 6, 7] : [0, 1, 4, 5]);
      this.keep(component, "vector");
    }
    code.release(...rows);
  }

  private store({ values, type, index, target }: Extract<Statement, { kind: "store" }>): void {
    const { code, lanes } = this;
    const columns = values.map((v) => {
      const column = code.local("vector");
      this.push(v, type);
      code.set(column);
      return column;
    });
    const addresses = this.addresses(index, target);
    for (let k = 0; k < 4; k++) {
      const pairs = k < 2 ? [0, 4, 1, 5] : [2, 6, 3, 7];
      if (lanes.mask !== undefined) {
        code.get(lanes.mask).lane("i32x4.extract_lane", k);
        code.open("if");
      }
      code.get(addresses[k]);
      code.get(columns[0]).get(columns[1]).shuffle(pairs);
      code.get(columns[2]).get(columns[3]).shuffle(pairs);
      code.shuffle(k % 2 === 1 ? [2, 3, 6, 7] : [0, 1, 4, 5]).memory("v128.store", 0);
      if (lanes.mask !== undefined) code.close();
    }
    code.release(...columns, ...addresses);
  }

  private when(s: Extract<Statement, { kind: "when" }>, around: Around): void {
    const { code, live, lanes: outer } = this;
    const hasElse = !isEmpty(s.otherwise, live);
    if (this.survey.isUniform(s.cond)) {
      this.pushScalar(s.cond);
      code.open("if");
      this.block(s.then, around);
      if (hasElse) {
        code.op("else");
        this.block(s.otherwise, around);
      }
      return code.close();
    }
    const cond = code.local("vector");
    this.push(s.cond, "bool");
    code.set(cond);
    const part = (block: Block, isThen: boolean) => {
      const mask = code.local("vector");
      if (isThen) {
        code.get(cond);
        if (outer.mask !== undefined) code.get(outer.mask).simd("v128.and");
      } else if (outer.mask === undefined) code.get(cond).simd("v128.not");
      else code.get(outer.mask).get(cond).simd("v128.andnot");
      code.tee(mask).simd("v128.any_true");
      const branch = code.open("if");
      this.lanes = { mask, outer };
      this.block(block, { ...around, branch });
      this.lanes = outer;
      code.close();
      code.release(mask);
    };
    if (!isEmpty(s.then, live)) part(s.then, true);
    if (hasElse) part(s.otherwise, false);
    code.release(cond);
  }

  private loop(s: Extract<Statement, { kind: "loop" }>): void {
    const { code, survey, lanes: outer } = this;
    const [sharedStart, sharedBound] = [survey.isUniform(s.start), survey.isUniform(s.bound)];
    const isShared = sharedStart && sharedBound;
    // lanes leave one by one
    const own = !isShared || breaks(s.block, this.live) ? code.local("vector") : undefined;
    if (own !== undefined) {
      if (outer.mask === undefined) this.splat(true, "bool");
      else code.get(outer.mask);
      code.set(own);
      this.lanes = { mask: own, outer };
    }
    const index = code.local(sharedStart ? "scalar" : "vector");
    this.locals[s.index.id] = index;
    if (sharedStart) this.pushScalar(s.start);
    else this.push(s.start, "i32");
    code.set(index);

    const exit = code.open("block");
    const top = code.open("loop");
    code.get(index);
    if (isShared) {
      this.pushScalar(s.bound);
      code.op("i32.ge_s").branch("br_if", exit);
    } else {
      if (sharedStart) code.simd("i32x4.splat");
      this.push(s.bound, "i32");
      code.simd("i32x4.lt_s").get(own!).simd("v128.and").tee(own!);
      code.simd("v128.any_true").op("i32.eqz").branch("br_if", exit);
    }
    this.block(s.block, { loop: { lanes: this.lanes, exit }, branch: exit });
    code.get(index);
    if (sharedStart) code.int(1).op("i32.add");
    else {
      this.splat(1, "i32");
      code.simd("i32x4.add");
    }
    code.set(index).branch("br", top);
    code.close();
    code.close();
    this.lanes = outer;
    if (own !== undefined) code.release(own);
    code.release(index);
    this.locals[s.index.id] = -1;
  }

  private leave(cond: Operand, { loop, branch }: Around): void {
    const { code, lanes } = this;
    const { lanes: ofLoop, exit } = loop!;
    const leaving = code.local("vector");
    this.push(cond, "bool");
    code.get(lanes.mask!).simd("v128.and").set(leaving);
    for (let inner: Lanes | undefined = lanes; inner; inner = inner.outer) {
      code.get(inner.mask!).get(leaving).simd("v128.andnot").set(inner.mask!);
      if (inner === ofLoop) break;
    }
    code.release(leaving);
    // nobody is left here
    code
      .get(lanes.mask!)
      .simd("v128.any_true")
      .op("i32.eqz")
      .branch("br_if", lanes === ofLoop ? exit : branch);
  }
}
