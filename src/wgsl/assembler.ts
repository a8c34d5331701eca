// instructions of one WebAssembly function, with locals of three kinds
import { Bytes } from "../trace/wasm/bytes.ts";
import { Op32, Simd, type Op32Name, type SimdName } from "../trace/wasm/opcodes.ts";

export type Kind = "i32" | "f32" | "v128";
const KIND_CODE: Readonly<Record<Kind, number>> = { i32: 0x7f, f32: 0x7d, v128: 0x7b };

/** What the table of the tracer lacks: scalar floats, conversions, stores. */
const MORE = {
  select: 0x1c,
  "f32.load": 0x2a,
  "i32.store": 0x36,
  "f32.store": 0x38,
  "f32.const": 0x43,
  "f32.eq": 0x5b,
  "f32.ne": 0x5c,
  "f32.lt": 0x5d,
  "f32.gt": 0x5e,
  "f32.le": 0x5f,
  "f32.ge": 0x60,
  "i32.rem_s": 0x6f,
  "i32.rem_u": 0x70,
  "i32.shr_s": 0x75,
  "f32.abs": 0x8b,
  "f32.neg": 0x8c,
  "f32.floor": 0x8e,
  "f32.nearest": 0x90,
  "f32.sqrt": 0x91,
  "f32.add": 0x92,
  "f32.sub": 0x93,
  "f32.mul": 0x94,
  "f32.div": 0x95,
  "f32.min": 0x96,
  "f32.max": 0x97,
  "f32.convert_i32_s": 0xb2,
  "f32.convert_i32_u": 0xb3,
  "i32.reinterpret_f32": 0xbc,
  "f32.reinterpret_i32": 0xbe,
} as const;
const MORE_SIMD = {
  "f32x4.splat": 19,
  "f32x4.extract_lane": 31,
  "f32x4.replace_lane": 32,
  "v128.store64_lane": 91,
  "v128.load64_zero": 93,
} as const;

export type OpName = Op32Name | keyof typeof MORE;
export type VectorOpName = SimdName | keyof typeof MORE_SIMD;
const OPS: Readonly<Record<OpName, number>> = { ...Op32, ...MORE };
const VECTOR_OPS: Readonly<Record<VectorOpName, number>> = { ...Simd, ...MORE_SIMD };

export class Assembler {
  readonly bytes = new Bytes();
  readonly #parameters: number;
  readonly #locals: Kind[] = [];
  #depth = 0;

  constructor(parameters: number) {
    this.#parameters = parameters;
  }

  local(kind: Kind): number {
    this.#locals.push(kind);
    return this.#parameters + this.#locals.length - 1;
  }

  op(...names: OpName[]): this {
    for (const name of names) this.bytes.byte(OPS[name]);
    return this;
  }

  simd(name: VectorOpName, ...immediates: number[]): this {
    this.bytes
      .byte(0xfd)
      .unsigned(VECTOR_OPS[name])
      .byte(...immediates);
    return this;
  }

  /** Conversions that saturate: of floats to integers. */
  truncate(isSigned: boolean): this {
    this.bytes.byte(0xfc).unsigned(isSigned ? 0 : 1);
    return this;
  }

  get(local: number): this {
    return this.#indexed("local.get", local);
  }

  set(local: number): this {
    return this.#indexed("local.set", local);
  }

  tee(local: number): this {
    return this.#indexed("local.tee", local);
  }

  #indexed(name: OpName, index: number): this {
    this.bytes.byte(OPS[name]).unsigned(index);
    return this;
  }

  int(value: number): this {
    this.bytes.byte(OPS["i32.const"]).signed(value);
    return this;
  }

  float(value: number): this {
    this.bytes.byte(OPS["f32.const"]).word(bitsOf(value));
    return this;
  }

  vector(words: readonly number[]): this {
    this.simd("v128.const");
    for (const word of words) this.bytes.word(word);
    return this;
  }

  /** A read or a write at an address on the stack. */
  access(name: OpName | VectorOpName, offset: number, lane?: number): this {
    if (name in OPS) this.op(name as OpName);
    else this.simd(name as VectorOpName);
    this.bytes.unsigned(2).unsigned(offset);
    if (lane !== undefined) this.bytes.byte(lane);
    return this;
  }

  select(kind: Kind): this {
    this.bytes.byte(OPS.select, 1, KIND_CODE[kind]);
    return this;
  }

  /** Lanes of one vector in another order. */
  swizzle(lanes: readonly number[]): this {
    const vector = this.local("v128");
    this.set(vector).get(vector).get(vector).simd("i8x16.shuffle");
    for (let i = 0; i < 4; i++) for (let k = 0; k < 4; k++) this.bytes.byte(4 * (lanes[i] ?? 0) + k);
    return this;
  }

  /** Opens a block without results; returns its depth, for `branch`. */
  open(name: "block" | "loop" | "if"): number {
    this.bytes.byte(OPS[name], 0x40);
    return ++this.#depth;
  }

  /** One of two integers, of which only one is computed. */
  either(first: () => void, second: () => void): void {
    this.bytes.byte(OPS.if, KIND_CODE.i32);
    this.#depth++;
    first();
    this.op("else");
    second();
    this.close();
  }

  close(): void {
    this.op("end");
    this.#depth--;
  }

  branch(name: "br" | "br_if", depth: number): this {
    return this.#indexed(name, this.#depth - depth);
  }

  /** The function as the code section has it. */
  body(): Bytes {
    const out = new Bytes().unsigned(this.#locals.length);
    for (const kind of this.#locals) out.unsigned(1).byte(KIND_CODE[kind]);
    return out.append(this.bytes.all).byte(OPS.end);
  }
}

const word = new DataView(new ArrayBuffer(4));

export function bitsOf(value: number): number {
  word.setFloat32(0, value);
  return word.getUint32(0);
}
