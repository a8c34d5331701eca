// `corral list`: the environments that come with the package
import "../../envs/index.ts";
import { formatBytes } from "../core/units.ts";
import { list } from "../env/index.ts";
import { describeEnv, type EnvSummary } from "../env/describe.ts";
import { EXIT, parse, print, printJson } from "./io.ts";
import { table } from "./table.ts";

export const summary = "the environments with their spaces, time steps and bytes";

export const help = `
Usage: corral list [--json]

Lists the environments that come with corral: what an agent observes and does, how long a control
step is, how many of them an episode has, and how many bytes a world takes on the device. Needs no
device.

  --json   one JSON document on stdout

Exit codes: 0 done, 2 bad usage.
`;

export async function run(args: string[]): Promise<number> {
  const { values } = parse(args, {});
  const environments: EnvSummary[] = [];
  for (const id of list()) environments.push(await describeEnv(id));
  if (values.json) printJson({ environments });
  else print(describe(environments));
  return EXIT.done;
}

/** A space; of bounds that differ the first of each. */
const shortened = (space: string): string => space.replaceAll(/\[([^[\],]+, )(?:[^[\],]+, ){2,}[^[\],]+\]/g, "[$1...]");

function describe(environments: readonly EnvSummary[]): string {
  const rows = environments.map((e) => [
    e.id,
    e.observationSpace,
    shortened(e.actionSpace),
    `${e.frameSkip} x ${e.timestep} s`,
    e.maxEpisodeSteps === null ? "none" : String(e.maxEpisodeSteps),
    formatBytes(e.bytesPerEnv),
  ]);
  return table([["environment", "observation", "action", "control step", "step limit", "a world"], ...rows], 3);
}
