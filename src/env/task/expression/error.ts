// where a term went wrong, as a reader finds it: the term, the line, the column, a caret
import { CorralError } from "../../../core/errors.ts";

/** The text of an expression, and what to call it in messages: `task Ant-v5, reward.forward`. */
export interface SourceText {
  readonly text: string;
  readonly name: string;
}

/** An error at an offset of an expression, with the line that it is on and a caret below it. */
export function errorAt(
  source: SourceText,
  offset: number,
  code: string,
  message: string,
  details: Record<string, unknown> = {},
): CorralError {
  const before = source.text.slice(0, offset).split("\n");
  const line = before.length;
  const start = before.at(-1)!;
  const column = start.length + 1;
  // tabs stay, so that the caret is below its character
  const indent = start.replace(/[^\t]/g, " ");
  return new CorralError(
    code,
    `${source.name}, line ${line}, column ${column}: ${message}\n  ${source.text.split("\n")[line - 1]}\n  ${indent}^`,
    { term: source.name, line, column, ...details },
  );
}
