/**
 * `npx tsx tools/gpu-compilers [--form FORM] [--learner] [--write FILE] ENV_OR_MODEL ...`: a table of what two compilers
 * for GPUs say of step kernels (and of the learner's), with no GPU. `NAME=MODEL` names the rows of a model. `--form gpu` (default), whole, cut, straight, rolled, software.
 * `--write FILE` adds the rows to a file of results, FILE.json, in place of those of the same names, and prints it as FILE.md.
 * `--watched` measures what the test compares. Exit codes: 0 done, 2 bad usage, 3 the compilers cannot be installed here.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { parseArgs } from "node:util";
import { FORMS, learnerKernels, stepKernels, type Form } from "./kernels.ts";
import { install, measure, type Measured, type Row } from "./measure.ts";

/** The environments that are watched. */
const WATCHED = ["Hopper-v5", "HalfCheetah-v5", "Ant-v5"];

const COLUMNS: readonly (readonly [string, (row: Row) => number | undefined])[] = [
  ["AMD live registers", ({ amd }) => amd.live],
  ["spilled", ({ amd }) => amd.spilled],
  ["scratch B", ({ amd }) => amd.scratch],
  ["code B", ({ amd }) => amd.code],
  ["inv. throughput", ({ amd }) => amd.throughput],
  ["compile s", ({ amd }) => amd.seconds],
  ["NVIDIA registers", ({ nvidia }) => nvidia?.registers],
  ["spilled B", ({ nvidia }) => nvidia?.spilled],
  ["stack B", ({ nvidia }) => nvidia?.stack],
  ["code B", ({ nvidia }) => nvidia?.code],
  ["compile s", ({ nvidia }) => nvidia?.seconds],
];

function table({ amd, nvidia, rows }: Measured): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    `${amd}; ${nvidia}. Bytes of stack and scratch are a lane's.`,
    "",
    line(["kernel", ...COLUMNS.map(([title]) => title)]),
    line(["---", ...COLUMNS.map(() => "---:")]),
    ...rows.map((row) => line([row.name, ...COLUMNS.map(([, of]) => of(row)?.toLocaleString("en") ?? "")])),
    "",
  ].join("\n");
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    form: { type: "string", default: "gpu" },
    learner: { type: "boolean" },
    watched: { type: "boolean" },
    write: { type: "string" },
  },
});
const form = values.form as Form;
/** Targets, and what they are called: `NAME=MODEL`, or by the file. */
const targets = (values.watched ? WATCHED : positionals).map((given) => {
  const [, name, target] = /^([^=/]+)=(.+)$/.exec(given) ?? [given, basename(given).replace(/\.\w+$/, ""), given];
  return { name, target };
});
if (!FORMS.includes(form) || (targets.length === 0 && !values.learner)) {
  console.error(
    `usage: npx tsx tools/gpu-compilers [--form ${FORMS.join("|")}] [--learner] [--write FILE] ENV_OR_MODEL ...`,
  );
  process.exit(2);
}
const why = install();
if (why !== undefined) {
  console.error(why);
  process.exit(3);
}

const kernels: Record<string, string> = {};
/** What kernels are called, or their pieces begin with. */
const prefixes = targets.map(({ name }) => (form === "gpu" ? name : `${name}, ${form}`));
for (const [i, { target }] of targets.entries()) Object.assign(kernels, await stepKernels(target, prefixes[i], form));
if (values.learner || values.watched) Object.assign(kernels, learnerKernels());
const now = measure(kernels);
const { write } = values;
const file = write === undefined ? undefined : `${write}.json`;
const before =
  file !== undefined && existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Measured) : undefined;
const kept = before?.amd === now.amd && before.nvidia === now.nvidia ? before.rows : [];
const names = new Set(now.rows.map(({ name }) => name));
const isStale = (name: string) => names.has(name) || prefixes.some((of) => name === of || name.startsWith(`${of} `));
const all = { ...now, rows: [...kept.filter(({ name }) => !isStale(name)), ...now.rows] };
console.log(table(now));
if (file !== undefined) {
  writeFileSync(file, `${JSON.stringify(all, null, 1)}\n`);
  writeFileSync(`${write}.md`, `# What compilers for GPUs say of kernels\n\n${table(all)}`);
}
process.exit(0);
