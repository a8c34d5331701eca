// what plays: the learner of a run with the parameters of its last checkpoint, or a policy of a file
import { join } from "node:path";
import { CorralError } from "../core/errors.ts";
import { withDevice } from "../batch/devices.ts";
import { makeVec, type NamedOptions } from "../env/make.ts";
import type { VectorEnv } from "../env/host/vector-env.ts";
import type { Task } from "../env/task/task.ts";
import { AppliedPolicy } from "../rl/networks/apply-policy.ts";
import { firstEpisodes, type EvaluateOptions, type Evaluation } from "../rl/evaluate.ts";
import { Dqn } from "../rl/dqn.ts";
import { SacDiscrete } from "../rl/sac-discrete.ts";
import type { SacDiscreteConfig } from "../rl/sac-discrete/config.ts";
import type { DqnConfig } from "../rl/dqn/config.ts";
import { Ppo } from "../rl/ppo.ts";
import { leastSequences, SAC_OPTIONS, type SacConfig } from "../rl/sac/config.ts";
import { Sac } from "../rl/sac.ts";
import type { Algo, Algorithm } from "../rl/algorithm.ts";
import { lastCheckpoint } from "./checkpoints.ts";
import { assertSameRun, toJson } from "./folder.ts";
import { assertRun, CONFIG_FILE, readConfig } from "./run-config.ts";
import { trainOptions } from "./options.ts";
import { envOfPolicy, policyFile, policyOfFile } from "./policy-file.ts";
import { assertFits } from "./start.ts";

export { isPolicyFile } from "./policy-file.ts";

/** What is known of a policy that is played. */
export interface PlayedPolicy {
  readonly id: string;
  readonly algo: string;
  /** Where the policy comes from, and what was wrong with newer ones. */
  readonly checkpoint: string;
  readonly damaged: readonly string[];
  /** Of the run that it was trained in; 0 of a file. */
  readonly iteration: number;
  readonly envSteps: number;
}

export interface Player extends AsyncDisposable {
  readonly id: string;
  readonly env: VectorEnv;
  readonly facts: PlayedPolicy;
  /** Plays the first episodes of all worlds. */
  evaluate(options: EvaluateOptions & { readonly seed: number }): Promise<Evaluation>;
}

/** What plays instead of an environment of this id with these options: one whose worlds differ, say. */
export type Adapt = (
  id: string,
  options: object,
) => Awaitable<{ readonly task: string | Task<object>; readonly options: object }>;
type Awaitable<T> = T | Promise<T>;
const asItIs: Adapt = (task, options) => ({ task, options });

/** The policy of a file, on the host: its most likely actions. Throws what `policyOfFile` throws; `bad-option` for draws. */
export async function playerOfFile(
  path: string,
  made: object,
  sample: boolean,
  adapt: Adapt = asItIs,
): Promise<Player> {
  if (sample) {
    const text = `${path} is the deterministic policy; draws as in training are of a run. Leave sample away, or pass its folder.`;
    throw new CorralError("bad-option", text, { path });
  }
  const { env: named, ...options } = made as { readonly env?: string };
  const file = policyFile(path);
  const id = named ?? envOfPolicy(file);
  const own = await adapt(id, options);
  const env = await makeVec(own.task as string, (await withDevice(own.options)) as NamedOptions);
  return closingOnError(env, async () => {
    const policy = policyOfFile(file, env);
    const facts = { id, algo: policy.algo, checkpoint: path, damaged: [], iteration: 0, envSteps: 0 };
    return {
      id,
      env,
      facts,
      evaluate: ({ seed, onStart, onStep }) => {
        const applied = new AppliedPolicy(policy, env.numEnvs);
        const act = async () => applied.act(env.observations);
        return firstEpisodes(env, seed, act, { ...(onStart ? { onStart } : {}), ...(onStep ? { onStep } : {}) });
      },
    };
  });
}

/** The learner of a run, with the parameters of its last readable checkpoint. Throws what `play` throws. */
export async function playerOfRun(folder: string, made: object, adapt: Adapt = asItIs): Promise<Player> {
  assertRun(folder);
  const { checkpoint, damaged } = lastCheckpoint(folder);
  const { snapshot } = checkpoint.state;
  const settings = readConfig(join(folder, CONFIG_FILE));
  assertSameRun(checkpoint, JSON.parse(toJson(settings)) as Record<string, unknown>);
  const { algo = "ppo", config, env: trained } = trainOptions(settings);
  const id = String(settings.env);

  const own = await adapt(id, { ...trained, ...made });
  const env = await makeVec(own.task as string, (await withDevice(own.options)) as NamedOptions);
  return closingOnError(env, async (held) => {
    const make: Record<Algo, () => Promise<Algorithm>> = {
      ppo: () => Ppo.create(env, config),
      sac: () => Sac.create(env, smallReplay<SacConfig>(config, env.numEnvs)),
      "sac-discrete": () => SacDiscrete.create(env, smallReplay<SacDiscreteConfig>(config, env.numEnvs)),
      dqn: () => Dqn.create(env, smallReplay<DqnConfig>(config, env.numEnvs)),
    };
    const learner = await make[algo]();
    held.push(learner);
    assertFits(checkpoint, id, learner.shapes());
    await learner.adopt(snapshot);
    const { iteration, envSteps } = checkpoint.about;
    const wrong = damaged.map(({ message }) => message);
    return {
      id,
      env,
      facts: { id, algo, checkpoint: checkpoint.path, damaged: wrong, iteration, envSteps },
      evaluate: (options) => learner.evaluate(env, options),
    };
  });
}

/** A player of what is made in turn; all of it is closed with the player, or if the rest cannot be made. */
async function closingOnError(
  env: VectorEnv,
  make: (held: AsyncDisposable[]) => Promise<Omit<Player, keyof AsyncDisposable>>,
): Promise<Player> {
  const held: AsyncDisposable[] = [env];
  const close = async () => {
    for (const each of held.toReversed()) await each[Symbol.asyncDispose]();
  };
  try {
    return { ...(await make(held)), [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A learner that never learns needs the least batch that there is, and a replay of a few rows. */
function smallReplay<C extends SacConfig | SacDiscreteConfig | DqnConfig>(
  config: object | undefined,
  worlds: number,
): Partial<C> {
  const { nSteps = 1, collectSteps = 1, recurrent = "none", ...rest } = (config ?? {}) as Partial<SacConfig>;
  const { recurrentSteps = SAC_OPTIONS.recurrentSteps.default } = rest;
  const batchSize = recurrent === "none" ? 1 : leastSequences(recurrentSteps);
  const bufferSize = Math.max(batchSize, worlds * (nSteps + collectSteps + 8));
  const memory = recurrent === "none" ? {} : { recurrent };
  return { ...rest, ...memory, nSteps, collectSteps, storage: "gpu", batchSize, bufferSize } as unknown as Partial<C>;
}
