// `corral`: finds the command, runs it, and turns what it throws into a line and an exit code
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
import { tellWaits } from "./waits.ts";
import { claimStdout, type Command, EXIT, guardOutput, print, printJson, progress, UsageError } from "./io.ts";

/** The commands in the order of the list, loaded on demand: `corral doctor` must work if physics does not load. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  doctor: () => import("./doctor.ts"),
  demo: () => import("./demo.ts"),
  train: () => import("./train.ts"),
  play: () => import("./play.ts"),
  evaluate: () => import("./evaluate.ts"),
  render: () => import("./render.ts"),
  view: () => import("./view.ts"),
  export: () => import("./export.ts"),
  list: () => import("./list.ts"),
  plan: () => import("./plan.ts"),
  stress: () => import("./stress.ts"),
  bench: () => import("./bench.ts"),
  tune: () => import("./tune.ts"),
  compare: () => import("./compare.ts"),
  "check-model": () => import("./check-model.ts"),
  inspect: () => import("./inspect.ts"),
  replay: () => import("./replay.ts"),
  "check-env": () => import("./check-env.ts"),
  "new-task": () => import("./new-task.ts"),
  serve: () => import("./serve.ts"),
};

/** Codes of errors that say: not enough of something. */
const REFUSED = new Set([
  "allocation-refused",
  "budget-exceeded",
  "cache-not-writable",
  "kernel-too-large",
  "limit-exceeded",
  "wasm-memory",
]);

/** Codes of errors that say: what was asked rightly broke on its way. */
const FAILED = new Set(["disk-full", "non-finite-update", "stopped", "replay-endless", "replay-stuck"]);

/** Runs `corral` with the arguments after its name; `waits`: says what takes seconds. Returns the exit code, one of EXIT. */
export async function main(args: string[], { waits = false } = {}): Promise<number> {
  guardOutput();
  if (waits) tellWaits();
  const json = args.includes("--json");
  const claimed = json ? claimStdout() : undefined;
  try {
    return await dispatch(args);
  } catch (error) {
    return report(error, json);
  } finally {
    claimed?.release();
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

  if (!Object.hasOwn(COMMANDS, name)) throw new UsageError(unknown(name));
  const command = await COMMANDS[name]();
  const options = rest.slice(0, rest.includes("--") ? rest.indexOf("--") : undefined);
  if (options.includes("--help") || options.includes("-h")) {
    print(command.help.trim());
    return EXIT.done;
  }
  return command.run(await withTaskFiles(rest));
}

function unknown(name: string): string {
  const what = name.startsWith("-") ? `'${name}' is no option of corral` : `'${name}' is no command of corral`;
  const names = Object.keys(COMMANDS);
  const alike = nearest(name, names);
  if (alike.length > 0) return `${what}. Did you mean ${alike.map((other) => `'${other}'`).join(" or ")}?`;
  return `${what}. Commands: ${names.join(", ")}.`;
}

async function overview(): Promise<string> {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const lines: string[] = [];
  for (const [name, load] of Object.entries(COMMANDS)) lines.push(`  ${name.padEnd(width)}  ${(await load()).summary}`);
  return [
    "corral: thousands of MuJoCo worlds on any GPU, from Node",
    "",
    "Usage: corral COMMAND [options]",
    "",
    ...lines,
    "",
    "corral COMMAND --help says more. --json prints one JSON document on stdout, progress goes to stderr.",
    "Exit codes: 0 done, 1 failed check or what cannot be written, 2 bad usage or what cannot be read,",
    "3 resource refused, 141 stdout was closed.",
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
  // a place that cannot be written, whatever was to go there
  if (FAILED.has(error.code) || error.code.endsWith("-not-written")) return EXIT.failed;
  return EXIT.usage;
}
