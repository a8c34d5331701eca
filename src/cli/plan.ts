/** `corral plan`: every byte of a batch, without a device. */

import { parseBytes } from "../core/units.ts";
import { ofHost } from "../gpu/memory-info.ts";
import { type BudgetView, planTable } from "../memory/index.ts";
import { EXIT, integerOption, parse, print, printJson, UsageError } from "./io.ts";
import { MODEL_OPTIONS, onlyArgument, plannedOf } from "./target.ts";

export const summary = "every byte of a batch before anything is allocated";

export const help = `
Usage: corral plan MODEL_OR_ENV --envs N [--budget BYTES] [--json]

Prints what a batch of N worlds of a model (path of an MJCF file) or an environment holds: bytes by field, by world and
by shard, what ends its growth, and the most worlds that fit. Needs no device: the limits are those that every WebGPU
device has, and most have more.

  --envs N          worlds
  --budget BYTES    what may be used: 2GiB, 512MB, or a part of this machine's free memory: 0.5, 50%
  --rolled          kernels with runtime loops instead of straight-line code
  --set NAME=VALUE  overrides an option of the model: integrator=RK4; may be repeated
  --json            one JSON document on stdout

Exit codes: 0 it fits, 2 bad usage, 3 it does not fit.
`;

export async function run(args: string[]): Promise<number> {
  const { rolled, set } = MODEL_OPTIONS;
  const { values, positionals } = parse(args, { rolled, set, envs: { type: "string" }, budget: { type: "string" } }, 1);
  const target = onlyArgument(positionals, "MODEL_OR_ENV");
  if (values.envs === undefined)
    throw new UsageError("--envs is missing: pass the number of worlds, as in --envs 4096.");
  const numEnvs = integerOption("envs", values.envs, 1);
  const context = values.budget === undefined ? {} : { budget: budgetOf(values.budget) };
  const { plan } = await plannedOf(target, { numEnvs, unroll: !values.rolled, settings: values.set }, context);
  if (values.json) printJson(plan);
  else print(planTable(plan));
  return plan.problems.length === 0 ? EXIT.done : EXIT.refused;
}

function budgetOf(text: string): BudgetView {
  const { available, source } = ofHost();
  return {
    limit: parseBytes(text, "--budget", available),
    live: 0,
    source: /^0?\.|%/.test(text) ? source : "--budget",
  };
}
