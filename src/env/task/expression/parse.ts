// the syntax tree of an expression, by precedence climbing
import { errorAt, type SourceText } from "./error.ts";
import { tokensOf, type Token } from "./tokens.ts";

/** A part of an expression; `offset` is where messages about it point. */
export type Syntax = { readonly offset: number } & (
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "string"; readonly text: string }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "call"; readonly callee: Syntax; readonly args: readonly Syntax[] }
  /** a.b: a swizzle, or a name within a name. */
  | { readonly kind: "member"; readonly of: Syntax; readonly name: string }
  | { readonly kind: "index"; readonly of: Syntax; readonly index: Syntax }
  | { readonly kind: "slice"; readonly of: Syntax; readonly from?: Syntax; readonly to?: Syntax }
  | { readonly kind: "vector"; readonly items: readonly Syntax[] }
  | { readonly kind: "unary"; readonly op: string; readonly operand: Syntax }
  | { readonly kind: "binary"; readonly op: string; readonly left: Syntax; readonly right: Syntax }
  | { readonly kind: "choice"; readonly cond: Syntax; readonly yes: Syntax; readonly no: Syntax }
);

/** How tightly operators bind. Comparisons do not chain. */
const PRECEDENCE: Readonly<Record<string, number>> = {
  "||": 1,
  "&&": 2,
  "==": 3,
  "!=": 3,
  "<": 4,
  "<=": 4,
  ">": 4,
  ">=": 4,
  "+": 5,
  "-": 5,
  "*": 6,
  "/": 6,
  "%": 6,
};
const COMPARISONS = new Set(["==", "!=", "<", "<=", ">", ">="]);

/** Operators of other languages. */
const WORDS: Readonly<Record<string, string>> = { and: "&&", or: "||", not: "!", is: "==" };

/** Parentheses, signs and calls within one another. */
const MAX_DEPTH = 100;

class Parser {
  readonly #source: SourceText;
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;
  /** Parts in parentheses: a comparison among them may be compared again. */
  readonly #grouped = new WeakSet<Syntax>();

  constructor(source: SourceText) {
    this.#source = source;
    this.#tokens = tokensOf(source);
  }

  get #next(): Token {
    return this.#tokens[this.#at];
  }

  get #ended(): boolean {
    return this.#next.kind === "end";
  }

  #is(symbol: string): boolean {
    return this.#next.kind === "symbol" && this.#next.text === symbol;
  }

  #skip(symbol: string): boolean {
    if (!this.#is(symbol)) return false;
    this.#at++;
    return true;
  }

  #fail(message: string, offset = this.#next.offset): never {
    throw errorAt(this.#source, offset, "term-syntax", message);
  }

  #need(symbol: string, why: string): void {
    if (!this.#skip(symbol)) this.#fail(`${this.#found()} where "${symbol}" ${why} is expected.`);
  }

  #found(): string {
    return this.#next.kind === "end" ? "the expression ends" : `there is "${this.#next.text}"`;
  }

  all(): Syntax {
    if (this.#ended) this.#fail("the expression is empty.");
    const whole = this.#choice();
    if (!this.#ended) {
      const operator = WORDS[this.#next.text];
      const hint = operator ? `write ${operator}.` : "is an operator missing?";
      this.#fail(`${this.#found()} after the end of the expression; ${hint}`);
    }
    return whole;
  }

  #choice(): Syntax {
    // one choice after another: the next stands if the last says no
    const before: { cond: Syntax; yes: Syntax; offset: number }[] = [];
    for (;;) {
      const cond = this.#binary(1);
      const { offset } = this.#next;
      if (!this.#skip("?")) return before.reduceRight((no, c): Syntax => ({ kind: "choice", ...c, no }), cond);
      const yes = this.#nested(() => this.#choice());
      this.#need(":", "between the two values of a choice");
      before.push({ cond, yes, offset });
    }
  }

  /** Reads what stands within something else. */
  #nested(read: () => Syntax): Syntax {
    if (++this.#depth > MAX_DEPTH) this.#fail(`the expression is nested more than ${MAX_DEPTH} deep; split it.`);
    const part = read();
    this.#depth--;
    return part;
  }

  #binary(least: number): Syntax {
    let left = this.#unary();
    for (;;) {
      const { text: op, offset, kind } = this.#next;
      const level = kind === "symbol" ? (PRECEDENCE[op] ?? 0) : 0;
      if (level < least) return left;
      this.#at++;
      if (COMPARISONS.has(op) && left.kind === "binary" && COMPARISONS.has(left.op) && !this.#grouped.has(left)) {
        this.#fail("comparisons do not chain; join two with &&, as in 0 < x && x < 1.", offset);
      }
      left = { kind: "binary", op, left, right: this.#binary(level + 1), offset };
    }
  }

  #unary(): Syntax {
    return this.#nested(() => {
      const { offset, text: op } = this.#next;
      if (this.#skip("-") || this.#skip("!")) return { kind: "unary", op, operand: this.#unary(), offset };
      return this.#skip("+") ? this.#unary() : this.#postfix(this.#primary());
    });
  }

  #postfix(start: Syntax): Syntax {
    let part = start;
    for (let length = 0; ; length++) {
      const { offset } = this.#next;
      if (length > MAX_DEPTH) this.#fail(`there are more than ${MAX_DEPTH} of these one after another; split it.`);
      if (this.#skip("(")) part = { kind: "call", callee: part, args: this.#list(")"), offset: part.offset };
      else if (this.#skip(".")) {
        const name = this.#next;
        if (name.kind !== "name") this.#fail(`${this.#found()} where a name after "." is expected.`);
        this.#at++;
        part = { kind: "member", of: part, name: name.text, offset: name.offset };
      } else if (this.#skip("[")) part = this.#subscript(part, offset);
      else return part;
    }
  }

  #subscript(of: Syntax, offset: number): Syntax {
    const from = this.#is(":") ? undefined : this.#choiceUnlessColon();
    if (!this.#skip(":")) {
      this.#need("]", "at the end of an index");
      return { kind: "index", of, index: from!, offset };
    }
    const to = this.#is("]") ? undefined : this.#choice();
    this.#need("]", "at the end of a slice");
    return { kind: "slice", of, ...(from ? { from } : {}), ...(to ? { to } : {}), offset };
  }

  // a choice would take the colon of a slice
  #choiceUnlessColon(): Syntax {
    return this.#binary(1);
  }

  #list(end: string): Syntax[] {
    const items: Syntax[] = [];
    if (this.#skip(end)) return items;
    do items.push(this.#choice());
    while (this.#skip(","));
    this.#need(end, "at the end of a list");
    return items;
  }

  #primary(): Syntax {
    const { kind, text, offset } = this.#next;
    if (kind === "end") this.#fail("the expression ends where a value is expected.");
    this.#at++;
    if (kind === "number") return { kind, value: Number(text), offset };
    if (kind === "name") return { kind, name: text, offset };
    if (kind === "string") return { kind, text, offset };
    if (text === "[") return { kind: "vector", items: this.#list("]"), offset };
    if (text === "(") {
      const inner = this.#choice();
      this.#need(")", "at the end of a group");
      this.#grouped.add(inner);
      return inner;
    }
    this.#at--;
    const power = text === "*" && this.#tokens[this.#at - 1]?.text === "*";
    return this.#fail(
      power
        ? "there is no operator **; write pow(a, b), or square(a)."
        : `there is "${text}" where a value is expected.`,
    );
  }
}

/**
 * Reads an expression.
 * @throws CorralError term-syntax, with the line, the column and a caret
 */
export const parseExpression = (source: SourceText): Syntax => new Parser(source).all();
