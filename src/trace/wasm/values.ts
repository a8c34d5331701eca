// values of a program as vectors of several worlds: what is pushed for an operand, and the locals that values have
import type { Trace } from "../graph.ts";
import type { Type } from "../operations.ts";
import {
  operandType,
  TraceNode,
  type ArrayRef,
  type Operand,
  type ParamRef,
  type TableRef,
  type VarRef,
} from "../nodes.ts";
import type { Liveness } from "../liveness.ts";
import { isComputed, type Computed } from "../operations.ts";
import { Addresses } from "./addresses.ts";
import { Code, type Bits } from "./code.ts";
import { emitVectors, SCALARS, type Test } from "./instructions.ts";
import { bitsOf, VECTOR, type MemoryMap, type Stride, type TablePlace } from "./memory-map.ts";
import { Survey } from "./survey.ts";

/** Parameters of the function: the first world, the last of the shard, where the frame and the pool are. */
const [FIRST, LAST, POOL] = [0, 1, 3];
export const FRAME = 2;
export const PARAMETERS = 4;

/** Lanes that take part; without a mask all do. */
export interface Lanes {
  readonly mask: number | undefined;
  readonly outer: Lanes | undefined;
}

/** Writes expressions; statements are written by what extends it. */
export class Values {
  readonly code: Code;
  protected readonly live: Liveness;
  protected readonly map: MemoryMap;
  protected readonly survey: Survey;
  /** By node; -1 if it has none. */
  protected readonly locals: Int32Array;
  protected readonly variables = new Map<VarRef, number>();
  protected readonly worlds: number;
  protected lanes: Lanes = { mask: undefined, outer: undefined };
  protected readonly addresses: Addresses;
  /** Values by the statement that uses them last, of the blocks around this place. */
  protected ends = new Map<number, TraceNode[]>();

  constructor(trace: Trace, live: Liveness, map: MemoryMap) {
    this.code = new Code(PARAMETERS, trace.wide);
    this.addresses = new Addresses(this.code);
    this.live = live;
    this.map = map;
    this.survey = new Survey(trace, live);
    this.locals = new Int32Array(trace.nodes).fill(-1);
    const { code } = this;
    for (const v of trace.vars) if (live.liveVars.has(v)) this.variables.set(v, code.local("vector"));
    this.worlds = code.local("vector");

    code.clear(FRAME, map.zeroed);
    const order = code.local("scalar");
    code.get(FRAME).loadInt(map.order).tee(order);
    code.open("if");
    code.get(order).get(FIRST).int(2).op("i32.shl", "i32.add");
    if (code.isWide) code.memory("v128.load64_zero", 0).tee(this.worlds).get(this.worlds).shuffle([0, 0, 1, 1]);
    else code.memory("v128.load", 0);
    code.set(this.worlds).op("else");
    // lanes beyond the last world do again what its lane does
    code.get(FIRST).simd("i32x4.splat");
    code.constant(code.isWide ? [0, 0, 1, 1] : [0, 1, 2, 3]).simd("i32x4.add");
    code.get(LAST).simd("i32x4.splat").simd("i32x4.min_s").set(this.worlds);
    code.close();
    code.release(order);
  }

  /** Bytes of a lane. */
  protected get laneBytes(): number {
    return VECTOR / this.code.lanes.length;
  }

  protected resolved(a: Operand): Operand {
    return this.live.resolve(a);
  }

  protected splat(value: number | boolean, type: Type): void {
    this.splatBits(type === "bool" ? (value ? -1 : 0) : bitsOf(Number(value), type, this.code.isWide));
  }

  protected splatBits(bits: Bits): void {
    const word = Number(bits);
    if (word === 0 || word === -1) this.code.constant([word, word, word, word]);
    else this.code.get(this.code.number(bits, POOL, () => this.map.constant(bits)));
  }

  /** Pushes an operand as a vector. */
  protected push(a: Operand, type: Type): void {
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

  /** The value of an operand, if it is written where it is used. */
  protected written(a: Operand): TraceNode | undefined {
    const node = this.resolved(a);
    return node instanceof TraceNode && this.survey.isInlined(node) && !this.survey.isUniform(node) ? node : undefined;
  }

  /** A condition. Engines negate one with two instructions, and compare integers for being unequal with three. */
  protected test(a: Operand): Test {
    const node = this.written(a);
    if (node?.op === "not") {
      const { isOpposite, push } = this.test(node.args[0]);
      return { isOpposite: !isOpposite, push };
    }
    const type = node?.op === "ne" ? operandType(node, 0) : "bool";
    if (type !== "i32" && type !== "u32") return { isOpposite: false, push: () => this.push(a, "bool") };
    const push = () => {
      node!.args.forEach((x) => this.push(x, type));
      this.code.simd("i32x4.eq");
    };
    return { isOpposite: true, push };
  }

  /** Pushes an integer or a condition that all lanes share. */
  protected pushScalar(a: Operand): void {
    const node = this.resolved(a);
    if (!(node instanceof TraceNode)) this.code.int(Number(node));
    else if (this.survey.isInlined(node)) this.scalar(node);
    else this.code.get(this.locals[node.id]);
  }

  protected scalar(node: TraceNode): void {
    const { code, map } = this;
    const { op, args } = node;
    if (op === "param") {
      code.get(FRAME).loadInt(map.param(node.source as ParamRef));
    } else if (op === "table") {
      const { offset, bytes } = map.table(node.source as TableRef);
      code.get(POOL);
      this.offset(args[0], bytes);
      code.op("i32.add").loadInt(offset);
    } else {
      args.forEach((a) => this.pushScalar(a));
      const names = SCALARS[op as Computed]!(operandType(node, 0) === "u32");
      code.op(...names);
    }
  }

  /** Pushes a shared index times the bytes of what it counts. */
  protected offset(index: Operand, bytes: Stride): void {
    this.pushScalar(index);
    this.code.int(Math.log2(bytes)).op("i32.shl");
  }

  protected vector(node: TraceNode): void {
    const { code, map } = this;
    const { op, args } = node;
    if (isComputed(op)) {
      return emitVectors(op, {
        code,
        node,
        push: (i) => this.push(args[i], operandType(node, i)),
        splat: (value, type) => this.splat(value, type),
        splatBits: (bits) => this.splatBits(bits),
        isUniform: (i) => this.survey.isUniform(args[i]),
        pushScalar: (i) => this.pushScalar(args[i]),
        test: (i) => this.test(args[i]),
        written: (i) => this.written(args[i]),
      });
    }
    switch (op) {
      case "param":
        code.get(FRAME).memory("v128.load32_splat", map.param(node.source as ParamRef));
        if (code.isWide && node.type === "f32") code.simd("f64x2.promote_low_f32x4");
        return;
      case "table": {
        const ref = node.source as TableRef;
        const place = map.table(ref);
        const { offset, bytes } = place;
        if (!this.survey.isUniform(args[0])) {
          const most = ref.values.length - 1;
          if (bytes === 4 * this.laneBytes) return this.columnOfRows(args[0], most, place);
          return this.gather(args[0], most, bytes, POOL, offset, 0);
        }
        code.get(POOL);
        this.offset(args[0], bytes);
        code.op("i32.add").memory(code.ofLane("load", "_splat"), offset);
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
      default:
        op satisfies never;
    }
  }

  protected element(index: Operand, ref: ArrayRef): void {
    const { code, map } = this;
    if (!this.survey.isUniform(index)) {
      const { most, bytes, stride } = this.reached(index, ref);
      return this.gather(index, most, bytes, FRAME, map.array(ref), stride);
    }
    code.memory("v128.load", this.pushElement(index, ref));
  }

  /**
   * What an index of each lane reaches of a private array: the last element beyond all of them, the bytes of an element, and what
   * lies between those of a lane and the next. One that names another lane counts the elements of all.
   */
  protected reached(
    index: Operand,
    { length }: ArrayRef,
  ): { none: number; most: number; bytes: Stride; stride: number } {
    const { laneBytes } = this;
    const count = this.code.lanes.length;
    const isOfLane = (this.resolved(index) as TraceNode).op === "of_lane";
    if (!isOfLane) return { none: length, most: length, bytes: VECTOR, stride: laneBytes };
    return { none: count * length, most: count * (length + 1) - 1, bytes: laneBytes as Stride, stride: 0 };
  }

  /** Pushes an address of an element at a shared index; returns what is to be added to it. */
  protected pushElement(index: Operand, ref: ArrayRef): number {
    const { code, map } = this;
    const at = this.resolved(index);
    code.get(FRAME);
    if (typeof at === "number") return map.array(ref) + VECTOR * at;
    this.offset(index, VECTOR);
    code.op("i32.add");
    return map.array(ref);
  }

  /** Numbers at an index of each lane, at most `most`; those of a lane `stride` bytes after those of the lane before. */
  protected gather(index: Operand, most: number, bytes: Stride, base: number, offset: number, stride: number): void {
    const { code } = this;
    const { to, release } = this.lanesAddresses("at", index, most, bytes, base, () => {});
    const out = code.local("vector");
    to.forEach((address, k) => {
      code.get(address);
      if (k === 0) code.memory(code.ofLane("load", "_zero"), offset);
      else code.get(out).memory(code.ofLane("load", "_lane"), offset + k * stride, k);
      code.set(out);
    });
    code.get(out).release(out);
    release();
  }

  /**
   * Numbers of one of up to four tables side by side at an index of each lane. A vector is read for each lane, and the columns
   * that are asked for are put together of all of them: fewer instructions than reads of single numbers.
   */
  protected columnOfRows(index: Operand, most: number, { offset, bytes, column }: TablePlace): void {
    const [x, y] = this.#pairsOfRows(index, most, bytes, offset - this.laneBytes * column, column >> 1);
    this.code
      .get(x)
      .get(y)
      .shuffle(column % 2 === 1 ? [2, 3, 6, 7] : [0, 1, 4, 5]);
  }

  /** Locals with two neighbours of each lane's row: of half of the lanes in each. */
  #pairsOfRows(index: Operand, most: number, bytes: Stride, first: number, half: number): readonly number[] {
    const { code, addresses } = this;
    const { id } = this.resolved(index) as TraceNode;
    const kept = (key: string, make: () => number[]): readonly number[] => {
      const known = addresses.find(key);
      if (known) return known;
      const made = make();
      addresses.keep(key, made);
      return made;
    };
    const rowsAt = (offset: number) => {
      const { to, release } = this.lanesAddresses("at", index, most, bytes, POOL, () => {});
      const rows = to.map((address) => {
        const row = code.local("vector");
        code.get(address).memory("v128.load", offset).set(row);
        return row;
      });
      release();
      return rows;
    };
    if (code.isWide) return kept(`pairs ${id} ${first} ${half}`, () => rowsAt(first + VECTOR * half));
    const rows = kept(`rows ${id} ${first}`, () => rowsAt(first));
    return kept(`pairs ${id} ${first} ${half}`, () =>
      [0, 2].map((k) => {
        const pair = code.local("vector");
        code
          .get(rows[k])
          .get(rows[k + 1])
          .shuffle(half === 0 ? [0, 4, 1, 5] : [2, 6, 3, 7])
          .set(pair);
        return pair;
      }),
    );
  }

  /**
   * Locals with the address of an index in each lane, no more than `most` times `bytes` beyond `base`. What is read or
   * written at an index that has several uses shares them.
   */
  protected lanesAddresses(
    kind: "at" | "put",
    index: Operand,
    most: number,
    bytes: Stride,
    base: number,
    blend: () => void,
  ): { readonly to: readonly number[]; release(): void } {
    const { code, addresses } = this;
    const node = this.resolved(index) as TraceNode;
    const key = `${kind} ${node.id} ${most} ${base} ${bytes}`;
    const known = addresses.find(key);
    if (known) return { to: known, release: () => {} };
    const at = code.local("vector");
    this.push(index, "i32");
    this.splat(most, "i32");
    code.simd("i32x4.min_u");
    blend();
    code.int(Math.log2(bytes)).simd("i32x4.shl").get(code.splatOf(base)).simd("i32x4.add").set(at);
    const to = code.lanes.map((k) => {
      const address = code.local("scalar");
      code.get(at).extract(k).set(address);
      return address;
    });
    code.release(at);
    if (this.live.uses(node) < 2) return { to, release: () => code.release(...to) };
    addresses.keep(key, to);
    return { to, release: () => {} };
  }

  /** Gives a value that was just pushed a local, until its last use. */
  protected keep(node: TraceNode, kind: "vector" | "scalar"): void {
    const local = this.code.local(kind);
    this.locals[node.id] = local;
    this.code.set(local);
    const last = this.survey.lastUse(node);
    if (last < 0) return this.drop(node);
    const known = this.ends.get(last);
    if (known) known.push(node);
    else this.ends.set(last, [node]);
  }

  protected drop(node: TraceNode): void {
    if (this.locals[node.id] >= 0) this.code.release(this.locals[node.id]);
    this.locals[node.id] = -1;
  }
}
