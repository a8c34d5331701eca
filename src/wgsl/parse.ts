// the part of WGSL that hand-written kernels use, as a tree
import { CorralError } from "../core/errors.ts";

/** A type as it is written: `f32`, `vec4<f32>`, `array<Linear, 4>`. */
export interface TypeName {
  readonly name: string;
  readonly args: readonly (TypeName | Expression)[];
}

export type Expression =
  | { readonly kind: "number"; readonly value: number; readonly suffix: "u" | "f" | "i" | "float" | "int" }
  | { readonly kind: "bool"; readonly value: boolean }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "unary"; readonly op: string; readonly of: Expression }
  | { readonly kind: "binary"; readonly op: string; readonly left: Expression; readonly right: Expression }
  | { readonly kind: "call"; readonly type: TypeName; readonly args: readonly Expression[] }
  | { readonly kind: "member"; readonly of: Expression; readonly member: string }
  | { readonly kind: "index"; readonly of: Expression; readonly index: Expression };

export type Statement =
  | {
      readonly kind: "let" | "var";
      readonly name: string;
      readonly type: TypeName | undefined;
      readonly value: Expression | undefined;
    }
  | { readonly kind: "assign"; readonly op: string; readonly to: Expression; readonly value: Expression }
  | { readonly kind: "discard"; readonly value: Expression }
  | { readonly kind: "if"; readonly test: Expression; readonly then: Block; readonly otherwise: Block }
  | {
      readonly kind: "for";
      readonly first: Statement | undefined;
      readonly test: Expression | undefined;
      readonly next: Statement | undefined;
      readonly body: Block;
    }
  | { readonly kind: "block"; readonly body: Block }
  | { readonly kind: "break" | "continue" }
  | { readonly kind: "return"; readonly value: Expression | undefined };

export type Block = readonly Statement[];

export interface Parameter {
  readonly name: string;
  readonly type: TypeName;
  readonly builtin: string | undefined;
}

export interface FunctionTree {
  readonly name: string;
  readonly parameters: readonly Parameter[];
  readonly result: TypeName | undefined;
  readonly body: Block;
  /** Of an entry point. */
  readonly workgroupSize: Expression | undefined;
}

export interface GlobalVariable {
  readonly name: string;
  readonly type: TypeName;
  readonly space: "uniform" | "storage" | "workgroup";
  readonly binding: number | undefined;
}

export interface ModuleTree {
  readonly structs: ReadonlyMap<string, readonly { readonly name: string; readonly type: TypeName }[]>;
  readonly constants: ReadonlyMap<string, Expression>;
  readonly variables: ReadonlyMap<string, GlobalVariable>;
  readonly functions: ReadonlyMap<string, FunctionTree>;
}

const TOKEN =
  /\s+|\/\/[^\n]*|((?:0x[0-9a-fA-F]+(?:p[+-]?\d+)?|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)[ufi]?)|([A-Za-z_]\w*)|(&&|\|\||<<|>>=|<<=|->|[<>=!+\-*/%&|^]=|[-+*/%&|^!=<>(){}[\],;:.@~])/gy;

interface Token {
  readonly kind: "number" | "word" | "sign" | "end";
  readonly text: string;
  readonly at: number;
}

export const refuse = (why: string): CorralError =>
  new CorralError("internal", `WGSL that is not compiled to WebAssembly: ${why}.`);

function tokensOf(code: string): Token[] {
  const tokens: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < code.length) {
    const at = TOKEN.lastIndex;
    const found = TOKEN.exec(code);
    if (!found) throw refuse(`'${code.slice(at, at + 20)}'`);
    const [, number, word, sign] = found;
    if (number) tokens.push({ kind: "number", text: number, at });
    else if (word) tokens.push({ kind: "word", text: word, at });
    else if (sign) tokens.push({ kind: "sign", text: sign, at });
  }
  tokens.push({ kind: "end", text: "the end", at: code.length });
  return tokens;
}

/** Operators by how loosely they bind. */
const LEVELS = [
  ["||"],
  ["&&"],
  ["|"],
  ["^"],
  ["&"],
  ["==", "!="],
  ["<", ">", "<=", ">="],
  ["<<", ">>"],
  ["+", "-"],
  ["*", "/", "%"],
];

class Parser {
  readonly #tokens: readonly Token[];
  readonly #code: string;
  #at = 0;
  readonly structs = new Map<string, { name: string; type: TypeName }[]>();
  readonly constants = new Map<string, Expression>();
  readonly variables = new Map<string, GlobalVariable>();
  readonly functions = new Map<string, FunctionTree>();

  constructor(code: string) {
    this.#code = code;
    this.#tokens = tokensOf(code);
  }

  get #now(): Token {
    return this.#tokens[this.#at];
  }

  #is(text: string): boolean {
    return this.#now.text === text && this.#now.kind !== "number";
  }

  #take(): string {
    return this.#tokens[this.#at++].text;
  }

  #maybe(text: string): boolean {
    if (!this.#is(text)) return false;
    this.#at++;
    return true;
  }

  #expect(text: string): void {
    if (this.#maybe(text)) return;
    const from = this.#now.at;
    throw refuse(`'${text}' is expected before '${this.#code.slice(from, from + 40)}'`);
  }

  #word(): string {
    if (this.#now.kind !== "word") throw refuse(`a name is expected, not '${this.#now.text}'`);
    return this.#take();
  }

  module(): ModuleTree {
    while (this.#now.kind !== "end") this.#item();
    return this;
  }

  #item(): void {
    if (this.#maybe(";")) return;
    if (this.#maybe("enable")) {
      while (!this.#maybe(";")) this.#at++;
      return;
    }
    const attributes = this.#attributes();
    if (this.#maybe("struct")) return this.#struct();
    if (this.#maybe("const")) return this.#constant();
    if (this.#maybe("var")) return this.#variable(attributes);
    this.#expect("fn");
    this.#function(attributes);
  }

  #attributes(): Map<string, readonly Expression[]> {
    const all = new Map<string, readonly Expression[]>();
    while (this.#maybe("@")) {
      const name = this.#word();
      const args: Expression[] = [];
      if (this.#maybe("(")) {
        while (!this.#maybe(")")) {
          args.push(this.expression());
          this.#maybe(",");
        }
      }
      all.set(name, args);
    }
    return all;
  }

  #struct(): void {
    const name = this.#word();
    const members: { name: string; type: TypeName }[] = [];
    this.#expect("{");
    while (!this.#maybe("}")) {
      const member = this.#word();
      this.#expect(":");
      members.push({ name: member, type: this.type() });
      this.#maybe(",");
    }
    this.structs.set(name, members);
  }

  #constant(): void {
    const name = this.#word();
    if (this.#maybe(":")) this.type();
    this.#expect("=");
    this.constants.set(name, this.expression());
    this.#expect(";");
  }

  #variable(attributes: ReadonlyMap<string, readonly Expression[]>): void {
    this.#expect("<");
    const space = this.#word() as GlobalVariable["space"];
    if (this.#maybe(",")) this.#word();
    this.#expect(">");
    const name = this.#word();
    this.#expect(":");
    const type = this.type();
    this.#expect(";");
    const binding = attributes.get("binding")?.[0];
    this.variables.set(name, { name, type, space, binding: binding?.kind === "number" ? binding.value : undefined });
  }

  #function(attributes: ReadonlyMap<string, readonly Expression[]>): void {
    const name = this.#word();
    const parameters: Parameter[] = [];
    this.#expect("(");
    while (!this.#maybe(")")) {
      const [builtin] = this.#attributes().get("builtin") ?? [];
      const parameter = this.#word();
      this.#expect(":");
      const of = builtin?.kind === "name" ? builtin.name : undefined;
      parameters.push({ name: parameter, type: this.type(), builtin: of });
      this.#maybe(",");
    }
    const result = this.#maybe("->") ? this.type() : undefined;
    const [workgroupSize] = attributes.get("workgroup_size") ?? [];
    this.functions.set(name, { name, parameters, result, body: this.#block(), workgroupSize });
  }

  type(): TypeName {
    const name = this.#word();
    const args: (TypeName | Expression)[] = [];
    if (this.#maybe("<")) {
      while (!this.#maybe(">")) {
        args.push(
          this.#now.kind === "number" || (name === "array" && args.length > 0)
            ? this.#level(LEVELS.length)
            : this.type(),
        );
        this.#maybe(",");
      }
    }
    return { name, args };
  }

  #block(): Block {
    const statements: Statement[] = [];
    this.#expect("{");
    while (!this.#maybe("}")) {
      const statement = this.#statement();
      if (statement) statements.push(statement);
    }
    return statements;
  }

  #statement(): Statement | undefined {
    if (this.#maybe(";")) return undefined;
    if (this.#is("{")) return { kind: "block", body: this.#block() };
    if (this.#maybe("if")) return this.#if();
    if (this.#maybe("for")) {
      this.#expect("(");
      const first = this.#is(";") ? undefined : this.#simple();
      this.#expect(";");
      const test = this.#is(";") ? undefined : this.expression();
      this.#expect(";");
      const next = this.#is(")") ? undefined : this.#simple();
      this.#expect(")");
      return { kind: "for", first, test, next, body: this.#block() };
    }
    const none = { first: undefined, next: undefined };
    if (this.#maybe("while")) return { kind: "for", ...none, test: this.expression(), body: this.#block() };
    if (this.#maybe("loop")) return { kind: "for", ...none, test: undefined, body: this.#block() };
    const statement = this.#simple();
    this.#expect(";");
    return statement;
  }

  #if(): Statement {
    const test = this.expression();
    const then = this.#block();
    if (!this.#maybe("else")) return { kind: "if", test, then, otherwise: [] };
    const otherwise = this.#maybe("if") ? [this.#if()] : this.#block();
    return { kind: "if", test, then, otherwise };
  }

  #simple(): Statement {
    for (const kind of ["let", "var"] as const) {
      if (!this.#maybe(kind)) continue;
      const name = this.#word();
      const type = this.#maybe(":") ? this.type() : undefined;
      return { kind, name, type, value: this.#maybe("=") ? this.expression() : undefined };
    }
    if (this.#maybe("return")) return { kind: "return", value: this.#is(";") ? undefined : this.expression() };
    if (this.#maybe("break")) return { kind: "break" };
    if (this.#maybe("continue")) return { kind: "continue" };
    const to = this.expression();
    if (!/^([-+*/%&|^]|<<|>>)?=$/.test(this.#now.text)) return { kind: "discard", value: to };
    const op = this.#take().slice(0, -1);
    const value = this.expression();
    return to.kind === "name" && to.name === "_" ? { kind: "discard", value } : { kind: "assign", op, to, value };
  }

  expression(): Expression {
    return this.#level(0);
  }

  #level(level: number): Expression {
    if (level === LEVELS.length) return this.#unary();
    let left = this.#level(level + 1);
    for (;;) {
      const op = this.#operator(LEVELS[level]);
      if (!op) return left;
      left = { kind: "binary", op, left, right: this.#level(level + 1) };
    }
  }

  /** Two ">" are one operator, but where they end types. */
  #operator(ops: readonly string[]): string | undefined {
    const { text, kind, at } = this.#now;
    if (kind !== "sign") return undefined;
    const next = this.#tokens[this.#at + 1];
    const isShift = text === ">" && next?.text === ">" && next.at === at + 1;
    const op = isShift ? ">>" : text;
    if (!ops.includes(op)) return undefined;
    this.#at += isShift ? 2 : 1;
    return op;
  }

  #unary(): Expression {
    for (const op of ["-", "!", "&"]) if (this.#maybe(op)) return { kind: "unary", op, of: this.#unary() };
    return this.#postfix(this.#primary());
  }

  #postfix(of: Expression): Expression {
    if (this.#maybe(".")) return this.#postfix({ kind: "member", of, member: this.#word() });
    if (!this.#maybe("[")) return of;
    const index = this.expression();
    this.#expect("]");
    return this.#postfix({ kind: "index", of, index });
  }

  #primary(): Expression {
    if (this.#maybe("(")) {
      const inner = this.expression();
      this.#expect(")");
      return inner;
    }
    if (this.#now.kind === "number") return numberOf(this.#take());
    for (const value of [true, false]) if (this.#maybe(String(value))) return { kind: "bool", value };
    const name = this.#word();
    const isType = /^(vec[234]|array|bitcast)$/.test(name) && this.#is("<");
    if (isType) this.#at--;
    const type = isType ? this.type() : { name, args: [] };
    if (!this.#maybe("(")) return { kind: "name", name };
    const args: Expression[] = [];
    while (!this.#maybe(")")) {
      args.push(this.expression());
      this.#maybe(",");
    }
    return { kind: "call", type, args };
  }
}

function numberOf(text: string): Expression {
  const isHex = text.startsWith("0x");
  const suffix = /[ui]$/.exec(text)?.[0] ?? (!isHex && text.endsWith("f") ? "f" : undefined);
  const digits = suffix ? text.slice(0, -1) : text;
  const kind = (suffix ?? (!isHex && /[.e]/.test(digits) ? "float" : "int")) as "u" | "f" | "i" | "float" | "int";
  return { kind: "number", value: Number(digits), suffix: kind };
}

/** Parses a module. */
export const parseWgsl = (code: string): ModuleTree => new Parser(code).module();
