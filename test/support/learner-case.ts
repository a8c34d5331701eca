// a learner without environments, over a rollout made up from a seed: what tests of its kernels start from
import { RandomStream } from "../../src/core/rng.ts";
import { openDevice, type GpuDevice } from "../../src/gpu/index.ts";
import { learnerShape, type LearnerShape } from "../../src/rl/ppo/arenas.ts";
import { SAMPLE, STATE, STATE_SIZE, StepFlag, WORLD } from "../../src/rl/tables/device-tables.ts";
import { ppoConfig, type PpoConfig } from "../../src/rl/ppo/config.ts";
import type { LearnerDevice } from "../../src/rl/device/learner-device.ts";
import { Learner } from "../../src/rl/ppo/learner.ts";
import { layersOf } from "../../src/rl/networks/networks.ts";
import { setUniforms } from "../../src/rl/ppo/update.ts";
import { distribution, markLayer, outputsOf, type RefSample } from "./ppo-reference.ts";
import type { EnvShape } from "../../src/rl/device/env-shape.ts";

export const WORLDS = 6;
export const STEPS = 12;

export interface LearnerCase {
  readonly name: string;
  readonly env: Pick<EnvShape, "head" | "observations" | "groups" | "alternatives" | "actions" | "features">;
  readonly config: Partial<PpoConfig>;
}

export interface MadeCase {
  readonly learner: Learner;
  readonly shape: LearnerShape;
  readonly config: PpoConfig;
  readonly params: Float32Array<ArrayBuffer>;
  readonly samples: readonly RefSample[];
  /** Mean and factor of advantages. */
  readonly scale: { readonly mean: number; readonly factor: number };
  /** Whether a parameter is one, not padding. */
  readonly isUsed: (i: number) => boolean;
}

let shared: Promise<GpuDevice> | undefined;

/** Learners without any adapter, in the calling thread. */
export const ON_WASM: LearnerDevice = { threads: 1 };

export const sharedDevice = (): Promise<GpuDevice> => (shared ??= openDevice());

/** For the end of a file: the next one opens another. */
export async function closeSharedDevice(): Promise<void> {
  const closing = shared;
  shared = undefined;
  (await closing)?.close();
}

/** `device`: the shared one if none is given. */
export async function makeCase(
  { env, config: given }: LearnerCase,
  seed: number,
  device?: LearnerDevice,
): Promise<MadeCase> {
  const outputs = env.head === "gaussian" ? env.actions : env.alternatives.reduce((a, b) => a + b, 0);
  const config = ppoConfig({ rolloutSteps: STEPS, minibatches: 1, ...given });
  const shape = learnerShape({ id: "case", numEnvs: WORLDS, outputs, ...env }, config);
  const learner = await Learner.create(device ?? (await sharedDevice()), shape, config);
  const { nets, obs4, actions4, k4 } = shape;

  const random = new RandomStream(seed, 0, 0, 1024);
  let drawn = 0;
  const normal = () => Math.fround(random.normal(drawn++));
  const used = new Uint8Array(4 * nets.params4);
  for (const layer of layersOf(nets)) markLayer(used, layer);
  if (nets.head?.embedding) {
    const { at, dims, features } = nets.head.embedding;
    for (let f = 0; f < features; f++) {
      const row = 4 * at + f * nets.head.blocks[0].k;
      used.fill(1, row, row + dims);
    }
    learner.write("features", env.features!.values);
  }
  used.fill(1, 4 * nets.logStd.at, 4 * nets.logStd.at + nets.logStd.count);
  const params = Float32Array.from(used, (isUsed) => (isUsed ? 0.5 * normal() : 0));

  const rolloutObs = new Float32Array(shape.samples * 4 * obs4);
  const actionWords = new Uint32Array(shape.samples * 4 * actions4);
  const actionFloats = new Float32Array(actionWords.buffer);
  const records = new Uint32Array(shape.samples * SAMPLE.size);
  const size = 4 * (shape.cells?.state4 ?? 0);
  const unroll = shape.cells?.unroll ?? 1;
  const hidden: number[] = [];
  const inputs = Array.from({ length: shape.samples }, (_, s) => {
    const obs = Array.from({ length: env.observations }, normal);
    rolloutObs.set(obs, s * 4 * obs4);
    const skipped = s % 13 === 5;
    if (size === 0 || s % unroll > 0) return { obs, skipped };
    const state = () => Array.from({ length: size }, () => Math.fround(0.5 * normal()));
    const start = [state(), state()] as const;
    hidden.push(...start[0], ...start[1]);
    return { obs, skipped, start };
  });
  if (size > 0) learner.write("rollout_hidden", Float32Array.from(hidden));
  const made = outputsOf(shape, params, inputs);
  const samples = inputs.map((input, s): RefSample => {
    const { out, value: v } = made[s];
    const action =
      env.head === "gaussian"
        ? out.map((mean) => Math.fround(mean + normal()))
        : env.alternatives.map((count) => random.integer(drawn++, count));
    (env.head === "gaussian" ? actionFloats : actionWords).set(action, s * 4 * actions4);
    // as if the policy and the value function had moved since
    const logProb = Math.fround(distribution(shape, params, out, action).logProb + 0.3 * normal());
    const value = Math.fround(v + 0.3 * normal());
    const { skipped } = input;
    const [advantage, target] = [normal(), normal()];
    SAMPLE.write(
      {
        log_prob: logProb,
        value,
        reward: normal(),
        flags: skipped ? StepFlag.skipped : 0,
        advantage,
        value_target: target,
      },
      records,
      s * SAMPLE.size,
    );
    return { ...input, action, logProb, value, advantage, target };
  });

  const scale = { mean: 0.25, factor: 1.5 };
  const norm = new Float32Array(16 * k4 + 8 * actions4);
  norm.fill(1, 4 * k4, 4 * k4 + env.observations);
  const state = new Float32Array(STATE_SIZE);
  state[STATE.beta1_power] = state[STATE.beta2_power] = state[STATE.reward_scale] = 1;
  state[STATE.adv_mean] = scale.mean;
  state[STATE.adv_scale] = scale.factor;
  learner.write("params", params);
  learner.write("moments", new Float32Array(8 * nets.params4));
  learner.write("norm", norm);
  learner.write("state", state);
  learner.write("worlds", new Float32Array(WORLDS * WORLD.size));
  learner.write("rollout_obs", rolloutObs);
  learner.write("rollout_actions", actionWords);
  learner.write("samples", records);
  setUniforms(learner, config, seed);
  learner.uniforms.set({ learning_rate: config.learningRate });
  return { learner, shape, config, params, samples, scale, isUsed: (i) => used[i] === 1 };
}
