// `corral`: finds the command, runs it, and turns what it throws into a line and an exit code
import { existsSync } from "node:fs";
import { extname } from "node:path";
import {
  AdapterUnavailableError,
  CorralError,
  DeviceLostError,
  GpuCreationError,
  ShaderError,
} from "../core/errors.ts";
import { nearest } from "../core/names.ts";
import { corralVersion } from "../core/version.ts";
import { withTaskFiles } from "./task-file.ts";
import { type Command, EXIT, guardOutput, print, printJson, progress, UsageError } from "./io.ts";

/** The commands in the order of the list; each is a file of this folder. */
const COMMANDS = [
  "doctor",
  "demo",
  "train",
  "play",
  "evaluate",
  "render",
  "view",
  "export",
  "list",
  "plan",
  "stress",
  "bench",
  "tune",
  "compare",
  "check-model",
  "inspect",
  "replay",
  "check-env",
  "new-task",
  "serve",
];

/** Codes of errors that say: not enough of something. */
const REFUSED = new Set(["budget-exceeded", "cache-not-writable"]);

/** Codes of errors that say: what was asked rightly broke on its way. */
const FAILED = new Set([
  "non-finite-update",
  "stopped",
  "record-not-written",
  "export-not-written",
  "replay-endless",
  "replay-stuck",
]);

/** Runs `corral` with the arguments after its name. Returns the exit code, one of EXIT. */
export async function main(args: string[]): Promise<number> {
  guardOutput();
  try {
    return await dispatch(args);
  } catch (error) {
    return report(error, args.includes("--json"));
  }
}

async function dispatch(args: string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    if (name === "help" && rest[0] !== undefined) return dispatch([rest[0], "--help"]);
    print(await overview());
    return name === undefined ? EXIT.usage : EXIT.done;
  }
  if (name === "--version" || name === "-v") {
    print(corralVersion());
    return EXIT.done;
  }

  const command = await load(name);
  if (!command) throw new UsageError(unknown(name));
  const options = rest.slice(0, rest.includes("--") ? rest.indexOf("--") : undefined);
  if (options.includes("--help") || options.includes("-h")) {
    print(command.help.trim());
    return EXIT.done;
  }
  return command.run(await withTaskFiles(rest));
}

function fileOf(name: string): URL {
  return new URL(`./${name}${extname(import.meta.url)}`, import.meta.url);
}

function available(): string[] {
  return COMMANDS.filter((name) => existsSync(fileOf(name)));
}

// loaded on demand: `corral doctor` must work if physics does not load
async function load(name: string): Promise<Command | undefined> {
  if (!available().includes(name)) return undefined;
  return (await import(fileOf(name).href)) as Command;
}

function unknown(name: string): string {
  const what = name.startsWith("-") ? `'${name}' is no option of corral` : `'${name}' is no command of corral`;
  const alike = nearest(name, available());
  if (alike.length > 0) return `${what}. Did you mean ${alike.map((other) => `'${other}'`).join(" or ")}?`;
  return `${what}. Commands: ${available().join(", ")}.`;
}

async function overview(): Promise<string> {
  const names = available();
  const width = Math.max(...names.map((name) => name.length));
  const lines: string[] = [];
  for (const name of names) lines.push(`  ${name.padEnd(width)}  ${(await load(name))?.summary}`);
  return [
    "corral: thousands of MuJoCo worlds on any GPU, from Node",
    "",
    "Usage: corral COMMAND [options]",
    "",
    ...lines,
    "",
    "corral COMMAND --help says more. --json prints one JSON document on stdout, progress goes to stderr.",
    "Exit codes: 0 done, 1 failed check, 2 bad usage, 3 resource refused, 141 stdout was closed (| head).",
  ].join("\n");
}

function report(error: unknown, json: boolean): number {
  const known = error instanceof CorralError;
  const message = error instanceof Error ? error.message : String(error);
  const debug = process.env.CORRAL_DEBUG === "1";
  progress(!known || debug ? ((error as Error)?.stack ?? message) : message);
  if (known && debug && Object.keys(error.details).length > 0) progress(JSON.stringify(error.details, undefined, 2));
  if (json) printJson({ error: { code: known ? error.code : "internal", message } });
  // a device that does not answer would keep the process
  if (known && error.code === "replay-stuck") process.exit(exitCodeOf(error));
  return exitCodeOf(error);
}

/** 3 for what the machine cannot give, 2 for what was asked wrongly, 1 for what broke. */
export function exitCodeOf(error: unknown): number {
  if (!(error instanceof CorralError)) return EXIT.failed;
  if (error instanceof AdapterUnavailableError || REFUSED.has(error.code)) return EXIT.refused;
  if (error instanceof GpuCreationError) return error.code === "gpu-internal" ? EXIT.failed : EXIT.refused;
  if (error instanceof DeviceLostError || error instanceof ShaderError) return EXIT.failed;
  if (FAILED.has(error.code)) return EXIT.failed;
  return EXIT.usage;
}
