// the memory of SAC's learner, planned beside that of its environments: networks, a batch, and the replay
import type { LearnerPlan } from "../device/wasm-plan.ts";
import type { ArenaRequest, PlanLimits } from "../../memory/request.ts";
import { NOTE, STATE_SIZE, UNIFORM_SLOTS, UNIFORMS_BYTES } from "../tables/device-tables.ts";
import { JOB_BYTES } from "../tables/job-tables.ts";
import { endOf, layOutNetwork, padTo, row4Of, TILE, type Layer, type Rows } from "../networks/networks.ts";
import { replayRows } from "../device/shared-options.ts";
import type { SacConfig } from "./config.ts";
import {
  chunkRowsOf,
  rowsOf,
  sharedArena,
  planArenas,
  replayArenas,
  stagingArena,
  STATISTICS4,
  SUM_PARTS,
  uniformArena,
  worldsArena,
} from "../device/arenas.ts";
import type { EnvShape } from "../device/env-shape.ts";

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

export interface SacShape {
  readonly env: EnvShape;
  readonly nets: SacNetworks;
  readonly work: SacWork;
  readonly batch: number;
  /** Rows that the networks have room for. */
  readonly rows: number;
  readonly chunkRows: number;
  /** Chunks of a batch; of one, sums are the gradient itself. */
  readonly chunks: number;
  /** What policy and critics see of an observation. */
  readonly groups: NonNullable<EnvShape["groups"]>;
  /** vec4s of an observation in the environment, of all of it and of what the policy sees in `work`, of a pair in the critics, of an action, of a sample. */
  readonly obs4: number;
  readonly k4: number;
  readonly policy4: number;
  readonly pair4: number;
  readonly actions4: number;
  readonly row4: number;
  /** Rows of the replay for each world, and how many of them lie on the device. */
  readonly capacity: number;
  readonly window: number;
  readonly jobs: number;
}

function layOut({ policy: seen, critic }: SacShape["groups"], actions: number, config: SacConfig): SacNetworks {
  const activation = config.activation;
  const make = (name: string, inputs: number, outputs: number, gain: number, at: number) =>
    layOutNetwork(name, [inputs, ...config.hidden, outputs], activation, gain, at);
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
  const k4 = padTo(env.observations, TILE) / 4;
  const policy4 = padTo(groups.policy.size, TILE) / 4;
  const pair4 = padTo(groups.critic.size + env.actions, TILE) / 4;
  const [obs4, actions4] = [padTo(env.observations, 4) / 4, padTo(env.actions, 4) / 4];
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

  const capacity = replayRows(config, env.numEnvs);
  return {
    env,
    groups,
    nets,
    work: { ...work, size4: at },
    batch: config.batchSize,
    rows,
    chunkRows: chunkRowsOf(config.batchSize),
    chunks: Math.ceil(config.batchSize / chunkRowsOf(config.batchSize)),
    obs4,
    k4,
    policy4,
    pair4,
    actions4,
    row4: 2 * obs4 + actions4 + NOTE.size / 4,
    capacity,
    window: config.storage === "gpu" ? capacity : config.collectSteps,
    jobs: 8 * nets.policy.length + 16,
  };
}

/** Plans every buffer of SAC's learner. Needs no device. */
export function planSacLearner(shape: SacShape, limits?: PlanLimits): LearnerPlan {
  const { env, nets, work, k4, obs4, actions4, batch, chunks, window } = shape;
  const smaller = "narrower hidden layers";
  const arenas: ArenaRequest[] = [
    sharedArena("params", nets.params4, smaller),
    sharedArena("moments", 2 * nets.total4, smaller),
    sharedArena("grads", nets.total4, smaller),
    ...(chunks > 1 ? [sharedArena("partials", chunks * nets.total4, smaller)] : []),
    sharedArena("work", work.size4, "a smaller batchSize"),
    sharedArena("batch", batch * shape.row4, "a smaller batchSize"),
    sharedArena("norm", 4 * k4 + 2 * actions4),
    sharedArena("scratch", SUM_PARTS * 3),
    sharedArena("state", STATE_SIZE / 4),
    ...replayArenas(env.numEnvs * window, obs4, actions4),
    worldsArena(),
    uniformArena("uniforms", (UNIFORM_SLOTS * UNIFORMS_BYTES) / 4),
    uniformArena("jobs", (shape.jobs * JOB_BYTES) / 4),
    stagingArena(4 * nets.params4),
  ];
  return { ...planArenas(`${env.id}.sac`, env.numEnvs, arenas, limits), products: shape.rows * 4 * nets.params4 };
}
