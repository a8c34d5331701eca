// evaluations of runs of `corral train` as one chart: what the pages of environments show of runs that bench/curves.ts did
// not make. Run: npx tsx bench/run-curves.ts OUT.svg TITLE LABEL=DIR[,DIR...] ...
// Of several folders each goes on from the one before it (--from): its env steps are counted on.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { guardOutput } from "../src/cli/io.ts";
import { lineChart, type Series } from "../src/report/chart.ts";
import { standaloneSvg } from "../src/report/page.ts";

guardOutput();

interface Line {
  readonly envSteps: number;
  readonly evalReturn?: number;
}

/** Env steps and mean return of each evaluation of a run. */
function evaluationsOf(folder: string): (readonly [number, number])[] {
  const lines = readFileSync(join(folder, "log.jsonl"), "utf8").trim().split("\n");
  return lines.flatMap((text) => {
    const { envSteps, evalReturn } = JSON.parse(text) as Line;
    return evalReturn === undefined ? [] : [[envSteps, evalReturn] as const];
  });
}

function seriesOf(given: string): Series {
  const [label, folders] = given.split("=");
  let before = 0;
  const points = folders.split(",").flatMap((folder) => {
    const own = evaluationsOf(folder).map(([at, mean]) => [before + at, mean] as const);
    before = own.at(-1)?.[0] ?? before;
    return own;
  });
  return { label, points };
}

const [out, title, ...runs] = process.argv.slice(2);
if (runs.length === 0) throw new Error("Pass OUT.svg TITLE LABEL=DIR[,DIR...].");
const series = runs.map(seriesOf);
const chart = lineChart({
  title,
  x: "env steps",
  y: "return",
  series,
  axes: "linear",
  format: (value) => value.toFixed(0),
});
writeFileSync(out, standaloneSvg(chart));
for (const { label, points } of series) {
  const every = Math.max(1, Math.floor(points.length / 10));
  const shown = points.filter((_, i) => i % every === every - 1 || i === points.length - 1);
  console.log(`${label}: ${shown.map(([at, mean]) => `${(at / 1e6).toFixed(2)} M ${mean.toFixed(0)}`).join(", ")}`);
}
