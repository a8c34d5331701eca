// everything that crosses between the host and the learner's kernels, each once: kernels get their structs and constants
// from here, the host writes and reads by the same names
import { constants, numbered, struct } from "./device-struct.ts";

/** The uniforms of a submission. The host keeps them as a record, and sets what changes. */
export const UNIFORMS = struct("Uniforms", {
  rows: ["u32", "Rows of this dispatch: worlds, or samples of a minibatch."],
  first: ["u32", "The first of them, and where it lies in its shard of the environment."],
  local: "u32",
  t: ["u32", "Control step within the rollout."],
  worlds: "u32",
  steps: "u32",
  samples: "u32",
  flags: ["u32", "Bits of FLAG."],
  seed: ["vec2<u32>", "Random numbers: seed, number of the draw, and the keys of the shuffle with half its bits."],
  draw: "u32",
  half_bits: "u32",
  keys: "vec4<u32>",
  work_rows: ["u32", "Rows that the networks have room for."],
  chunk_rows: ["u32", "Parts that sums over rows are cut into."],
  chunks: "u32",
  params4: ["u32", "vec4s of parameters, and of gradients with statistics."],
  total4: "u32",
  sum_parts: "u32",
  log_std_at: "u32",
  log_std_count: "u32",
  obs4: ["u32", "vec4s of an observation in the environment, and in the network."],
  k4: "u32",
  gamma: "f32",
  lambda: "f32",
  clip: "f32",
  clip_value: "f32",
  entropy_coef: "f32",
  value_coef: "f32",
  max_grad_norm: "f32",
  learning_rate: "f32",
  target_kl: "f32",
  log_std_min: "f32",
  log_std_max: "f32",
  clip_reward: "f32",
  clip_obs: "f32",
  beta1: "f32",
  beta2: "f32",
  adam_eps: "f32",
  adaptive_min: "f32",
  adaptive_max: "f32",
  ring_first: [
    "u32",
    "Off-policy: slot of the oldest row of each world's ring, rows a sample may start at, n of n-step.",
  ],
  ring_starts: "u32",
  n_steps: "u32",
  tau: ["f32", "Share of the critics that a Polyak update takes over."],
  critic_rate: "f32",
  alpha_rate: "f32",
  target_entropy: "f32",
  units: ["u32", "What is shuffled: samples, or sequences of them."],
  lanes: ["u32", "Sequences that lie side by side, those that count, and steps of each. No lanes: samples."],
  valid: "u32",
  unroll: "u32",
  weight_decay: "f32",
  epsilon: ["f32", "DQN: how often actions are drawn at random; errors beyond which the loss is linear."],
  huber: "f32",
});

/** Bytes from one slot of uniforms to the next, as WebGPU aligns them; and how many a submission may use. */
export const UNIFORMS_BYTES = 256;
export const UNIFORM_SLOTS = 128;

/** Bits of `flags`. */
export const Flag = {
  deterministic: 1,
  keep: 2,
  bootstrap: 4,
  firstMinibatch: 8,
  scaleReward: 16,
  adaptRate: 32,
  stopAtKl: 64,
  normalizeAdvantage: 128,
  squash: 256,
  firstStep: 512,
  random: 1024,
  collected: 2048,
  imitate: 4096,
  valueOnly: 8192,
} as const;

/** Bits of the flags of a step; a skipped one only gave its world a new start state: its action did nothing. */
export const StepFlag = { terminated: 1, truncated: 2, skipped: 4 } as const;

/** A sample of a rollout. */
export const SAMPLE = struct("Sample", {
  log_prob: "f32",
  value: "f32",
  reward: "f32",
  flags: ["f32", "Bits of StepFlag, as a number."],
  advantage: "f32",
  value_target: ["f32", "The return: advantage + value."],
  last_value: ["f32", "Of the last sample of a collected rollout: the value of the observation after it."],
  spare: "f32",
});

/** What is kept of each world. */
export const WORLD = struct("World", {
  id: "u32",
  discounted_return: "f32",
  last_value: "f32",
  bad_steps: "f32",
  episodes: ["f32", "Episodes that ended in the rollout, and sums of their returns and lengths."],
  returns: "f32",
  lengths: "f32",
  spare: "f32",
  sums_a: ["vec4<f32>", "What a kernel sums over the steps of a world."],
  sums_b: "vec4<f32>",
});

/** A row of `replay_steps`. */
export const REPLAY_STEP = struct("ReplayStep", { reward: "f32", flags: "f32" });

/**
 * What a batch of a replay notes of a transition: the n-step return, and what the value after it counts. While the policy
 * learns the lower value of both critics takes the return's place.
 */
export const NOTE = struct("Note", { n_step_return: "f32", discount: "f32", weight: "f32", log_prob: "f32" });

/** What is summed over the samples of a minibatch, behind their gradients. */
export const STATISTICS = struct("Statistics", {
  weight: "f32",
  policy_loss: "f32",
  value_loss: "f32",
  entropy: "f32",
  kl: "f32",
  clipped: "f32",
  not_finite: "f32",
  extreme: ["f32", "Log ratios that were clipped."],
});

/** The same of a batch of SAC; `loss` is of the critics or of the policy. */
export const SAC_STATISTICS = struct("SacStatistics", {
  weight: "f32",
  loss: "f32",
  value: ["f32", "Of the policy: the entropy."],
  target_value: "f32",
  spare: "f32",
  spare2: "f32",
  not_finite: "f32",
  spare3: "f32",
});

/** What a streamed head keeps of a row while its blocks go by; `likeliest` and `chosen` are bits of integers. */
export const HEAD_ROW = struct("HeadRow", {
  top: ["f32", "The largest logit, and sums of exponentials above it, and of those times their exponents."],
  total: "f32",
  weighted: "f32",
  likeliest: "f32",
  chosen: "f32",
  logit: ["f32", "Of the chosen action."],
  spare: "f32",
  spare2: "f32",
});

/** What the loss puts in its place; the chosen action stays. */
const HEAD_SLOPE = struct("HeadSlope", {
  log_sum: ["f32", "Logarithm of the sum of all exponentials."],
  by_log_prob: "f32",
  entropy_weight: "f32",
  entropy: "f32",
  chosen: "f32",
  spare: "f32",
  spare2: "f32",
  spare3: "f32",
});

/** What DQN keeps of a row: the best action of those that went by; the action of a sample, and the derivative by its value. Actions are numbers. */
export const Q_ROW = struct("QRow", { top: "f32", best: "f32", action: "f32", by_value: "f32" });

/** What is kept of a row while logits and values of all actions go by: see shaders/rl/soft_head.wgsl; and what the loss puts in its place. */
export const SOFT_ROW = struct("SoftRow", { top: "f32", total: "f32", weighted: "f32", valued: "f32" });
const SOFT_SLOPE = struct("SoftSlope", {
  log_sum: ["f32", "Logarithm of the sum of all exponentials."],
  expected: ["f32", "The loss: what all actions lie above or below."],
  weight: "f32",
  alpha: "f32",
});

/** Rows of the observation normaliser (`norm`), each as wide as the network's input. Bounds of actions follow. */
export const NORM = numbered(0, ["mean", "inverse_std", "variance", "count"]);

/** Numbers of an optimizer in the state. */
const OPTIMIZER = ["beta1_power", "beta2_power", "rate", "scale", "apply"] as const;
export const OPTIMIZER_PLACE = numbered(0, OPTIMIZER);

/** Floats of the learner's state. */
export const STATE_SIZE = 64;

/** Metrics of both algorithms on the episodes that ended, and extreme values that PPO clipped or left out. */
const EPISODES = numbered(40, [
  "episodes",
  "episode_returns",
  "episode_lengths",
  "bad_steps",
  "rewards_clipped",
  "observations_clipped",
  "rewards_left_out",
]);

/** Metrics that an update sums up: this many floats from `minibatches` on. */
const METRICS_SIZE = 16;

/** Places in the state of PPO. */
export const STATE = {
  ...OPTIMIZER_PLACE,
  ...numbered(5, ["halted", "stopped"]),
  ...numbered(8, [
    "reward_mean",
    "reward_var",
    "reward_count",
    "reward_scale",
    "adv_mean",
    "adv_scale",
    "explained",
    "valid",
  ]),
  ...numbered(16, [
    "minibatches",
    "policy_loss",
    "value_loss",
    "entropy",
    "kl",
    "clipped",
    "grad_norm",
    "ratios_clipped",
    "applied",
    "grad_clipped",
    "std",
    "std_at_bound",
  ]),
  ...EPISODES,
} as const;

/** Places in the state of SAC. The critics' optimizer lies where PPO's does, the policy's from `policy` on. */
export const SAC_STATE = {
  ...OPTIMIZER_PLACE,
  ...numbered(5, ["halted"]),
  policy: 8,
  policy_rate: 8 + OPTIMIZER_PLACE.rate,
  ...numbered(13, ["log_alpha", "alpha_mean", "alpha_variance"]),
  ...numbered(16, [
    "minibatches",
    "critic_loss",
    "value",
    "target_value",
    "grad_norm",
    "grad_clipped",
    "policy_updates",
    "policy_loss",
    "entropy",
    "policy_grad_norm",
  ]),
  ...EPISODES,
} as const;

/** Why an update was stopped: `halted` of the state. */
export const HALTED = { none: 0, loss: 1, gradient: 2, logStd: 3, step: 4 } as const;

/** vec4s of parameters that an invocation of Adam moves. */
export const ADAM_EACH = 4;

/** What every kernel knows. */
export const COMMON_WGSL = [
  UNIFORMS.wgsl,
  "@group(0) @binding(0) var<uniform> U: Uniforms;\n",
  constants("FLAG_", Flag),
  constants("", StepFlag),
  ...[SAMPLE, WORLD, REPLAY_STEP, STATISTICS, SAC_STATISTICS, HEAD_ROW, HEAD_SLOPE].map(({ wgsl }) => wgsl),
  ...[STATISTICS, SAC_STATISTICS, HEAD_ROW, HEAD_SLOPE].map(({ wgslPacking }) => wgslPacking),
  NOTE.wgslPlaces("NOTE_"),
  constants("NOTE_", { lowerValue: NOTE.at("n_step_return"), size: NOTE.size }),
  HEAD_ROW.wgslPlaces("HEAD_"),
  constants("HEAD_", { size: HEAD_ROW.size }),
  Q_ROW.wgslPlaces("Q_"),
  constants("Q_", { size: Q_ROW.size }),
  SOFT_ROW.wgslPlaces("SOFT_"),
  constants("SOFT_", { size: SOFT_ROW.size }),
  SOFT_SLOPE.wgslPlaces("SLOPE_"),
  constants("NORM_", NORM),
  constants("S_", STATE),
  constants("SAC_", SAC_STATE),
  constants("HALTED_", HALTED).replaceAll(/(?<== )(\d+)u/g, "$1.0"),
  constants("", { ADAM_EACH, METRICS_SIZE }),
].join("\n");
