// WebAssembly's binary format: bytes, LEB128 numbers, vectors, sections

/** A growing run of bytes. */
export class Bytes {
  #store = new Uint8Array(1 << 12);
  length = 0;

  #room(count: number): void {
    if (this.length + count <= this.#store.length) return;
    const larger = new Uint8Array(Math.max(this.#store.length * 2, this.length + count));
    larger.set(this.#store.subarray(0, this.length));
    this.#store = larger;
  }

  byte(...values: number[]): this {
    this.#room(values.length);
    for (const value of values) this.#store[this.length++] = value;
    return this;
  }

  /** An unsigned number below 2^32. */
  unsigned(value: number): this {
    this.#room(5);
    for (let rest = value >>> 0; ; rest >>>= 7) {
      this.#store[this.length++] = rest > 127 ? (rest & 127) | 128 : rest;
      if (rest <= 127) return this;
    }
  }

  /** A signed number of 32 bits. */
  signed(value: number): this {
    this.#room(5);
    for (let rest = value | 0; ; rest >>= 7) {
      const isLast = rest >> 6 === 0 || rest >> 6 === -1;
      this.#store[this.length++] = isLast ? rest & 127 : (rest & 127) | 128;
      if (isLast) return this;
    }
  }

  /** 32 bits as they are. */
  word(value: number): this {
    return this.byte(value & 255, (value >>> 8) & 255, (value >>> 16) & 255, value >>> 24);
  }

  append(bytes: Uint8Array): this {
    this.#room(bytes.length);
    this.#store.set(bytes, this.length);
    this.length += bytes.length;
    return this;
  }

  /** Bytes with their count before them. */
  sized(inner: Bytes): this {
    return this.unsigned(inner.length).append(inner.all);
  }

  name(text: string): this {
    const bytes = new TextEncoder().encode(text);
    return this.unsigned(bytes.length).append(bytes);
  }

  get all(): Uint8Array {
    return this.#store.subarray(0, this.length);
  }
}

export const MAGIC = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
export const Section = { type: 1, import: 2, function: 3, export: 7, code: 10 } as const;

/** Types of values, by their codes. */
export const I32 = 0x7f;
export const V128 = 0x7b;
