// the body of a function: instructions, and locals that are used again when their values have ended
import { CorralError } from "../../core/errors.ts";
import { Bytes, F64, I32, V128 } from "./bytes.ts";
import { Op32, Simd, type Op32Name, type SimdName } from "./opcodes.ts";
import { hasLaneSelect } from "./relaxed.ts";

/** V8 takes 50,000; parameters are among them. */
const MOST_LOCALS = 49_000;

/** What a local holds: a vector, an integer, a float64. */
export type Kind = "vector" | "scalar" | "double";
const CODES: Readonly<Record<Kind, number>> = { vector: V128, scalar: I32, double: F64 };

const double = new DataView(new ArrayBuffer(8));

/** Instructions of one function, whose first locals are its parameters. */
export class Code {
  readonly bytes = new Bytes();
  /** How deep in blocks this place is, for branches. */
  depth = 0;
  readonly #kinds: Kind[] = [];
  readonly #free: Record<Kind, number[]> = { vector: [], scalar: [], double: [] };
  readonly #parameters: number;

  /** What runs first: numbers are read once. */
  readonly #prologue = new Bytes();
  readonly #numbers = new Map<number, number>();

  constructor(parameters: number) {
    this.#parameters = parameters;
  }

  /** A local that nothing else uses until it is freed. */
  local(kind: Kind): number {
    return this.#free[kind].pop() ?? this.#newLocal(kind);
  }

  #newLocal(kind: Kind): number {
    if (this.#kinds.length >= MOST_LOCALS)
      throw new CorralError(
        "wasm-locals",
        `the kernel needs more than ${MOST_LOCALS} values at once, which WebAssembly cannot hold. Pass unroll: false.`,
      );
    this.#kinds.push(kind);
    return this.#parameters + this.#kinds.length - 1;
  }

  /**
   * The local of a number in all lanes, read from memory once: where registers are short, engines take it from the stack as
   * an operand, and one from elsewhere by an instruction of its own.
   */
  number(bits: number, pool: number, offset: () => number): number {
    let local = this.#numbers.get(bits);
    if (local === undefined) {
      local = this.#newLocal("vector");
      this.#numbers.set(bits, local);
      const code = this.#prologue.byte(Op32["local.get"]).unsigned(pool);
      code.byte(0xfd).unsigned(Simd["v128.load32_splat"]).unsigned(2).unsigned(offset());
      code.byte(Op32["local.set"]).unsigned(local);
    }
    return local;
  }

  release(...locals: number[]): void {
    for (const local of locals) this.#free[this.#kinds[local - this.#parameters]].push(local);
  }

  op(...names: Op32Name[]): this {
    for (const name of names) {
      const code = Op32[name];
      if (code > 255) this.bytes.byte(code >> 8);
      this.bytes.byte(code & 255);
    }
    return this;
  }

  simd(name: SimdName): this {
    this.bytes.byte(0xfd).unsigned(Simd[name]);
    return this;
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

  double(value: number): this {
    double.setFloat64(0, value, true);
    this.op("f64.const").bytes.append(new Uint8Array(double.buffer));
    return this;
  }

  /** A number from an address on the stack. */
  loadAt(name: "i32.load" | "f32.load" | "f64.load", offset: number): this {
    this.op(name)
      .bytes.unsigned(name === "f64.load" ? 3 : 2)
      .unsigned(offset);
    return this;
  }

  /** Writes the number on the stack to the address below it. */
  storeAt(name: "i32.store" | "f32.store" | "f64.store", offset: number): this {
    this.op(name)
      .bytes.unsigned(name === "f64.store" ? 3 : 2)
      .unsigned(offset);
    return this;
  }

  /** A 32-bit integer from an address on the stack. */
  loadInt(offset: number): this {
    return this.loadAt("i32.load", offset);
  }

  /** Writes the 32-bit integer on the stack to the address below it. */
  storeInt(offset: number): this {
    return this.storeAt("i32.store", offset);
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

  lane(name: "i32x4.extract_lane" | "i32x4.replace_lane", lane: number): this {
    this.simd(name).bytes.byte(lane);
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
