// the body of a function: instructions, and locals that are used again when their values have ended
import { CorralError } from "../../core/errors.ts";
import { Bytes, I32, V128 } from "./bytes.ts";
import { Op32, Simd, type FloatName, type Op32Name, type SimdName } from "./opcodes.ts";
import { hasLaneSelect } from "./relaxed.ts";

/** V8 takes 50,000; parameters are among them. */
const MOST_LOCALS = 49_000;

/** The bits of a number: 32, or 64 in a wide lane. */
export type Bits = number | bigint;

/** What a local holds: a vector or an integer. */
export type Kind = "vector" | "scalar";
const CODES: Readonly<Record<Kind, number>> = { vector: V128, scalar: I32 };

/**
 * Instructions of one function, whose first locals are its parameters. A vector has a lane for each of four worlds, or of two
 * in float64: integers and masks are then in both halves of a lane, so that instructions on four words do for both.
 */
export class Code {
  readonly bytes = new Bytes();
  /** How deep in blocks this place is, for branches. */
  depth = 0;
  readonly #kinds: Kind[] = [];
  readonly #free: Record<Kind, number[]> = { vector: [], scalar: [] };
  readonly #parameters: number;
  readonly isWide: boolean;
  /** The lanes of a vector. */
  readonly lanes: readonly number[];

  /** What runs first: numbers are read once. */
  readonly #prologue = new Bytes();
  readonly #numbers = new Map<Bits, number>();
  readonly #splats = new Map<number, number>();

  constructor(parameters: number, isWide: boolean) {
    this.#parameters = parameters;
    this.isWide = isWide;
    this.lanes = isWide ? [0, 1] : [0, 1, 2, 3];
  }

  /** A local that nothing else uses until it is freed. */
  local(kind: Kind): number {
    return this.#free[kind].pop() ?? this.#newLocal(kind);
  }

  #newLocal(kind: Kind): number {
    if (this.#kinds.length >= MOST_LOCALS)
      throw new CorralError(
        "wasm-locals",
        `the kernel needs more than ${MOST_LOCALS} values at once, which WebAssembly cannot hold. Pass unroll: false; if it is, let worlds draw fewer numbers of the model (geom_friction of all geoms is one for each).`,
      );
    this.#kinds.push(kind);
    return this.#parameters + this.#kinds.length - 1;
  }

  /**
   * The local of a number in all lanes, read from memory once: where registers are short, engines take it from the stack as
   * an operand, and one from elsewhere by an instruction of its own.
   */
  number(bits: Bits, pool: number, offset: () => number): number {
    let local = this.#numbers.get(bits);
    if (local === undefined) {
      local = this.#newLocal("vector");
      this.#numbers.set(bits, local);
      const code = this.#prologue.byte(Op32["local.get"]).unsigned(pool);
      code.byte(0xfd).unsigned(Simd[this.ofLane("load", "_splat")]).unsigned(2).unsigned(offset());
      code.byte(Op32["local.set"]).unsigned(local);
    }
    return local;
  }

  /** The local of an address in all lanes. */
  splatOf(base: number): number {
    let local = this.#splats.get(base);
    if (local === undefined) {
      local = this.#newLocal("vector");
      this.#splats.set(base, local);
      const code = this.#prologue.byte(Op32["local.get"]).unsigned(base);
      code.byte(0xfd).unsigned(Simd["i32x4.splat"]).byte(Op32["local.set"]).unsigned(local);
    }
    return local;
  }

  release(...locals: number[]): void {
    for (const local of locals) this.#free[this.#kinds[local - this.#parameters]].push(local);
  }

  op(...names: Op32Name[]): this {
    for (const name of names) this.bytes.byte(Op32[name]);
    return this;
  }

  simd(name: SimdName): this {
    this.bytes.byte(0xfd).unsigned(Simd[name]);
    return this;
  }

  /** An instruction of as many floats as there are lanes. */
  float(name: FloatName): this {
    return this.simd(this.isWide ? `f64x2.${name}` : `f32x4.${name}`);
  }

  /** The instruction that reads or writes a lane. */
  ofLane<B extends "load" | "store", E extends "_splat" | "_zero" | "_lane">(name: B, how: E) {
    return this.isWide ? (`v128.${name}64${how}` as const) : (`v128.${name}32${how}` as const);
  }

  /** Of three vectors on the stack, lanes of the first where the third is true, else of the second. */
  select(): this {
    return this.simd(hasLaneSelect() ? "i32x4.relaxed_laneselect" : "v128.bitselect");
  }

  get(local: number): this {
    return this.#at("local.get", local);
  }

  set(local: number): this {
    return this.#at("local.set", local);
  }

  tee(local: number): this {
    return this.#at("local.tee", local);
  }

  #at(name: Op32Name, index: number): this {
    this.bytes.byte(Op32[name]).unsigned(index);
    return this;
  }

  int(value: number): this {
    this.bytes.byte(Op32["i32.const"]).signed(value);
    return this;
  }

  /** A 32-bit integer from an address on the stack. */
  loadInt(offset: number): this {
    this.op("i32.load").bytes.unsigned(2).unsigned(offset);
    return this;
  }

  /** Writes the 32-bit integer on the stack to the address below it. */
  storeInt(offset: number): this {
    this.op("i32.store").bytes.unsigned(2).unsigned(offset);
    return this;
  }

  /** A read or a write of a vector, or of a word of it, at an address on the stack. */
  memory(name: SimdName, offset: number, lane?: number): this {
    this.simd(name).bytes.unsigned(2).unsigned(offset);
    if (lane !== undefined) this.bytes.byte(lane);
    return this;
  }

  /** Pushes the quotient of two integers: x where y is 0, and no trap at the least integer by -1. */
  quotient(x: number, y: number, isSigned: boolean): void {
    const result = this.local("scalar");
    this.get(x).set(result).get(y);
    this.open("if");
    if (isSigned) {
      this.get(y).int(-1).op("i32.eq");
      this.open("if");
      this.int(0).get(x).op("i32.sub").set(result);
      this.op("else");
      this.get(x).get(y).op("i32.div_s").set(result);
      this.close();
    } else this.get(x).get(y).op("i32.div_u").set(result);
    this.close();
    this.get(result).release(result);
  }

  /** Sets bytes from a base on to zero, if there are any. */
  clear(base: number, { from, to }: { readonly from: number; readonly to: number }): void {
    if (to <= from) return;
    this.get(base)
      .int(from)
      .op("i32.add")
      .int(0)
      .int(to - from);
    // memory.fill
    this.bytes.byte(0xfc, 0x0b, 0);
  }

  constant(words: readonly number[]): this {
    this.simd("v128.const");
    for (const word of words) this.bytes.word(word);
    return this;
  }

  /** Words of the two vectors on the stack: 0 to 3 of the first, 4 to 7 of the second. */
  shuffle(words: readonly number[]): this {
    this.simd("i8x16.shuffle");
    for (const word of words) for (let k = 0; k < 4; k++) this.bytes.byte(4 * word + k);
    return this;
  }

  /** Words of the vector on the stack, in this order. */
  swizzle(words: readonly number[]): this {
    const x = this.local("vector");
    this.tee(x).get(x).release(x);
    return this.shuffle(words);
  }

  /** Integers of two lanes as the first two words; and from there into both halves of their lanes. */
  packed(): this {
    return this.swizzle([0, 2, 0, 2]);
  }

  unpacked(): this {
    return this.swizzle([0, 0, 1, 1]);
  }

  /** Pushes the integer in a lane of the vector on the stack. */
  extract(lane: number): this {
    this.simd("i32x4.extract_lane").bytes.byte(this.isWide ? 2 * lane : lane);
    return this;
  }

  /** Puts the integer on the stack into a lane of the vector below it; of a lane of two words into the first. */
  replace(lane: number): this {
    this.simd("i32x4.replace_lane").bytes.byte(this.isWide ? 2 * lane : lane);
    return this;
  }

  /** Opens a block without results; returns its depth, for `branch`. */
  open(name: "block" | "loop" | "if"): number {
    this.bytes.byte(Op32[name], 0x40);
    return ++this.depth;
  }

  close(): void {
    this.op("end");
    this.depth--;
  }

  branch(name: "br" | "br_if", depth: number): this {
    return this.#at(name, this.depth - depth);
  }

  /** The function with its locals, as the code section has it. */
  body(): Bytes {
    const runs: { kind: Kind; count: number }[] = [];
    for (const kind of this.#kinds) {
      const last = runs.at(-1);
      if (last?.kind === kind) last.count++;
      else runs.push({ kind, count: 1 });
    }
    const out = new Bytes().unsigned(runs.length);
    for (const { kind, count } of runs) out.unsigned(count).byte(CODES[kind]);
    return out.append(this.#prologue.all).append(this.bytes.all).byte(Op32.end);
  }
}
