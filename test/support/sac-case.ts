// a learner of SAC without environments, over a batch made up from a seed; and its losses in plain float64
import { RandomStream, streams } from "../../src/core/rng.ts";
import type { Layer } from "../../src/rl/networks/networks.ts";
import { setUniforms } from "../../src/rl/sac/batch.ts";
import { sacShape, type SacShape } from "../../src/rl/sac/arenas.ts";
import { sacConfig, type SacConfig } from "../../src/rl/sac/config.ts";
import type { LearnerDevice } from "../../src/rl/device/device-core.ts";
import { SacLearner } from "../../src/rl/sac/learner.ts";
import { SAC_STATE, STATE_SIZE } from "../../src/rl/tables/device-tables.ts";
import { sharedDevice } from "./learner-case.ts";
import { markLayer, mlp } from "./ppo-reference.ts";

export const BATCH = 37;
export const SEED = 5;
export const DRAW = 9;

export interface SacCase {
  readonly name: string;
  readonly observations: number;
  readonly actions: number;
  readonly groups?: SacShape["groups"];
  readonly config: Partial<SacConfig>;
}

/** One row of a batch, with the noise of both its actions. */
export interface RefRow {
  readonly obs: readonly number[];
  readonly next: readonly number[];
  readonly action: readonly number[];
  readonly reward: number;
  readonly discount: number;
  readonly weight: number;
  readonly newNoise: readonly number[];
  readonly nextNoise: readonly number[];
}

export interface MadeSac {
  readonly learner: SacLearner;
  readonly shape: SacShape;
  readonly config: SacConfig;
  readonly params: Float32Array<ArrayBuffer>;
  readonly rows: readonly RefRow[];
  readonly logAlpha: number;
  readonly isUsed: (i: number) => boolean;
}

/** `device`: the shared one if none is given. */
export async function makeSac(
  { observations, actions, groups, config: given }: SacCase,
  seed: number,
  device?: LearnerDevice,
): Promise<MadeSac> {
  const config = sacConfig({ batchSize: BATCH, bufferSize: 64, ...given });
  const head = { id: "case", numEnvs: 3, observations, actions, outputs: actions, head: "gaussian" } as const;
  const shape = sacShape({ ...head, groups, alternatives: [] }, config);
  const learner = await SacLearner.create(device ?? (await sharedDevice()), shape);
  const { nets, row4, obs4, actions4 } = shape;

  const random = new RandomStream(seed, 0, 0, 1024);
  let drawn = 0;
  const normal = () => Math.fround(random.normal(drawn++));
  const used = new Uint8Array(4 * nets.params4);
  for (const layer of [nets.policy, ...nets.critics, ...nets.targets].flat()) markLayer(used, layer);
  const params = Float32Array.from(used, (isUsed) => (isUsed ? 0.4 * normal() : 0));

  const noise = (row: number, stream: number) => {
    const draws = new RandomStream(SEED, row, DRAW, stream);
    return Array.from({ length: actions }, (_, i) => draws.normal(i));
  };
  const batch = new Float32Array(BATCH * 4 * row4);
  const rows = Array.from({ length: BATCH }, (_, row): RefRow => {
    const obs = Array.from({ length: observations }, normal);
    const next = Array.from({ length: observations }, normal);
    const action = Array.from({ length: actions }, () => Math.fround(Math.tanh(normal())));
    const [reward, discount] = [normal(), row % 5 === 2 ? 0 : Math.fround(0.9)];
    const weight = row % 11 === 3 ? 0 : 1;
    const at = row * 4 * row4;
    batch.set(obs, at);
    batch.set(next, at + 4 * obs4);
    batch.set(action, at + 8 * obs4);
    batch.set([reward, discount, weight], at + 8 * obs4 + 4 * actions4);
    const [newNoise, nextNoise] = [noise(row, streams.newAction), noise(row, streams.nextAction)];
    return { obs, next, action, reward, discount, weight, newNoise, nextNoise };
  });

  const logAlpha = Math.fround(-0.7);
  const state = new Float32Array(STATE_SIZE);
  state.set([1, 1]);
  state.set([1, 1], SAC_STATE.policy);
  state[SAC_STATE.log_alpha] = logAlpha;
  learner.write("params", params);
  learner.write("moments", new Float32Array(8 * nets.total4));
  learner.write("batch", batch);
  learner.write("state", state);
  setUniforms(learner, config, SEED);
  return { learner, shape, config, params, rows, logAlpha, isUsed: (i) => used[i] === 1 };
}

/** As Stable-Baselines3 has it. */
export const SATURATED = 1e-6;
const HALF_LOG_2PI = 0.5 * Math.log(2 * Math.PI);
type Numbers = ArrayLike<number>;

/** The action of a policy for a draw of noise, and its log probability. */
export function squashedAction(
  config: SacConfig,
  params: Numbers,
  layers: readonly Layer[],
  obs: readonly number[],
  noise: readonly number[],
) {
  const out = mlp(params, layers, obs);
  const { minLogStd, maxLogStd } = config;
  let logProb = 0;
  const action = noise.map((z, i) => {
    const logStd = Math.min(maxLogStd, Math.max(minLogStd, out[noise.length + i]));
    const u = out[i] + Math.exp(logStd) * z;
    // 1 - tanh^2 u = 1 / cosh^2 u
    logProb += -0.5 * z * z - logStd - HALF_LOG_2PI - Math.log(1 / Math.cosh(u) ** 2 + SATURATED);
    return Math.tanh(u);
  });
  return { action, logProb };
}

/** What a network sees of an observation. */
export const seenBy = ({ groups }: SacShape, network: keyof SacShape["groups"], obs: readonly number[]): number[] => {
  const { from, size } = groups[network];
  return obs.slice(from, from + size);
};

/** The soft target of a row: from the target networks and the policy's next action. */
export function softTarget({ shape, config, logAlpha }: MadeSac, params: Numbers, row: RefRow): number {
  const { action, logProb } = squashedAction(
    config,
    params,
    shape.nets.policy,
    seenBy(shape, "policy", row.next),
    row.nextNoise,
  );
  const values = shape.nets.targets.map(
    (layers) => mlp(params, layers, [...action, ...seenBy(shape, "critic", row.next)])[0],
  );
  return row.reward + row.discount * (Math.min(...values) - Math.exp(logAlpha) * logProb);
}

/** Sums over rows: the loss of both critics towards given targets, and of the policy under the critics. */
export function sacLosses(made: MadeSac, params: Numbers, goals: readonly number[]) {
  const { shape, config, rows, logAlpha } = made;
  const sums = { count: 0, critic: 0, policy: 0, entropy: 0 };
  rows.forEach((row, r) => {
    if (row.weight === 0) return;
    sums.count++;
    for (const layers of shape.nets.critics) {
      sums.critic +=
        0.5 * (mlp(params, layers, [...row.action, ...seenBy(shape, "critic", row.obs)])[0] - goals[r]) ** 2;
    }
    const { action, logProb } = squashedAction(
      config,
      params,
      shape.nets.policy,
      seenBy(shape, "policy", row.obs),
      row.newNoise,
    );
    const values = shape.nets.critics.map(
      (layers) => mlp(params, layers, [...action, ...seenBy(shape, "critic", row.obs)])[0],
    );
    sums.policy += Math.exp(logAlpha) * logProb - Math.min(...values);
    sums.entropy -= logProb;
  });
  return sums;
}
