// a budget's report as text: a table for people, and the text form of Prometheus for long runs
import { badOption, optionsOf } from "../core/options.ts";
import { formatBytes, formatCount } from "../core/units.ts";
import type { BudgetReport, HolderReport } from "./budget.ts";

function assertReport(report: BudgetReport): void {
  if (!Array.isArray((Object(report) as Partial<BudgetReport>).holders))
    throw badOption("report", report, "pass what report() of a budget returns");
}

/**
 * The report as a table: every holder, largest first, then the sums.
 * @throws CorralError bad-option for what is no report
 */
export function reportText(report: BudgetReport): string {
  assertReport(report);
  const { limit, source, live, highWater, free, refused, holders } = report;
  const rows = [...holders]
    .sort((a, b) => b.live - a.live || b.highWater - a.highWater)
    .map((row) => [row.holder, formatBytes(row.live), formatBytes(row.highWater), formatCount(row.reservations)]);
  const table = [["holder", "live", "high water", "reservations"], ...rows];
  table.push(["all", formatBytes(live), formatBytes(highWater), ""]);

  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
  const lines = table.map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]))).join("  "),
  );
  const refusals = refused === 1 ? "1 refusal" : `${formatCount(refused)} refusals`;
  return [
    ...lines.map((line) => line.trimEnd()),
    `limit ${formatBytes(limit)} from ${source}, ${formatBytes(free)} free, ${refusals}`,
  ].join("\n");
}

/** One metric: name, type, help, and a value for each set of labels. */
interface Metric {
  readonly name: string;
  readonly type: "gauge" | "counter";
  readonly help: string;
  readonly samples: readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];
}

/**
 * The report in the text form of Prometheus (version 0.0.4). `labels` are added to every sample.
 * @throws CorralError bad-option for what is no report, or no labels
 */
export function reportMetrics(report: BudgetReport, labels: Readonly<Record<string, string>> = {}): string {
  assertReport(report);
  optionsOf(labels, "labels");
  const { limit, source, live, highWater, refused, holders } = report;
  const ofHolders = (value: (row: HolderReport) => number): Metric["samples"] =>
    holders.map((row) => [{ holder: row.holder }, value(row)]);
  const gauge = (name: string, help: string, samples: Metric["samples"]): Metric => ({
    name: `corral_memory_${name}`,
    type: "gauge",
    help,
    samples,
  });

  const metrics: Metric[] = [
    gauge("limit_bytes", "Bytes that all holders of the device may have.", [[{ source }, limit]]),
    gauge("live_bytes", "Bytes that are held.", [[{}, live]]),
    gauge("high_water_bytes", "Most bytes that were held at once.", [[{}, highWater]]),
    gauge(
      "holder_live_bytes",
      "Bytes of one holder.",
      ofHolders((row) => row.live),
    ),
    gauge(
      "holder_high_water_bytes",
      "Most bytes of one holder at once.",
      ofHolders((row) => row.highWater),
    ),
    gauge(
      "holder_reservations",
      "Reservations of one holder.",
      ofHolders((row) => row.reservations),
    ),
    {
      name: "corral_memory_refusals_total",
      type: "counter",
      help: "Requests that did not fit the budget.",
      samples: [[{}, refused]],
    },
  ];
  return metrics.map((metric) => metricText(metric, labels)).join("");
}

function metricText({ name, type, help, samples }: Metric, common: Readonly<Record<string, string>>): string {
  const lines = samples.map(([labels, value]) => {
    const pairs = Object.entries({ ...common, ...labels }).map(([key, text]) => `${key}="${escaped(text)}"`);
    return `${name}${pairs.length > 0 ? `{${pairs.join(",")}}` : ""} ${value}`;
  });
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ""].join("\n");
}

/** A label's value, as the format wants it. */
function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
