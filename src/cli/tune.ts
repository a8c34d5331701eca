// `corral tune`: measures which form of a model's kernels is fastest here, and keeps the choice
import { formatCount } from "../core/units.ts";
import { formName, tune } from "../sizing/tune.ts";
import { EXIT, integerOption, parse, print, printJson, progress, secondsOption, UsageError } from "./io.ts";
import { rate, table } from "./table.ts";
import { deviceOf, MODEL_OPTIONS, onlyArgument, overridesOf, taskOfTarget } from "./target.ts";

export const summary = "measures which form of a model's kernels and which workgroups are fastest here";

export const help = `
Usage: corral tune ENV_OR_MODEL [--envs N] [--json]

Measures straight-line and rolled kernels of an environment or a model (path of an MJCF file) on
this adapter, private arrays merged and separate, on a GPU kernels whole and in pieces, with fewer
of their values alive at once and with all, and then sizes of workgroups, 32 to 512 worlds on a GPU
and 8 to 128 on a software driver, each by turns with the best so far. Keeps the choice in the cache
folder, by the model's files and options, the driver and corral's version. makeVec takes it with
tuned: true, and corral bench with --set tuned=true; without, the model and what the adapter says of
itself decide, so that results have the same bits on every run. What was chosen so far stays unless
another is at least 10 % faster. On a GPU it counts contacts under random actions too, and says what
nconmax would cover them and how much faster that is: it is not kept, since a world that needs more
then ends its episode with CONTACT_OVERFLOW.

  --envs N          worlds (1024)
  --seconds S       seconds of each measurement (0.5)
  --repetitions N   measurements of each (3)
  --set NAME=VALUE  overrides an option: integrator=Euler; may be repeated
  --adapter NAME    auto (default), gpu, system, embedded, or an index or name of corral doctor
  --device NAME     auto (default) or gpu: without an adapter there is nothing to choose, since
                    kernels and bits of wasm are the same on every machine
  --json            one JSON document on stdout

Exit codes: 0 done, 1 a measurement is worth nothing, 2 bad usage or no readable
model, 3 no device or no memory.
`;

export async function run(args: string[]): Promise<number> {
  const { adapter, device, threads, set } = MODEL_OPTIONS;
  const text = { type: "string" } as const;
  const { values, positionals } = parse(
    args,
    { adapter, device, threads, set, envs: text, seconds: text, repetitions: text },
    1,
  );
  const target = onlyArgument(positionals, "the environment or model");
  if (values.threads !== undefined)
    throw new UsageError(
      "--threads is of wasm, where there is nothing to tune: the model alone decides the form of its kernels. Leave it out.",
    );
  const where = deviceOf(values);
  const numEnvs = integerOption("envs", values.envs, 1024);
  const found = await tune(await taskOfTarget(target), {
    numEnvs,
    seconds: secondsOption("seconds", values.seconds, 0.5),
    repetitions: integerOption("repetitions", values.repetitions, 3),
    batch: { ...overridesOf(values.set), ...where },
    onProgress: progress,
  });
  if (values.json) {
    printJson(found);
    return EXIT.done;
  }

  const rows = found.rows.map((r, i) => [
    formName(r),
    rate(r.physicsStepsPerSec),
    `${r.ratio.toFixed(2)} x`,
    `${(r.firstStepMs / 1000).toFixed(2)} s`,
    [i === 0 ? "default" : "", formName(r) === formName(found.chosen) ? "chosen" : ""].join(" ").trim(),
  ]);
  print(`${found.name} on ${found.adapter}, ${formatCount(numEnvs)} worlds\n`);
  print(table([["kernels", "physics steps/s", "of the best before", "first step", ""], ...rows]));
  const { contacts } = found;
  if (contacts)
    print(
      `\nat most ${contacts.most} contacts a world of ${contacts.bound} that there can be: --set nconmax=${contacts.nconmax} is ${contacts.ratio.toFixed(2)} x as fast (not kept: a world that needs more ends its episode with CONTACT_OVERFLOW)`,
    );
  print(
    found.file === null ? "\nthe cache folder cannot be written: the choice is not kept" : `\nkept in ${found.file}`,
  );
  return EXIT.done;
}
