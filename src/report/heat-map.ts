// a grid of numbers as SVG, the larger the darker
import { escapeHtml } from "./page.ts";

export interface HeatMap {
  readonly title: string;
  /** Names and values of the axes: across, and down. */
  readonly x: { readonly name: string; readonly values: readonly number[] };
  readonly y: { readonly name: string; readonly values: readonly number[] };
  /** Numbers, row by row from the top. */
  readonly values: readonly (readonly number[])[];
  readonly format: (value: number) => string;
  /** What is darkest and what is not coloured. Default: the most and the least of the values. */
  readonly range?: readonly [least: number, most: number];
}

const CELL = [64, 30] as const;
const LEFT = 96;
const TOP = 62;

/** A heat map: each cell with its number. */
export function heatMap({ title, x, y, values, format, range }: HeatMap): string {
  const all = values.flat().filter(Number.isFinite);
  const [least, most] = range ?? [Math.min(...all), Math.max(...all)];
  const [cellWidth, cellHeight] = CELL;
  const width = Math.max(LEFT + x.values.length * cellWidth + 10, 8 * title.length + 20);
  const height = TOP + y.values.length * cellHeight + 10;
  const text = (at: readonly [number, number], words: string, how = 'text-anchor="middle"') =>
    `<text x="${at[0]}" y="${at[1]}" ${how}>${escapeHtml(words)}</text>`;
  const out = [text([10, 18], title, 'font-weight="600" font-size="14"')];
  const across = LEFT + (x.values.length * cellWidth) / 2;
  out.push(text([across, 38], x.name), text([LEFT - 8, 56], y.name, 'text-anchor="end"'));
  x.values.forEach((value, i) => out.push(text([LEFT + (i + 0.5) * cellWidth, 56], String(value))));
  y.values.forEach((value, j) => {
    const top = TOP + j * cellHeight;
    out.push(text([LEFT - 8, top + 20], String(value), 'text-anchor="end"'));
    values[j].forEach((cell, i) => {
      const share =
        most > least && Number.isFinite(cell) ? Math.min(1, Math.max(0, (cell - least) / (most - least))) : 0;
      const left = LEFT + i * cellWidth;
      out.push(
        `<rect x="${left}" y="${top}" width="${cellWidth - 1}" height="${cellHeight - 1}" fill="var(--c0)" fill-opacity="${(0.06 + 0.6 * share).toFixed(3)}"><title>${escapeHtml(`${x.name} ${x.values[i]}, ${y.name} ${value}: ${format(cell)}`)}</title></rect>`,
        text([left + cellWidth / 2, top + 19], format(cell)),
      );
    });
  });
  return `<svg viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="${escapeHtml(title)}">${out.join("")}</svg>`;
}
