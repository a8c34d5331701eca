// PPO's loss of one sample (Schulman et al. 2017): the clipped surrogate and the clipped value loss, with derivatives.

struct Surrogate {
  /// 0 for a step that was skipped.
  weight: f32,
  policy_loss: f32,
  /// Derivative of the policy loss by the log probability.
  slope: f32,
  value_loss: f32,
  /// Derivative of the value loss by the value, its coefficient included.
  value_slope: f32,
  kl: f32,
  clipped: f32,
  extreme: f32,
  finite: bool,
}

/// Beyond this a log ratio of probabilities is clipped, and counted.
const MAX_LOG_RATIO = 20.0;

/// old: log probability, value, reward, flags; goal: advantage, return. scale: mean and 1 / deviation of advantages.
fn surrogate(old: vec4<f32>, goal: vec2<f32>, scale: vec2<f32>, log_prob: f32, value: f32) -> Surrogate {
  var s: Surrogate;
  s.weight = select(1.0, 0.0, (u32(old.w) & SKIPPED) != 0u);
  s.finite = is_finite(log_prob) && is_finite(value) && is_finite(goal.x) && is_finite(goal.y);
  let advantage = (goal.x - scale.x) * scale.y;
  let raw = log_prob - old.x;
  let log_ratio = clamp(raw, -MAX_LOG_RATIO, MAX_LOG_RATIO);
  s.extreme = select(0.0, 1.0, log_ratio != raw);
  let ratio = poly_exp(log_ratio);
  let bounded = clamp(ratio, 1.0 - C.clip, 1.0 + C.clip);
  let free_loss = -advantage * ratio;
  let clipped_loss = -advantage * bounded;
  s.policy_loss = max(free_loss, clipped_loss);
  s.slope = select(0.0, free_loss, free_loss >= clipped_loss && log_ratio == raw);
  s.clipped = select(0.0, 1.0, bounded != ratio);
  s.kl = (ratio - 1.0) - log_ratio;

  let error = value - goal.y;
  let moved = value - old.y;
  let near = clamp(moved, -C.clip_value, C.clip_value);
  let near_error = old.y + near - goal.y;
  let free = error * error >= near_error * near_error;
  s.value_loss = 0.5 * select(near_error * near_error, error * error, free);
  s.value_slope = C.value_coef * select(select(0.0, near_error, near == moved), error, free);
  return s;
}

/// The statistics of a sample, all of which are summed over the minibatch.
fn statistics(s: Surrogate, entropy: f32) -> array<vec4<f32>, 2> {
  return array<vec4<f32>, 2>(
    s.weight * vec4<f32>(1.0, s.policy_loss, s.value_loss, entropy),
    s.weight * vec4<f32>(s.kl, s.clipped, select(1.0, 0.0, s.finite), s.extreme),
  );
}
