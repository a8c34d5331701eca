// pure expressions by content, so that equal ones are recorded once
import type { Operand, Source, TraceNode } from "./nodes.ts";
import type { Op, Type } from "./operations.ts";

const number = new Float64Array(1);
const words = new Uint32Array(number.buffer);
const codes = new Map<string, number>();

/** A small number for an operation, a type or the kind of a source. */
function codeOf(word: string): number {
  const known = codes.get(word);
  if (known !== undefined) return known;
  codes.set(word, codes.size);
  return codes.size - 1;
}

function hashOf(op: Op, type: Type, args: readonly Operand[], source: Source | undefined): number {
  let h = codeOf(op) * 31 + codeOf(type);
  if (source) h = h * 31 + codeOf(source.kind) + ("id" in source ? source.id : 0);
  for (const a of args) {
    if (typeof a === "object") h = Math.imul(h, 0x9e3779b1) ^ a.id;
    else {
      number[0] = Number(a);
      h = Math.imul(h, 0x9e3779b1) ^ words[0] ^ Math.imul(words[1], 0x85ebca6b);
    }
  }
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  return (h ^ (h >>> 13)) >>> 0;
}

function isSame(n: TraceNode, op: Op, type: Type, args: readonly Operand[], source: Source | undefined): boolean {
  if (n.op !== op || n.type !== type || n.source !== source || n.args.length !== args.length) return false;
  // 0 and -0 differ, as do 1 and true
  for (let i = 0; i < args.length; i++) if (!Object.is(n.args[i], args[i])) return false;
  return true;
}

/**
 * The pure expressions of a trace, a table with open addressing. A block ends before the next to it begins, so of equal
 * expressions the newest is the only one that can be visible.
 */
export class Expressions {
  readonly #nodes: TraceNode[] = [];
  /** Place in `nodes`, from 1; 0 if nothing is. */
  #slots = new Uint32Array(1 << 12);
  #hashes = new Uint32Array(1 << 12);
  /** The place that `find` ended at. */
  #at = 0;
  #hash = 0;

  /** The newest expression of this content. */
  find(op: Op, type: Type, args: readonly Operand[], source: Source | undefined): TraceNode | undefined {
    const [nodes, slots, hashes] = [this.#nodes, this.#slots, this.#hashes];
    const mask = slots.length - 1;
    const hash = hashOf(op, type, args, source);
    let at = hash & mask;
    while (slots[at] && !(hashes[at] === hash && isSame(nodes[slots[at] - 1], op, type, args, source))) {
      at = (at + 1) & mask;
    }
    this.#at = at;
    this.#hash = hash;
    return slots[at] ? nodes[slots[at] - 1] : undefined;
  }

  /** Keeps an expression, in place of an equal one, after `find` was asked for it. */
  keep(node: TraceNode): void {
    const [nodes, slots, hashes, at] = [this.#nodes, this.#slots, this.#hashes, this.#at];
    if (slots[at]) {
      nodes[slots[at] - 1] = node;
      return;
    }
    nodes.push(node);
    slots[at] = nodes.length;
    hashes[at] = this.#hash;
    if (nodes.length * 2 > slots.length) this.#grow();
  }

  #grow(): void {
    const [slots, hashes] = [this.#slots, this.#hashes];
    const mask = slots.length * 4 - 1;
    this.#slots = new Uint32Array(mask + 1);
    this.#hashes = new Uint32Array(mask + 1);
    for (let i = 0; i < slots.length; i++) {
      if (!slots[i]) continue;
      let at = hashes[i] & mask;
      while (this.#slots[at]) at = (at + 1) & mask;
      this.#slots[at] = slots[i];
      this.#hashes[at] = hashes[i];
    }
  }
}
