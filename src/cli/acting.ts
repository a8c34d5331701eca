// what is shown of a target that is simulated: an environment, and the policy that acts in it
import { existsSync } from "node:fs";
import { join } from "node:path";
import { taskOf } from "../env/registry.ts";
import type { VectorEnv } from "../env/host/vector-env.ts";
import type { Task } from "../env/task/task.ts";
import type { Policy } from "../rl/networks/policy.ts";
import { envOfPolicy, isPolicyFile, policyFile, policyOfFile } from "../runs/policy-file.ts";
import { policyOfRun } from "../runs/policy.ts";
import { assertRun, CONFIG_FILE, readConfig } from "../runs/run-config.ts";
import { UsageError } from "./io.ts";
import { taskOfTarget } from "./target.ts";
import { idOfNamed } from "./task-file.ts";

export interface Acting {
  readonly task: () => Promise<Task<object>>;
  /** The policy for worlds of that task; undefined if there is none. Throws `bad-policy` if it is of others. */
  readonly policyFor: ((env: VectorEnv) => Policy) | undefined;
}

/**
 * The environment of a model, an id, a run or the file of a policy, and the policy: the run's, the file's, or that of `policy`.
 * Throws `UsageError`, what `policyOfRun` and `policyFile` throw.
 */
export async function actingOf(target: string, policy: string | undefined): Promise<Acting> {
  const isRun = existsSync(join(target, CONFIG_FILE));
  if (policy !== undefined && (isRun || isPolicyFile(target)))
    throw new UsageError(
      `--policy is '${policy}', and ${target} has a policy of its own: pass an environment with it.`,
    );
  if (isRun) {
    assertRun(target);
    const file = join(target, CONFIG_FILE);
    const { task, env } = readConfig(file);
    if (typeof task === "string") await idOfNamed(task, file);
    const own = await policyOfRun(target);
    return { task: async () => taskOf(String(env)), policyFor: () => own };
  }
  const isFile = isPolicyFile(target);
  const path = isFile ? target : policy;
  const file = path === undefined ? undefined : policyFile(path);
  return {
    task: async () => (isFile ? taskOf(envOfPolicy(file!)) : taskOfTarget(target)),
    policyFor: file && ((env) => policyOfFile(file, env)),
  };
}
