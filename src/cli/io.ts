// what every command does with its arguments and its output: results on stdout, progress on stderr, all of it printable
import { closeSync, existsSync, openSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { CorralError } from "../core/errors.ts";
import { parseOption } from "../core/options.ts";
import { described, integer, real, type Kind, Mismatch } from "../core/schema.ts";
import { makeOutputFolder } from "../core/make-folder.ts";
import { nearest } from "../core/names.ts";
import { reasonOf, remedyOf } from "../core/write-bytes.ts";
import { printable, printableJson } from "../core/show.ts";

/** Exit codes of the command line; `closed`: whoever read stdout has gone before all was printed. */
export const EXIT = { done: 0, failed: 1, usage: 2, refused: 3, closed: 141 } as const;

/** One command: `src/cli/<name>.ts` exports these three. */
export interface Command {
  /** One line for the list of commands. */
  readonly summary: string;
  /** What `corral <name> --help` prints. */
  readonly help: string;
  /** Runs with the arguments after the command's name and returns an exit code of `EXIT`. */
  run(args: string[]): Promise<number>;
}

/** The command line makes no sense; ends with exit code 2. */
export class UsageError extends CorralError {
  override name = "UsageError";

  constructor(text: string) {
    super("usage", text);
  }
}

/** Options as `parseArgs` of node:util takes them. */
export type Options = Record<
  string,
  { type: "string" | "boolean"; short?: string; multiple?: boolean; default?: string | boolean }
>;

type ValueOf<T> = T extends { type: "boolean" } ? boolean : string;

/** What was on the command line. */
export interface Parsed<O extends Options> {
  readonly values: { readonly [K in keyof O]?: O[K] extends { multiple: true } ? ValueOf<O[K]>[] : ValueOf<O[K]> } & {
    readonly json?: boolean;
  };
  readonly positionals: readonly string[];
}

/** Fails before a long run where its results could not be written to a file. Leaves the file, empty if it is new, unless told not to. Throws `output-not-written`. */
export function assertWritable(option: string, path: string | undefined, { leave = true } = {}): void {
  if (path === undefined) return;
  const isNew = !existsSync(path);
  try {
    closeSync(openSync(path, "a"));
    if (isNew && !leave) rmSync(path);
  } catch (error) {
    throw notWritten(option, path, error, "write to another place");
  }
}

// no wrong usage: the place may be there, and full or read-only
const notWritten = (option: string, path: string, error: unknown, place: string): CorralError =>
  new CorralError(
    "output-not-written",
    `--${option} is '${path}', which cannot be written: ${reasonOf(error)}. ${remedyOf(error, place)}`,
    { path },
  );

/** Makes the folder of an option before a long run that fills it. Throws `output-not-written`. */
export function makeOutput(option: string, folder: string | undefined): void {
  if (folder === undefined) return;
  try {
    makeOutputFolder(folder);
  } catch (error) {
    throw notWritten(option, folder, error, "pass another folder");
  }
}

/** `parseArgs` of node:util, strict, whose complaints become `UsageError`. `--json` is always an option. */
export function parse<const O extends Options>(args: string[], options: O, positionals = 0): Parsed<O> {
  let parsed: Parsed<O>;
  try {
    const all = { json: { type: "boolean" }, ...options } as const;
    parsed = parseArgs({ args, options: all, allowPositionals: true, strict: true });
  } catch (error) {
    if (String((error as NodeJS.ErrnoException).code).startsWith("ERR_PARSE_ARGS")) {
      const text = (error as Error).message;
      const ambiguous = /^Option '(--[\w-]+)' argument is ambiguous/.exec(text)?.[1];
      if (ambiguous)
        throw new UsageError(`${ambiguous} is followed by no value. One that begins with '-': ${ambiguous}=VALUE.`);
      throw new UsageError(`${firstSentence(text)}${nearestFlags(text, options)} See --help.`);
    }
    throw error;
  }
  if (parsed.positionals.length > positionals) {
    const extra = parsed.positionals[positionals];
    throw new UsageError(
      `'${extra}' is one argument too many; ${["none is", "one is"][positionals] ?? `${positionals} are`} expected. See --help.`,
    );
  }
  return parsed;
}

/** What other programs call a flag. */
const OTHERS_CALL: Readonly<Record<string, readonly string[]>> = {
  out: ["dir", "folder", "output", "logdir", "log-dir", "save-dir", "o"],
  to: ["out", "output", "file", "o"],
  envs: ["num-envs", "worlds", "n-envs", "num-worlds", "n"],
  steps: ["timesteps", "total-timesteps", "total-steps", "max-steps"],
};

/** Flags that an unknown one may have meant. */
function nearestFlags(message: string, options: Options): string {
  const [, dashes, name] = /^Unknown option '(--?)([^' =]+)/.exec(message) ?? [];
  if (name === undefined) return "";
  const flags = Object.keys(options);
  const alike = flags.filter((flag) => OTHERS_CALL[flag]?.includes(name));
  const others = dashes === "-" ? flags.filter((flag) => flag.startsWith(name)).slice(0, 3) : nearest(name, flags);
  const near = alike.length > 0 ? alike : others;
  return near.length === 0 ? "" : ` (nearest: ${near.map((flag) => `--${flag}`).join(", ")})`;
}

// what follows is advice about `--`, of no use here
function firstSentence(text: string): string {
  const [first] = text.split(/\. |\n/);
  return first.endsWith(".") ? first : `${first}.`;
}

/** A number of a kind from a flag's text. Throws `UsageError`. */
export function numberOption<T>(name: string, text: string | undefined, kind: Kind<number>, fallback: T): number | T {
  if (text === undefined) return fallback;
  try {
    return kind.read(parseOption({ doc: "", kind }, text), [name]);
  } catch (error) {
    const want = error instanceof Mismatch ? error.want : kind.want;
    throw new UsageError(`--${name} is '${text}': pass ${want}.`);
  }
}

/** An integer from a flag's text. Throws `UsageError`. */
export const integerOption = (name: string, text: string | undefined, fallback: number, least = 1): number =>
  numberOption(name, text, integer(least), fallback);

const PORT = described("a port, an integer from 0 (a free one) to 65535", integer(0, 65_535));

/** The port of a page from a flag's text; 0 is a free one. Throws `UsageError`. */
export const portOption = (text: string | undefined): number => numberOption("port", text, PORT, 0);

const SECONDS = described("seconds, more than 0 and at most 3600", real(Number.MIN_VALUE, 3600));

/** A number of seconds from a flag's text. Throws `UsageError`. */
export const secondsOption = (name: string, text: string | undefined, fallback: number): number =>
  numberOption(name, text, SECONDS, fallback);

type Lost = (error: NodeJS.ErrnoException) => void;

// what shells report of programs that a closed pipe ends (128 + SIGPIPE): not all was printed, and a check may not have ended
let lost: Lost = (error) => {
  if (isGone(error)) process.exit(EXIT.closed);
  throw error;
};
let isGuarded = false;

/** Whether whoever read the output is gone: a pipe that was closed, a terminal that was hung up. */
export const isGone = ({ code }: NodeJS.ErrnoException): boolean => code === "EPIPE" || code === "EIO";

/** Hears of output that cannot be written. */
export function guardOutput(): void {
  if (isGuarded) return;
  isGuarded = true;
  process.stdout.on("error", (error: NodeJS.ErrnoException) => lost(error));
  // there is nowhere left to write to
  process.stderr.on("error", () => {});
}

/** From now on output that cannot be written is dropped and `act` is called with each error; by default the process ends. */
export function onLostOutput(act: Lost): void {
  lost = act;
}

/** What starts corral anew in a process of its own, whatever program this is. */
export function corralCommand(): [program: string, entry: string] {
  const entries = ["../../bin/corral.js", "../../../bin/corral.js"].map((up) =>
    fileURLToPath(new URL(up, import.meta.url)),
  );
  return [process.execPath, entries.find((entry) => existsSync(entry))!];
}

/** Stdout, of one owner or of all. */
let output: Pick<NodeJS.WriteStream, "write"> | undefined;

/** Leaves stdout to results alone: what a task prints there goes to stderr until `release`. */
export function claimStdout(): { write: NodeJS.WriteStream["write"]; release: () => void } {
  const { stdout, stderr } = process;
  const everyones = stdout.write;
  const write = output?.write ?? everyones.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  output = { write };
  return {
    write,
    release: () => {
      stdout.write = everyones;
      output = undefined;
    },
  };
}

/** A line of the result, on stdout. */
export function print(text = ""): void {
  (output ?? process.stdout).write(`${printable(text)}\n`);
}

/** The one JSON document of `--json`, on stdout. */
export function printJson(document: unknown): void {
  (output ?? process.stdout).write(`${printableJson(JSON.stringify(document, undefined, 2))}\n`);
}

/** A line of progress, on stderr. */
export function progress(text: string): void {
  process.stderr.write(`${printable(text)}\n`);
}

/** Seconds between two lines of progress of one kind. */
const LINE_SECONDS = 2;

/** Lines of progress that come with every step, of which one in two seconds is told, the first after as long. */
export function nowAndThen(): (text: () => string) => void {
  let last = performance.now();
  return (text) => {
    if (performance.now() - last < 1000 * LINE_SECONDS) return;
    last = performance.now();
    progress(text());
  };
}
