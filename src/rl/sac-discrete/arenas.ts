// the memory of the learner of SAC over discrete actions, planned beside that of its environments: networks, a batch, the replay
import type { PlanLimits } from "../../memory/request.ts";
import { rowsOf, sharedArena, STATISTICS4 } from "../device/arenas.ts";
import { jobsOfLayers } from "../device/layer-norms.ts";
import { withValues, type EnvShape } from "../device/env-shape.ts";
import type { LearnerPlan } from "../device/wasm-plan.ts";
import { assertOneChoice, layOutActions, type QNetwork } from "../dqn/arenas.ts";
import { embedding4, padTo, row4Of, TILE, type Rows } from "../networks/networks.ts";
import { planReplayLearner, transitionSizes, type ReplayLearnerShape } from "../replay/arenas.ts";
import { HEAD_ROW, Q_ROW, SOFT_ROW } from "../tables/device-tables.ts";
import type { SacDiscreteConfig } from "./config.ts";

type Two<T> = readonly [T, T];

/** The parameter vector: policy, critics, then targets, with room for statistics behind what has gradients. vec4s. */
export interface SacDiscreteNetworks {
  readonly policy: QNetwork;
  readonly critics: Two<QNetwork>;
  readonly targets: Two<QNetwork>;
  readonly policyStatistics: number;
  readonly criticsAt: number;
  readonly criticsStatistics: number;
  readonly total4: number;
  readonly params4: number;
}

/** Where rows lie in `work`: vec4s. */
interface SacDiscreteWork {
  /** Whole observations of worlds that act; the policy's own input unless observations come in groups. */
  readonly x: number;
  readonly policy: Rows;
  readonly nextPolicy: Rows;
  readonly critics: Two<Rows>;
  readonly targets: Two<Rows>;
  /** A block of logits, and of values by two networks; derivatives by the policy's last inputs, summed over blocks. */
  readonly logits: number;
  readonly values: Two<number>;
  readonly slopes: number;
  /** What is kept of a row: by worlds that act, of expectations, and of the action that each critic learns. */
  readonly acting: number;
  readonly soft: number;
  readonly kept: Two<number>;
  readonly statistics: number;
  readonly size4: number;
}

export interface SacDiscreteShape extends ReplayLearnerShape {
  readonly nets: SacDiscreteNetworks;
  readonly work: SacDiscreteWork;
  /** What policy and critics see of an observation, and vec4s of it in `work`. */
  readonly groups: NonNullable<EnvShape["groups"]>;
  readonly policy4: number;
  readonly critic4: number;
}

function layOut(env: EnvShape, groups: SacDiscreteShape["groups"], config: SacDiscreteConfig): SacDiscreteNetworks {
  const policy = layOutActions("policy", env, groups.policy.size, config, 0);
  const critic = (name: string, at: number) => layOutActions(name, env, groups.critic.size, config, at);
  const criticsAt = policy.end + STATISTICS4;
  const q1 = critic("q1", criticsAt);
  const q2 = critic("q2", q1.end);
  const total4 = q2.end + STATISTICS4;
  const target1 = critic("target1", total4);
  const target2 = critic("target2", target1.end);
  return {
    policy: policy.network,
    critics: [q1.network, q2.network],
    targets: [target1.network, target2.network],
    policyStatistics: policy.end,
    criticsAt,
    criticsStatistics: q2.end,
    total4,
    params4: target2.end,
  };
}

/** @throws CorralError unsupported-space, bad-option */
export function sacDiscreteShape(given: EnvShape, config: SacDiscreteConfig): SacDiscreteShape {
  assertOneChoice(given, "SAC of discrete actions weighs");
  const env = config.actionEmbedding > 0 ? withValues(given) : given;
  const all = { from: 0, size: env.observations };
  const groups = env.groups ?? { policy: all, critic: all };
  const nets = layOut(env, groups, config);
  const { layers, head } = nets.policy;
  const sizes = transitionSizes(env, config);
  const [policy4, critic4] = [groups.policy, groups.critic].map(({ size }) => padTo(size, TILE) / 4);
  const width4 = layers.reduce((sum, layer) => sum + row4Of(layer), sizes.k4 + head.width / 4);
  const rows = rowsOf(config.batchSize, env.numEnvs, width4);

  let at = 0;
  const take = (vec4s: number): number => {
    at += rows * vec4s;
    return at - rows * vec4s;
  };
  const outputs = (of: QNetwork) => new Map(of.layers.map((layer) => [layer, take(row4Of(layer))]));
  const x = take(sizes.k4);
  const policy = { x: env.groups ? take(policy4) : x, outputs: outputs(nets.policy) };
  const nextPolicy = { x: take(policy4), outputs: outputs(nets.policy) };
  const [now, next] = env.groups ? [take(critic4), take(critic4)] : [policy.x, nextPolicy.x];
  const both = (of: Two<QNetwork>, input: number): Two<Rows> => [
    { x: input, outputs: outputs(of[0]) },
    { x: input, outputs: outputs(of[1]) },
  ];
  const block4 = head.width / 4;
  const work = {
    x,
    policy,
    nextPolicy,
    critics: both(nets.critics, now),
    targets: both(nets.targets, next),
    logits: take(block4),
    values: [take(block4), take(block4)] as const,
    slopes: take(head.blocks[0].k / 4),
    acting: take(HEAD_ROW.size / 4),
    soft: take(SOFT_ROW.size / 4),
    kept: [take(Q_ROW.size / 4), take(Q_ROW.size / 4)] as const,
    statistics: take(STATISTICS4),
  };
  return {
    ...sizes,
    nets,
    work: { ...work, size4: at },
    rows,
    groups,
    policy4,
    critic4,
    jobs: jobsOfLayers(8, layers) + 8 * head.blocks.length + 32,
  };
}

/** Plans every buffer of the learner. Needs no device. */
export function planSacDiscreteLearner(shape: SacDiscreteShape, limits?: PlanLimits): LearnerPlan {
  const { head } = shape.nets.policy;
  const { actions, embedding } = head;
  const remedy = "a smaller actionEmbedding";
  const own = embedding
    ? [
        sharedArena("features", padTo(actions * embedding.features, 4) / 4),
        // of the policy and of two critics
        sharedArena("embedding", 3 * embedding4(head), remedy),
        sharedArena("embedding_grads", embedding4(head), remedy),
      ]
    : [sharedArena("features", 1), sharedArena("embedding", 1), sharedArena("embedding_grads", 1)];
  return planReplayLearner("sac-discrete", shape, own, limits);
}
