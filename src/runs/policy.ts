// the policy of a run, from its last checkpoint that can be read
import { CorralError } from "../core/errors.ts";
import { makeVec, type NamedOptions } from "../env/make.ts";
import { actionFeatures, withLevel } from "../rl/networks/action-features.ts";
import { sacDiscreteConfig } from "../rl/sac-discrete/config.ts";
import { sacDiscretePolicyOf } from "../rl/sac-discrete/policy.ts";
import { dqnConfig } from "../rl/dqn/config.ts";
import { dqnPolicyOf } from "../rl/dqn/policy.ts";
import { ppoConfig } from "../rl/ppo/config.ts";
import type { NamedArray } from "../rl/networks/networks.ts";
import { policyOf, withoutEmbedding, type Policy } from "../rl/networks/policy.ts";
import { sacConfig } from "../rl/sac/config.ts";
import { sacPolicyOf } from "../rl/sac/policy.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { lastCheckpoint } from "./checkpoints.ts";
import { withInfinities } from "./run-config.ts";
import { ALGORITHMS, trainOptions } from "./options.ts";

/**
 * Reads the policy of the folder of a run. Its environment must be known by its id; no device is opened.
 * @throws CorralError no-checkpoint, checkpoint-corrupt, checkpoint-newer, unknown-env, bad-policy, unsupported-export
 */
export const policyOfRun = (run: string): Promise<Policy> => policyOfCheckpoint(lastCheckpoint(run).checkpoint);

async function policyOfCheckpoint({ about, policy: tensors, path }: Checkpoint): Promise<Policy> {
  const { env: id, algo = "ppo" } = about.config;
  if (typeof algo !== "string" || !Object.hasOwn(ALGORITHMS, algo)) {
    const text = `${path} is of ${String(algo)}; policies of ${Object.keys(ALGORITHMS).join(", ")} are exported.`;
    throw new CorralError("unsupported-export", text, { algo });
  }
  const { config: given, env: options } = trainOptions(withInfinities(about.config));
  // what its actions are: a world on the CPU knows
  const { adapter: _, budget: __, ...others } = (options ?? {}) as Record<string, unknown>;
  await using env = await makeVec(String(id), { ...others, numEnvs: 1, device: "cpu" } as NamedOptions);
  const space = env.singleActionSpace;
  const named = Object.fromEntries(tensors) as Record<string, NamedArray>;
  if (algo === "sac") return sacPolicyOf(named, env.id, space, sacConfig(given));
  const features = space.kind === "discrete" && space.controls ? actionFeatures(space.controls) : undefined;
  const valued = features && withLevel(features);
  if (algo === "sac-discrete") return sacDiscretePolicyOf(named, env.id, space, sacDiscreteConfig(given), valued);
  if (algo === "dqn") return dqnPolicyOf(named, env.id, space, dqnConfig(given), valued);
  const config = ppoConfig(given);
  return policyOf(withoutEmbedding(named, features), {
    id: env.id,
    algo,
    space,
    activation: config.activation,
    squash: config.squash,
    clipObservations: config.normalizeObservations ? config.clipObservations : Infinity,
  });
}
