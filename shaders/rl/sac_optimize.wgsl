// Whether a batch of soft actor-critic changes the parameters, the temperature, and the targets that follow the critics.
// Beside optimize.wgsl, whose range it takes: `other` is where statistics lie behind the gradients of that range, and where
// the parameters lie that follow it.

fn summed_sac() -> SacStatistics {
  return unpack_sac_statistics(array<vec4<f32>, 2>(grads[J.other], grads[J.other + 1u]));
}

/// Lets a gradient through or not, and tells its norm.
fn settle(total: f32, rate: f32) -> f32 {
  let sums = summed_sac();
  let count = max(sums.weight, 1.0);
  let norm = sqrt(total) / count;
  var halted = state[S_HALTED];
  let loss_finite = sums.not_finite == 0.0 && is_finite(sums.loss) && is_finite(sums.value)
    && is_finite(sums.target_value);
  if (!loss_finite && halted == 0.0) { halted = HALTED_LOSS; }
  if (!is_finite(total) && halted == 0.0) { halted = HALTED_GRADIENT; }
  state[S_HALTED] = halted;
  let apply = halted == 0.0;
  state[J.place + S_APPLY] = select(0.0, 1.0, apply);
  state[J.place + S_RATE] = rate;
  // sums became means; too long a gradient is shortened
  state[J.place + S_SCALE] = select(1.0, U.max_grad_norm / norm, norm > U.max_grad_norm) / count;
  if (apply) {
    state[J.place + S_BETA1_POWER] *= U.beta1;
    state[J.place + S_BETA2_POWER] *= U.beta2;
  }
  return norm;
}

@compute @workgroup_size(PARTS)
fn gate_critic(@builtin(local_invocation_index) part: u32) {
  let total = squared_length(part);
  let before = optimizer_of(J.place);
  workgroupBarrier();
  var norm = 0.0;
  if (part == 0u) {
    if ((U.flags & FLAG_FIRST_MINIBATCH) != 0u) {
      for (var i = 0u; i < METRICS_SIZE; i += 1u) { state[SAC_MINIBATCHES + i] = 0.0; }
    }
    norm = settle(total, U.critic_rate);
  }
  let is_bad = is_bad_step(part);
  if (part > 0u) { return; }
  if (is_bad) { take_back(J.place, before); }
  if (state[S_HALTED] != 0.0) { return; }
  let sums = summed_sac();
  let count = max(sums.weight, 1.0);
  state[SAC_MINIBATCHES] += 1.0;
  state[SAC_CRITIC_LOSS] += sums.loss / count;
  state[SAC_VALUE] += sums.value / count;
  state[SAC_TARGET_VALUE] += sums.target_value / count;
  state[SAC_GRAD_NORM] += norm;
  state[SAC_GRAD_CLIPPED] += select(0.0, 1.0, norm > U.max_grad_norm);
}

@compute @workgroup_size(PARTS)
fn gate_policy(@builtin(local_invocation_index) part: u32) {
  let total = squared_length(part);
  let before = optimizer_of(J.place);
  workgroupBarrier();
  var norm = 0.0;
  if (part == 0u) { norm = settle(total, U.learning_rate); }
  let is_bad = is_bad_step(part);
  if (part > 0u) { return; }
  let sums = summed_sac();
  let count = max(sums.weight, 1.0);
  let next = next_temperature(sums.value / count);
  if (state[J.place + S_APPLY] != 0.0 && (is_bad || !is_finite(next.x))) { take_back(J.place, before); }
  if (state[S_HALTED] != 0.0) { return; }
  state[SAC_POLICY_UPDATES] += 1.0;
  state[SAC_POLICY_LOSS] += sums.loss / count;
  state[SAC_ENTROPY] += sums.value / count;
  state[SAC_POLICY_GRAD_NORM] += norm;

  state[SAC_LOG_ALPHA] = next.x;
  state[SAC_ALPHA_MEAN] = next.y;
  state[SAC_ALPHA_VARIANCE] = next.z;
}

/// The log temperature after Adam's step, and the means of its gradient: it rises if the entropy is below its target.
fn next_temperature(entropy: f32) -> vec3<f32> {
  let now = vec3<f32>(state[SAC_LOG_ALPHA], state[SAC_ALPHA_MEAN], state[SAC_ALPHA_VARIANCE]);
  if (U.alpha_rate <= 0.0) { return now; }
  let g = entropy - U.target_entropy;
  let m = U.beta1 * now.y + (1.0 - U.beta1) * g;
  let v = U.beta2 * now.z + (1.0 - U.beta2) * g * g;
  let unbiased = m / (1.0 - state[J.place + S_BETA1_POWER]);
  let spread = sqrt(v / (1.0 - state[J.place + S_BETA2_POWER])) + U.adam_eps;
  return vec3<f32>(now.x - U.alpha_rate * unbiased / spread, m, v);
}

/// Targets move a little towards the critics, where those moved (Polyak and Juditsky 1992; Lillicrap et al. 2016).
@compute @workgroup_size(32)
fn polyak_update(@builtin(global_invocation_id) gid: vec3<u32>) {
  let i = thread_of(gid);
  if (i >= J.count || state[J.place + S_APPLY] == 0.0) { return; }
  params[J.other + i] += U.tau * (params[J.at + i] - params[J.other + i]);
}
