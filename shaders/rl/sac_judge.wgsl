// Whether a batch of soft actor-critic changes the parameters, the temperature, and the targets that follow the critics.
// Beside optimize.wgsl, whose range it takes: `other` is where statistics lie behind the gradients of that range, and where
// the parameters lie that follow it.

/// Places in the state: see sac.wgsl. The temperature is moved by the same Adam.
const S_LOG_ALPHA = 13u;
const S_ALPHA_MEAN = 14u;
const S_ALPHA_VARIANCE = 15u;

/// Lets a gradient through or not, and tells its norm.
fn settle(total: f32, rate: f32) -> f32 {
  let a = grads[J.other];
  let b = grads[J.other + 1u];
  let count = max(a.x, 1.0);
  let norm = sqrt(total) / count;
  var halted = state[S_HALTED];
  let loss_finite = b.z == 0.0 && is_finite(a.y) && is_finite(a.z) && is_finite(a.w);
  if (!loss_finite && halted == 0.0) { halted = BAD_LOSS; }
  if (!is_finite(total) && halted == 0.0) { halted = BAD_GRADIENT; }
  state[S_HALTED] = halted;
  let apply = halted == 0.0;
  state[J.place + S_APPLY] = select(0.0, 1.0, apply);
  state[J.place + S_RATE] = rate;
  // sums became means; too long a gradient is shortened
  state[J.place + S_SCALE] = select(1.0, C.max_grad_norm / norm, norm > C.max_grad_norm) / count;
  if (apply) {
    state[J.place + S_BETA1] *= C.beta1;
    state[J.place + S_BETA2] *= C.beta2;
  }
  return norm;
}

@compute @workgroup_size(PARTS)
fn judge_critic(@builtin(local_invocation_index) part: u32) {
  let total = squared_length(part);
  let before = optimizer_of(J.place);
  workgroupBarrier();
  var norm = 0.0;
  if (part == 0u) {
    if ((C.flags & FIRST_MINIBATCH) != 0u) {
      for (var i = 0u; i < 16u; i += 1u) { state[S_METRICS + i] = 0.0; }
    }
    norm = settle(total, C.critic_rate);
  }
  let is_bad = is_bad_step(part);
  if (part > 0u) { return; }
  if (is_bad) { take_back(J.place, before); }
  if (state[S_HALTED] != 0.0) { return; }
  let a = grads[J.other] / max(grads[J.other].x, 1.0);
  state[S_METRICS] += 1.0;
  state[S_METRICS + 1u] += a.y;
  state[S_METRICS + 2u] += a.z;
  state[S_METRICS + 3u] += a.w;
  state[S_METRICS + 4u] += norm;
  state[S_METRICS + 5u] += select(0.0, 1.0, norm > C.max_grad_norm);
}

@compute @workgroup_size(PARTS)
fn judge_policy(@builtin(local_invocation_index) part: u32) {
  let total = squared_length(part);
  let before = optimizer_of(J.place);
  workgroupBarrier();
  var norm = 0.0;
  if (part == 0u) { norm = settle(total, C.learning_rate); }
  let is_bad = is_bad_step(part);
  if (part > 0u) { return; }
  let a = grads[J.other] / max(grads[J.other].x, 1.0);
  let next = next_temperature(a.z);
  if (state[J.place + S_APPLY] != 0.0 && (is_bad || !is_finite(next.x))) { take_back(J.place, before); }
  if (state[S_HALTED] != 0.0) { return; }
  state[S_METRICS + 6u] += 1.0;
  state[S_METRICS + 7u] += a.y;
  state[S_METRICS + 8u] += a.z;
  state[S_METRICS + 9u] += norm;

  state[S_LOG_ALPHA] = next.x;
  state[S_ALPHA_MEAN] = next.y;
  state[S_ALPHA_VARIANCE] = next.z;
}

/// The log temperature after Adam's step, and the means of its gradient: it rises if the entropy is below its target.
fn next_temperature(entropy: f32) -> vec3<f32> {
  let now = vec3<f32>(state[S_LOG_ALPHA], state[S_ALPHA_MEAN], state[S_ALPHA_VARIANCE]);
  if (C.alpha_rate <= 0.0) { return now; }
  let g = entropy - C.target_entropy;
  let m = C.beta1 * now.y + (1.0 - C.beta1) * g;
  let v = C.beta2 * now.z + (1.0 - C.beta2) * g * g;
  let unbiased = m / (1.0 - state[J.place + S_BETA1]);
  let spread = sqrt(v / (1.0 - state[J.place + S_BETA2])) + C.adam_eps;
  return vec3<f32>(now.x - C.alpha_rate * unbiased / spread, m, v);
}

/// Targets move a little towards the critics (Polyak averaging), where those moved.
@compute @workgroup_size(32)
fn follow(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = thread_of(gid);
  if (i >= J.count || state[J.place + S_APPLY] == 0.0) { return; }
  params[J.other + i] += C.tau * (params[J.at + i] - params[J.other + i]);
}
