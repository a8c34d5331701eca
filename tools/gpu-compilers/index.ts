/**
 * `npx tsx tools/gpu-compilers [--form FORM] [--learner] [--limit SECONDS] [--write FILE] ENV_OR_MODEL ...`: a table of what
 * two compilers for GPUs say of step kernels (and of the learner's), with no GPU. `NAME=MODEL` names the rows of a model.
 * `--form gpu` (default), whole, cut, straight, rolled, software. `--all`: every environment. `--limit`: a compile that takes
 * more processor time is given up. `--write FILE` adds the rows to a file of results, FILE.json, in place of those of the same
 * names, prints it as FILE.md, and compiles no text that has figures there; alone it prints that again. `--watched` measures
 * what the test compares. Exit codes: 0 done, 2 bad usage, 3 the compilers cannot be installed here.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { parseArgs } from "node:util";
import { tasks } from "../../envs/index.ts";
import { FORMS, learnerKernels, stepKernels, type Form } from "./kernels.ts";

import { digestOf, install, measure, type Measured, type Row } from "./measure.ts";
import { page, table } from "./summary.ts";

/** The environments that are watched. */
const WATCHED = ["Hopper-v5", "HalfCheetah-v5", "Ant-v5"];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: "boolean" },
    form: { type: "string", default: "gpu" },
    learner: { type: "boolean" },
    limit: { type: "string" },
    watched: { type: "boolean" },
    write: { type: "string" },
  },
});
const form = values.form as Form;
/** Seconds of processor time that a compile may take. */
const limit = values.limit === undefined ? undefined : Number(values.limit);
/** Targets, and what they are called: `NAME=MODEL`, or by the file. */
const given = values.watched ? WATCHED : values.all ? tasks.map(({ id }) => id) : positionals;
const targets = given.map((one) => {
  const [, name, target] = /^([^=/]+)=(.+)$/.exec(one) ?? [one, basename(one).replace(/\.\w+$/, ""), one];
  return { name, target };
});
if (targets.length === 0 && !values.learner && values.write !== undefined && existsSync(`${values.write}.json`)) {
  writeFileSync(`${values.write}.md`, page(JSON.parse(readFileSync(`${values.write}.json`, "utf8")) as Measured));
  process.exit(0);
}
if (!FORMS.includes(form) || (targets.length === 0 && !values.learner) || (limit !== undefined && !(limit > 0))) {
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

/** The file of results with rows in place of those of the same names, and of all pieces of the same kernel. */
function write(to: string, now: Measured, prefix: string | undefined): void {
  const file = `${to}.json`;
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Measured) : undefined;
  const kept = before?.amd === now.amd && before.nvidia === now.nvidia ? before.rows : [];
  const names = new Set(now.rows.map(({ name }) => name));
  const isPiece = (name: string) => prefix !== undefined && (name === prefix || name.startsWith(`${prefix} `));
  const all = { ...now, rows: [...kept.filter(({ name }) => !names.has(name) && !isPiece(name)), ...now.rows] };
  writeFileSync(file, `${JSON.stringify(all, null, 1)}\n`);
  writeFileSync(`${to}.md`, page(all));
}

/** Versions of the compilers that are here. */
const compilers = measure({});

/** Rows of texts that were compiled before, now or in the file of results: tasks on one model share kernels. */
const known = new Map<string, Row>();
if (values.write !== undefined && existsSync(`${values.write}.json`)) {
  const { amd, nvidia, rows } = JSON.parse(readFileSync(`${values.write}.json`, "utf8")) as Measured;
  const ended = rows.filter((row) => row.limit === undefined || row.limit >= (limit ?? Infinity));
  if (amd === compilers.amd && nvidia === compilers.nvidia)
    for (const row of ended) if (row.text !== undefined) known.set(row.text, row);
}

function compile(kernels: Readonly<Record<string, string>>, prefix: string | undefined): void {
  const now = measure(
    Object.fromEntries(Object.entries(kernels).filter(([, code]) => !known.has(digestOf(code)))),
    limit,
  );
  // entry points of one text have rows of their own
  for (const row of now.rows) if (kernels[row.name] !== undefined) known.set(row.text!, row);
  const rows = Object.entries(kernels).flatMap(([name, code]) => {
    const row = known.get(digestOf(code));
    return row ? [{ ...row, name }] : now.rows.filter((one) => one.name.startsWith(`${name}.`));
  });
  console.log(table({ ...now, rows }));
  if (values.write !== undefined) write(values.write, { ...now, rows }, prefix);
}

for (const { name, target } of targets) {
  // what kernels are called, or their pieces begin with
  const prefix = form === "gpu" ? name : `${name}, ${form}`;
  compile(await stepKernels(target, prefix, form), prefix);
}
if (values.learner || values.watched) compile(learnerKernels(), undefined);
process.exit(0);
