// what a bundle of an update may hold: its manifest, its config, and arenas as long as the learner's own
import { CorralError } from "../core/errors.ts";
import { floatsOf } from "../core/float32.ts";
import { formatBytes } from "../core/units.ts";
import {
  anyNumber,
  integer,
  list,
  Mismatch,
  numbers,
  object,
  oneOf,
  optional,
  plain,
  record,
  text,
  type Kind,
} from "../core/schema.ts";
import { learnerShape, planLearner } from "../rl/ppo/arenas.ts";
import type { Plan } from "../memory/plan.ts";
import type { PlanLimits } from "../memory/request.ts";
import { ppoConfig, type PpoConfig } from "../rl/ppo/config.ts";
import type { UpdateEvidence } from "../rl/ppo/evidence.ts";
import { dqnShape, planDqnLearner } from "../rl/dqn/arenas.ts";
import { dqnConfig, type DqnConfig } from "../rl/dqn/config.ts";
import { REPLAY_ALGOS, type BatchConfig, type BatchEvidence } from "../rl/replay/evidence.ts";
import { padTo } from "../rl/networks/networks.ts";
import { transitionSizes } from "../rl/replay/arenas.ts";
import { planSacLearner, sacShape } from "../rl/sac/arenas.ts";
import { sacConfig, type SacConfig } from "../rl/sac/config.ts";
import { planSacDiscreteLearner, sacDiscreteShape } from "../rl/sac-discrete/arenas.ts";
import { sacDiscreteConfig, type SacDiscreteConfig } from "../rl/sac-discrete/config.ts";
import type { Versions } from "../record/bundle.ts";
import type { Algo, AnyEvidence } from "../rl/algorithm.ts";
import type { EnvShape } from "../rl/device/env-shape.ts";

export const KIND = "update";

type Facts = Omit<UpdateEvidence, "arenas"> | Omit<BatchEvidence, "arenas">;

type AnyConfig = PpoConfig | BatchConfig;

/** What an algorithm makes of an environment and hyperparameters that a bundle names. */
interface Learns {
  readonly config: (given: object) => AnyConfig;
  readonly plan: (env: EnvShape, config: AnyConfig, limits: PlanLimits) => Plan;
}

interface Sealed extends Versions {
  readonly kind: typeof KIND;
  readonly created: string;
  readonly message: string;
  readonly device: string;
  /** SHA-256 of the learner's kernels. */
  readonly kernels: string;
}

/** What a bundle says of itself. */
export type UpdateBundleAbout = Sealed & Facts;

/** Bytes of a learner whose bundle is small, and for each byte of the arenas that it holds. */
const SMALL_LEARNER = 2 ** 28;
const LEARNER_RATIO = 64;

const count = integer(0);
const id = integer(0, 2 ** 32 - 1);
const version = text(64, /^[\w .+@-]*$/, "a version");
const words = text(65_536);
const seed: Kind<number | bigint> = {
  want: "a seed of 64 bits",
  read: (value, path) =>
    typeof value === "bigint" && value >= 0n && value < 2n ** 64n ? value : count.read(value, path),
};

const featuresKind = object<NonNullable<EnvShape["features"]>>({
  count: integer(1, 2 ** 16),
  values: numbers([Float32Array]),
});

const groupKind = object<NonNullable<EnvShape["groups"]>["policy"]>({
  from: integer(0, 2 ** 20),
  size: integer(1, 2 ** 20),
});

const envKind: Kind<EnvShape> = object<EnvShape>({
  id: text(),
  numEnvs: integer(1, 2 ** 24),
  observations: integer(1, 2 ** 20),
  groups: optional(object<NonNullable<EnvShape["groups"]>>({ policy: groupKind, critic: groupKind })),
  head: oneOf("gaussian", "categorical"),
  outputs: integer(1, 2 ** 20),
  actions: integer(1, 2 ** 20),
  alternatives: list(integer(1, 2 ** 20), { max: 2 ** 20 }),
  features: optional(featuresKind),
});

/** Hyperparameters by name; the table of the algorithm says what each may be. */
const configKind = record(text(64, /^\w+$/, "the name of a hyperparameter"), plain(2));

const aboutFields = {
  kind: oneOf(KIND),
  corral: version,
  mujoco: version,
  webgpu: version,
  node: version,
  platform: version,
  created: text(64),
  message: words,
  device: text(),
  kernels: text(64),
  env: envKind,
  seed,
  iteration: count,
  worldIds: list(id),
  minibatch: integer(0, 2 ** 24),
  minibatches: integer(1, 2 ** 24),
  learningRate: anyNumber,
  halted: text(64),
} as const;

type PpoAbout = Extract<UpdateBundleAbout, Omit<UpdateEvidence, "arenas">>;
type BatchAbout = Extract<UpdateBundleAbout, Omit<BatchEvidence, "arenas">>;

const ppoKind: Kind<PpoAbout> = object<PpoAbout>({
  ...aboutFields,
  config: configKind as unknown as Kind<PpoConfig>,
});

const batchKind: Kind<BatchAbout> = object<BatchAbout>({
  ...aboutFields,
  algo: oneOf(...REPLAY_ALGOS),
  config: configKind as unknown as Kind<BatchConfig>,
  half: oneOf("critics", "policy"),
  draw: count,
  criticLearningRate: anyNumber,
});

/**
 * The facts of a bundle of an update, held against its arenas.
 * Throws `Mismatch`, and `bad-option` or `unknown-option` for a config that this version does not know.
 */
export function readEvidence(
  given: Readonly<Record<string, unknown>>,
  arenas: AnyEvidence["arenas"],
): { readonly about: UpdateBundleAbout; readonly evidence: AnyEvidence } {
  const isBatch = Object.hasOwn(given, "algo");
  const about = (isBatch ? batchKind : ppoKind).read(given, []);
  const learns = LEARNS["algo" in about ? about.algo : "ppo"];
  const { env, worldIds, minibatch, minibatches } = about;
  if (worldIds.length !== env.numEnvs) throw new Mismatch(["worldIds"], worldIds, `the ids of ${env.numEnvs} worlds`);
  if (minibatch > minibatches) throw new Mismatch(["minibatch"], minibatch, `at most ${minibatches}`);
  for (const [name, data] of Object.entries(arenas))
    if (!(data instanceof Uint32Array)) throw new Mismatch(["arenas", name], data, "words");

  const config = learns.config(about.config);
  const plan = planned(env, config, learns);
  const sizes = new Map(plan.buffers.map(({ arena, size }) => [arena, size / 4]));
  const held = Object.values(arenas).reduce((sum, { byteLength }) => sum + byteLength, 0);
  const most = SMALL_LEARNER + LEARNER_RATIO * held;
  if (plan.totalBytes > most)
    throw new Mismatch(
      ["env"],
      env.id,
      `a learner of at most ${formatBytes(most)}, and not ${formatBytes(plan.totalBytes)}`,
    );
  for (const name of isBatch ? BATCH_ARENAS : PPO_ARENAS)
    if (!Object.hasOwn(arenas, name)) throw new Mismatch(["arenas", name], undefined, "what a learner began with");
  for (const [name, { length }] of Object.entries(arenas))
    if (sizes.get(name) !== length)
      throw new Mismatch(["arenas", name, "length"], length, `${sizes.get(name) ?? 0} words`);
  const isOfChoices = "half" in about ? about.algo !== "sac" : env.head === "categorical";
  if (isOfChoices) assertChoices(about, config, arenas);
  return { about, evidence: { ...about, config, arenas } as AnyEvidence };
}

/** Kernels look for what an action stands for at its number: each must be one of those that there are. */
function assertChoices({ env, ...about }: UpdateBundleAbout, config: AnyConfig, arenas: AnyEvidence["arenas"]): void {
  const assertOne = (arena: string, at: number, action: number, count: number): void => {
    if (!Number.isInteger(action) || action < 0 || action >= count)
      throw new Mismatch(["arenas", arena, at], action, `an action from 0 to ${count - 1}`);
  };
  const outputs = env.alternatives.reduce((sum, count) => sum + count, 0);
  if (env.outputs !== outputs)
    throw new Mismatch(["env", "outputs"], env.outputs, `${outputs}, one of each alternative`);
  if ("half" in about) {
    if (about.algo === "dqn" && about.half !== "critics")
      throw new Mismatch(["half"], about.half, "critics, of which DQN has one");
    const { row4, obs4 } = transitionSizes(env, config as BatchConfig);
    const numbers = floatsOf(arenas.batch);
    for (let at = 8 * obs4; at < numbers.length; at += 4 * row4) assertOne("batch", at, numbers[at], env.outputs);
  } else {
    const { rollout_actions: words } = arenas;
    const stride = padTo(env.actions, 4);
    for (let at = 0; at < words.length; at += stride)
      env.alternatives.forEach((count, d) => assertOne("rollout_actions", at + d, words[at + d], count));
  }
}

/** Arenas that are executed and compared. */
const BOTH = ["params", "moments", "norm", "grads", "state"] as const;
const PPO_ARENAS = [...BOTH, "worlds", "rollout_obs", "rollout_actions", "samples"];
const BATCH_ARENAS = [...BOTH, "batch"];

const LEARNS: Readonly<Record<Algo, Learns>> = {
  ppo: {
    config: ppoConfig,
    plan: (env, config, limits) => planLearner(learnerShape(env, config as PpoConfig), config as PpoConfig, limits),
  },
  sac: { config: sacConfig, plan: (env, config, limits) => planSacLearner(sacShape(env, config as SacConfig), limits) },
  "sac-discrete": {
    config: sacDiscreteConfig,
    plan: (env, config, limits) => planSacDiscreteLearner(sacDiscreteShape(env, config as SacDiscreteConfig), limits),
  },
  dqn: { config: dqnConfig, plan: (env, config, limits) => planDqnLearner(dqnShape(env, config as DqnConfig), limits) },
};

/** What such a learner would hold. Throws `Mismatch` for one that no plan can be made of. */
function planned(env: EnvShape, config: AnyConfig, { plan }: Learns): Plan {
  try {
    return plan(env, config, ANY_LIMITS);
  } catch (error) {
    // sizes that no device has
    if (error instanceof CorralError || error instanceof RangeError || error instanceof TypeError)
      throw new Mismatch(["env"], env.id, `what a learner can be made of (${error.message})`);
    throw error;
  }
}

/** Limits that no learner of a bundle reaches. */
const ANY_LIMITS = {
  maxBufferSize: 2 ** 40,
  maxStorageBufferBindingSize: 2 ** 40,
  maxUniformBufferBindingSize: 2 ** 40,
  maxStorageBuffersPerShaderStage: 64,
  maxUniformBuffersPerShaderStage: 64,
};
