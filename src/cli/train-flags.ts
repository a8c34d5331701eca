// flags of training runs, for the commands that run and that plan them
import { kindOf, parseOption, type OptionTable } from "../core/options.ts";
import { ALGORITHMS, algorithmOf, envConfig, flagOf, RUN_OPTIONS, SETTING_NAMES, show } from "../runs/options.ts";
import { readConfig } from "../runs/run-config.ts";
import { assertAlgo, readStart } from "../runs/start.ts";
import { integerOption, UsageError } from "./io.ts";
import { overridesOf } from "./target.ts";
import { asNamed } from "./task-file.ts";

/** Flags with a value. */
export const flags = (...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, { type: "string" }])) as Record<string, { type: "string" }>;

/** Every setting of a run and of its environments. */
export const TRAIN_FLAGS = {
  ...flags(...SETTING_NAMES.map(flagOf), "algo", "config", "from", "device", "threads", "adapter", "budget"),
  set: { type: "string", multiple: true },
} as const;

type Given = Readonly<Record<string, string | undefined>>;

/** Flags that say true or false. */
const YES_OR_NO = new Set(
  [RUN_OPTIONS, ...Object.values(ALGORITHMS)].flatMap((table: OptionTable) =>
    Object.keys(table).flatMap((name) => (typeof table[name].default === "boolean" ? [`--${flagOf(name)}`] : [])),
  ),
);

/** What is meant for a value of theirs; what follows else is another argument. */
const ANSWER = /^(true|false|yes|no|on|off|[01])$/i;

/** Arguments in which a flag that says true or false, and has no value, says true. */
export const answered = (args: readonly string[]): string[] =>
  args.map((arg, i) => (YES_OR_NO.has(arg) && !ANSWER.test(args[i + 1] ?? "") ? `${arg}=true` : arg));

/**
 * Settings by name: those of a file, or if no environment is named of the run that is started from, then those of
 * flags. Throws `UsageError`, `bad-config`, what `readStart` throws.
 */
export function settingsOf(
  given: Given,
  set: readonly string[] | undefined,
  file: string | undefined,
  positionals: readonly string[],
) {
  const start = given.from === undefined ? undefined : readStart(given.from);
  const base = file !== undefined ? readConfig(file) : positionals.length === 0 ? start?.config : undefined;
  const config: Record<string, unknown> = { ...base, ...(start && { from: start.path }) };
  if (given.algo !== undefined) config.algo = given.algo;
  if (start && given.algo !== undefined) assertAlgo(start, given.algo);
  config.algo ??= typeof config.from === "string" ? (start ?? readStart(config.from)).config.algo : undefined;
  const algo = algorithmOf(config);
  Object.assign(config, flagged(given, algo), envConfig({ ...environmentsOf(set ?? []) }));
  return { config, algo };
}

/** Options of a batch that a run has a value of its own for, with what to do instead. */
const RUNS_OWN = new Map([
  ["numEnvs", "pass --envs"],
  ["seed", "pass --seed"],
  ["autoreset", 'leave it out: learners take "next-step"'],
]);

/** What `--set` says of environments. Throws `UsageError`. */
function environmentsOf(set: readonly string[]): ReturnType<typeof overridesOf> {
  const given = overridesOf(set);
  for (const [name, value] of Object.entries(given)) {
    const instead = RUNS_OWN.get(name);
    if (instead !== undefined)
      throw new UsageError(`--set is '${name}=${String(value)}', which the run decides: ${instead}.`);
  }
  return given;
}

/** Flags whose text is the value. */
const AS_THEY_ARE = ["device", "adapter", "budget", "teacher", "demonstrations"];

/** What flags say, by name. Throws `UsageError`. */
function flagged(
  given: Readonly<Record<string, string | undefined>>,
  algo: keyof typeof ALGORITHMS,
): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const name of [...SETTING_NAMES, ...AS_THEY_ARE]) {
    const text = given[flagOf(name)];
    if (text !== undefined) out[name] = AS_THEY_ARE.includes(name) ? asNamed(text) : valueOf(name, text, algo);
  }
  if (given.threads !== undefined) out.threads = integerOption("threads", given.threads, 1);
  return out;
}

/** The value that a flag's text says. Throws `UsageError`. */
function valueOf(name: string, text: string, algo: keyof typeof ALGORITHMS): unknown {
  const table: OptionTable = { ...RUN_OPTIONS, ...ALGORITHMS[algo] };
  // of the other algorithm: trainOptions says so
  if (!Object.hasOwn(table, name)) return text;
  const value = parseOption(table[name], text);
  if (value !== undefined) return value;
  const want = Array.isArray(table[name].default) ? "numbers such as 64,64" : kindOf(table[name]).want;
  throw new UsageError(`--${flagOf(name)} is '${text}': pass ${want}.`);
}

/** Columns of a terminal, and where what a flag means begins. */
const COLUMNS = 100;
const INDENT = 28;

/** Lines of `--help` on the flags of a table. */
export const flagLines = (table: OptionTable): string =>
  Object.entries(table)
    .map(([name, row]) => {
      const words = row.oneOf ? ` (${row.oneOf.join(", ")})` : "";
      const usual = row.default === undefined ? "" : ` [${show(row.default)}]`;
      const lines = [`  --${flagOf(name)}`.padEnd(INDENT - 1)];
      for (const word of `${row.doc}${words}${usual}`.split(" ")) {
        if (lines.at(-1)!.length + 1 + word.length > COLUMNS) lines.push(" ".repeat(INDENT - 1));
        lines.push(`${lines.pop()} ${word}`);
      }
      return lines.join("\n");
    })
    .join("\n");
