// the memory of DQN's learner, planned beside that of its environments: networks, a batch, and the replay
import type { LearnerPlan } from "../device/wasm-plan.ts";
import { CorralError } from "../../core/errors.ts";
import type { PlanLimits } from "../../memory/request.ts";
import { rowsOf, sharedArena, STATISTICS4 } from "../device/arenas.ts";
import { jobsOfLayers } from "../device/layer-norms.ts";
import { withValues, type EnvShape } from "../device/env-shape.ts";
import {
  embedding4,
  endOf,
  layOutBlocks,
  layOutNetwork,
  padTo,
  row4Of,
  TILE,
  type Layer,
  type Rows,
  type StreamedHead,
} from "../networks/networks.ts";
import { planReplayLearner, transitionSizes, type ReplayLearnerShape } from "../replay/arenas.ts";
import { Q_ROW } from "../tables/device-tables.ts";
import type { DqnConfig } from "./config.ts";

/** Layers, and the values of all actions that they end in. */
export interface QNetwork {
  readonly layers: readonly Layer[];
  readonly head: StreamedHead;
}

/** The parameter vector: the network, room for statistics behind its gradients, then the targets. vec4s. */
export interface DqnNetworks {
  readonly online: QNetwork;
  readonly target: QNetwork;
  readonly statistics: number;
  readonly total4: number;
  readonly params4: number;
}

/** Where rows lie in `work`: vec4s. */
export interface DqnWork {
  /** Whole observations of worlds that act; the network's own input unless observations come in groups. */
  readonly x: number;
  readonly online: Rows;
  /** Of next observations: the network, and the targets. */
  readonly next: Rows;
  readonly target: Rows;
  readonly values: number;
  readonly kept: number;
  readonly statistics: number;
  readonly size4: number;
}

export interface DqnShape extends ReplayLearnerShape {
  readonly nets: DqnNetworks;
  readonly work: DqnWork;
  /** Numbers that the network sees of an observation, and vec4s of them in `work`. */
  readonly seen: number;
  readonly seen4: number;
}

/** Largest number that counts actions exactly where numbers are floats. */
const MAX_ACTIONS = 2 ** 24;

/** Throws `unsupported-space` for anything but one choice of actions. */
export function assertOneChoice({ id, alternatives }: EnvShape, values = "DQN values"): void {
  const [actions] = alternatives;
  if (alternatives.length === 1 && actions <= MAX_ACTIONS) return;
  const what =
    alternatives.length === 0
      ? "continuous"
      : alternatives.length > 1
        ? `${alternatives.length} choices at once`
        : `${actions}`;
  throw new CorralError(
    "unsupported-space",
    `${values} each of at most ${MAX_ACTIONS} actions, and those of ${id} are ${what}. Train it with PPO, or SAC where actions are continuous.`,
    { alternatives },
  );
}

/** What a network over many actions is made of. */
type HeadConfig = Pick<DqnConfig, "hidden" | "activation" | "layerNorm" | "actionBlock" | "actionEmbedding">;

/** A network that sees so many numbers and ends in one of each action, from a vec4 of the parameter vector on. */
export function layOutActions(name: string, env: EnvShape, seen: number, config: HeadConfig, at: number) {
  const { hidden, actionBlock: block, actionEmbedding: dims } = config;
  const own = layOutNetwork(name, [seen, ...hidden], config, Math.SQRT2, at, true);
  const last = dims > 0 ? [layOutNetwork(name, [hidden.at(-1) ?? seen, dims], config, 1, endOf(own, at))[0]] : [];
  const layers = [...own, ...last.map((layer) => ({ ...layer, name: `${name}.${own.length}` }))];
  const stream = dims > 0 ? { block, embedding: { dims, features: env.features!.count } } : { block };
  const inputs = layers.at(-1)?.outputs ?? seen;
  const made = layOutBlocks(`${name}.${layers.length}`, inputs, env.outputs, stream, endOf(layers, at));
  return { network: { layers, head: made.head }, end: made.end };
}

/** @throws CorralError unsupported-space, bad-option */
export function dqnShape(given: EnvShape, config: DqnConfig): DqnShape {
  assertOneChoice(given);
  const env = config.actionEmbedding > 0 ? withValues(given) : given;
  const seen = env.groups?.policy.size ?? env.observations;
  const online = layOutActions("policy", env, seen, config, 0);
  const total4 = online.end + STATISTICS4;
  const target = layOutActions("target", env, seen, config, total4);
  const { layers, head } = online.network;
  const sizes = transitionSizes(env, config);
  const { k4 } = sizes;
  const seen4 = padTo(seen, TILE) / 4;
  const width4 = layers.reduce((sum, layer) => sum + row4Of(layer), k4 + head.width / 4);
  const rows = rowsOf(config.batchSize, env.numEnvs, width4);

  let at = 0;
  const take = (vec4s: number): number => {
    at += rows * vec4s;
    return at - rows * vec4s;
  };
  const outputs = (of: QNetwork) => new Map(of.layers.map((layer) => [layer, take(row4Of(layer))]));
  const x = take(k4);
  const own = { x: env.groups ? take(seen4) : x, outputs: outputs(online.network) };
  const next = { x: take(seen4), outputs: outputs(online.network) };
  const work = {
    x,
    online: own,
    next,
    target: { x: next.x, outputs: outputs(target.network) },
    values: take(head.width / 4),
    kept: take(Q_ROW.size / 4),
    statistics: take(STATISTICS4),
  };
  return {
    ...sizes,
    nets: {
      online: online.network,
      target: target.network,
      statistics: online.end,
      total4,
      params4: target.end,
    },
    work: { ...work, size4: at },
    rows,
    seen,
    seen4,
    jobs: jobsOfLayers(5, layers) + 4 * head.blocks.length + 24,
  };
}

/** Where what the head multiplies lies in `work`. */
export const lastOf = ({ layers }: QNetwork, { x, outputs }: Rows): number =>
  layers.length > 0 ? outputs.get(layers.at(-1)!)! : x;

/** Plans every buffer of DQN's learner. Needs no device. */
export function planDqnLearner(shape: DqnShape, limits?: PlanLimits): LearnerPlan {
  const { head } = shape.nets.online;
  const features = head.embedding ? padTo(head.actions * head.embedding.features, 4) / 4 : 1;
  const own = [
    sharedArena("features", features),
    ...(head.embedding ? [sharedArena("embedding", embedding4(head), "a smaller actionEmbedding")] : []),
  ];
  return planReplayLearner("dqn", shape, own, limits);
}
