// `corral play`: the policy of a run in whole episodes
import { countOf, fixed, formatCount } from "../core/units.ts";
import { real } from "../core/schema.ts";
import { play } from "../runs/play.ts";
import { EXIT, integerOption, nowAndThen, parse, print, printJson, progress, numberOption } from "./io.ts";
import "../../envs/index.ts";
import { DEVICE_HELP, deviceOf, onlyArgument } from "./target.ts";
import { environmentOf } from "./played.ts";

export const summary = "play the policy of a run, and record its episodes";

export const help = `
Usage: corral play DIR|POLICY.safetensors [--episodes N] [--seed S] [--record FILE] [--json]

Plays the policy that the last checkpoint of the run in DIR holds, or that of a file of corral
export or of the Python package (corral.policies), in whole episodes from start states of a seed,
and prints their returns. The same seed gives the same episodes on the same device. Where a task has
no limit of control steps, episodes are cut after 1,000.

  --env ENV         id or task file that a policy of a file plays in; by default the one that it
                    names
  --episodes N      how many (32), at most 1,000,000, in at most 64 worlds at a time
  --seed S          of the start states (0)
  --sample          draw actions as in training; by default the most likely ones are taken
  --record FILE     write the episodes. FILE.npz is a recording of states, actions and rewards with
                    the model, for corral render and NumPy; FILE.jsonl gets a line of JSON each,
                    with observations [length + 1], actions, rewards, terminated, truncated
  --at-least R      fail where the mean return is less
${DEVICE_HELP}
  --budget BYTES    what environments and policy may hold together: 2GiB, or 0.5 of what is there
  --json            one JSON document on stdout

Exit codes: 0 done, 1 less than --at-least or the episodes could not be written, 2 bad usage or no
readable checkpoint, 3 no device or no memory.
`;

const timeOf = (seconds: number): string =>
  seconds < 90 ? `${seconds.toFixed(0)} s` : `${formatCount(Math.round(seconds / 60))} minutes`;

/** Says how far it is, and when it will be done if episodes go on to take as long. */
function progressOf(tell: ReturnType<typeof nowAndThen>): (ended: number, episodes: number) => void {
  // worlds and kernels are made before the first episodes end
  let first: { readonly at: number; readonly ended: number } | undefined;
  return (ended, episodes) => {
    if (!first) first = { at: performance.now(), ended };
    else if (ended > first.ended && ended < episodes) {
      const seconds = (((performance.now() - first.at) / 1000) * (episodes - ended)) / (ended - first.ended);
      tell(() => `${formatCount(ended)} of ${countOf(episodes, "episode")}, ${timeOf(seconds)} to go`);
    }
  };
}

export async function run(args: string[]): Promise<number> {
  const text = { type: "string" } as const;
  const options = {
    episodes: text,
    seed: text,
    env: text,
    record: text,
    adapter: text,
    device: text,
    threads: text,
    budget: text,
    "at-least": text,
    sample: { type: "boolean" },
  } as const;
  const { values, positionals } = parse(args, options, 1);
  const folder = onlyArgument(positionals, "DIR");
  const atLeast = numberOption("at-least", values["at-least"], real(), undefined);
  const { budget, record } = values;
  const own = await environmentOf(folder, values.env);
  const played = await play(folder, {
    episodes: integerOption("episodes", values.episodes, 32),
    seed: integerOption("seed", values.seed, 0, 0),
    sample: values.sample ?? false,
    ...(record === undefined ? {} : { record }),
    env: { ...own, ...deviceOf(values), ...(budget === undefined ? {} : { budget }) },
    onProgress: progressOf(nowAndThen()),
  });
  const reached = atLeast === undefined ? undefined : played.meanReturn >= atLeast;
  for (const message of played.damaged) progress(message);
  if (values.json) printJson({ ...played, reached });
  else {
    const { meanReturn, stdReturn, meanLength, returns, episodes } = played;
    const after = played.envSteps > 0 ? `, after ${formatCount(played.envSteps)} env steps` : "";
    print(`${played.id} on ${played.device}: ${played.checkpoint}${after}`);
    const [low, high] = [Math.min(...returns), Math.max(...returns)];
    print(
      `return ${fixed(meanReturn, 1)} +- ${stdReturn.toFixed(1)} (from ${fixed(low, 1)} to ${fixed(high, 1)}), length ${meanLength.toFixed(0)}: ${countOf(episodes, "episode")}`,
    );
    if (record !== undefined) print(`written to ${record}`);
    if (reached === false) print(`${atLeast} NOT reached`);
  }
  return reached === false ? EXIT.failed : EXIT.done;
}
