// expressions of WGSL as instructions: a scalar or a vector is pushed on the stack, what has several parts lies in locals
import { bitsOf, type OpName, type VectorOpName } from "./assembler.ts";
import { refuse, type Expression } from "./parse.ts";
import { BOOL, common, concrete, isComposite, isFloat, scalarOf, U32, type Simple, type Type } from "./types.ts";
import { COMPARISONS, fail } from "./typing.ts";
import { kindOf, Values } from "./values.ts";

const ARITHMETIC: Readonly<Record<string, string>> = { "+": "add", "-": "sub", "*": "mul", "/": "div" };
const BITS: Readonly<Record<string, "and" | "or" | "xor">> = {
  "&": "and",
  "|": "or",
  "^": "xor",
};

/** Whether an argument is a vector of ones: `dot` with it is a sum of lanes. */
const isOnes = (e: Expression): boolean =>
  e.kind === "call" && e.args.length === 1 && e.args[0].kind === "number" && e.args[0].value === 1;

export abstract class Expressions extends Values {
  /** Invocations of a workgroup. */
  workgroupSize = 1;

  /** Pushes a scalar or a vector of a type. */
  protected override push(e: Expression, want: Type): void {
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
      case "name":
      case "member":
      case "index": {
        const constant = e.kind === "name" && !this.find(e.name) ? this.tree.constants.get(e.name) : undefined;
        if (constant) return this.push(constant, want);
        if (e.kind === "member" && e.member.length > 1 && this.typeOf(e.of).kind === "vector") {
          this.push(e.of, this.typeOf(e.of));
          return void this.asm.swizzle(Array.from({ length: e.member.length }, (_, i) => "xyzw".indexOf(e.member[i])));
        }
        this.load(this.place(e));
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
    if (this.tree.functions.has(name)) return this.load({ kind: "locals", ...this.hold(e) });
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
    this.push(args[0], type);
    if (!isOnes(args[1])) {
      this.push(args[1], type);
      asm.simd("f32x4.mul");
    }
    asm.set(product);
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
      (_, lane) => () => this.load({ kind: "lane", type: want, of: held, lane }),
    );
  }

  /** A call for what it does. */
  evaluate(e: Expression): void {
    if (e.kind === "call" && e.type.name.endsWith("Barrier")) {
      if (this.workgroupSize !== 1) throw refuse("a barrier among several invocations");
      return;
    }
    this.hold(e);
  }
}
