// what tools/zoo is asked to do
import { parseArgs } from "node:util";

export const USAGE = `Usage: npx tsx tools/zoo [FOLDER] [options]

Which models of other projects load, what blocks the others, how far steps are from MuJoCo's, how fast they are.
FOLDER (../zoo) holds a folder OWNER+NAME for each repository: of those in tools/zoo/repositories.ts the parts named there
count, of others every file.

  --only LIST       files whose path has one of the texts, separated by commas
  --bounds          steps every accepted model with actuators beside MuJoCo, on wasm
  --measure         also how fast its steps are
  --write           the same, into bench/results/zoo.json and the table of docs/zoo.md
  --judged FILE     one model: seconds to its first step, and what is out of bounds, as JSON
  --measured FILE   also how fast its steps are, as JSON
`;

const OPTIONS = {
  help: { type: "boolean", short: "h" },
  only: { type: "string", default: "" },
  bounds: { type: "boolean" },
  measure: { type: "boolean" },
  write: { type: "boolean" },
  judged: { type: "string" },
  measured: { type: "string" },
} as const;

/** The options that are given; what is misspelt is `refused` with a line and the usage. */
export function asked(args: string[]) {
  const given = { allowPositionals: true, options: OPTIONS } as const;
  try {
    return { ...parseArgs({ ...given, args }), refused: undefined };
  } catch (error) {
    return { ...parseArgs({ ...given, args: [] }), refused: `${(error as Error).message}\n\n${USAGE}` };
  }
}
