// expressions of WGSL as instructions: a scalar or a vector is pushed on the stack, what has several parts lies in locals
import type { Assembler, Kind, OpName, VectorOpName } from "./assembler.ts";
import { bitsOf } from "./assembler.ts";
import { refuse, type Expression, type FunctionTree, type ModuleTree } from "./parse.ts";
import {
  alignOf,
  BOOL,
  common,
  concrete,
  F32,
  isComposite,
  partsOf,
  sizeOf,
  strideOf,
  Types,
  U32,
  vector,
  type Type,
} from "./types.ts";

type Simple = Extract<Type, { kind: "scalar" | "vector" }>;

/** A value in locals: one for each part. */
export interface Held {
  readonly type: Type;
  readonly parts: readonly number[];
}

/** Where a value lies: in locals, in memory at an address and an offset, or as a lane of a vector in a local. */
type Place =
  | ({ readonly kind: "locals" } & Held)
  | { readonly kind: "memory"; readonly type: Type; readonly offset: number; readonly push: () => void }
  | { readonly kind: "lane"; readonly type: Simple; readonly of: number; readonly lane: number };

const scalarOf = (type: Type): Simple => ({ kind: "scalar", of: (type as Simple).of });
const isFloat = ({ of }: Simple): boolean => of === "f32" || of === "float";
const COMPARISONS: Readonly<Record<string, string>> = {
  "==": "eq",
  "!=": "ne",
  "<": "lt",
  ">": "gt",
  "<=": "le",
  ">=": "ge",
};
const ARITHMETIC: Readonly<Record<string, string>> = { "+": "add", "-": "sub", "*": "mul", "/": "div" };
const BITS: Readonly<Record<string, "and" | "or" | "xor">> = {
  "&": "and",
  "|": "or",
  "^": "xor",
};

export function kindOf(type: Type): Kind {
  if (isComposite(type)) throw refuse("a value of several parts where one is expected");
  return type.kind === "vector" ? "v128" : isFloat(type) ? "f32" : "i32";
}

export abstract class Expressions {
  readonly tree: ModuleTree;
  readonly types: Types;
  readonly asm: Assembler;
  scopes: Map<string, Held>[] = [];
  workgroupSize = 1;
  readonly #addresses: ReadonlyMap<number, number>;
  readonly #scratch: { readonly at: number; readonly bytes: number };
  readonly #workgroup = new Map<string, number>();
  #used = 0;

  constructor(
    tree: ModuleTree,
    asm: Assembler,
    addresses: ReadonlyMap<number, number>,
    scratch: { readonly at: number; readonly bytes: number },
  ) {
    this.tree = tree;
    this.asm = asm;
    this.types = new Types(tree, (e) => this.constantOf(e) ?? fail("a count that is no constant"));
    this.#addresses = addresses;
    this.#scratch = scratch;
  }

  protected abstract inline(fn: FunctionTree, given: readonly Held[]): Held | undefined;

  /** The value of an integer that is known, or undefined. */
  constantOf(e: Expression): number | undefined {
    if (e.kind === "number") return e.value;
    if (e.kind !== "name" || this.#find(e.name)) return undefined;
    const constant = this.tree.constants.get(e.name);
    return constant && this.constantOf(constant);
  }

  #find(name: string): Held | undefined {
    for (let i = this.scopes.length - 1; i >= 0; i--) {
      const found = this.scopes[i].get(name);
      if (found) return found;
    }
    return undefined;
  }

  /** Bytes of the scratch memory that nothing else uses. */
  #take(type: Type): number {
    const unit = Math.max(16, alignOf(type));
    const at = Math.ceil((this.#scratch.at + this.#used) / unit) * unit;
    this.#used = at + sizeOf(type) - this.#scratch.at;
    if (this.#used > this.#scratch.bytes) throw refuse("more memory of a workgroup than there is");
    return at;
  }

  typeOf(e: Expression): Type {
    switch (e.kind) {
      case "number":
        return {
          kind: "scalar",
          of: ({ u: "u32", f: "f32", i: "i32", float: "float", int: "int" } as const)[e.suffix],
        };
      case "bool":
        return BOOL;
      case "name":
        return this.#typeOfName(e.name);
      case "unary":
        return this.typeOf(e.of);
      case "binary": {
        const [left, right] = [this.typeOf(e.left), this.typeOf(e.right)];
        if (e.op === "<<" || e.op === ">>") return left;
        const both = common(left, right);
        if (!(e.op in COMPARISONS)) return both;
        return both.kind === "vector" ? vector("bool", both.size) : BOOL;
      }
      case "member": {
        const of = this.typeOf(e.of);
        if (of.kind === "struct") return (of.members.find(({ name }) => name === e.member) ?? fail(e.member)).type;
        const { of: element } = of as Simple;
        return e.member.length === 1 ? { kind: "scalar", of: element } : vector(element, e.member.length);
      }
      case "index": {
        const of = this.typeOf(e.of);
        return of.kind === "array" ? of.of : scalarOf(of);
      }
      case "call":
        return this.#typeOfCall(e);
    }
  }

  #typeOfName(name: string): Type {
    const held = this.#find(name);
    if (held) return held.type;
    const variable = this.tree.variables.get(name);
    if (variable) return this.types.of(variable.type);
    return this.typeOf(this.tree.constants.get(name) ?? fail(name));
  }

  #typeOfCall({ type: { name, args: types }, args }: Extract<Expression, { kind: "call" }>): Type {
    const fn = this.tree.functions.get(name);
    if (fn) return fn.result ? this.types.of(fn.result) : BOOL;
    if (name === "bitcast") return this.types.of(types[0] as never);
    if (/^(vec[234]|array|f32|u32|i32|bool)$/.test(name)) return this.types.of({ name, args: types });
    if (name === "dot") return F32;
    if (name === "select" || name === "min" || name === "max")
      return common(this.typeOf(args[0]), this.typeOf(args[1]));
    if (name === "clamp" || name === "fma") return args.map((arg) => this.typeOf(arg)).reduce(common);
    if (/^(abs|sqrt|round|floor|workgroupUniformLoad)$/.test(name)) return this.typeOf(args[0]);
    if (/Barrier$/.test(name)) return BOOL;
    return this.types.struct(name) ?? fail(name);
  }

  /** Pushes a scalar or a vector of a type. */
  push(e: Expression, want: Type): void {
    if (isComposite(want)) throw refuse("a struct on the stack");
    const type = this.typeOf(e);
    if (want.kind === "vector" && type.kind === "scalar") {
      this.push(e, scalarOf(want));
      return this.#splat(want);
    }
    switch (e.kind) {
      case "number":
        return void (isFloat(want) ? this.asm.float(e.value) : this.asm.int(e.value));
      case "bool":
        return void this.asm.int(Number(e.value));
      case "unary":
        return this.#unary(e, want);
      case "binary":
        return this.#binary(e, want);
      case "call":
        return this.#call(e, want);
      default: {
        const constant = e.kind === "name" && !this.#find(e.name) ? this.tree.constants.get(e.name) : undefined;
        if (constant) return this.push(constant, want);
        if (e.kind === "member" && e.member.length > 1 && this.typeOf(e.of).kind === "vector") {
          this.push(e.of, this.typeOf(e.of));
          return void this.asm.swizzle([...e.member].map((c) => "xyzw".indexOf(c)));
        }
        this.#load(this.place(e));
      }
    }
  }

  /** The scalar on the stack in every lane; truth is all bits there. */
  #splat({ of }: Simple): void {
    if (of === "bool") this.#mask();
    this.asm.simd(of === "f32" || of === "float" ? "f32x4.splat" : "i32x4.splat");
  }

  #mask(): void {
    const truth = this.asm.local("i32");
    this.asm.set(truth).int(0).get(truth).op("i32.sub");
  }

  #unary({ op, of }: Extract<Expression, { kind: "unary" }>, want: Simple): void {
    const { asm } = this;
    if (op === "&") return this.push(of, want);
    if (op === "!") {
      this.push(of, want);
      return void (want.kind === "vector" ? asm.simd("v128.not") : asm.op("i32.eqz"));
    }
    if (of.kind === "number") return this.push({ ...of, value: -of.value }, want);
    if (isFloat(want)) {
      this.push(of, want);
      return void (want.kind === "vector" ? asm.simd("f32x4.neg") : asm.op("f32.neg"));
    }
    if (want.kind === "vector") {
      this.push(of, want);
      return void asm.simd("i32x4.neg");
    }
    asm.int(0);
    this.push(of, want);
    asm.op("i32.sub");
  }

  #binary({ op, left, right }: Extract<Expression, { kind: "binary" }>, want: Simple): void {
    const { asm } = this;
    if (op === "<<" || op === ">>") return this.#shift(op, left, right, want);
    if (op === "&&" || op === "||") {
      this.push(left, BOOL);
      const [known, asked] = [() => void asm.int(op === "||" ? 1 : 0), () => this.push(right, BOOL)];
      return op === "||" ? asm.either(known, asked) : asm.either(asked, known);
    }
    const isComparison = op in COMPARISONS;
    const type = (isComparison ? concrete(common(this.typeOf(left), this.typeOf(right))) : want) as Simple;
    this.push(left, type);
    this.push(right, type);
    const isVector = type.kind === "vector";
    const bits = BITS[op];
    if (bits) return void (isVector ? asm.simd(`v128.${bits}`) : asm.op(`i32.${bits}`));
    if (op === "%") return void asm.op(type.of === "i32" ? "i32.rem_s" : "i32.rem_u");
    const name = COMPARISONS[op] ?? ARITHMETIC[op] ?? fail(op);
    if (isFloat(type))
      return void (isVector ? asm.simd(`f32x4.${name}` as VectorOpName) : asm.op(`f32.${name}` as OpName));
    const isOrdered = isComparison ? name !== "eq" && name !== "ne" : name === "div";
    const sign = isOrdered ? (type.of === "i32" ? "_s" : "_u") : "";
    if (isVector && name === "div") throw refuse("quotients of integer vectors");
    return void (isVector ? asm.simd(`i32x4.${name}${sign}` as VectorOpName) : asm.op(`i32.${name}${sign}` as OpName));
  }

  #shift(op: string, left: Expression, right: Expression, want: Simple): void {
    this.push(left, want);
    // WebAssembly shifts all lanes alike
    const isSplat = right.kind === "call" && right.args.length === 1;
    const by = want.kind === "vector" && isSplat ? right.args[0] : right;
    if (this.typeOf(by).kind !== "scalar") throw refuse("lanes that are shifted differently");
    this.push(by, U32);
    if (want.kind === "vector") this.asm.simd(op === "<<" ? "i32x4.shl" : "i32x4.shr_u");
    else this.asm.op(op === "<<" ? "i32.shl" : want.of === "i32" ? "i32.shr_s" : "i32.shr_u");
  }

  #call(e: Extract<Expression, { kind: "call" }>, want: Simple): void {
    const { name } = e.type;
    const { asm } = this;
    const { args } = e;
    if (this.tree.functions.has(name)) return this.#load({ kind: "locals", ...this.hold(e) });
    if (/^vec[234]$/.test(name)) return this.#vector(want, args);
    const isVector = want.kind === "vector";
    const apply = (of: string) =>
      isVector ? asm.simd(`${isFloat(want) ? "f32x4" : "i32x4"}.${of}` as VectorOpName) : asm.op(`f32.${of}` as OpName);
    switch (name) {
      case "f32":
      case "u32":
      case "i32":
        return this.#convert(want, args[0]);
      case "bitcast": {
        const from = concrete(this.typeOf(args[0])) as Simple;
        this.push(args[0], from);
        if (isVector || isFloat(from) === isFloat(want)) return;
        return void asm.op(isFloat(want) ? "f32.reinterpret_i32" : "i32.reinterpret_f32");
      }
      case "abs":
      case "sqrt":
      case "floor":
      case "round":
        this.push(args[0], want);
        return void apply(name === "round" ? "nearest" : name);
      case "min":
      case "max":
        return this.#extreme(name, want, () => this.push(args[0], want), args[1]);
      case "clamp":
        return this.#extreme(
          "min",
          want,
          () => this.#extreme("max", want, () => this.push(args[0], want), args[1]),
          args[2],
        );
      case "fma":
        this.push(args[0], want);
        this.push(args[1], want);
        apply("mul");
        this.push(args[2], want);
        return void apply("add");
      case "select": {
        const test = this.typeOf(args[2]);
        this.push(args[1], want);
        this.push(args[0], want);
        this.push(args[2], test.kind === "vector" ? test : BOOL);
        return void (test.kind === "vector" ? asm.simd("v128.bitselect") : asm.select(kindOf(want)));
      }
      case "dot":
        return this.#dot(args);
      case "workgroupUniformLoad":
        return this.push(args[0], want);
      default:
        throw refuse(`${name}()`);
    }
  }

  #extreme(name: "min" | "max", want: Simple, first: () => void, second: Expression): void {
    first();
    this.push(second, want);
    const { asm } = this;
    const sign = want.of === "i32" ? "_s" : "_u";
    if (isFloat(want)) return void (want.kind === "vector" ? asm.simd(`f32x4.${name}`) : asm.op(`f32.${name}`));
    if (want.kind === "vector") return void asm.simd(`i32x4.${name}${sign}`);
    const [a, b] = [asm.local("i32"), asm.local("i32")];
    asm
      .set(b)
      .tee(a)
      .get(b)
      .get(a)
      .get(b)
      .op(`i32.${name === "min" ? "lt" : "gt"}${sign}`);
    asm.select("i32");
  }

  #dot(args: readonly Expression[]): void {
    const { asm } = this;
    const type = this.typeOf(args[0]) as Extract<Type, { kind: "vector" }>;
    const product = asm.local("v128");
    for (const arg of args) this.push(arg, type);
    asm.simd("f32x4.mul").set(product);
    for (let lane = 0; lane < type.size; lane++) {
      asm.get(product).simd("f32x4.extract_lane", lane);
      if (lane > 0) asm.op("f32.add");
    }
  }

  #convert(want: Simple, arg: Expression): void {
    const { asm } = this;
    const from = concrete(this.typeOf(arg)) as Simple;
    this.push(arg, from);
    const isVector = want.kind === "vector";
    if (isFloat(want) && !isFloat(from)) {
      const sign = from.of === "i32" ? "s" : "u";
      return void (isVector ? asm.simd(`f32x4.convert_i32x4_${sign}`) : asm.op(`f32.convert_i32_${sign}`));
    }
    if (isFloat(from) && !isFloat(want)) {
      if (isVector) asm.simd(want.of === "i32" ? "i32x4.trunc_sat_f32x4_s" : "i32x4.trunc_sat_f32x4_u");
      else asm.truncate(want.of === "i32");
    }
  }

  #vector(want: Simple, args: readonly Expression[]): void {
    const { asm } = this;
    if (args.length === 1 && this.typeOf(args[0]).kind === "vector") return this.#convert(want, args[0]);
    const values = args.map((arg) => (arg.kind === "number" ? arg.value : undefined));
    if (values.every((value) => value !== undefined) && values.length > 1)
      return void asm.vector(
        Array.from({ length: 4 }, (_, i) => (isFloat(want) ? bitsOf(values[i] ?? 0) : (values[i] ?? 0))),
      );
    const lanes = args.flatMap((arg) => this.#lanesOf(arg, scalarOf(want)));
    lanes[0]();
    this.#splat(want);
    lanes.slice(1).forEach((lane, i) => {
      lane();
      if (want.of === "bool") this.#mask();
      asm.simd(isFloat(want) ? "f32x4.replace_lane" : "i32x4.replace_lane", i + 1);
    });
  }

  /** Pushes each lane of an argument of a constructor. */
  #lanesOf(arg: Expression, want: Simple): (() => void)[] {
    const type = this.typeOf(arg);
    if (type.kind !== "vector") return [() => this.push(arg, want)];
    const held = this.fresh(type, arg).parts[0];
    return Array.from(
      { length: type.size },
      (_, lane) => () => this.#load({ kind: "lane", type: want, of: held, lane }),
    );
  }

  #load(place: Place): void {
    const { asm } = this;
    if (place.kind === "locals") return void asm.get(place.parts[0]);
    if (place.kind === "lane") {
      asm.get(place.of);
      asm.simd(isFloat(place.type) ? "f32x4.extract_lane" : "i32x4.extract_lane", place.lane);
      if (place.type.of === "bool") asm.int(1).op("i32.and");
      return;
    }
    place.push();
    const kind = kindOf(place.type);
    if (kind !== "v128") return void asm.access(`${kind}.load`, place.offset);
    asm.access(sizeOf(place.type) === 8 ? "v128.load64_zero" : "v128.load", place.offset);
  }

  /** Resolves names, members and elements to where they lie; what is computed goes into locals. */
  place(e: Expression): Place {
    if (e.kind === "name") {
      const held = this.#find(e.name);
      if (held) return { kind: "locals", ...held };
      return this.#global(e.name);
    }
    if (e.kind === "member") return this.#member(this.place(e.of), e.member);
    if (e.kind === "index") return this.#element(this.place(e.of), e.index);
    if (e.kind === "unary" && e.op === "&") return this.place(e.of);
    return { kind: "locals", ...this.hold(e) };
  }

  #global(name: string): Place {
    const variable = this.tree.variables.get(name);
    if (!variable) throw refuse(`the name ${name}`);
    const type = this.types.of(variable.type);
    if (variable.binding !== undefined) {
      const address = this.#addresses.get(variable.binding);
      if (address === undefined) throw refuse(`${name}, which is not bound`);
      return { kind: "memory", type, offset: 0, push: () => this.asm.get(address) };
    }
    let at = this.#workgroup.get(name);
    if (at === undefined) this.#workgroup.set(name, (at = this.#take(type)));
    return { kind: "memory", type, offset: at, push: () => this.asm.int(0) };
  }

  #member(place: Place, name: string): Place {
    const { type } = place;
    if (type.kind === "vector") return this.#lane(place, "xyzw".indexOf(name));
    if (type.kind !== "struct") throw refuse(`the member ${name}`);
    const index = type.members.findIndex((member) => member.name === name);
    const member = type.members[index];
    if (place.kind === "memory") return { ...place, type: member.type, offset: place.offset + member.offset };
    if (place.kind !== "locals") throw refuse(`the member ${name} of a lane`);
    const before = type.members.slice(0, index).reduce((sum, m) => sum + partsOf(m.type).length, 0);
    return {
      kind: "locals",
      type: member.type,
      parts: place.parts.slice(before, before + partsOf(member.type).length),
    };
  }

  #lane(place: Place, lane: number): Place {
    const type = scalarOf(place.type);
    if (place.kind === "memory") return { ...place, type, offset: place.offset + 4 * lane };
    if (place.kind !== "locals") throw refuse("a lane of a lane");
    return { kind: "lane", type, of: place.parts[0], lane };
  }

  #element(place: Place, index: Expression): Place {
    const { type } = place;
    const known = this.constantOf(index);
    if (known !== undefined && type.kind === "vector") return this.#lane(place, known);
    if (place.kind === "locals") {
      if (known === undefined || type.kind !== "array") return this.#element(this.#spill(place), index);
      const each = partsOf(type.of).length;
      return { kind: "locals", type: type.of, parts: place.parts.slice(known * each, (known + 1) * each) };
    }
    if (place.kind !== "memory") throw refuse("an element of a lane");
    const of = type.kind === "array" ? type.of : scalarOf(type);
    const stride = type.kind === "array" ? strideOf(type) : 4;
    if (known !== undefined) return { ...place, type: of, offset: place.offset + known * stride };
    const push = () => {
      place.push();
      this.push(index, U32);
      this.asm.int(stride).op("i32.mul", "i32.add");
    };
    return { kind: "memory", type: of, offset: place.offset, push };
  }

  /** Writes a value from locals to memory, where its elements have addresses. */
  #spill(held: Held): Place {
    const at = this.#take(held.type);
    const place: Place = { kind: "memory", type: held.type, offset: at, push: () => this.asm.int(0) };
    this.#storeParts(place, held.parts);
    return place;
  }

  #storeParts(place: Extract<Place, { kind: "memory" }>, parts: readonly number[]): void {
    let next = 0;
    const walk = (type: Type, offset: number): void => {
      if (type.kind === "struct") return type.members.forEach((member) => walk(member.type, offset + member.offset));
      if (type.kind === "array") {
        for (let i = 0; i < type.count!; i++) walk(type.of, offset + i * strideOf(type));
        return;
      }
      this.#store({ ...place, type, offset }, () => this.asm.get(parts[next++]));
    };
    walk(place.type, place.offset);
  }

  #store(place: Place, value: () => void): void {
    const { asm } = this;
    if (place.kind === "locals") {
      value();
      return void asm.set(place.parts[0]);
    }
    if (place.kind === "lane") {
      asm.get(place.of);
      value();
      return void asm.simd(isFloat(place.type) ? "f32x4.replace_lane" : "i32x4.replace_lane", place.lane).set(place.of);
    }
    place.push();
    value();
    const kind = kindOf(place.type);
    if (kind !== "v128") return void asm.access(`${kind}.store`, place.offset);
    if (sizeOf(place.type) === 8) asm.access("v128.store64_lane", place.offset, 0);
    else asm.access("v128.store", place.offset);
  }

  /** to = value. */
  assign(to: Expression, value: Expression): void {
    const place = this.place(to);
    if (!isComposite(place.type)) return this.#store(place, () => this.push(value, place.type));
    const held = this.fresh(place.type, value);
    if (place.kind === "memory") return this.#storeParts(place, held.parts);
    if (place.kind === "locals") held.parts.forEach((part, i) => this.asm.get(part).set(place.parts[i]));
  }

  /** A value in locals of its own; zeros where there is none. */
  fresh(type: Type, value: Expression | undefined): Held {
    const held = { type, parts: partsOf(type).map((part) => this.asm.local(kindOf(part))) };
    if (value) this.copyInto(held, value);
    else this.#zero(held);
    return held;
  }

  #zero({ type, parts }: Held): void {
    partsOf(type).forEach((part, i) => {
      const kind = kindOf(part);
      if (kind === "v128") this.asm.vector([0, 0, 0, 0]);
      else if (kind === "f32") this.asm.float(0);
      else this.asm.int(0);
      this.asm.set(parts[i]);
    });
  }

  copyInto({ type, parts }: Held, value: Expression): void {
    if (!isComposite(type)) {
      this.push(value, type);
      return void this.asm.set(parts[0]);
    }
    this.hold(value, type).parts.forEach((part, i) => this.asm.get(part).set(parts[i]));
  }

  /** A value in locals, which may be those of a variable. */
  hold(e: Expression, want: Type = concrete(this.typeOf(e))): Held {
    if (e.kind === "call") {
      const fn = this.tree.functions.get(e.type.name);
      if (fn) {
        const given = fn.parameters.map(({ type }, i) => this.fresh(this.types.of(type), e.args[i]));
        return this.inline(fn, given) ?? { type: BOOL, parts: [] };
      }
      if (isComposite(want)) return this.#construct(e.args, want);
    }
    if (!isComposite(want)) return this.fresh(want, e);
    const place = this.place(e);
    if (place.kind === "locals") return place;
    if (place.kind !== "memory") throw refuse("a struct in a lane");
    return { type: want, parts: this.#loadParts(place) };
  }

  #construct(args: readonly Expression[], want: Extract<Type, { kind: "array" | "struct" }>): Held {
    if (args.length === 0) return this.fresh(want, undefined);
    const parts = args.flatMap(
      (arg, i) => this.fresh(want.kind === "array" ? want.of : want.members[i].type, arg).parts,
    );
    return { type: want, parts };
  }

  #loadParts(place: Extract<Place, { kind: "memory" }>): number[] {
    const parts: number[] = [];
    const walk = (type: Type, offset: number): void => {
      if (type.kind === "struct") return type.members.forEach((member) => walk(member.type, offset + member.offset));
      if (type.kind === "array") {
        for (let i = 0; i < type.count!; i++) walk(type.of, offset + i * strideOf(type));
        return;
      }
      const local = this.asm.local(kindOf(type));
      this.#load({ ...place, type, offset });
      this.asm.set(local);
      parts.push(local);
    };
    walk(place.type, place.offset);
    return parts;
  }

  /** A call for what it does. */
  evaluate(e: Expression): void {
    if (e.kind === "call" && /Barrier$/.test(e.type.name)) {
      if (this.workgroupSize !== 1) throw refuse("a barrier among several invocations");
      return;
    }
    this.hold(e);
  }
}

const fail = (what: string): never => {
  throw refuse(what);
};
