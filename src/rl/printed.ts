// how learners print
import { type Inspect, printFacts } from "../core/inspect.ts";
import { formatBytes } from "../core/units.ts";
import type { LearnerEnv } from "./device/learner-env.ts";
import type { Plan } from "../memory/index.ts";

interface Printed {
  readonly env: LearnerEnv;
  readonly iteration: number;
  readonly envSteps: number;
  readonly seed: number | bigint;
  readonly plan: Plan;
  readonly config: object;
}

/** What `console.log` shows of a learner: whose it is, how far it is, and its configuration. */
export function printLearner(name: string, learner: Printed, options: object, inspect: Inspect): string {
  const { env, iteration, envSteps, seed, plan, config } = learner;
  const memory = formatBytes(plan.totalBytes);
  const facts = { env: env.id, numEnvs: env.numEnvs, iteration, envSteps, seed, memory, config };
  return printFacts(name, facts, options, inspect);
}
