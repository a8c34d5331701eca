// What every kernel of the learner knows: the clock that the host sets before each submission. Twin of src/rl/clock.ts.

struct Clock {
  /// Rows of this dispatch: worlds, or samples of a minibatch.
  rows: u32,
  /// The first of them, and where it lies in its shard of the environment.
  first: u32,
  local: u32,
  /// Control step within the rollout.
  t: u32,
  worlds: u32,
  steps: u32,
  samples: u32,
  flags: u32,
  /// Random numbers: seed, number of the draw, and the keys of the shuffle with half its bits.
  seed: vec2<u32>,
  draw: u32,
  half_bits: u32,
  keys: vec4<u32>,
  /// Parts that sums over rows are cut into; vec4s of parameters, of gradients and statistics, of an observation in the
  /// environment (obs4) and in the network (k4).
  chunk_rows: u32,
  chunks: u32,
  params4: u32,
  total4: u32,
  sum_parts: u32,
  log_std_at: u32,
  log_std_count: u32,
  obs4: u32,
  k4: u32,
  gamma: f32,
  lambda: f32,
  clip: f32,
  clip_value: f32,
  entropy_coef: f32,
  value_coef: f32,
  max_grad_norm: f32,
  learning_rate: f32,
  target_kl: f32,
  log_std_min: f32,
  log_std_max: f32,
  clip_reward: f32,
  clip_obs: f32,
  beta1: f32,
  beta2: f32,
  adam_eps: f32,
  adaptive_min: f32,
  adaptive_max: f32,
  /// Off-policy: the slot of the oldest row of each world's ring, rows that a sample may start at, and steps of a return.
  ring_first: u32,
  ring_starts: u32,
  n_steps: u32,
  tau: f32,
  critic_rate: f32,
  alpha_rate: f32,
  target_entropy: f32,
  /// What is shuffled: samples, or sequences of them. Of sequences: how many lie side by side, how many of those count, and
  /// steps of each. No lanes: samples.
  units: u32,
  lanes: u32,
  valid: u32,
  unroll: u32,
  weight_decay: f32,
}

/// Bits of `flags`.
const DETERMINISTIC = 1u;
const KEEP = 2u;
const BOOTSTRAP = 4u;
const FIRST_MINIBATCH = 8u;
const SCALE_REWARD = 16u;
const ADAPT_RATE = 32u;
const STOP_AT_KL = 64u;
const NORMALIZE_ADVANTAGE = 128u;
const SQUASH = 256u;
const FIRST_STEP = 512u;
const RANDOM = 1024u;
const COLLECTED = 2048u;

/// Bits of a sample's flags.
const TERMINATED = 1u;
const TRUNCATED = 2u;
/// The world took a new start state; its action did nothing.
const SKIPPED = 4u;

/// Floats of a sample: log probability, value, reward, flags, advantage, return; of collected ones the value after the last.
const SAMPLE = 8u;
/// Floats of a world: id (bits), discounted return, last value, worlds that went bad; episodes ended, their returns and
/// lengths, a spare; eight sums.
const WORLD = 16u;

/// Places in the learner's state. From S_REWARD_MEAN on they are those of PPO; those of SAC are in sac.wgsl.
const S_BETA1 = 0u;
const S_BETA2 = 1u;
const S_RATE = 2u;
const S_SCALE = 3u;
const S_APPLY = 4u;
const S_HALTED = 5u;
const S_STOPPED = 6u;
const S_REWARD_MEAN = 8u;
const S_REWARD_VAR = 9u;
const S_REWARD_COUNT = 10u;
const S_REWARD_SCALE = 11u;
const S_ADV_MEAN = 12u;
const S_ADV_SCALE = 13u;
const S_EXPLAINED = 14u;
const S_VALID = 15u;
const S_METRICS = 16u;
const S_EPISODES = 40u;

@group(0) @binding(0) var<uniform> C: Clock;

fn thread_of(gid: vec3<u32>) -> u32 {
  return gid.x + gid.y * (65535u * 32u);
}
