// what tools/zoo is asked to do
import { readdirSync, statSync } from "node:fs";
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

/** Where repositories are laid, if no other place is named. */
const LAID = "../zoo";

const read = (args: string[]) => parseArgs({ args, allowPositionals: true, options: OPTIONS });

/** What is asked, and the folder to scan; what cannot be done is `refused` with a line and the usage. */
export function asked(args: string[]) {
  const refuse = (line: string) => ({ ...read([]), folder: LAID, refused: `${line}\n\n${USAGE}` });
  let given: ReturnType<typeof read>;
  try {
    given = read(args);
  } catch (error) {
    return refuse((error as Error).message);
  }
  const { values, positionals } = given;
  const [folder = LAID, more] = positionals;
  if (more !== undefined) return refuse(`'${more}' is a second folder; one is scanned at a time.`);
  const scans = !values.help && values.judged === undefined && values.measured === undefined;
  if (scans && !statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    return refuse(`FOLDER is '${folder}', which is no folder: lay repositories in it, as OWNER+NAME.`);
  if (scans && !readdirSync(folder).some((name) => name.includes("+")))
    return refuse(`FOLDER is '${folder}', which has no folder OWNER+NAME: lay repositories in it.`);
  return { ...given, folder, refused: undefined };
}
