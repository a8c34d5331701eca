// a digest of a trace: two traces that have the same are the same program
import { createHash, type Hash } from "node:crypto";
import type { Trace } from "./graph.ts";
import { TraceNode, type Block, type Operand, type Source, type Statement } from "./nodes.ts";

/** Numbers that go into the hash at a time. */
const PIECE = 1 << 14;

class Digest {
  readonly #hash: Hash = createHash("sha256");
  readonly #piece = new Float64Array(PIECE);
  #length = 0;
  readonly #words = new Map<string, number>();
  readonly #sources: Readonly<Record<Source["kind"], readonly Source[]>>;

  constructor(trace: Trace) {
    const { vars, arrays, tables, buffers, params } = trace;
    this.#sources = { var: vars, array: arrays, table: tables, buffer: buffers, param: params };
    this.#numbers(Number(trace.unroll), Number(trace.exact) + Number(trace.wide), trace.nodes);
    for (const v of vars) this.#numbers(v.id).#word(v.type);
    for (const a of arrays) {
      this.#numbers(a.id, a.length, Number(a.isScratch ?? false), Number(a.isOwn ?? false)).#word(a.type);
    }
    for (const t of tables) this.#word(t.type).#numbers(t.offset, t.values.length).#list(t.values);
    for (const b of buffers) this.#word(b.name).#word(b.access);
    for (const p of params) this.#word(p.name).#word(p.type).#numbers(p.slot);
    this.#block(trace.root);
  }

  #numbers(...values: readonly number[]): this {
    for (const value of values) {
      if (this.#length === PIECE) this.#flush();
      this.#piece[this.#length++] = value;
    }
    return this;
  }

  /** Long lists by their bytes: tables of pairs have millions of numbers. */
  #list(values: ArrayLike<number>): void {
    const bytes = values instanceof Int32Array || values instanceof Float64Array ? values : undefined;
    this.#numbers(bytes?.BYTES_PER_ELEMENT ?? 0);
    if (!bytes) {
      for (let i = 0; i < values.length; i++) this.#numbers(values[i]);
      return;
    }
    this.#flush();
    this.#hash.update(bytes);
  }

  #flush(): void {
    this.#hash.update(this.#piece.subarray(0, this.#length));
    this.#length = 0;
  }

  /** A word by its number; the first time with its letters. */
  #word(text: string): this {
    const known = this.#words.get(text);
    if (known !== undefined) return this.#numbers(known);
    this.#words.set(text, this.#words.size);
    return this.#numbers(
      this.#words.size - 1,
      text.length,
      ...Array.from({ length: text.length }, (_, i) => text.charCodeAt(i)),
    );
  }

  #operands(operands: readonly Operand[]): this {
    this.#numbers(operands.length);
    for (const a of operands) {
      if (a instanceof TraceNode) this.#numbers(2, a.id);
      else this.#numbers(typeof a === "boolean" ? 1 : 0, Number(a));
    }
    return this;
  }

  #source(source: Source | undefined): this {
    if (source === undefined) return this.#numbers(-1);
    return this.#word(source.kind).#numbers("id" in source ? source.id : this.#sources[source.kind].indexOf(source));
  }

  #block(block: Block): void {
    for (const s of block.statements) this.#word(s.kind).#statement(s);
    this.#word("end");
  }

  #statement(s: Statement): void {
    switch (s.kind) {
      case "let":
        this.#numbers(s.node.id).#word(s.node.op).#word(s.node.type).#source(s.node.source).#operands(s.node.args);
        return;
      case "set":
        this.#source(s.target).#operands([s.value]);
        return;
      case "put":
        this.#source(s.target).#operands([s.index, s.value]);
        return;
      case "store":
        this.#source(s.target).#word(s.type).#operands([s.index, ...s.values]);
        return;
      case "when":
        this.#operands([s.cond]).#block(s.then);
        return this.#block(s.otherwise);
      case "loop":
        this.#numbers(s.index.id).#operands([s.start, s.bound]);
        return this.#block(s.block);
      case "break":
        this.#operands([s.cond]);
        return;
      case "stage":
        this.#word(s.name);
    }
  }

  get text(): string {
    this.#flush();
    return this.#hash.digest("hex");
  }
}

/** 64 characters. Names of variables, which no back end computes by, are not of it. */
export const digestOfTrace = (trace: Trace): string => new Digest(trace).text;
