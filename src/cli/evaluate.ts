// `corral evaluate`: a policy on a grid of what worlds differ by
import { countOf } from "../core/units.ts";
import { sweep, type SweepAxis } from "../runs/sweep.ts";
import {
  assertWritable,
  EXIT,
  integerOption,
  nowAndThen,
  parse,
  print,
  printJson,
  progress,
  UsageError,
} from "./io.ts";
import { environmentOf } from "./played.ts";
import { runUnder, stepOf, undersOf } from "./evaluate-under.ts";
import { csvOf, pageOf, rowsOf, svgOf } from "./evaluate-sweep.ts";
import { encodePolicyOnnx } from "../export/onnx.ts";
import { table } from "./table.ts";
import { DEVICE_HELP, deviceOf, onlyArgument } from "./target.ts";
import { writeOutput } from "./write-output.ts";

export const summary = "a policy in other worlds than it was trained in: friction, mass, pushes; MuJoCo, ONNX";

export const help = `
Usage: corral evaluate DIR|POLICY.safetensors --sweep NAME=VALUES [--sweep ...]
                       [--under mujoco,onnx] [--out FILE] [--json]
       corral evaluate DIR|POLICY.safetensors --under mujoco,onnx [--json]

Plays the policy of a run's last checkpoint, or of a file, in whole episodes on every point of a
grid, all points side by side, and prints returns, lengths and how many episodes ended early (and
how many succeeded, where the task says).

  --sweep NAME=VALUES  what worlds differ by, once for each axis. VALUES: 0.5,1,1.5 or
                       LOW:HIGH:COUNT. NAME:
      mass friction damping armature strength gravity
                       factors of the model's numbers, of all bodies, geoms, joints or actuators
      push             the most velocity (m/s) that the floating base gets along each axis
                       every 2 to 4 s
      delay            control steps that actions wait
      randomise.NAME   what the task draws under this name: the number itself, in place of a draw
      param.NAME       a parameter of the task
  --under LIST         plays the same episodes, from the same starts, in corral's worlds and
                       under each of
      mujoco           MuJoCo's own physics in float64, actions, observations and rewards being
                       the task's as ever; without --sweep and --budget in as many threads as
                       --threads says, to the same results
      onnx             the policy as the exported ONNX (needs: npm install onnxruntime-web)
                       and prints the gap: the mean difference of returns, episode by episode,
                       with its error; of onnx also the largest difference of an action, in
                       parts of its range; and what the task reports (info): means over all
                       steps, and over the last steps of episodes, where what sums up is read;
                       and which conditions ended episodes. With --sweep: returns and gaps on
                       each point of the grid
  --env ENV            id or task file that a policy of a file plays in; by default the one that it
                       names
  --episodes N         of each point (16)
  --worlds N           that play at the same time, at most (4096; under mujoco as many as 1 GiB
                       holds)
  --seed S             of start states and draws (0)
  --sample             draw actions as in training; by default the most likely ones are taken
  --out FILE           a page with heat maps (.html), the maps alone (.svg) or a table (.csv)
${DEVICE_HELP}
  --budget BYTES       what environments and policy may hold together: 2GiB, or 0.5 of what is there
  --json               one JSON document on stdout

Exit codes: 0 done, 1 FILE could not be written, 2 bad usage or no readable checkpoint, 3 no device
or no memory, or worlds cannot differ so.
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
  if (out !== undefined && !/\.(html|svg|csv)$/.test(out))
    throw new UsageError(`--out is '${out}': pass FILE.html, FILE.svg or FILE.csv.`);
  assertWritable("out", out, { leave: false });
  const axes = (values.sweep ?? []).map(axisOf);
  if (values.under !== undefined && values.sample) throw new UsageError("--sample does not go with --under.");
  if (values.under !== undefined && axes.length === 0) {
    if (out !== undefined) throw new UsageError("--out goes with --under only beside --sweep.");
    const own = await environmentOf(source, values.env);
    await runUnder(source, {
      under: values.under,
      episodes: integerOption("episodes", values.episodes, 16),
      worlds: values.worlds === undefined ? undefined : integerOption("worlds", values.worlds, 4096),
      seed: integerOption("seed", values.seed, 0, 0),
      env: { ...own, ...deviceOf(values), ...(budget === undefined ? {} : { budget }) },
      json: values.json === true,
    });
    return EXIT.done;
  }
  if (axes.length === 0)
    throw new UsageError("--sweep is missing: pass --sweep friction=0.5:1.5:5, say, or --under mujoco. See --help.");
  const own = await environmentOf(source, values.env);
  const tell = nowAndThen();
  const swept = await sweep(source, {
    axes,
    episodes: integerOption("episodes", values.episodes, 16),
    worlds: integerOption("worlds", values.worlds, 4096),
    seed: integerOption("seed", values.seed, 0, 0),
    sample: values.sample ?? false,
    env: { ...own, ...deviceOf(values), ...(budget === undefined ? {} : { budget }) },
    under: values.under === undefined ? [] : undersOf(values.under).filter((one) => one !== "corral"),
    encode: encodePolicyOnnx,
    onProgress: (done, points, under, playing) => {
      const text = `${done} of ${countOf(points, "point")}, under ${under}`;
      if (playing) tell(() => `${text}: ${countOf(playing.over, "episode")} over, ${stepOf(playing)}`);
      else progress(text);
    },
  });
  for (const message of swept.damaged) progress(message);
  const write = { ".csv": csvOf, ".svg": svgOf, html: pageOf } as const;
  if (out !== undefined) writeOutput(out, Buffer.from(write[out.slice(-4) as keyof typeof write](swept)));
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
  const bad = () =>
    new UsageError(`--sweep is '${text}': pass NAME=0.5,1,1.5 or NAME=LOW:HIGH:COUNT, COUNT from 2 to ${MOST_VALUES}.`);
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
