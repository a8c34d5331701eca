// what tools/zoo is asked to do
import { parseArgs } from "node:util";

export const USAGE = `Usage: npx tsx tools/zoo [FOLDER] [options]

Which models of other projects load, what blocks the others, how far steps are from MuJoCo's, how fast they are.
FOLDER (../zoo) holds a folder OWNER+NAME for each repository of tools/zoo/repositories.ts, as it is at its commit.

  --only TEXT       files whose path has the text
  --bounds          steps every accepted model with actuators beside MuJoCo, without a GPU
  --measure LIST    compares and times models whose path has one of the texts, separated by commas
  --write           writes docs/zoo.md
  --judged FILE     judges one model: seconds to its first step, and what is out of bounds, as JSON
  --one FILE        measures one model, as JSON
`;

const OPTIONS = {
  help: { type: "boolean", short: "h" },
  only: { type: "string", default: "" },
  measure: { type: "string" },
  bounds: { type: "boolean" },
  one: { type: "string" },
  judged: { type: "string" },
  write: { type: "boolean" },
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
