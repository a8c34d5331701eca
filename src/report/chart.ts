// line charts as SVG, for reports that are read without a network
import { formatCount } from "../core/units.ts";
import { legend } from "./legend.ts";
import { escapeHtml } from "./page.ts";

export interface Series {
  readonly label: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Chart {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly series: readonly Series[];
  /** Levels drawn across: bounds, or what others reach. */
  readonly levels?: readonly { readonly label: string; readonly y: number }[];
  /** How a value of the y axis is written. */
  readonly format?: (value: number) => string;
  /** Both axes: for counts and bytes, which span magnitudes (default), or for what may be negative. */
  readonly axes?: "logarithmic" | "linear";
}

const WIDTH = 640;
const HEIGHT = 300;
const LEFT = 96;
// the last number of the x axis stands half beyond it
const RIGHT = 36;
const TOP = 36;
const BOTTOM = 48;
const COLORS = 8;
const seriesColor = (k: number) => `var(--c${k % COLORS})`;

/** More points than this are not marked one by one. */
const MARKED = 60;

/** A chart of lines. Points that its axes do not have (not finite; not positive on logarithmic ones) are left out. */
export function lineChart(chart: Chart): string {
  const { format = (value) => formatCount(Math.round(value)), levels = [], axes = "logarithmic" } = chart;
  const linear = axes === "linear";
  const isShown = (value: number) => Number.isFinite(value) && (linear || value > 0);
  const series = chart.series.map((s) => ({ ...s, points: s.points.filter(([x, y]) => isShown(x) && isShown(y)) }));
  const points = series.flatMap((s) => s.points);
  if (points.length === 0) return "";

  const xs = points.map(([at]) => at);
  const ys = [...points.map(([, at]) => at), ...levels.map((level) => level.y)];
  const x = linear ? linearScale(xs, LEFT, WIDTH - RIGHT) : scale(xs, 2, LEFT, WIDTH - RIGHT);
  const y = linear ? linearScale(ys, HEIGHT - BOTTOM, TOP) : scale(ys, 10, HEIGHT - BOTTOM, TOP);
  // a level alone is a bound; several are told apart
  const levelColor = (k: number) => (levels.length === 1 ? "var(--level)" : seriesColor(series.length + k));
  const parts = [
    text(WIDTH / 2, 20, chart.title, "middle", "title"),
    ...y.ticks.map(
      (at) => grid(LEFT, y.of(at), WIDTH - RIGHT, y.of(at)) + text(LEFT - 8, y.of(at) + 4, format(at), "end"),
    ),
    ...x.ticks.map(
      (at) =>
        grid(x.of(at), TOP, x.of(at), HEIGHT - BOTTOM) +
        text(x.of(at), HEIGHT - BOTTOM + 18, formatCount(Math.round(at)), "middle"),
    ),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, chart.x, "middle"),
    text(LEFT, TOP - 8, chart.y, "start"),
  ];

  series.forEach((s, k) => {
    const color = seriesColor(k);
    const path = s.points.map(([px, py]) => `${round(x.of(px))},${round(y.of(py))}`).join(" ");
    parts.push(`<polyline points="${path}" fill="none" stroke="${color}" stroke-width="2"/>`);
    for (const [px, py] of s.points.length > MARKED ? [] : s.points) {
      parts.push(
        `<circle cx="${round(x.of(px))}" cy="${round(y.of(py))}" r="3" fill="${color}"><title>${escapeHtml(`${s.label}: ${formatCount(px)}, ${format(py)}`)}</title></circle>`,
      );
    }
  });

  for (const [k, level] of levels.entries()) {
    const at = round(y.of(level.y));
    parts.push(
      `<line x1="${LEFT}" y1="${at}" x2="${WIDTH - RIGHT}" y2="${at}" stroke="${levelColor(k)}" stroke-dasharray="6 4"/>`,
    );
  }
  const items = [
    ...(series.length > 1 ? series.map(({ label }, k) => ({ label, color: seriesColor(k) })) : []),
    ...levels.map(({ label }, k) => ({ label, color: levelColor(k), dashed: true })),
  ];
  const { svg, bottom } = items.length > 0 ? legend(items, LEFT, HEIGHT + 14, WIDTH) : { svg: "", bottom: HEIGHT };
  return `<svg viewBox="0 0 ${WIDTH} ${bottom}" width="${WIDTH}" role="img" aria-label="${escapeHtml(chart.title)}">${parts.join("")}${svg}</svg>`;
}

/** A logarithmic axis from pixel `from` to pixel `to`, with ticks at powers of `base`, seven at most. */
function scale(values: readonly number[], base: number, from: number, to: number) {
  const log = (value: number) => Math.log(value) / Math.log(base);
  const low = Math.floor(log(Math.min(...values)) + 1e-9);
  const high = Math.max(low + 1, Math.ceil(log(Math.max(...values)) - 1e-9));
  const of = (value: number) => from + ((log(value) - low) / (high - low)) * (to - from);
  const stride = Math.ceil((high - low) / 6);
  const ticks: number[] = [];
  for (let k = low; k <= high; k += stride) ticks.push(base ** k);
  return { of, ticks };
}

/** A linear axis, with ticks at round numbers. */
function linearScale(values: readonly number[], from: number, to: number) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const span = most - least || Math.abs(most) || 1;
  const power = 10 ** Math.floor(Math.log10(span / 5));
  const step = power * [1, 2, 5, 10].find((factor) => span / (power * factor) <= 6)!;
  const low = Math.floor(least / step + 1e-9) * step;
  const high = Math.max(low + step, Math.ceil(most / step - 1e-9) * step);
  const of = (value: number) => from + ((value - low) / (high - low)) * (to - from);
  const ticks = Array.from({ length: Math.round((high - low) / step) + 1 }, (_, k) => low + k * step);
  return { of, ticks };
}

const round = (value: number): number => Math.round(value * 10) / 10;

const grid = (x1: number, y1: number, x2: number, y2: number): string =>
  `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" stroke="var(--grid)"/>`;

function text(x: number, y: number, content: string, anchor: string, kind = "", fill = ""): string {
  const weight = kind === "title" ? ` font-weight="600" font-size="14"` : "";
  const style = fill === "" ? "" : ` style="fill:${fill}"`;
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}"${style}${weight}>${escapeHtml(content)}</text>`;
}
