// what results say of each environment or model at one glance, and which kernels are over the bounds, with the reasons
import { MOST_CODE, MOST_REGISTERS, reasonFor } from "./reasons.ts";
import type { Measured, Row } from "./measure.ts";

interface Kernel {
  readonly target: string;
  /** How it was written, if not as a GPU gets it. */
  readonly form: string | undefined;
  readonly rows: Row[];
}

/** Pieces of a kernel are named by their number and the stage that they begin with. */
const NAME = /^(.*?)(?:, (\w+))?(?: \d+(?: .*)?)?$/;

function kernelsOf(rows: readonly Row[]): Kernel[] {
  const kernels = new Map<string, Kernel>();
  for (const row of rows) {
    if (row.name.startsWith("learner.")) continue;
    const [, target, form] = NAME.exec(row.name)!;
    const id = `${target}, ${form}`;
    if (!kernels.has(id)) kernels.set(id, { target, form, rows: [] });
    kernels.get(id)!.rows.push(row);
  }
  return [...kernels.values()];
}

const kilobytes = (bytes: number): string => `${Math.round(bytes / 1000)} KB`;
const bytes = (count: number): string => (count < 1000 ? String(count) : `${(count / 1000).toFixed(1)} KB`);

/** The most of any piece; a compile that was given up counts as more than all. */
function most(
  rows: readonly Row[],
  of: (row: Row) => number | undefined,
  show: (n: number) => string = String,
): string {
  const known = rows.map(of).filter((n) => n !== undefined);
  const missing = rows.find((row) => of(row) === undefined);
  const limit = missing === undefined ? "" : missing.limit === undefined ? "?" : `over ${missing.limit} s`;
  if (known.length === 0) return limit;
  return `${show(Math.max(...known))}${limit && `, one ${limit}`}`;
}

const cellsOf = (rows: readonly Row[]): string[] => [
  most(rows, ({ amd }) => amd?.live),
  most(rows, ({ amd }) => amd?.spilled),
  most(rows, ({ amd }) => amd?.code, kilobytes),
  most(rows, ({ nvidia }) => nvidia?.spilled, bytes),
  most(rows, ({ nvidia }) => nvidia?.code, kilobytes),
];

const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
const head = (texts: readonly string[], numbers: readonly string[]): string[] => [
  line([...texts, ...numbers]),
  line([...texts.map(() => "---"), ...numbers.map(() => "---:")]),
];

/** Whether a kernel is over a bound, as a GPU gets it, and of which compiler. */
function isOver({ amd, nvidia }: Row): boolean {
  return (amd?.live ?? 0) > MOST_REGISTERS || Math.max(amd?.code ?? 0, nvidia?.code ?? 0) > MOST_CODE;
}

/** Kernels as GPUs get them that are over a bound. */
export const overBounds = (rows: readonly Row[]): Row[] =>
  kernelsOf(rows)
    .filter(({ form }) => form === undefined)
    .flatMap((kernel) => kernel.rows.filter(isOver));

function summary({ rows }: Measured): string {
  const kernels = kernelsOf(rows);
  const names = [...new Set(kernels.map(({ target }) => target))].sort((a, b) => a.localeCompare(b));
  const titles = ["AMD live registers", "spilled", "code", "NVIDIA spilled B", "code"];
  const lines = names.flatMap((name) => {
    const of = (wanted: string | undefined) => kernels.find(({ target, form }) => target === name && form === wanted);
    const [before, now] = [of("software"), of(undefined)];
    return [
      ...(before ? [line([name, "before", "1", ...cellsOf(before.rows)])] : []),
      ...(now ? [line([before ? "" : name, "now", String(now.rows.length), ...cellsOf(now.rows)])] : []),
    ];
  });
  const over = overBounds(rows).map((row) =>
    line([
      row.name,
      String(row.amd?.live ?? ""),
      row.amd ? kilobytes(row.amd.code) : "",
      row.nvidia ? kilobytes(row.nvidia.code) : "",
      reasonFor(row) ?? "",
    ]),
  );
  return [
    "## Each environment, before and now",
    "",
    "Before: as software drivers get it, which is how every adapter got it before kernels were written by adapter. Now: as a GPU with subgroups of 64 lanes gets it, in so many kernels; the most of any.",
    "",
    ...head(["environment or model", ""], ["kernels", ...titles]),
    ...lines,
    "",
    `## Over ${MOST_REGISTERS} registers or ${kilobytes(MOST_CODE)} of code`,
    "",
    "Kernels as GPUs get them, by either compiler's figures.",
    "",
    `| kernel | AMD live registers | code | NVIDIA code | why it is so |`,
    `| --- | ---: | ---: | ---: | --- |`,
    ...over,
    "",
  ].join("\n");
}

/** A compile that was given up. */
const over = (limit: number | undefined): string | undefined => (limit === undefined ? undefined : `over ${limit}`);

const COLUMNS: readonly (readonly [string, (row: Row) => number | string | undefined])[] = [
  ["AMD live registers", ({ amd }) => amd?.live],
  ["spilled", ({ amd }) => amd?.spilled],
  ["scratch B", ({ amd }) => amd?.scratch],
  ["code B", ({ amd }) => amd?.code],
  ["inv. throughput", ({ amd }) => amd?.throughput],
  ["compile s", ({ amd, limit }) => amd?.seconds ?? over(limit)],
  ["NVIDIA registers", ({ nvidia }) => nvidia?.registers],
  ["spilled B", ({ nvidia }) => nvidia?.spilled],
  ["stack B", ({ nvidia }) => nvidia?.stack],
  ["code B", ({ nvidia }) => nvidia?.code],
  ["compile s", ({ nvidia, limit }) => nvidia?.seconds ?? over(limit)],
];

export function table({ amd, nvidia, rows }: Measured): string {
  return [
    `${amd}; ${nvidia}. Bytes of stack and scratch are a lane's.`,
    "",
    line(["kernel", ...COLUMNS.map(([title]) => title)]),
    line(["---", ...COLUMNS.map(() => "---:")]),
    ...rows.map((row) => line([row.name, ...COLUMNS.map(([, of]) => of(row)?.toLocaleString("en") ?? "")])),
    "",
  ].join("\n");
}

/** All of them as a page. */
export const page = (all: Measured): string =>
  `# What compilers for GPUs say of kernels\n\n${summary(all)}\n## All kernels\n\n${table(all)}`;
