// a learner of SAC over discrete actions without environments, over a batch made up from a seed; and its losses in plain float64
import type { LearnerDevice } from "../../src/rl/device/learner-device.ts";
import type { QNetwork } from "../../src/rl/dqn/arenas.ts";
import { sacDiscreteShape, type SacDiscreteShape } from "../../src/rl/sac-discrete/arenas.ts";
import { setUniforms } from "../../src/rl/sac-discrete/batch.ts";
import { sacDiscreteConfig, type SacDiscreteConfig } from "../../src/rl/sac-discrete/config.ts";
import { SacDiscreteLearner } from "../../src/rl/sac-discrete/learner.ts";
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

export interface SacDiscreteCase {
  readonly name: string;
  readonly actions: number;
  readonly groups?: SacDiscreteShape["groups"];
  readonly config: Partial<SacDiscreteConfig>;
}

export interface MadeSacDiscrete {
  readonly learner: SacDiscreteLearner;
  readonly shape: SacDiscreteShape;
  readonly config: SacDiscreteConfig;
  readonly params: Float32Array<ArrayBuffer>;
  readonly rows: readonly RefRow[];
  readonly alpha: number;
  readonly isUsed: (i: number) => boolean;
}

export async function makeSacDiscrete(
  { actions, groups, config: given }: SacDiscreteCase,
  seed: number,
  device: LearnerDevice,
): Promise<MadeSacDiscrete> {
  const config = sacDiscreteConfig({ batchSize: BATCH, bufferSize: 64, ...given });
  const normal = normalsOf(seed);
  const shape = sacDiscreteShape({ ...discreteFacts(actions, normal), groups }, config);
  const learner = await SacDiscreteLearner.create(device, shape);
  const { nets } = shape;
  const { params, used } = discreteParams([nets.policy, ...nets.critics, ...nets.targets], nets.params4, normal);
  const { norm, see } = columnsSeen(OBSERVATIONS, shape.k4, config);
  const { batch, rows } = discreteBatch(shape, actions, normal, see);

  const logAlpha = Math.fround(-0.7);
  const state = new Float32Array(STATE_SIZE);
  state.set([1, 1]);
  state.set([1, 1], SAC_STATE.policy);
  state[SAC_STATE.log_alpha] = logAlpha;
  learner.write("params", params);
  learner.write("moments", new Float32Array(8 * nets.total4));
  learner.write("batch", batch);
  learner.write("norm", norm);
  learner.write("state", state);
  setUniforms(learner, config, 5);
  return { learner, shape, config, params, rows, alpha: Math.exp(logAlpha), isUsed: (i) => used[i] === 1 };
}

/** What a network says of every action. */
function outputsOf({ shape }: MadeSacDiscrete, { layers, head }: QNetwork, params: ArrayLike<number>, seen: number[]) {
  const x = mlp(params, layers, seen);
  const { embedding, width, blocks } = head;
  return Array.from({ length: head.actions }, (_, action) => {
    if (embedding) {
      const { count, values } = shape.env.features!;
      let sum = 0;
      for (let d = 0; d < embedding.dims; d++)
        for (let f = 0; f < count; f++)
          sum += x[d] * values[action * count + f] * params[4 * embedding.at + f * blocks[0].k + d];
      return sum;
    }
    const { w, b, n } = blocks[Math.floor(action / width)];
    const local = action % width;
    return x.reduce((sum, value, i) => sum + value * params[4 * w + i * n + local], params[4 * b + local]);
  });
}

/** Probabilities of the policy, their logarithms, and the lower of two values of each action. */
function expected(
  made: MadeSacDiscrete,
  params: ArrayLike<number>,
  networks: readonly QNetwork[],
  obs: readonly number[],
) {
  const { policy, critic } = made.shape.groups;
  const logits = outputsOf(made, made.shape.nets.policy, params, obs.slice(policy.from, policy.from + policy.size));
  const seen = obs.slice(critic.from, critic.from + critic.size);
  const [first, second] = networks.map((network) => outputsOf(made, network, params, seen));
  const top = Math.max(...logits);
  const logSum = top + Math.log(logits.reduce((sum, l) => sum + Math.exp(l - top), 0));
  let [entropy, value] = [0, 0];
  logits.forEach((l, a) => {
    const p = Math.exp(l - logSum);
    entropy -= p * (l - logSum);
    value += p * Math.min(first[a], second[a]);
  });
  return { entropy, value, first, second };
}

/** What each row's values move to: the soft value of the next observation under policy and targets. */
export const goalsOf = (made: MadeSacDiscrete, params: ArrayLike<number>): number[] =>
  made.rows.map(({ next, reward, discount }) => {
    const { entropy, value } = expected(made, params, made.shape.nets.targets, next);
    return reward + discount * (value + made.alpha * entropy);
  });

/** Sums over rows: the loss of both critics towards given goals, and of the policy under the critics. */
export function sacDiscreteLosses(made: MadeSacDiscrete, params: ArrayLike<number>, goals: readonly number[]) {
  const sums = { count: 0, critic: 0, policy: 0, entropy: 0 };
  made.rows.forEach(({ obs, action, weight }, r) => {
    if (weight === 0) return;
    const { entropy, value, first, second } = expected(made, params, made.shape.nets.critics, obs);
    sums.count++;
    for (const values of [first, second]) sums.critic += 0.5 * (values[action] - goals[r]) ** 2;
    sums.policy += -made.alpha * entropy - value;
    sums.entropy += entropy;
  });
  return sums;
}
