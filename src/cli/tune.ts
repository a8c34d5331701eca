/** `corral tune`: measures which form of a model's kernels is fastest here, and keeps the choice. */

import { formatCount } from "../core/units.ts";
import { tune } from "../forensics/tune.ts";
import { EXIT, integerOption, parse, print, printJson, progress } from "./io.ts";
import { rate, table } from "./table.ts";
import { MODEL_OPTIONS, onlyArgument, overridesOf, secondsOption, taskOfTarget } from "./target.ts";

export const summary = "measures which form of a model's kernels is fastest here, and keeps the choice";

export const help = `
Usage: corral tune ENV_OR_MODEL [--envs N] [--json]

Measures straight-line and rolled kernels of an environment or a model (path of an MJCF file) by turns on this adapter, and
keeps the choice in the cache folder, by the model's files and options, the driver and corral's version. makeVec takes it
with tuned: true, and corral bench with --set tuned=true; without, the form is decided by the model alone, so that results
have the same bits on every run. The default stays unless the other form is at least 10 % faster.

  --envs N          worlds (1024)
  --seconds S       seconds of each measurement (0.5)
  --repetitions N   measurements of each (3)
  --set NAME=VALUE  overrides an option: integrator=Euler; may be repeated
  --adapter NAME    auto (default), gpu, system or embedded
  --json            one JSON document on stdout

Exit codes: 0 done, 1 a measurement is worth nothing, 2 bad usage, 3 no device or no memory.
`;

export async function run(args: string[]): Promise<number> {
  const { adapter, set } = MODEL_OPTIONS;
  const text = { type: "string" } as const;
  const { values, positionals } = parse(args, { adapter, set, envs: text, seconds: text, repetitions: text }, 1);
  const target = onlyArgument(positionals, "the environment or model");
  const numEnvs = integerOption("envs", values.envs, 1024);
  const found = await tune(await taskOfTarget(target), {
    numEnvs,
    seconds: secondsOption("seconds", values.seconds, 0.5),
    repetitions: integerOption("repetitions", values.repetitions, 3),
    batch: { ...overridesOf(values.set), ...(values.adapter === undefined ? {} : { adapter: values.adapter }) },
    onProgress: progress,
  });
  if (values.json) {
    printJson(found);
    return EXIT.done;
  }

  const form = (unroll: boolean) => (unroll ? "straight-line" : "rolled");
  const rows = found.rows.map((r) => [
    form(r.unroll),
    rate(r.physicsStepsPerSec),
    `${(r.firstStepMs / 1000).toFixed(2)} s`,
    [r.unroll === found.byDefault ? "default" : "", r.unroll === found.chosen ? "chosen" : ""].join(" ").trim(),
  ]);
  print(`${found.name} on ${found.adapter}, ${formatCount(numEnvs)} worlds\n`);
  print(table([["kernels", "physics steps/s", "first step", ""], ...rows]));
  print(
    found.file === null ? "\nthe cache folder cannot be written: the choice is not kept" : `\nkept in ${found.file}`,
  );
  return EXIT.done;
}
