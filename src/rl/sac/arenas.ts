// the memory of SAC's learner, planned beside that of its environments: networks, a batch, and the replay
import type { LearnerPlan } from "../device/wasm-plan.ts";
import type { PlanLimits } from "../../memory/request.ts";
import { chunkRowsOf, rowsOf, sharedArena, STATISTICS4 } from "../device/arenas.ts";
import { jobsOfLayers } from "../device/layer-norms.ts";
import type { EnvShape } from "../device/env-shape.ts";
import { endOf, layOutNetwork, padTo, row4Of, TILE, type Layer, type Rows } from "../networks/networks.ts";
import { NARROWER, planReplayLearner, transitionSizes, type ReplayLearnerShape } from "../replay/arenas.ts";
import { NOTE } from "../tables/device-tables.ts";
import type { SacConfig } from "./config.ts";

/** The parameter vector: policy, critics, then targets, with room for statistics behind what has gradients. vec4s. */
export interface SacNetworks {
  readonly policy: readonly Layer[];
  readonly critics: readonly (readonly Layer[])[];
  readonly targets: readonly (readonly Layer[])[];
  readonly policyStatistics: number;
  readonly criticsStatistics: number;
  /** All that has gradients, and all. */
  readonly total4: number;
  readonly params4: number;
}

/** Where rows of the networks lie in `work`: vec4s. */
export interface SacWork {
  /** Whole observations of worlds that act; the policy's own input unless observations come in groups. */
  readonly x: number;
  readonly policy: Rows;
  readonly nextPolicy: Rows;
  /** Of critics at their own inputs; `together` at the one pair that both learn from. */
  readonly critics: readonly Rows[];
  readonly together: readonly Rows[];
  readonly targets: readonly Rows[];
  readonly statistics: number;
  readonly notes: number;
  readonly size4: number;
}

export interface SacShape extends ReplayLearnerShape {
  readonly nets: SacNetworks;
  readonly work: SacWork;
  readonly chunkRows: number;
  /** Chunks of a batch; of one, sums are the gradient itself. */
  readonly chunks: number;
  /** What policy and critics see of an observation. */
  readonly groups: NonNullable<EnvShape["groups"]>;
  /** vec4s of what the policy sees in `work`, and of a pair in the critics. */
  readonly policy4: number;
  readonly pair4: number;
}

function layOut({ policy: seen, critic }: SacShape["groups"], actions: number, config: SacConfig): SacNetworks {
  const make = (name: string, inputs: number, outputs: number, gain: number, at: number) =>
    layOutNetwork(name, [inputs, ...config.hidden, outputs], config, gain, at);
  const pair = critic.size + actions;
  const policy = make("policy", seen.size, 2 * actions, 0.01, 0);
  const policyStatistics = endOf(policy);
  const q1 = make("q1", pair, 1, 1, policyStatistics + STATISTICS4);
  const q2 = make("q2", pair, 1, 1, endOf(q1));
  const criticsStatistics = endOf(q2);
  const total4 = criticsStatistics + STATISTICS4;
  const target1 = make("target1", pair, 1, 1, total4);
  const target2 = make("target2", pair, 1, 1, endOf(target1));
  const params4 = endOf(target2);
  return {
    policy,
    critics: [q1, q2],
    targets: [target1, target2],
    policyStatistics,
    criticsStatistics,
    total4,
    params4,
  };
}

export function sacShape(env: EnvShape, config: SacConfig): SacShape {
  const all = { from: 0, size: env.observations };
  const groups = env.groups ?? { policy: all, critic: all };
  const nets = layOut(groups, env.actions, config);
  const sizes = transitionSizes(env, config);
  const { k4 } = sizes;
  const policy4 = padTo(groups.policy.size, TILE) / 4;
  const pair4 = padTo(groups.critic.size + env.actions, TILE) / 4;
  const width4 = nets.policy.reduce((sum, layer) => sum + row4Of(layer), k4);
  const rows = rowsOf(config.batchSize, env.numEnvs, width4);

  let at = 0;
  const take = (vec4s: number): number => {
    at += rows * vec4s;
    return at - rows * vec4s;
  };
  const outputs = (layers: readonly Layer[]) => new Map(layers.map((layer) => [layer, take(row4Of(layer))]));
  const x = take(k4);
  const policy = { x: env.groups ? take(policy4) : x, outputs: outputs(nets.policy) };
  const nextPolicy = { x: take(policy4), outputs: outputs(nets.policy) };
  const pairs = [take(pair4), take(pair4)];
  const critics = nets.critics.map((layers, i) => ({ x: pairs[i], outputs: outputs(layers) }));
  const together = critics.map(({ outputs }) => ({ x: pairs[0], outputs }));
  const targets = nets.targets.map((layers) => ({ x: pairs[1], outputs: outputs(layers) }));
  const work = {
    x,
    policy,
    nextPolicy,
    critics,
    together,
    targets,
    statistics: take(STATISTICS4),
    notes: take(NOTE.size / 4),
  };

  return {
    ...sizes,
    groups,
    nets,
    work: { ...work, size4: at },
    rows,
    chunkRows: chunkRowsOf(config.batchSize),
    chunks: Math.ceil(config.batchSize / chunkRowsOf(config.batchSize)),
    policy4,
    pair4,
    jobs: jobsOfLayers(8, nets.policy) + 16,
  };
}

/** Plans every buffer of SAC's learner. Needs no device. */
export function planSacLearner(shape: SacShape, limits?: PlanLimits): LearnerPlan {
  const { chunks, nets } = shape;
  const partials = chunks > 1 ? [sharedArena("partials", chunks * nets.total4, NARROWER)] : [];
  return planReplayLearner("sac", shape, partials, limits);
}
