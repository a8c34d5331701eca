// the words of an expression
import { errorAt, type SourceText } from "./error.ts";

export interface Token {
  readonly kind: "number" | "name" | "string" | "symbol" | "end";
  readonly text: string;
  readonly offset: number;
}

const SPACE = /\s*/y;
const NUMBER = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const NAME = /[A-Za-z_]\w*/y;
const STRING = /"([^"\n]*)"|'([^'\n]*)'/y;
const SYMBOL = /&&|\|\||[<>=!]=|[-+*/%<>!()[\],.?:]/y;

/**
 * Cuts a text into tokens; the last one is the end.
 * @throws CorralError term-syntax
 */
export function tokensOf(source: SourceText): Token[] {
  const { text } = source;
  const tokens: Token[] = [];
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    return pattern.exec(text);
  };
  const take = (kind: Token["kind"], found: RegExpExecArray, value = found[0]) => {
    tokens.push({ kind, text: value, offset: at });
    at += found[0].length;
  };

  for (;;) {
    at += match(SPACE)![0].length;
    if (at >= text.length) break;
    const number = match(NUMBER);
    const name = match(NAME);
    const quoted = match(STRING);
    const symbol = match(SYMBOL);
    if (number) {
      // the suffix of a WGSL float
      take("number", number);
      if (/^f\b/.test(text.slice(at))) at++;
      if (/^\w/.test(text.slice(at))) throw errorAt(source, at, "term-syntax", `a number ends in "${text[at]}".`);
    } else if (name) take("name", name);
    else if (quoted) take("string", quoted, quoted[1] ?? quoted[2]);
    else if (symbol) take("symbol", symbol);
    else throw errorAt(source, at, "term-syntax", unexpected(String.fromCodePoint(text.codePointAt(at)!)));
  }
  tokens.push({ kind: "end", text: "", offset: text.length });
  return tokens;
}

function unexpected(character: string): string {
  if (character === '"' || character === "'") return "a name in quotes does not end on its line.";
  if (character === "&" || character === "|") return `"${character}" is no operator; write ${character}${character}.`;
  if (character === "^") return '"^" is no operator; write pow(a, b), or square(a).';
  if (character === "=") return "an expression assigns nothing; write == to compare.";
  if (/\p{L}/u.test(character))
    return `"${character}" is no letter of a plain name; quote it, as in body["${character}..."].`;
  return `"${character}" has no meaning in an expression.`;
}
