// writes a program as one WebAssembly function that runs four worlds, or two in float64: statements, under masks where worlds part
import type { Trace } from "../graph.ts";
import {
  TraceNode,
  type ArrayRef,
  type Block,
  type BufferRef,
  type Operand,
  type Statement,
  type VarRef,
} from "../nodes.ts";
import type { Liveness } from "../liveness.ts";
import type { MemoryMap } from "./memory-map.ts";
import { breaks, isEmpty } from "./survey.ts";
import { FRAME, Values, type Lanes } from "./values.ts";

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

export class Emitter extends Values {
  /** The lanes of each block. */
  readonly #lanesOf = new Map<Block, Lanes>();
  /** The turns of each lane through loops that lanes leave one by one, and whether there are any; locals begin as 0. */
  readonly #effort: number = this.code.local("vector");
  #hasEffort = false;
  /** How often each variable was assigned so far, and how often it had been where it was loaded. */
  readonly #versions = new Map<VarRef, number>();
  readonly #loaded = new Map<TraceNode, number>();
  /** The block that is being written. */
  #here: Block | undefined;

  constructor(trace: Trace, live: Liveness, map: MemoryMap) {
    super(trace, live, map);
    this.#block(trace.root, { loop: undefined, branch: 0 });
    this.#tellEffort();
  }

  /** Whether it says what effort each world took. */
  get tellsEffort(): boolean {
    return this.#hasEffort;
  }

  #tellEffort(): void {
    const { code, map } = this;
    if (!this.#hasEffort) return;
    const list = code.local("scalar");
    code
      .get(FRAME)
      .loadInt(map.order + 4)
      .tee(list);
    code.open("if");
    for (const k of code.lanes) {
      code.get(list).get(this.worlds).extract(k).int(2).op("i32.shl", "i32.add");
      code.get(this.#effort).extract(k).storeInt(0);
    }
    code.close();
    code.release(list);
  }

  /**
   * Counts a turn of a loop for the lanes that take it; not of short loops, which would take longer by that, nor where lanes take
   * turns for other worlds.
   */
  #count(block: Block, lanes: number | undefined): void {
    if (lanes === undefined || !block.statements.some((s) => s.kind === "when" || s.kind === "loop")) return;
    if (this.survey.isForOthers(block)) return;
    const { code } = this;
    this.#hasEffort = true;
    code.get(this.#effort).get(lanes).simd("i32x4.sub").set(this.#effort);
  }

  #block(block: Block, around: Around): void {
    const [outer, outside] = [this.ends, this.#here];
    this.ends = new Map();
    this.#here = block;
    const leave = this.addresses.enter();
    this.#lanesOf.set(block, this.lanes);
    for (const node of this.survey.sunkInto(block)) this.#define(node);
    block.statements.forEach((s, at) => {
      if (s.kind !== "stage" && this.live.isLive(s)) this.#statement(s, around);
      for (const node of this.ends.get(at) ?? []) this.drop(node);
    });
    this.ends = outer;
    this.#here = outside;
    leave();
  }

  #statement(s: Exclude<Statement, { kind: "stage" }>, around: Around): void {
    switch (s.kind) {
      case "let":
        if (!this.survey.isSunk(s.node)) this.#define(s.node);
        return;
      case "set":
        return this.#assign(s.target, s.value);
      case "put":
        return this.#put(s.target, s.index, s.value);
      case "store":
        return this.#store(s);
      case "when":
        return this.#when(s, around);
      case "loop":
        return this.#loop(s);
      case "break":
        return this.#leave(s.cond, around);
    }
  }

  #define(node: TraceNode): void {
    const { op } = node;
    if (this.resolved(node) !== node || this.survey.isInlined(node) || op === "component" || op === "world") return;
    if (op === "load4") return this.#load4(node);
    if (this.survey.isUniform(node)) {
      this.scalar(node);
      return this.keep(node, "scalar");
    }
    if (op === "load") this.#loaded.set(node, this.#version(node.source as VarRef));
    this.vector(node);
    this.keep(node, "vector");
  }

  /** Where lanes are masked, what the others hold stays. */
  #blend(old: () => void): void {
    if (this.lanes.mask === undefined) return;
    old();
    this.code.get(this.lanes.mask).select();
  }

  #assign(target: VarRef, value: Operand): void {
    const local = this.variables.get(target);
    if (local === undefined) return;
    this.#versions.set(target, this.#version(target) + 1);
    const own = this.#lanesOf.get(target.block) === this.lanes && this.survey.isSetFirst(target);
    if (!own && this.#replaces(target, local, value)) return;
    this.push(value, target.type);
    if (!own) this.#blend(() => this.code.get(local));
    this.code.set(local);
  }

  #version(ref: VarRef): number {
    return this.#versions.get(ref) ?? 0;
  }

  /** Whether an operand is what a variable still holds before an assignment that was just counted. */
  #isHeld(a: Operand, ref: VarRef): boolean {
    const node = this.resolved(a);
    if (!(node instanceof TraceNode) || node.op !== "load" || node.source !== ref) return false;
    if (this.#loaded.get(node) !== this.#version(ref) - 1) return false;
    // a loop that began since then may have assigned it in an earlier turn
    let block: Block | undefined = this.#here;
    while (block && block !== node.block && !block.isLoop) block = block.parent;
    return block === node.block;
  }

  /** Takes another value where a condition holds and what the variable holds elsewhere: masked lanes are part of the condition. */
  #replaces(target: VarRef, local: number, value: Operand): boolean {
    const { code, lanes } = this;
    const node = this.written(value);
    if (lanes.mask === undefined || node?.op !== "select") return false;
    const [cond, yes, no] = node.args;
    const isNew = this.#isHeld(no, target);
    if (!isNew && !this.#isHeld(yes, target)) return false;
    this.push(isNew ? yes : no, target.type);
    code.get(local);
    const { isOpposite, push } = this.test(cond);
    if (isOpposite === isNew) code.get(lanes.mask);
    push();
    if (isOpposite === isNew) code.simd("v128.andnot");
    else code.get(lanes.mask).simd("v128.and");
    code.select().set(local);
    return true;
  }

  #put(target: ArrayRef, index: Operand, value: Operand): void {
    if (!this.live.liveArrays.has(target.id)) return;
    const { code } = this;
    const at = this.map.array(target);
    if (this.survey.isUniform(index)) {
      const address = code.local("scalar");
      const offset = this.pushElement(index, target);
      code.tee(address);
      this.push(value, target.type);
      if (!target.isOwn) this.#blend(() => code.get(address).memory("v128.load", offset));
      code.memory("v128.store", offset).release(address);
      return;
    }
    const { none, most, bytes, stride } = this.reached(index, target);
    const { to, release } = this.lanesAddresses("put", index, most, bytes, FRAME, () => {
      // the element after the last is nobody's
      this.#blend(() => this.splat(none, "i32"));
    });
    const x = code.local("vector");
    this.push(value, target.type);
    code.set(x);
    to.forEach((address, k) =>
      code
        .get(address)
        .get(x)
        .memory(code.ofLane("store", "_lane"), at + stride * k, k),
    );
    code.release(x);
    release();
  }

  /** Locals with the addresses of four numbers of a buffer, for each lane. */
  #addresses(index: Operand, ref: BufferRef): number[] {
    const { code } = this;
    const [at, base] = [code.local("vector"), code.local("scalar")];
    this.push(index, "i32");
    if (this.lanes.mask !== undefined) code.get(this.lanes.mask).simd("v128.and");
    code.int(4).simd("i32x4.shl").set(at);
    code.get(FRAME).loadInt(this.map.buffer(ref)).set(base);
    const all = code.lanes.map((k) => {
      const address = code.local("scalar");
      code.get(base).get(at).extract(k).op("i32.add").set(address);
      return address;
    });
    code.release(at, base);
    return all;
  }

  #load4(node: TraceNode): void {
    const { code } = this;
    const used = (this.survey.components.get(node) ?? []).filter((c) => this.survey.lastUse(c) >= 0);
    if (used.length === 0) return;
    const addresses = this.#addresses(node.args[0], node.source as BufferRef);
    const rows = addresses.map((address) => {
      const row = code.local("vector");
      code.get(address).memory("v128.load", 0).set(row);
      return row;
    });
    code.release(...addresses);
    for (const component of used) {
      // a column of the rows
      const part = component.args[1] as number;
      const isOdd = part % 2 === 1;
      const pairs = part < 2 ? [0, 4, 1, 5] : [2, 6, 3, 7];
      code.get(rows[0]).get(rows[1]).shuffle(pairs);
      if (!code.isWide) {
        code.get(rows[2]).get(rows[3]).shuffle(pairs);
        code.shuffle(isOdd ? [2, 3, 6, 7] : [0, 1, 4, 5]);
      } else if (component.type === "f32") {
        if (isOdd) code.swizzle([2, 3, 2, 3]);
        code.simd("f64x2.promote_low_f32x4");
      } else code.swizzle(isOdd ? [2, 2, 3, 3] : [0, 0, 1, 1]);
      this.keep(component, "vector");
    }
    code.release(...rows);
  }

  #store({ values, type, index, target }: Extract<Statement, { kind: "store" }>): void {
    const { code, lanes } = this;
    const columns = values.map((v) => {
      const column = code.local("vector");
      this.push(v, type);
      if (code.isWide) {
        if (type === "f32") code.simd("f32x4.demote_f64x2_zero");
        else code.packed();
      }
      code.set(column);
      return column;
    });
    const addresses = this.#addresses(index, target);
    for (const k of code.lanes) {
      const pairs = k < 2 ? [0, 4, 1, 5] : [2, 6, 3, 7];
      if (lanes.mask !== undefined) {
        code.get(lanes.mask).extract(k);
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

  #when(s: Extract<Statement, { kind: "when" }>, around: Around): void {
    const { code, live, lanes: outer } = this;
    const hasElse = !isEmpty(s.otherwise, live);
    if (this.survey.isUniform(s.cond)) {
      this.pushScalar(s.cond);
      code.open("if");
      this.#block(s.then, around);
      if (hasElse) {
        code.op("else");
        this.#block(s.otherwise, around);
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
      this.#block(block, { ...around, branch });
      this.lanes = outer;
      code.close();
      code.release(mask);
    };
    if (!isEmpty(s.then, live)) part(s.then, true);
    if (hasElse) part(s.otherwise, false);
    code.release(cond);
  }

  #loop(s: Extract<Statement, { kind: "loop" }>): void {
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
    this.#count(s.block, own);
    this.#block(s.block, { loop: { lanes: this.lanes, exit }, branch: exit });
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

  #leave(cond: Operand, { loop, branch }: Around): void {
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
    this.addresses.forgetPuts();
    // nobody is left here
    code
      .get(lanes.mask!)
      .simd("v128.any_true")
      .op("i32.eqz")
      .branch("br_if", lanes === ofLoop ? exit : branch);
  }
}
