// columns of equal width on a terminal
import { inLine } from "../core/show.ts";
import { fixed } from "../core/units.ts";

/** Columns of equal width: the first `texts` columns are text, the others numbers. Two spaces before and between. */
export function table(rows: readonly (readonly string[])[], texts = 1): string {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const lines = rows.map((row) => row.map(inLine));
  const widths = Array.from({ length: columns }, (_, c) => Math.max(...lines.map((row) => row[c]?.length ?? 0)));
  const cell = (text: string, c: number) => (c < texts ? text.padEnd(widths[c]) : text.padStart(widths[c]));
  return lines.map((row) => `  ${row.map(cell).join("  ")}`.trimEnd()).join("\n");
}

/** A count per second for reading: `3,140,000`, three digits. */
export function rate(perSecond: number): string {
  if (!(perSecond > 0)) return String(perSecond);
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(perSecond)) - 2);
  return String(Math.round(perSecond / unit) * unit).replace(/\B(?=(\d{3})+$)/g, ",");
}

const BARS = "▁▂▃▄▅▆▇█";
const SPARKS = 40;

/** A curve in a line of text: means of equal parts, from the lowest number to the highest, with both ends. */
export function sparkline(values: readonly number[]): string {
  const count = Math.min(SPARKS, values.length);
  const parts = Array.from({ length: count }, (_, i) => {
    const part = values.slice(Math.floor((i * values.length) / count), Math.floor(((i + 1) * values.length) / count));
    return part.reduce((sum, x) => sum + x, 0) / part.length;
  });
  const low = Math.min(...parts);
  const span = Math.max(...parts) - low;
  const bar = (x: number) =>
    BARS[span > 0 ? Math.min(BARS.length - 1, Math.floor(((x - low) / span) * BARS.length)) : 0];
  return `${fixed(values[0], 0)} ${parts.map(bar).join("")} ${fixed(values.at(-1)!, 0)}`;
}
