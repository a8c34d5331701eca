// PPO's loss of one sample (Schulman et al. 2017): the clipped surrogate and the clipped value loss, with derivatives.

struct Surrogate {
  /// 0 for a step that was skipped.
  weight: f32,
  policy_loss: f32,
  /// Derivative of the policy loss by the log probability.
  by_log_prob: f32,
  /// Weight of the entropy bonus.
  entropy_coef: f32,
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
  let raw_log_ratio = log_prob - old.log_prob;
  let log_ratio = clamp(raw_log_ratio, -MAX_LOG_RATIO, MAX_LOG_RATIO);
  s.extreme = select(0.0, 1.0, log_ratio != raw_log_ratio);
  let ratio = poly_exp(log_ratio);
  let clipped_ratio = clamp(ratio, 1.0 - U.clip, 1.0 + U.clip);
  let unclipped_loss = -advantage * ratio;
  let clipped_loss = -advantage * clipped_ratio;
  s.policy_loss = max(unclipped_loss, clipped_loss);
  s.by_log_prob = select(0.0, unclipped_loss, unclipped_loss >= clipped_loss && log_ratio == raw_log_ratio);
  s.clipped = select(0.0, 1.0, clipped_ratio != ratio);
  s.kl = (ratio - 1.0) - log_ratio;
  // towards actions of others the loss is their negative log likelihood
  if ((U.flags & FLAG_IMITATE) != 0u) {
    s.policy_loss = -log_prob;
    s.by_log_prob = -1.0;
    s.extreme = 0.0;
    s.clipped = 0.0;
    s.kl = 0.0;
  }
  s.entropy_coef = U.entropy_coef;
  // the value function learns alone
  if ((U.flags & FLAG_VALUE_ONLY) != 0u) {
    s.by_log_prob = 0.0;
    s.entropy_coef = 0.0;
  }

  let error = value - old.value_target;
  let value_change = value - old.value;
  let clipped_change = clamp(value_change, -U.clip_value, U.clip_value);
  let clipped_error = old.value + clipped_change - old.value_target;
  let unclipped = error * error >= clipped_error * clipped_error;
  s.value_loss = 0.5 * select(clipped_error * clipped_error, error * error, unclipped);
  s.by_value = U.value_coef * select(select(0.0, clipped_error, clipped_change == value_change), error, unclipped);
  return s;
}

/// The statistics of a sample, all of which are summed over the minibatch.
fn statistics(s: Surrogate, entropy: f32) -> Statistics {
  var sums: Statistics;
  sums.weight = s.weight;
  sums.policy_loss = s.weight * s.policy_loss;
  sums.value_loss = s.weight * s.value_loss;
  sums.entropy = s.weight * entropy;
  sums.kl = s.weight * s.kl;
  sums.clipped = s.weight * s.clipped;
  sums.not_finite = s.weight * select(1.0, 0.0, s.finite);
  sums.extreme = s.weight * s.extreme;
  return sums;
}
