// types of expressions of WGSL, and values that are known before a kernel runs
import { refuse, type Expression, type ModuleTree } from "./parse.ts";
import { BOOL, common, F32, scalarOf, Types, vector, type Simple, type Type } from "./types.ts";

/** A value in locals: one for each part. */
export interface Held {
  readonly type: Type;
  readonly parts: readonly number[];
}

export const COMPARISONS: Readonly<Record<string, string>> = {
  "==": "eq",
  "!=": "ne",
  "<": "lt",
  ">": "gt",
  "<=": "le",
  ">=": "ge",
};

export const fail = (what: string): never => {
  throw refuse(what);
};

export class Typing {
  readonly tree: ModuleTree;
  readonly types: Types;
  /** Values of names, the innermost scope last. */
  scopes: Map<string, Held>[] = [];

  constructor(tree: ModuleTree) {
    this.tree = tree;
    this.types = new Types(tree, (e) => this.constantOf(e) ?? fail("a count that is no constant"));
  }

  /** The value of an integer that is known, or undefined. */
  constantOf(e: Expression): number | undefined {
    if (e.kind === "number") return e.value;
    if (e.kind !== "name" || this.find(e.name)) return undefined;
    const constant = this.tree.constants.get(e.name);
    return constant && this.constantOf(constant);
  }

  protected find(name: string): Held | undefined {
    for (let i = this.scopes.length - 1; i >= 0; i--) {
      const found = this.scopes[i].get(name);
      if (found) return found;
    }
    return undefined;
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
        return this.typeOfName(e.name);
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
        return this.typeOfCall(e);
    }
  }

  protected typeOfName(name: string): Type {
    const held = this.find(name);
    if (held) return held.type;
    const variable = this.tree.variables.get(name);
    if (variable) return this.types.of(variable.type);
    return this.typeOf(this.tree.constants.get(name) ?? fail(name));
  }

  protected typeOfCall({ type: { name, args: types }, args }: Extract<Expression, { kind: "call" }>): Type {
    const fn = this.tree.functions.get(name);
    if (fn) return fn.result ? this.types.of(fn.result) : BOOL;
    if (name === "bitcast") return this.types.of(types[0] as never);
    if (/^(vec[234]|array|f32|u32|i32|bool)$/.test(name)) return this.types.of({ name, args: types });
    if (name === "dot") return F32;
    if (name === "select" || name === "min" || name === "max")
      return common(this.typeOf(args[0]), this.typeOf(args[1]));
    if (name === "clamp" || name === "fma") return args.map((arg) => this.typeOf(arg)).reduce(common);
    if (/^(abs|sqrt|round|floor|workgroupUniformLoad)$/.test(name)) return this.typeOf(args[0]);
    if (name.endsWith("Barrier")) return BOOL;
    return this.types.struct(name) ?? fail(name);
  }
}
