// the plan as text, for people
import { withPrint } from "../core/inspect.ts";
import { badOption } from "../core/options.ts";
import { formatBytes, formatBytesExactly, formatCount } from "../core/units.ts";
import type { Bound } from "./cost.ts";
import type { Plan } from "./plan-types.ts";

/**
 * The plan as a table: each field, the sums, the budget, and how far the batch could grow.
 * @throws CorralError bad-option for what is no plan
 */
export function planTable(plan: Plan): string {
  if (!Array.isArray((Object(plan) as Partial<Plan>).fields))
    throw badOption("plan", plan, "pass what plan, planVec or planSimulation returns, awaited");
  const rows = plan.fields.map((field) => [
    field.arena,
    field.name,
    field.group,
    field.type,
    count(field.perWorld),
    count(field.shared),
    formatCount(field.bytesPerWorld),
    formatBytes(field.bytes),
  ]);
  const header = ["arena", "field", "group", "type", "per world", "shared", "bytes/world", "bytes"];
  return [title(plan), "", ...align([header, ...rows]), "", ...summary(plan)].join("\n");
}

/** A plan that prints as its table, and inside of other things as its first line. */
export const printable = <T extends Plan>(plan: T): T =>
  withPrint(plan, (of, depth) => (depth >= 2 ? planTable(of) : `Plan { ${title(of)} }`));

function title(plan: Plan): string {
  const shards = plan.shards.length === 1 ? "1 shard" : `${formatCount(plan.shards.length)} shards`;
  const split = plan.shards.length === 0 ? "no split possible" : `${shards}, tiles of ${plan.tileWidth}`;
  const shrunk = plan.shrunkFrom === null ? "" : `, shrunk from ${formatCount(plan.shrunkFrom)} to fit`;
  const worlds = plan.numEnvs === 1 ? "1 world" : `${formatCount(plan.numEnvs)} worlds`;
  return `${plan.name}: ${worlds}${shrunk} (${split}), ${formatBytesExactly(plan.totalBytes)}`;
}

function summary(plan: Plan): string[] {
  const shardBytes = plan.shards.map((shard) => shard.bytes);
  const lines: [string, string][] = [
    ["per world", `${formatCount(plan.bytesPerWorld)} B`],
    ["shared", `${formatBytes(plan.sharedBytes)}, and ${formatBytes(plan.sharedBytesPerShard)} in each shard`],
  ];

  if (shardBytes.length > 1) {
    const [first] = plan.shards;
    lines.push(["per shard", `${formatBytes(first.bytes)} for ${formatCount(first.paddedWorlds)} worlds`]);
  }

  lines.push(
    ["staging", formatBytes(plan.stagingBytes)],
    ["buffers", formatCount(plan.buffers.length)],
    ["total", formatBytesExactly(plan.totalBytes)],
  );

  for (const { name, bytes } of plan.host) lines.push(["on the host", `${formatBytes(bytes)} for ${name}`]);

  if (plan.budget !== null) {
    const { limit, live, source } = plan.budget;
    lines.push(["budget", `${formatBytes(limit)} from ${source}, ${formatBytes(live)} held by others`]);
  }

  lines.push(
    ["largest numEnvs", `${formatCount(plan.largestNumEnvs)} (${boundText(plan.bound)})`],
    ["largest shard", `${formatCount(plan.largestShard)} worlds (${boundText(plan.shardBound)})`],
    ...plan.problems.map((problem): [string, string] => [problem.code, problem.text]),
  );

  const width = Math.max(...lines.map(([name]) => name.length));
  return lines.map(([name, text]) => `${name.padEnd(width)}  ${text}`);
}

export function boundText(bound: Bound): string {
  const arena = bound.arena === null ? "" : ` of arena ${bound.arena}`;
  const bytes = bound.limit === "budget" || /^max.*Size$/.test(bound.limit);
  return `${bound.limit}${arena}: ${bytes ? formatBytes(bound.value) : formatCount(bound.value)}`;
}

/** Columns of equal width; the first four are names, the others numbers. */
function align(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const cell = (text: string, column: number) =>
    column < 4 ? text.padEnd(widths[column]) : text.padStart(widths[column]);
  return rows.map((row) => row.map(cell).join("  ").trimEnd());
}

function count(elements: number): string {
  return elements === 0 ? "-" : formatCount(elements);
}
