// PPO's loss of one sample (Schulman et al. 2017): the clipped surrogate and the clipped value loss, with derivatives.

struct Surrogate {
  /// 0 for a step that was skipped.
  weight: f32,
  policy_loss: f32,
  /// Derivative of the policy loss by the log probability.
  by_log_prob: f32,
  value_loss: f32,
  /// Derivative of the value loss by the value, its coefficient included.
  by_value: f32,
  kl: f32,
  clipped: f32,
  extreme: f32,
  finite: bool,
}

/// Beyond this a log ratio of probabilities is clipped, and counted.
const MAX_LOG_RATIO = 20.0;

/// `old` is what the rollout recorded; `log_prob` and `value` are what the networks give for it now.
fn surrogate(old: Sample, log_prob: f32, value: f32) -> Surrogate {
  var s: Surrogate;
  s.weight = select(1.0, 0.0, (u32(old.flags) & SKIPPED) != 0u);
  s.finite = is_finite(log_prob) && is_finite(value) && is_finite(old.advantage) && is_finite(old.value_target);
  let advantage = (old.advantage - state[S_ADV_MEAN]) * state[S_ADV_SCALE];
  let raw = log_prob - old.log_prob;
  let log_ratio = clamp(raw, -MAX_LOG_RATIO, MAX_LOG_RATIO);
  s.extreme = select(0.0, 1.0, log_ratio != raw);
  let ratio = poly_exp(log_ratio);
  let bounded = clamp(ratio, 1.0 - U.clip, 1.0 + U.clip);
  let free_loss = -advantage * ratio;
  let clipped_loss = -advantage * bounded;
  s.policy_loss = max(free_loss, clipped_loss);
  s.by_log_prob = select(0.0, free_loss, free_loss >= clipped_loss && log_ratio == raw);
  s.clipped = select(0.0, 1.0, bounded != ratio);
  s.kl = (ratio - 1.0) - log_ratio;

  let error = value - old.value_target;
  let moved = value - old.value;
  let near = clamp(moved, -U.clip_value, U.clip_value);
  let near_error = old.value + near - old.value_target;
  let free = error * error >= near_error * near_error;
  s.value_loss = 0.5 * select(near_error * near_error, error * error, free);
  s.by_value = U.value_coef * select(select(0.0, near_error, near == moved), error, free);
  return s;
}

/// The statistics of a sample, all of which are summed over the minibatch.
fn statistics(s: Surrogate, entropy: f32) -> Statistics {
  var told: Statistics;
  told.weight = s.weight;
  told.policy_loss = s.weight * s.policy_loss;
  told.value_loss = s.weight * s.value_loss;
  told.entropy = s.weight * entropy;
  told.kl = s.weight * s.kl;
  told.clipped = s.weight * s.clipped;
  told.not_finite = s.weight * select(1.0, 0.0, s.finite);
  told.extreme = s.weight * s.extreme;
  return told;
}
