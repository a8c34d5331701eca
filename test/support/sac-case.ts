// a learner of SAC without environments, over a batch made up from a seed; and its losses in plain float64
import { RandomStream, streams } from "../../src/core/rng.ts";
import type { Layer } from "../../src/rl/networks/networks.ts";
import { setUniforms } from "../../src/rl/sac/batch.ts";
import { cellLayers, sacShape, type SacShape } from "../../src/rl/sac/arenas.ts";
import { sacConfig, type SacConfig } from "../../src/rl/sac/config.ts";
import type { LearnerDevice } from "../../src/rl/device/learner-device.ts";
import { SacLearner } from "../../src/rl/sac/learner.ts";
import { SAC_STATE, STATE_SIZE } from "../../src/rl/tables/device-tables.ts";
import { sharedDevice } from "./learner-case.ts";
import { markLayer, mlp, NEXT_STATE } from "./ppo-reference.ts";
import { columnsSeen } from "./seen-case.ts";

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

/** One row of a batch, with the noise of both its actions; observations as networks see them. */
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
  const { nets, row4, obs4, k4, actions4 } = shape;

  const random = new RandomStream(seed, 0, 0, 1024);
  let drawn = 0;
  const normal = () => Math.fround(random.normal(drawn++));
  const used = new Uint8Array(4 * nets.params4);
  const slow = nets.cells ? [nets.cells.targets.ih, nets.cells.targets.hh] : [];
  const layers = [nets.policy, ...nets.critics, ...nets.targets, ...cellLayers(nets), ...slow].flat();
  for (const layer of layers) markLayer(used, layer);
  const params = Float32Array.from(used, (isUsed) => (isUsed ? 0.4 * normal() : 0));

  const noise = (row: number, stream: number) => {
    const draws = new RandomStream(SEED, row, DRAW, stream);
    return Array.from({ length: actions }, (_, i) => draws.normal(i));
  };
  const { norm, see } = columnsSeen(observations, k4, config);
  learner.write("norm", norm);
  const batch = new Float32Array(shape.batch * 4 * row4);
  const lanes = shape.cells?.lanes ?? 0;
  const observation = () => Array.from({ length: observations }, normal);
  const observed = Array.from({ length: lanes && shape.batch + lanes }, observation);
  const rows = Array.from({ length: shape.batch }, (_, row): RefRow => {
    // along sequences the next observation is that of the next step
    const [obs, next] = [observed[row] ?? observation(), observed[row + lanes] ?? observation()];
    const action = Array.from({ length: actions }, () => Math.fround(Math.tanh(normal())));
    const [reward, discount] = [normal(), row % 5 === 2 ? 0 : Math.fround(0.9)];
    const weight = row % 11 === 3 || row >= shape.learnt ? 0 : 1;
    const at = row * 4 * row4;
    batch.set(obs, at);
    batch.set(next, at + 4 * obs4);
    batch.set(action, at + 8 * obs4);
    batch.set([reward, discount, weight], at + 8 * obs4 + 4 * actions4);
    const [newNoise, nextNoise] = [noise(row, streams.newAction), noise(row, streams.nextAction)];
    return { obs: obs.map(see), next: next.map(see), action, reward, discount, weight, newNoise, nextNoise };
  });

  const logAlpha = Math.fround(-0.7);
  const state = new Float32Array(STATE_SIZE);
  state.set([1, 1]);
  state.set([1, 1], SAC_STATE.policy);
  state[SAC_STATE.log_alpha] = logAlpha;
  learner.write("params", params);
  learner.write("moments", new Float32Array(8 * nets.total4));
  learner.write("batch", batch);
  if (shape.cells)
    learner.write(
      "resets",
      Float32Array.from(rows, (_, row) => (isReset(row) ? 1 : 0)),
    );
  learner.write("state", state);
  setUniforms(learner, config, SEED);
  return { learner, shape, config, params, rows, logAlpha, isUsed: (i) => used[i] === 1 };
}

/** As Stable-Baselines3 has it. */
export const SATURATED = 1e-6;
const HALF_LOG_2PI = 0.5 * Math.log(2 * Math.PI);
type Numbers = ArrayLike<number>;

/** Whether the world of a row took a new start state, in sequences. */
export const isReset = (row: number): boolean => row % 11 === 3;

/** The action of a policy that puts this out for a draw of noise, and its log probability. */
function squashedAction(config: SacConfig, out: readonly number[], noise: readonly number[]) {
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

type Seen = Record<"now" | "next", (row: number) => readonly number[]>;

/** What a cell puts out along the sequences of a batch, from what it gets from below at each row. */
function along({ shape, rows }: MadeSac, params: Numbers, hh: Layer, below: (row: number) => number[]): number[][] {
  const { kind, size } = shape.nets.cells!;
  const { lanes, policy } = shape.cells!;
  const states: number[][] = [];
  rows.forEach((_, row) => {
    const fresh = row < lanes || isReset(row - lanes);
    const before = fresh ? Array<number>(4 * policy.state4).fill(0) : states[row - lanes];
    states.push(NEXT_STATE[kind](below(row), mlp(params, [hh], before.slice(0, size)), before));
  });
  return states.map((state) => state.slice(0, size));
}

/** What the policy puts out for each row and for what comes next; what critics or targets remember there. */
export function seenOf(made: MadeSac, params: Numbers, network: "policy" | "critics" | "targets"): Seen {
  const { shape, rows } = made;
  const { policy, cells } = shape.nets;
  const see = (row: number) => seenBy(shape, network === "policy" ? "policy" : "critic", rows[row].obs);
  if (!cells) {
    if (network !== "policy") return { now: () => [], next: () => [] };
    const out = (obs: readonly number[]) => mlp(params, policy, seenBy(shape, "policy", obs));
    return { now: (row) => out(rows[row].obs), next: (row) => out(rows[row].next) };
  }
  const { ih, hh } = cells[network];
  const at = policy.indexOf(ih);
  const below = network === "policy" ? policy.slice(0, at + 1) : [ih];
  const shown = along(made, params, hh, (row) => mlp(params, below, see(row)));
  const now = (row: number) => (network === "policy" ? mlp(params, policy.slice(at + 1), shown[row]) : shown[row]);
  return { now, next: (row) => now(row + shape.cells!.lanes) };
}

/** The soft targets of all rows that count: from the target networks and the policy's next actions. */
export function softTargets(made: MadeSac, params: Numbers): number[] {
  const { shape, config, logAlpha, rows } = made;
  const [policy, memory] = [seenOf(made, params, "policy"), seenOf(made, params, "targets")];
  return rows.map((row, r) => {
    if (row.weight === 0) return 0;
    const { action, logProb } = squashedAction(config, policy.next(r), row.nextNoise);
    const values = shape.nets.targets.map(
      (layers) => mlp(params, layers, [...action, ...seenBy(shape, "critic", row.next), ...memory.next(r)])[0],
    );
    return row.reward + row.discount * (Math.min(...values) - Math.exp(logAlpha) * logProb);
  });
}

/** Sums over rows: the loss of both critics towards given targets, and of the policy under the critics. */
export function sacLosses(made: MadeSac, params: Numbers, goals: readonly number[]) {
  const { shape, config, rows, logAlpha } = made;
  const [policy, memory] = [seenOf(made, params, "policy"), seenOf(made, params, "critics")];
  const sums = { count: 0, critic: 0, policy: 0, entropy: 0 };
  rows.forEach((row, r) => {
    if (row.weight === 0) return;
    sums.count++;
    const seen = [...seenBy(shape, "critic", row.obs), ...memory.now(r)];
    for (const layers of shape.nets.critics)
      sums.critic += 0.5 * (mlp(params, layers, [...row.action, ...seen])[0] - goals[r]) ** 2;
    const { action, logProb } = squashedAction(config, policy.now(r), row.newNoise);
    const values = shape.nets.critics.map((layers) => mlp(params, layers, [...action, ...seen])[0]);
    sums.policy += Math.exp(logAlpha) * logProb - Math.min(...values);
    sums.entropy -= logProb;
  });
  return sums;
}
