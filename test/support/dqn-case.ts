// a learner of DQN without environments, over a batch made up from a seed; and its loss in plain float64
import { RandomStream } from "../../src/core/rng.ts";
import type { LearnerDevice } from "../../src/rl/device/device-core.ts";
import { dqnShape, type DqnShape, type QNetwork } from "../../src/rl/dqn/arenas.ts";
import { setUniforms } from "../../src/rl/dqn/batch.ts";
import { dqnConfig, type DqnConfig } from "../../src/rl/dqn/config.ts";
import { DqnLearner } from "../../src/rl/dqn/learner.ts";
import { SAC_STATE, STATE_SIZE } from "../../src/rl/tables/device-tables.ts";
import { markLayer, mlp } from "./ppo-reference.ts";

export const BATCH = 37;
const OBSERVATIONS = 5;
const FEATURES = 3;

export interface DqnCase {
  readonly name: string;
  readonly actions: number;
  readonly group?: number;
  readonly config: Partial<DqnConfig>;
}

/** One row of a batch. */
export interface RefRow {
  readonly obs: readonly number[];
  readonly next: readonly number[];
  readonly action: number;
  readonly reward: number;
  readonly discount: number;
  readonly weight: number;
}

export interface MadeDqn {
  readonly learner: DqnLearner;
  readonly shape: DqnShape;
  readonly config: DqnConfig;
  readonly params: Float32Array<ArrayBuffer>;
  readonly rows: readonly RefRow[];
  readonly isUsed: (i: number) => boolean;
}

export async function makeDqn(
  { actions, group, config: given }: DqnCase,
  seed: number,
  device: LearnerDevice,
): Promise<MadeDqn> {
  const config = dqnConfig({ batchSize: BATCH, bufferSize: 64, ...given });
  const random = new RandomStream(seed, 0, 0, 1024);
  let drawn = 0;
  const normal = () => Math.fround(random.normal(drawn++));
  const features = { count: FEATURES, values: Float32Array.from({ length: actions * FEATURES }, normal) };
  const all = { from: 0, size: OBSERVATIONS };
  const groups = group === undefined ? undefined : { policy: { from: 0, size: group }, critic: all };
  const facts = { id: "case", numEnvs: 3, observations: OBSERVATIONS, actions: 1, outputs: actions, features, groups };
  const shape = dqnShape({ ...facts, head: "categorical", alternatives: [actions] }, config);
  const learner = await DqnLearner.create(device, shape, config.doubleQ);
  const { nets, row4, obs4, actions4 } = shape;

  const used = new Uint8Array(4 * nets.params4);
  const params = new Float32Array(used.length);
  for (const { layers, head } of [nets.online, nets.target]) {
    for (const layer of head.embedding ? layers : [...layers, ...head.blocks]) markLayer(used, layer);
    if (!head.embedding) continue;
    const { at, dims, features: count } = head.embedding;
    for (let f = 0; f < count; f++) {
      const row = 4 * at + f * head.blocks[0].k;
      used.fill(1, row, row + dims);
    }
  }
  used.forEach((isUsed, i) => (params[i] = isUsed ? 0.4 * normal() : 0));

  const batch = new Float32Array(BATCH * 4 * row4);
  const rows = Array.from({ length: BATCH }, (_, row): RefRow => {
    const obs = Array.from({ length: OBSERVATIONS }, normal);
    const next = Array.from({ length: OBSERVATIONS }, normal);
    // some actions come more than once
    const action = (row * row) % actions;
    const [reward, discount] = [normal(), row % 5 === 2 ? 0 : Math.fround(0.9)];
    const weight = row % 11 === 3 ? 0 : 1;
    const at = row * 4 * row4;
    batch.set(obs, at);
    batch.set(next, at + 4 * obs4);
    batch[at + 8 * obs4] = action;
    batch.set([reward, discount, weight], at + 8 * obs4 + 4 * actions4);
    return { obs, next, action, reward, discount, weight };
  });

  const state = new Float32Array(STATE_SIZE);
  state[SAC_STATE.beta1_power] = state[SAC_STATE.beta2_power] = 1;
  learner.write("params", params);
  learner.write("moments", new Float32Array(8 * nets.total4));
  learner.write("batch", batch);
  learner.write("state", state);
  setUniforms(learner, config, 5);
  return { learner, shape, config, params, rows, isUsed: (i) => used[i] === 1 };
}

/** The column of an action: what the head multiplies, then the bias. */
function columnOf({ shape }: MadeDqn, { head }: QNetwork, params: ArrayLike<number>, action: number): number[] {
  const { inputs, k } = head.blocks[0];
  const { embedding, width } = head;
  if (embedding) {
    const known = shape.env.features!.values.subarray(action * FEATURES);
    const weight = (d: number) =>
      Array.from({ length: FEATURES }, (_, f) => known[f] * params[4 * embedding.at + f * k + d]).reduce(
        (a, b) => a + b,
        0,
      );
    return [...Array.from({ length: inputs }, (_, d) => weight(d)), 0];
  }
  const { w, b, n } = head.blocks[Math.floor(action / width)];
  const local = action % width;
  return [...Array.from({ length: inputs }, (_, i) => params[4 * w + i * n + local]), params[4 * b + local]];
}

/** The value of one action. */
export function valueOf(
  made: MadeDqn,
  network: QNetwork,
  params: ArrayLike<number>,
  obs: readonly number[],
  action: number,
) {
  const x = [...mlp(params, network.layers, obs.slice(0, made.shape.seen)), 1];
  return columnOf(made, network, params, action).reduce((sum, weight, i) => sum + weight * x[i], 0);
}

/** What each row's value moves to. */
export function goalsOf(made: MadeDqn, params: ArrayLike<number>): number[] {
  const { online, target } = made.shape.nets;
  const chooses = made.config.doubleQ ? online : target;
  return made.rows.map(({ next, reward, discount }) => {
    const values = Array.from({ length: made.shape.env.outputs }, (_, a) => valueOf(made, chooses, params, next, a));
    const best = values.indexOf(Math.max(...values));
    return reward + discount * valueOf(made, target, params, next, best);
  });
}

/** Sums over rows: the loss towards given goals, and the values. */
export function dqnLoss(made: MadeDqn, params: ArrayLike<number>, goals: readonly number[]) {
  const { huber } = made.config;
  const sums = { count: 0, loss: 0, value: 0, goal: 0 };
  made.rows.forEach(({ obs, action, weight }, r) => {
    if (weight === 0) return;
    const value = valueOf(made, made.shape.nets.online, params, obs, action);
    const size = Math.abs(value - goals[r]);
    sums.count++;
    sums.loss += size > huber ? huber * (size - 0.5 * huber) : 0.5 * size * size;
    sums.value += value;
    sums.goal += goals[r];
  });
  return sums;
}
