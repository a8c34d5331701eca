// `corral check-env`: holds an environment, or a task of your own, to what the library promises of any
import "../../envs/index.ts";
import { checkEnv, type CheckResult } from "../env/check-env.ts";
import { EXIT, integerOption, nowAndThen, parse, print, printJson, progress } from "./io.ts";
import { deviceOf, deviceOr, onlyArgument, overridesOf, taskOfTarget } from "./target.ts";

export const summary = "checks an environment or task file: shapes, finite numbers, same bits, episode ends";

export const help = `
Usage: corral check-env ENV_OR_FILE [--steps N] [--envs N] [--seed N] [--gpu] [--set NAME=VALUE]
                        [--json]

Steps an environment with random actions, and with the least and the most of them, and checks: that
it builds; observations and rewards are finite and have the shapes that it declares; rewards are the
sum of their terms; the same seed gives the same bits, whatever the batch; episodes end, say why,
and start anew in all modes of autoreset. It tells where the model's solver has too few iterations,
whose unsolved forces throw what is held. ENV_OR_FILE is the id of an environment, or a file whose
default export is a task.

  --steps N         control steps of each check (default 200)
  --envs N          worlds (default 4)
  --seed N          seed of the worlds and of the actions (default 0)
  --gpu             on an adapter, as --device gpu; --adapter says which
  --device NAME     wasm (the default), auto, gpu, cpu (JavaScript, the same bits) or cpu-f64
  --set NAME=VALUE  an option of mjOption; may be given several times
  --json            one JSON document on stdout

Exit codes: 0 all checks passed, 1 a check failed, 2 bad usage or a task that does not build, 3
resource refused.
`;

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(
    args,
    {
      steps: { type: "string" },
      envs: { type: "string" },
      seed: { type: "string" },
      gpu: { type: "boolean" },
      adapter: { type: "string" },
      device: { type: "string" },
      threads: { type: "string" },
      set: { type: "string", multiple: true },
    },
    1,
  );
  const task = await taskOfTarget(onlyArgument(positionals, "ENV_OR_FILE"));
  const onGpu = values.gpu === true || values.adapter !== undefined;
  // results come one by one: of a large model each takes seconds
  let said = false;
  const onResult = (result: CheckResult) => {
    if (!said) print(`${task.id}:`);
    said = true;
    print(lineOf(result));
  };
  const tell = nowAndThen();
  const onProgress = (text: string, isStep: boolean) => (isStep ? tell(() => text) : progress(text));
  const where = deviceOf(values);
  const device = onGpu ? "gpu" : deviceOr("wasm", where.device);
  const check = await checkEnv(task, {
    ...(values.json ? {} : { onResult }),
    onProgress,
    steps: integerOption("steps", values.steps, 200),
    worlds: integerOption("envs", values.envs, 4),
    seed: integerOption("seed", values.seed, 0, 0),
    batch: { ...overridesOf(values.set), device, ...where },
  });
  if (values.json) printJson(check);
  else print(`${check.passed ? "All checks passed" : "Checks failed"} on ${check.device}.`);
  return check.passed ? EXIT.done : EXIT.failed;
}

const MARK = { true: "ok  ", false: "FAIL", note: "note" } as const;

const lineOf = ({ name, ok, detail }: CheckResult): string =>
  `  ${MARK[`${ok}`]}  ${name}${detail ? ` (${detail})` : ""}`;
