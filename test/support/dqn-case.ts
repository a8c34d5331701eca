// a learner of DQN without environments, over a batch made up from a seed; and its loss in plain float64
import type { LearnerDevice } from "../../src/rl/device/learner-device.ts";
import { dqnShape, type DqnShape, type QNetwork } from "../../src/rl/dqn/arenas.ts";
import { setUniforms } from "../../src/rl/dqn/batch.ts";
import { dqnConfig, type DqnConfig } from "../../src/rl/dqn/config.ts";
import { DqnLearner } from "../../src/rl/dqn/learner.ts";
import { SAC_STATE, STATE_SIZE } from "../../src/rl/tables/device-tables.ts";
import {
  BATCH,
  discreteBatch,
  discreteFacts,
  discreteParams,
  normalsOf,
  OBSERVATIONS,
  type RefRow,
} from "./discrete-case.ts";
import { mlp } from "./ppo-reference.ts";
import { columnsSeen } from "./seen-case.ts";

export interface DqnCase {
  readonly name: string;
  readonly actions: number;
  readonly group?: number;
  readonly config: Partial<DqnConfig>;
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
  const normal = normalsOf(seed);
  const all = { from: 0, size: OBSERVATIONS };
  const groups = group === undefined ? undefined : { policy: { from: 0, size: group }, critic: all };
  const shape = dqnShape({ ...discreteFacts(actions, normal), groups }, config);
  const learner = await DqnLearner.create(device, shape, config.doubleQ);
  const { nets } = shape;
  const { params, used } = discreteParams([nets.online, nets.target], nets.params4, normal);
  const { norm, see } = columnsSeen(OBSERVATIONS, shape.k4, config);
  const { batch, rows } = discreteBatch(shape, actions, normal, see);

  const state = new Float32Array(STATE_SIZE);
  state[SAC_STATE.beta1_power] = state[SAC_STATE.beta2_power] = 1;
  learner.write("params", params);
  learner.write("moments", new Float32Array(8 * nets.total4));
  learner.write("batch", batch);
  learner.write("norm", norm);
  learner.write("state", state);
  setUniforms(learner, config, 5);
  return { learner, shape, config, params, rows, isUsed: (i) => used[i] === 1 };
}

/** The column of an action: what the head multiplies, then the bias. */
function columnOf({ shape }: MadeDqn, { head }: QNetwork, params: ArrayLike<number>, action: number): number[] {
  const { inputs, k } = head.blocks[0];
  const { embedding, width } = head;
  if (embedding) {
    const { count, values } = shape.env.features!;
    const weight = (d: number) =>
      Array.from({ length: count }, (_, f) => values[action * count + f] * params[4 * embedding.at + f * k + d]).reduce(
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
