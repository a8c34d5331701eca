// `corral serve`: corral for another process, over standard input and output
import "../../envs/index.ts";
import { CorralError } from "../core/errors.ts";
import { servePipe } from "../serve/pipe.ts";
import { Service } from "../serve/service.ts";
import { claimStdout, EXIT, parse } from "./io.ts";
import { idOfFile, isTaskFile } from "./task-file.ts";

export const summary = "serves environments and simulations to another process, as the Python client does";

export const help = `
Usage: corral serve

Reads requests from standard input, one JSON document a line, and answers each on standard output;
arrays go through a file that the other process makes and both map. Ends when standard input does,
or with the request "bye". This is what the Python package starts (python/README.md says how to use
it); there is one client for each process.

Exit codes: 0 the other side is done, 1 it broke off, 2 bad usage.
`;

/** How often it looks whether the process that started it is still there, ms. */
const LOOK_EVERY = 2000;
/** How long it takes to close what is held, at most, ms. */
const CLOSE_WITHIN = 10_000;

export async function run(args: string[]): Promise<number> {
  parse(args, {}, 0);
  // standard output is the protocol's alone
  const output = claimStdout();
  const service = new Service({ envOf: async (name) => (isTaskFile(name) ? idOfFile(name) : name) });
  endWithParent();
  let code: number = EXIT.done;
  try {
    await servePipe(service, process.stdin, output);
  } catch (error) {
    if (error instanceof CorralError) process.stderr.write(`${error.message}\n`);
    code = EXIT.failed;
  }
  // a peer that said bye may leave its end open
  process.stdin.destroy();
  setTimeout(() => process.exit(EXIT.failed), CLOSE_WITHIN).unref();
  await service.close();
  return code;
}

/** A forked copy of the other process may keep the pipe open after its end. */
function endWithParent(): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.exit(EXIT.failed);
  }, LOOK_EVERY).unref();
}
