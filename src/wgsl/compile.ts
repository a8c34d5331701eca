// hand-written WGSL to WebAssembly SIMD: each kernel one function, called functions in their place, vectors as v128. The
// same source as on a GPU; invocations run one after another, and fma is a product and a sum, so that every machine computes
// the same bits.
import { Bytes, I32, MAGIC, Section } from "../trace/wasm/bytes.ts";
import { MOST_PAGES } from "../trace/wasm/pages.ts";
import { Assembler } from "./assembler.ts";
import { Expressions } from "./expressions.ts";
import { parseWgsl, refuse, type Block, type Expression, type FunctionTree, type Statement } from "./parse.ts";
import { concrete, partsOf } from "./types.ts";
import type { Held } from "./typing.ts";
import { kindOf } from "./values.ts";

export interface CompileOptions {
  readonly entry: string;
  /** Bindings whose addresses `run` is given, in this order. */
  readonly bindings: readonly number[];
  /** Bytes of memory for variables of workgroups and arrays that are indexed. */
  readonly scratchBytes: number;
  /** Constants that differ from the text's. */
  readonly constants?: Readonly<Record<string, number>>;
}

/** Parameters of `run` before the addresses: workgroups along each axis, which invocations, the scratch memory. */
const PARAMETERS = { x: 0, y: 1, z: 2, from: 3, to: 4, scratch: 5, count: 6 } as const;

/** A kernel as WebAssembly. */
export interface CompiledKernel {
  readonly module: Uint8Array<ArrayBuffer>;
  /** Invocations of a workgroup. */
  readonly workgroup: number;
}

/**
 * Compiles an entry point to a module that imports the memory `corral.memory`, which threads may share, and exports
 * `run(x, y, z, from, to, scratch, ...addresses)`: those of the invocations of x by y by z workgroups, one after another. Which
 * of them one call runs changes no bit, since none waits for another.
 * @throws CorralError internal for what this part of WGSL has not
 */
export function compileWgsl(code: string, options: CompileOptions): CompiledKernel {
  const count = PARAMETERS.count + options.bindings.length;
  const asm = new Assembler(count);
  const statements = new Statements(code, options, asm);
  statements.entry();
  const type = new Bytes().unsigned(1).byte(0x60).unsigned(count).append(new Uint8Array(count).fill(I32)).unsigned(0);
  const sections: readonly (readonly [number, Bytes])[] = [
    [Section.type, type],
    // threads may share it, and such a memory has a maximum
    [Section.import, new Bytes().unsigned(1).name("corral").name("memory").byte(2, 3).unsigned(1).unsigned(MOST_PAGES)],
    [Section.function, new Bytes().unsigned(1).unsigned(0)],
    [Section.export, new Bytes().unsigned(1).name("run").byte(0).unsigned(0)],
    [Section.code, new Bytes().unsigned(1).sized(asm.body())],
  ];
  const module = new Bytes().byte(...MAGIC);
  for (const [id, section] of sections) module.byte(id).sized(section);
  return { module: module.all.slice(), workgroup: statements.workgroupSize };
}

/** Where a function that stands in the place of its call leaves its result. */
interface Frame {
  readonly result: Held | undefined;
  readonly end: number;
}

class Statements extends Expressions {
  readonly #options: CompileOptions;
  readonly #loops: { readonly end: number; readonly next: number }[] = [];
  #frame: Frame | undefined;

  constructor(code: string, options: CompileOptions, asm: Assembler) {
    const tree = parseWgsl(code);
    const constants = new Map(tree.constants);
    for (const [name, value] of Object.entries(options.constants ?? {}))
      constants.set(name, { kind: "number", value, suffix: "u" });
    const addresses = new Map(options.bindings.map((binding, i) => [binding, PARAMETERS.count + i]));
    super({ ...tree, constants }, asm, addresses, { address: PARAMETERS.scratch, bytes: options.scratchBytes });
    this.#options = options;
  }

  /** The invocations that are asked for, one after another. */
  entry(): void {
    const { asm } = this;
    const entry = this.tree.functions.get(this.#options.entry);
    if (!entry?.workgroupSize) throw refuse(`no entry point ${this.#options.entry}`);
    const size = this.constantOf(entry.workgroupSize)!;
    this.workgroupSize = size;
    const [at, index, x, y, z] = Array.from({ length: 5 }, () => asm.local("i32"));
    const ids = {
      workgroup_id: () => this.#triple([() => asm.get(x), () => asm.get(y), () => asm.get(z)]),
      global_invocation_id: () =>
        this.#triple([
          () => asm.get(x).int(size).op("i32.mul").get(index).op("i32.add"),
          () => asm.get(y),
          () => asm.get(z),
        ]),
      local_invocation_index: () => void asm.get(index),
    };
    const out = asm.open("block");
    asm.get(PARAMETERS.from).get(PARAMETERS.to).op("i32.ge_u").branch("br_if", out);
    asm.get(PARAMETERS.from).set(at);
    // where the first lies: of each axis the rest, and on with the quotient
    const axes = [
      [index, () => asm.int(size)],
      [x, () => asm.get(PARAMETERS.x)],
      [y, () => asm.get(PARAMETERS.y)],
    ] as const;
    asm.get(at).set(z);
    for (const [axis, length] of axes) {
      asm.get(z);
      length();
      asm.op("i32.rem_u").set(axis).get(z);
      length();
      asm.op("i32.div_u").set(z);
    }
    const top = asm.open("loop");
    const given = entry.parameters.map(({ builtin, type: name }): Held => {
      const type = this.types.of(name);
      const local = asm.local(kindOf(type));
      ids[builtin as keyof typeof ids]();
      asm.set(local);
      return { type, parts: [local] };
    });
    this.inline(entry, given);
    asm.get(at).int(1).op("i32.add").set(at).get(at).get(PARAMETERS.to).op("i32.ge_u").branch("br_if", out);
    for (const [axis, length] of axes) {
      asm.get(axis).int(1).op("i32.add").set(axis).get(axis);
      length();
      asm.op("i32.lt_u").branch("br_if", top).int(0).set(axis);
    }
    asm.get(z).int(1).op("i32.add").set(z).branch("br", top);
    asm.close();
    asm.close();
  }

  #triple(words: readonly (() => void)[]): void {
    words[0]();
    this.asm.simd("i32x4.splat");
    words.slice(1).forEach((word, i) => {
      word();
      this.asm.simd("i32x4.replace_lane", i + 1);
    });
  }

  protected override inline(fn: FunctionTree, given: readonly Held[]): Held | undefined {
    const outer = { frame: this.#frame, scopes: this.scopes };
    const type = fn.result && this.types.of(fn.result);
    const result = type && { type, parts: partsOf(type).map((part) => this.asm.local(kindOf(part))) };
    this.scopes = [new Map(fn.parameters.map(({ name }, i) => [name, given[i]]))];
    this.#frame = { result, end: this.asm.open("block") };
    this.#block(fn.body);
    this.asm.close();
    this.#frame = outer.frame;
    this.scopes = outer.scopes;
    return result;
  }

  #block(block: Block): void {
    this.scopes.push(new Map());
    for (const statement of block) this.#statement(statement);
    this.scopes.pop();
  }

  #statement(s: Statement): void {
    const { asm } = this;
    switch (s.kind) {
      case "let":
      case "var": {
        const type = s.type ? this.types.of(s.type) : concrete(this.typeOf(s.value!));
        this.scopes.at(-1)!.set(s.name, this.fresh(type, s.value));
        return;
      }
      case "assign": {
        const value: Expression = s.op ? { kind: "binary", op: s.op, left: s.to, right: s.value } : s.value;
        return this.assign(s.to, value);
      }
      case "discard":
        return this.evaluate(s.value);
      case "block":
        return this.#block(s.body);
      case "if": {
        this.push(s.test, { kind: "scalar", of: "bool" });
        asm.open("if");
        this.#block(s.then);
        if (s.otherwise.length > 0) {
          asm.op("else");
          this.#block(s.otherwise);
        }
        return asm.close();
      }
      case "for":
        return this.#loop(s);
      case "break":
        asm.branch("br", this.#loops.at(-1)!.end);
        return;
      case "continue":
        asm.branch("br", this.#loops.at(-1)!.next);
        return;
      case "return": {
        const { result, end } = this.#frame!;
        if (result && s.value) this.copyInto(result, s.value);
        asm.branch("br", end);
      }
    }
  }

  #loop({ first, test, next, body }: Extract<Statement, { kind: "for" }>): void {
    const { asm } = this;
    this.scopes.push(new Map());
    if (first) this.#statement(first);
    const end = asm.open("block");
    const top = asm.open("loop");
    if (test) {
      this.push(test, { kind: "scalar", of: "bool" });
      asm.op("i32.eqz").branch("br_if", end);
    }
    this.#loops.push({ end, next: asm.open("block") });
    this.#block(body);
    asm.close();
    this.#loops.pop();
    if (next) this.#statement(next);
    asm.branch("br", top);
    asm.close();
    asm.close();
    this.scopes.pop();
  }
}
