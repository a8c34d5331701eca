// what is written of a sweep: a table, a file of it, heat maps
import { countOf, fixed } from "../core/units.ts";
import { heatMap } from "../report/heat-map.ts";
import { escapeHtml, htmlTable, page, standaloneSvg } from "../report/page.ts";
import type { Sweep, SweepPoint, SweepPointUnder } from "../runs/sweep.ts";

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;
const tenth = (x: number): string => fixed(x, 1);

/** A column beside a point's values: its name, its number of the point at an index, and how it is written. */
interface Column {
  readonly name: string;
  readonly of: (i: number) => number;
  readonly format: (x: number) => string;
  /** Drawn as a heat map, from the least to the most of its own or from 0 to 1. */
  readonly map?: "own" | "share";
}

function columnsOf({ points, under }: Sweep): Column[] {
  const means = (own: readonly SweepPoint[], of: string): Column[] => [
    { name: `${of}return`, of: (i) => own[i].meanReturn, format: tenth, map: "own" },
    { name: `${of}+-`, of: (i) => own[i].stderrReturn, format: tenth },
    { name: `${of}length`, of: (i) => own[i].meanLength, format: (x) => x.toFixed(0) },
    { name: `${of}terminated`, of: (i) => own[i].terminated, format: percent, map: "share" },
    ...(own.every(({ failed }) => failed === 0)
      ? []
      : [{ name: `${of}failed`, of: (i: number) => own[i].failed, format: percent, map: "share" } as const]),
    ...(own[0].success === undefined
      ? []
      : [{ name: `${of}success`, of: (i: number) => own[i].success!, format: percent, map: "share" } as const]),
  ];
  const gaps = (own: readonly SweepPointUnder[], of: string): Column[] => [
    { name: `${of}gap`, of: (i) => own[i].gap.mean, format: tenth, map: "own" },
    { name: `${of}gap +-`, of: (i) => own[i].gap.stderr, format: tenth },
  ];
  return [
    ...means(points, ""),
    ...under.flatMap((one) => [...means(one.points, `${one.under} `), ...gaps(one.points, `${one.under} `)]),
  ];
}

/** Header and rows of the table. */
export function rowsOf(swept: Sweep): string[][] {
  const columns = columnsOf(swept);
  const header = [...swept.axes.map(({ name }) => name), ...columns.map(({ name }) => name)];
  const row = ({ values }: SweepPoint, i: number) => [
    ...values.map(String),
    ...columns.map(({ of, format }) => format(of(i))),
  ];
  return [header, ...swept.points.map(row)];
}

export function csvOf(swept: Sweep): string {
  const columns = columnsOf(swept);
  const quoted = (name: string) => (/[",\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
  const header = [...swept.axes.map(({ name }) => name), ...columns.map(({ name }) => name.replace("+-", "stderr"))];
  const rows = swept.points.map((p, i) => [...p.values, ...columns.map(({ of }) => of(i))].join(","));
  return `${[header.map(quoted).join(","), ...rows].join("\n")}\n`;
}

const titleOf = ({ id, axes }: Sweep): string => `${id}: ${axes.map(({ name }) => name).join(", ")}`;

export function pageOf(swept: Sweep): string {
  const [header, ...rows] = rowsOf(swept);
  const about = `${swept.checkpoint}, ${swept.algo}, ${countOf(swept.episodes, "episode")} a point, seed ${swept.seed}, on ${swept.device}`;
  const charts = `<div class="charts">${mapsOf(swept).join("\n")}</div>`;
  const title = escapeHtml(titleOf(swept));
  return page(titleOf(swept), `<h1>${title}</h1><p>${escapeHtml(about)}</p>${charts}${htmlTable(header, rows, [])}`);
}

/** Maps side by side in a picture, at most. */
const ACROSS = 3;

/** The maps in rows, as a file of their own. */
export function svgOf(swept: Sweep): string {
  const maps = mapsOf(swept);
  const sizes = maps.map((map) => /viewBox="0 0 (\d+) (\d+)"/.exec(map)!.slice(1).map(Number));
  const [width, height] = [0, 1].map((k) => Math.max(...sizes.map((size) => size[k])));
  const [across, down] = [Math.min(ACROSS, maps.length), Math.ceil(maps.length / ACROSS)];
  const placed = maps.map((map, i) => {
    const [x, y] = [(i % ACROSS) * width, Math.floor(i / ACROSS) * height];
    return map.replace("<svg ", `<svg x="${x}" y="${y}" height="${sizes[i][1]}" `);
  });
  const label = escapeHtml(titleOf(swept));
  return standaloneSvg(
    `<svg viewBox="0 0 ${across * width} ${down * height}" width="${across * width}" role="img" aria-label="${label}">${placed.join("")}</svg>`,
  );
}

/** Heat maps of the first two axes, for each combination of the others. */
function mapsOf(swept: Sweep): string[] {
  const { axes, points } = swept;
  const [first, second = { name: "", values: [] as readonly number[] }, ...others] = axes;
  const rest = others.reduce<number[][]>(
    (all, { values }) => all.flatMap((row) => values.map((v) => [...row, v])),
    [[]],
  );
  const indices = new Map(points.map((p, i) => [p.values.join(" "), i]));
  return rest.flatMap((fixed) =>
    columnsOf(swept).flatMap(({ name, of, format, map }) => {
      if (map === undefined) return [];
      const where = fixed.map((value, i) => `${others[i].name} ${value}`).join(", ");
      const cell = (...values: number[]) => of(indices.get(values.join(" "))!);
      const [x, y] = [first.values, second.values.length > 0 ? second.values : [undefined]];
      return heatMap({
        title: where ? `${name}, ${where}` : name,
        x: first,
        y: { name: second.name, values: y.map((b) => b ?? 0) },
        values: y.map((b) => x.map((a) => (b === undefined ? cell(a) : cell(a, b, ...fixed)))),
        format,
        range: map === "share" ? [0, 1] : rangeOf(points.map((_, i) => of(i))),
      });
    }),
  );
}

const rangeOf = (values: readonly number[]): readonly [number, number] => [Math.min(...values), Math.max(...values)];
