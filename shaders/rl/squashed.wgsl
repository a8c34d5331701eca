// A squashed Gaussian (Haarnoja et al. 2018, appendix C): u = mean + std * noise, action = tanh(u), in [-1, 1].

struct Squashed {
  action: f32,
  /// std * noise, which is also the derivative of u by the log standard deviation.
  moved: f32,
  /// Derivatives of the action by u, and of the log standard deviation by `raw`.
  slope: f32,
  spread: f32,
  log_prob: f32,
}

/// Slopes of tanh below this cost no more probability: saturated actions are left alone. Without it they are pulled back
/// ever harder, and learning is slower (decision 0020).
const SATURATED = 1e-6;

/// `raw` clamped to its bounds is the log standard deviation; one that is not finite stays so, for the loss to report.
fn squashed(mean: f32, raw: f32, noise: f32) -> Squashed {
  let log_std = select(raw, clamp(raw, U.log_std_min, U.log_std_max), is_finite(raw));
  let moved = poly_exp(log_std) * noise;
  let u = mean + moved;
  var s: Squashed;
  s.moved = moved;
  s.action = poly_tanh4(vec4<f32>(u)).x;
  // 1 - tanh^2 u without cancellation
  let e = poly_exp(-2.0 * abs(u));
  s.slope = 4.0 * e / ((1.0 + e) * (1.0 + e));
  s.spread = select(0.0, 1.0, raw >= U.log_std_min && raw <= U.log_std_max);
  let log_prob = -0.5 * noise * noise - log_std - 0.91893853320467274 - poly_log(s.slope + SATURATED);
  // tanh of infinity is finite: the loss reports it
  s.log_prob = select(u, log_prob, is_finite(u));
  return s;
}

/// The draw of one number of an action.
fn noise_of(who: u32, stream: u32, i: u32) -> f32 {
  return normals(philox4x32(vec4<u32>(who, U.draw, stream, i / 4u), U.seed))[i % 4u];
}
