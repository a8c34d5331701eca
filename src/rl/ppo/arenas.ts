// the learner's memory, planned beside that of its environments: every buffer with its name, before the first is made
import type { LearnerPlan } from "../device/wasm-plan.ts";
import type { ArenaRequest, FieldRequest, PlanLimits } from "../../memory/request.ts";
import type { PpoConfig } from "./config.ts";
import { HEAD_ROW, SAMPLE, STATE_SIZE, UNIFORM_SLOTS, UNIFORMS_BYTES, WORLD } from "../tables/device-tables.ts";
import { JOB_BYTES } from "../tables/job-tables.ts";
import { embedding4, layOutNetworks, padTo, row4Of, TILE, type Layer, type Networks } from "../networks/networks.ts";
import { layOutCells, sequencesOf, type CellsLayout } from "./recurrent.ts";
import { cellJobs } from "../device/cell-places.ts";
import { mirrors } from "./mirror.ts";
import { layOutHead, type HeadLayout } from "../networks/head-layout.ts";
import type { Network, EnvShape } from "../device/env-shape.ts";
import {
  rowsOf,
  chunkRowsOf,
  STATISTICS4,
  sharedArena,
  SUM_PARTS,
  slotsArena,
  stagingArena,
  planArenas,
} from "../device/arenas.ts";
import { jobsOfLayers } from "../device/layer-norms.ts";

/** Where rows of the network lie in `work`: vec4s. */
export interface WorkLayout {
  readonly x: number;
  /** What each network sees of it, if that is not all, and vec4s of a row of the wider. */
  readonly groups?: Readonly<Record<Network, number>> & { readonly k4: number };
  readonly outputs: ReadonlyMap<Layer, number>;
  readonly slopes: number;
  readonly statistics: number;
  readonly size4: number;
}

/** All sizes of a learner. */
export interface LearnerShape {
  readonly env: EnvShape;
  readonly nets: Networks;
  readonly work: WorkLayout;
  /** Where the policy's logits come in blocks. */
  readonly head?: HeadLayout;
  /** Where policy and value have a memory. */
  readonly cells?: CellsLayout;
  readonly samples: number;
  /** Samples of a minibatch; the last may have fewer. */
  readonly minibatch: number;
  /** What is shuffled, samples or sequences of them, and how many of these a minibatch takes. */
  readonly units: number;
  readonly each: number;
  /** Rows that the network has room for. */
  readonly rows: number;
  readonly chunkRows: number;
  /** Chunks of a minibatch; of one, sums are the gradient itself. */
  readonly chunks: number;
  /** vec4s of an observation in the environment, of one in the network, of an action. */
  readonly obs4: number;
  readonly k4: number;
  readonly actions4: number;
  /** Of the gradient that is summed over chunks, statistics included. */
  readonly total4: number;
  /** Whether some of a rollout is learnt from as its mirror image. */
  readonly mirrors: boolean;
  readonly jobs: number;
}

/** How a policy streams over its actions; undefined if it holds all logits. */
function streamOf({ head, alternatives, outputs, features }: EnvShape, config: PpoConfig) {
  const { actionBlock: block, actionEmbedding: dims } = config;
  if (dims > 0) return { block, embedding: { dims, features: features!.count } };
  return head === "categorical" && alternatives.length === 1 && outputs > block ? { block } : undefined;
}

export function learnerShape(env: EnvShape, config: PpoConfig): LearnerShape {
  const gaussian = env.head === "gaussian";
  const stream = streamOf(env, config);
  const nets = layOutNetworks({
    observations: env.groups?.policy.size ?? env.observations,
    valueObservations: env.groups?.critic.size ?? env.observations,
    outputs: env.outputs,
    hidden: config.hidden,
    form: config,
    logStds: gaussian ? env.actions : 0,
    ...(stream && { stream }),
    ...(config.recurrent !== "none" && { recurrent: { kind: config.recurrent, size: config.recurrentSize } }),
  });
  const samples = env.numEnvs * config.rolloutSteps;
  const sequences = nets.cells && sequencesOf(samples, config);
  const units = sequences?.sequences ?? samples;
  const each = sequences?.each ?? Math.ceil(samples / Math.min(config.minibatches, samples));
  const minibatch = sequences ? sequences.lanes * sequences.unroll : each;
  const k4 = padTo(env.observations, TILE) / 4;
  const head4 = nets.head ? (nets.head.width + nets.head.blocks[0].k + HEAD_ROW.size) / 4 : 0;
  const cells4 = nets.cells ? 3 * nets.cells.size : 0;
  const width4 = [...nets.policy, ...nets.value].reduce((sum, layer) => sum + row4Of(layer), k4 + head4 + cells4);
  const rows = rowsOf(minibatch, env.numEnvs, width4);
  const chunkRows = chunkRowsOf(minibatch);

  let at = rows * k4;
  const groups = env.groups && groupsAt(env.groups, rows, at);
  at += groups?.size4 ?? 0;
  const outputs = new Map<Layer, number>();
  for (const layer of [...nets.policy, ...nets.value]) {
    outputs.set(layer, at);
    at += rows * row4Of(layer);
  }
  const slopes = at;
  at += (rows * padTo(nets.logStd.count, TILE)) / 4;
  const statistics = at;
  at += rows * STATISTICS4;
  const cells = sequences && layOutCells(nets, sequences, rows, outputs, at);
  at += cells?.size4 ?? 0;
  const head =
    nets.head &&
    layOutHead(
      nets,
      rows,
      nets.policy.length > 0 ? inputAt(outputs, cells, nets.policy, nets.policy.length) : (groups?.places.policy ?? 0),
      at,
    );
  const work = {
    x: 0,
    ...(groups && { groups: groups.places }),
    outputs,
    slopes,
    statistics,
    size4: at + (head?.size4 ?? 0),
  };

  // forward, backward and gradient of each layer, those of a head's blocks, and a handful of others
  const jobs = jobsOfLayers(3, nets.value) + 5 * (nets.head?.blocks.length ?? 0) + (cells ? cellJobs(cells) : 0) + 20;
  return {
    ...(head && { head }),
    ...(cells && { cells }),
    env,
    nets,
    work,
    samples,
    minibatch,
    units,
    each,
    rows,
    chunkRows,
    chunks: Math.ceil(minibatch / chunkRows),
    obs4: padTo(env.observations, 4) / 4,
    k4,
    actions4: padTo(env.actions, 4) / 4,
    total4: nets.core4 + STATISTICS4,
    mirrors: mirrors(env, config),
    jobs,
  };
}

/** Places of what each network sees, behind what lies in `work` already: rows of one width, the policy's, then the critic's. */
function groupsAt({ policy, critic }: NonNullable<EnvShape["groups"]>, rows: number, at: number) {
  const [policy4, critic4] = [policy, critic].map(({ size }) => padTo(size, TILE) / 4);
  const places = { policy: at, critic: at + rows * policy4, k4: Math.max(policy4, critic4) };
  return { places, size4: rows * (policy4 + critic4) };
}

/** Where the input of a network lies in `work`. */
export const inputOf = ({ x, groups }: WorkLayout, network: Network): number => groups?.[network] ?? x;

/** The jobs that take out of each row what the networks see. */
export const groupJobs = ({ env, work }: LearnerShape) =>
  (["policy", "critic"] as const).map((network) => {
    const { from, size } = env.groups![network];
    return { first: from, count: size, to: work.groups![network], k4: padTo(size, TILE) / 4 };
  });

/** Where the input of a layer lies in `work`: a layer below, or the state of a cell. 0 for the network's own. */
export function inputAt(
  outputs: ReadonlyMap<Layer, number>,
  cells: CellsLayout | undefined,
  layers: readonly Layer[],
  i: number,
): number {
  const below = layers[i - 1];
  if (!below) return 0;
  const at = outputs.get(below)!;
  if (at === cells?.policy.below) return cells.policy.state;
  return at === cells?.value.below ? cells.value.state : at;
}

const rows = (name: string, perWorld: number): ArenaRequest => {
  const field: FieldRequest = { name, group: "rollout", type: "f32", perWorld, remedy: "fewer rolloutSteps" };
  return { name, access: "read_write", scope: "batch", layout: "rows", fields: [field] };
};

function embeddingArenas({ head }: Networks): ArenaRequest[] {
  if (!head?.embedding) return [];
  const remedy = "a smaller actionEmbedding";
  return [
    sharedArena("features", padTo(head.actions * head.embedding.features, 4) / 4),
    sharedArena("embedding", embedding4(head), remedy),
    sharedArena("embedding_grads", embedding4(head), remedy),
  ];
}

/** States of worlds that act and of those that are evaluated, and those that sequences of the rollout began with. */
function cellArenas({ nets, cells }: LearnerShape, rolloutSteps: number): ArenaRequest[] {
  if (!nets.cells || !cells) return [];
  const both = 8 * cells.state4;
  const arena = (name: string, perWorld: number, remedy: string): ArenaRequest => ({
    ...rows(name, perWorld),
    fields: [{ name, group: "recurrent", type: "f32", perWorld, remedy }],
  });
  return [
    arena("hidden", both, "a smaller recurrentSize"),
    arena("eval_hidden", both, "a smaller recurrentSize"),
    arena("rollout_hidden", (both * rolloutSteps) / cells.unroll, "a larger recurrentSteps"),
  ];
}

/** Plans every buffer of a learner. Needs no device. */
export function planLearner(shape: LearnerShape, config: PpoConfig, limits?: PlanLimits): LearnerPlan {
  const { env, nets, work, k4, obs4, actions4, total4, chunks } = shape;
  const { rolloutSteps } = config;
  const smaller = "narrower hidden layers";
  const arenas: ArenaRequest[] = [
    sharedArena("params", nets.params4, smaller),
    sharedArena("moments", 2 * nets.params4, smaller),
    sharedArena("grads", nets.params4 + STATISTICS4, smaller),
    ...(chunks > 1 ? [sharedArena("partials", chunks * total4, smaller)] : []),
    sharedArena("work", work.size4, "more minibatches"),
    ...embeddingArenas(nets),
    sharedArena("norm", 4 * k4 + 2 * actions4),
    sharedArena("scratch", SUM_PARTS * Math.max(3, 2 * obs4)),
    sharedArena("state", STATE_SIZE / 4),
    ...(shape.mirrors ? [sharedArena("mirror", padTo(env.observations + env.actions, 4) / 4)] : []),
    rows("rollout_obs", rolloutSteps * 4 * obs4),
    rows("rollout_actions", rolloutSteps * 4 * actions4),
    rows("samples", rolloutSteps * SAMPLE.size),
    ...cellArenas(shape, rolloutSteps),
    {
      ...rows("worlds", WORLD.size),
      fields: [{ name: "worlds", group: "learner", type: "f32", perWorld: WORLD.size }],
    },
    slotsArena("uniforms", (UNIFORM_SLOTS * UNIFORMS_BYTES) / 4),
    slotsArena("jobs", (shape.jobs * JOB_BYTES) / 4),
    stagingArena(4 * nets.params4),
  ];
  return { ...planArenas(`${env.id}.ppo`, env.numEnvs, arenas, limits), products: shape.rows * 4 * nets.params4 };
}
