// `corral evaluate`: a policy on a grid of what worlds differ by
import { countOf } from "../core/units.ts";
import { writeWhole } from "../io/write-whole.ts";
import { heatMap } from "../report/heat-map.ts";
import { htmlTable, page, escapeHtml } from "../report/page.ts";
import { sweep, type Sweep, type SweepAxis, type SweepPoint } from "../runs/sweep.ts";
import { assertWritable, EXIT, integerOption, parse, print, printJson, progress, UsageError } from "./io.ts";
import { environmentOf } from "./played.ts";
import { runUnder } from "./evaluate-under.ts";
import { table } from "./table.ts";
import { DEVICE_HELP, deviceOf, onlyArgument } from "./target.ts";

export const summary =
  "a policy where worlds are not as it was trained in: a grid of friction, mass, pushes; MuJoCo, ONNX";

export const help = `
Usage: corral evaluate DIR|POLICY.safetensors --sweep NAME=VALUES [--sweep ...] [--out FILE.html] [--json]
       corral evaluate DIR|POLICY.safetensors --under mujoco,onnx [--json]

Plays the policy of a run's last checkpoint, or of a file, in whole episodes on every point of a grid, all points side by
side, and prints returns, lengths and how many episodes ended early (and how many succeeded, where the task says).

  --sweep NAME=VALUES  what worlds differ by, once for each axis. VALUES: 0.5,1,1.5 or LOW:HIGH:COUNT. NAME:
      mass friction damping armature strength gravity
                       factors of the model's numbers, of all bodies, geoms, joints or actuators
      push             the most velocity (m/s) that the floating base gets along each axis every 2 to 4 s
      delay            control steps that actions wait
      randomise.NAME   what the task draws under this name: the number itself, in place of a draw
      param.NAME       a parameter of the task
  --under LIST         plays the same episodes, from the same starts, in corral's worlds and under each of
      mujoco           MuJoCo's own physics in float64, actions, observations and rewards being the task's as ever
      onnx             the policy as the exported ONNX (needs: npm install onnxruntime-web)
                       and prints the gap: the mean difference of returns, episode by episode, with its error; of onnx
                       also the largest difference of an action, in parts of its range
                       with means over all steps of what the task reports (info)
  --env ENV            id or task file that a policy of a file plays in; by default the one that it names
  --episodes N         of each point (16)
  --worlds N           that play at the same time, at most (4096)
  --seed S             of start states and draws (0)
  --sample             draw actions as in training; by default the most likely ones are taken
  --out FILE           a page with heat maps (.html) or a table (.csv)
${DEVICE_HELP}
  --budget BYTES       what environments and policy may hold together: 2GiB, or 0.5 of what is there
  --json               one JSON document on stdout

Exit codes: 0 done, 2 bad usage or no readable checkpoint, 3 no device or no memory, or worlds cannot differ so.
`;

export async function run(args: string[]): Promise<number> {
  const text = { type: "string" } as const;
  const options = {
    sweep: { type: "string", multiple: true },
    under: text,
    episodes: text,
    worlds: text,
    seed: text,
    env: text,
    out: text,
    adapter: text,
    device: text,
    threads: text,
    budget: text,
    sample: { type: "boolean" },
  } as const;
  const { values, positionals } = parse(args, options, 1);
  const source = onlyArgument(positionals, "DIR");
  const { budget, out } = values;
  if (out !== undefined && !/\.(html|csv)$/.test(out))
    throw new UsageError(`--out is '${out}': pass FILE.html or FILE.csv.`);
  assertWritable("--out", out);
  const axes = (values.sweep ?? []).map(axisOf);
  if (values.under !== undefined) {
    const other = (["sweep", "out", "sample", "worlds"] as const).find((name) => values[name] !== undefined);
    if (other !== undefined) throw new UsageError(`--${other} does not go with --under.`);
    const own = await environmentOf(source, values.env);
    await runUnder(source, {
      under: values.under,
      episodes: integerOption("episodes", values.episodes, 16),
      seed: integerOption("seed", values.seed, 0, 0),
      env: { ...own, ...deviceOf(values), ...(budget === undefined ? {} : { budget }) },
      json: values.json === true,
    });
    return EXIT.done;
  }
  if (axes.length === 0)
    throw new UsageError("--sweep is missing: pass --sweep friction=0.5:1.5:5, say, or --under mujoco. See --help.");
  const own = await environmentOf(source, values.env);
  const swept = await sweep(source, {
    axes,
    episodes: integerOption("episodes", values.episodes, 16),
    worlds: integerOption("worlds", values.worlds, 4096),
    seed: integerOption("seed", values.seed, 0, 0),
    sample: values.sample ?? false,
    env: { ...own, ...deviceOf(values), ...(budget === undefined ? {} : { budget }) },
    onProgress: (done, points) => progress(`${done} of ${countOf(points, "point")}`),
  });
  for (const message of swept.damaged) progress(message);
  if (out !== undefined) writeWhole(out, Buffer.from(out.endsWith(".csv") ? csvOf(swept) : pageOf(swept)));
  if (values.json) printJson(swept);
  else {
    print(`${swept.id} on ${swept.device}: ${swept.checkpoint}, ${countOf(swept.episodes, "episode")} a point`);
    const [header, ...rows] = rowsOf(swept);
    print(table([header, ...rows], 0));
    if (out !== undefined) print(`written to ${out}`);
  }
  return EXIT.done;
}

/** Most values that LOW:HIGH:COUNT stands for. */
const MOST_VALUES = 1000;

function axisOf(text: string): SweepAxis {
  const [, name, spec] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  const bad = () => new UsageError(`--sweep is '${text}': pass NAME=0.5,1,1.5 or NAME=LOW:HIGH:COUNT.`);
  if (name === undefined) throw bad();
  const isRange = spec.includes(":");
  const numbers = spec.split(isRange ? ":" : ",").map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
  if (!numbers.every(Number.isFinite)) throw bad();
  if (!isRange) return { name, values: numbers };
  const [low, high, count] = numbers;
  if (numbers.length !== 3 || !Number.isInteger(count) || count < 2 || count > MOST_VALUES) throw bad();
  // ends are exact, and what lies between is as short as it prints
  const at = (i: number) => (i === count - 1 ? high : Number((low + ((high - low) * i) / (count - 1)).toPrecision(12)));
  return { name, values: Array.from({ length: count }, (_, i) => at(i)) };
}

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

/** Columns of a point beside its values. */
const COLUMNS: readonly (readonly [name: string, of: (p: SweepPoint) => number, format: (x: number) => string])[] = [
  ["return", (p) => p.meanReturn, (x) => x.toFixed(1)],
  ["+-", (p) => p.stderrReturn, (x) => x.toFixed(1)],
  ["length", (p) => p.meanLength, (x) => x.toFixed(0)],
  ["terminated", (p) => p.terminated, percent],
];
const SUCCESS = ["success", (p: SweepPoint) => p.success ?? Number.NaN, percent] as const;

const columnsOf = ({ points }: Sweep) => (points[0].success === undefined ? COLUMNS : [...COLUMNS, SUCCESS]);

function rowsOf(swept: Sweep): string[][] {
  const columns = columnsOf(swept);
  const header = [...swept.axes.map(({ name }) => name), ...columns.map(([name]) => name)];
  return [
    header,
    ...swept.points.map((p) => [...p.values.map(String), ...columns.map(([, of, format]) => format(of(p)))]),
  ];
}

function csvOf(swept: Sweep): string {
  const columns = columnsOf(swept);
  const quoted = (name: string) => (/[",\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
  const header = [...swept.axes.map(({ name }) => name), ...columns.map(([name]) => (name === "+-" ? "stderr" : name))];
  const rows = swept.points.map((p) => [...p.values, ...columns.map(([, of]) => of(p))].join(","));
  return `${[header.map(quoted).join(","), ...rows].join("\n")}\n`;
}

function pageOf(swept: Sweep): string {
  const title = `${swept.id}: ${swept.axes.map(({ name }) => name).join(", ")}`;
  const [header, ...rows] = rowsOf(swept);
  const about = `${swept.checkpoint}, ${swept.algo}, ${countOf(swept.episodes, "episode")} a point, seed ${swept.seed}, on ${swept.device}`;
  return page(
    title,
    `<h1>${escapeHtml(title)}</h1><p>${escapeHtml(about)}</p><div class="charts">${mapsOf(swept)}</div>${htmlTable(header, rows, [])}`,
  );
}

/** Heat maps of the first two axes, for each combination of the others. */
function mapsOf(swept: Sweep): string {
  const { axes, points } = swept;
  const [first, second = { name: "", values: [] as readonly number[] }, ...others] = axes;
  const rest = others.reduce<number[][]>(
    (all, { values }) => all.flatMap((row) => values.map((v) => [...row, v])),
    [[]],
  );
  const byValues = new Map(points.map((p) => [p.values.join(" "), p]));
  const maps = columnsOf(swept).filter(([name]) => name === "return" || name === "terminated" || name === "success");
  return rest
    .flatMap((fixed) =>
      maps.map(([name, of, format]) => {
        const where = fixed.map((value, i) => `${others[i].name} ${value}`).join(", ");
        const cell = (...values: number[]) => of(byValues.get(values.join(" "))!);
        const isShare = name !== "return";
        return heatMap({
          title: where ? `${name}, ${where}` : name,
          x: { name: first.name, values: first.values },
          y: { name: second.name, values: second.values.length > 0 ? second.values : [0] },
          values:
            second.values.length > 0
              ? second.values.map((b) => first.values.map((a) => cell(a, b, ...fixed)))
              : [first.values.map((a) => cell(a))],
          format,
          ...(isShare ? { range: [0, 1] as const } : { range: rangeOf(points.map(of)) }),
        });
      }),
    )
    .join("\n");
}

const rangeOf = (values: readonly number[]): readonly [number, number] => [Math.min(...values), Math.max(...values)];
