// what a stress run found: collected from its process, judged, and written as a page
import { formatBytes, formatCount } from "../core/units.ts";
import { lineChart } from "../report/chart.ts";
import { escapeHtml, htmlTable, page } from "../report/page.ts";
import type { StressEvent, StressRefusal, StressRow, StressStart } from "./stress.ts";

/** How the process of a run ended before it was done. */
export interface StressDeath {
  readonly signal: string | null;
  readonly code: number | null;
  /** The count that was being made. */
  readonly numEnvs: number | null;
}

export interface StressReport extends StressStart {
  readonly rows: readonly StressRow[];
  readonly refusals: readonly StressRefusal[];
  readonly died: StressDeath | null;
  readonly liveAtEnd: number | null;
  /** What is wrong; empty if every refusal did no harm. */
  readonly failures: readonly string[];
}

/** The report of a run from its events and its death, if any. Undefined if it did not even start. */
export function stressReport(
  events: readonly StressEvent[],
  death: Omit<StressDeath, "numEnvs"> | null,
): StressReport | undefined {
  let start: StressStart | undefined;
  let trying: number | null = null;
  let liveAtEnd: number | null = null;
  const rows: StressRow[] = [];
  const refusals: StressRefusal[] = [];

  for (const event of events) {
    if (event.kind === "start") ({ start } = event);
    if (event.kind === "trying") trying = event.numEnvs;
    if (event.kind === "row") rows.push(event.row);
    if (event.kind === "refusal") refusals.push(event.refusal);
    if (event.kind === "end") ({ liveAtEnd } = event);
  }

  if (start === undefined) return undefined;
  const died = death === null ? null : { ...death, numEnvs: trying };
  return { ...start, rows, refusals, died, liveAtEnd, failures: failuresOf(refusals, died, liveAtEnd) };
}

function failuresOf(refusals: readonly StressRefusal[], died: StressDeath | null, liveAtEnd: number | null): string[] {
  const failures: string[] = [];
  for (const { numEnvs, liveBefore, liveAfter, referenceUnchanged } of refusals) {
    const after = `after ${formatCount(numEnvs)} worlds were refused`;
    if (liveAfter !== liveBefore)
      failures.push(`${formatBytes(liveAfter)} are held ${after}, ${formatBytes(liveBefore)} before`);
    if (!referenceUnchanged) failures.push(`the other batch has other bits ${after}`);
  }
  if (died !== null) {
    const how = died.signal === null ? `exit code ${died.code}` : `signal ${died.signal}`;
    failures.push(
      `the process died (${how})${died.numEnvs === null ? "" : ` with ${formatCount(died.numEnvs)} worlds`}`,
    );
  } else if (liveAtEnd !== 0) failures.push(`${liveAtEnd ?? "unknown"} bytes are held at the end`);
  return failures;
}

/** What ended the growth, in a line. */
export function stressVerdict(report: StressReport): string {
  if (report.failures.length > 0) return `FAILED: ${report.failures.join("; ")}`;
  const [first] = report.refusals;
  if (first === undefined) return `nothing refused ${formatCount(report.rows.at(-1)?.numEnvs ?? 0)} worlds`;
  const count = report.refusals.length;
  const untouched = `bytes and bits of everything else as before after ${count === 1 ? "it" : `all ${count} refusals`}`;
  return `${formatCount(first.numEnvs)} worlds refused by ${first.limit} (${first.code}), ${untouched}`;
}

/** The report as a page of its own: charts, tables, error texts. */
export function stressPage(report: StressReport): string {
  const { name, adapter, machine, budget, rows, refusals } = report;
  const growth = [...rows].sort((a, b) => a.numEnvs - b.numEnvs);
  const chart = (title: string, y: string, of: (row: StressRow) => number, rest: object = {}) =>
    lineChart({
      title,
      x: "worlds",
      y,
      series: [{ label: title, points: growth.map((row) => [row.numEnvs, of(row)]) }],
      ...rest,
    });
  const bounded = budget.limit < 2 ** 50;
  const charts = [
    chart("Throughput", "env steps/s", (row) => row.envStepsPerSec),
    chart("Memory", "bytes held", (row) => row.bytes, {
      format: formatBytes,
      ...(bounded ? { levels: [{ label: `budget ${formatBytes(budget.limit)}`, y: budget.limit }] } : {}),
    }),
    chart("Construction", "ms to the first step", (row) => row.constructMs),
  ];

  const made = growth.map((row) => [
    formatCount(row.numEnvs),
    formatBytes(row.bytes),
    row.bytesPerEnv.toFixed(0),
    String(row.shards),
    row.constructMs.toFixed(0),
    formatCount(Math.round(row.envStepsPerSec)),
    formatBytes(row.residentBytes),
  ]);
  const refused = refusals.map((r) => [
    formatCount(r.numEnvs),
    r.code,
    r.limit,
    r.milliseconds.toFixed(1),
    `${r.liveBefore} / ${r.liveAfter}`,
    r.referenceUnchanged ? "unchanged" : "CHANGED",
    r.message,
  ]);
  return page(
    `corral stress ${name}`,
    `<h1>${escapeHtml(name)}</h1>
<p>${escapeHtml(`${adapter}; ${machine.cpu}, ${machine.cores} cores, Node ${machine.node}; budget ${bounded ? `${formatBytes(budget.limit)} from ` : ""}${budget.source}`)}</p>
<p><strong>${escapeHtml(stressVerdict(report))}</strong></p>
${charts.join("\n")}
<h2>Made</h2>
${htmlTable(["worlds", "bytes", "bytes/world", "shards", "ms to first step", "env steps/s", "process"], made, [])}
<h2>Refused</h2>
${htmlTable(["worlds", "code", "limit", "ms", "live before / after", "other batch", "message"], refused, [6])}`,
  );
}
