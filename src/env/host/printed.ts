// what `console.log` shows of environments
import { type Inspect, printFacts } from "../../core/inspect.ts";
import { formatBytes } from "../../core/units.ts";
import type { Plan } from "../../memory/plan.ts";
import type { Box, Space } from "../space/spaces.ts";

/** What is printed of an environment. */
interface PrintedEnv {
  readonly id: string;
  readonly numEnvs: number;
  readonly singleActionSpace: Space;
  readonly singleObservationSpace: Box;
  readonly maxEpisodeSteps: number;
  readonly deviceName: string;
  readonly plan: Plan;
}

export const printEnv = (env: PrintedEnv, steps: number, options: object, inspect: Inspect): string =>
  printFacts(
    "VectorEnv",
    {
      id: env.id,
      numEnvs: env.numEnvs,
      action: String(env.singleActionSpace),
      observation: `${env.singleObservationSpace.size} numbers`,
      maxEpisodeSteps: env.maxEpisodeSteps,
      steps,
      device: env.deviceName,
      memory: formatBytes(env.plan.totalBytes),
    },
    options,
    inspect,
  );
