// Soft actor-critic (Haarnoja et al. 2018, "Algorithms and Applications"): what happens to each sample of a batch between
// runs of the networks. Losses leave their derivatives in place of what a network put out.

@group(0) @binding(2) var<storage, read> batch: array<f32>;
@group(0) @binding(3) var<storage, read_write> work: array<f32>;
@group(0) @binding(4) var<storage, read> state: array<f32>;

/// A sample into the inputs of the networks; a row of threads for each, as wide as the widest input.
@compute @workgroup_size(32)
fn load(@builtin(global_invocation_id) gid: vec3<u32>) {
  let width = max(J.obs_row, J.pair_row);
  let row = thread_of(gid) / width;
  let i = thread_of(gid) % width;
  if (row >= U.rows) { return; }
  let row_at = row * J.batch_row;
  // with a memory both places are one, where the observation stays
  if (i < J.policy_count) {
    work[J.next_obs + row * J.obs_row + i] = normalised(batch[row_at + J.batch_next + i], i);
    work[J.obs + row * J.obs_row + i] = normalised(batch[row_at + i], i);
  }
  if (i < J.critic_count) {
    let column = J.critic_first + i;
    let to = row * J.pair_row + J.actions + i;
    work[J.pair + to] = normalised(batch[row_at + column], column);
    work[J.other_pair + to] = normalised(batch[row_at + J.batch_next + column], column);
  }
  if (i >= J.policy_count && i < J.obs_row) {
    work[J.obs + row * J.obs_row + i] = 0.0;
    work[J.next_obs + row * J.obs_row + i] = 0.0;
  }
  if (i < J.actions) { work[J.pair + row * J.pair_row + i] = batch[row_at + J.batch_action + i]; }
  if (i >= J.actions + J.critic_count && i < J.pair_row) {
    work[J.pair + row * J.pair_row + i] = 0.0;
    work[J.other_pair + row * J.pair_row + i] = 0.0;
  }
  if (i < NOTE_SIZE) { work[J.notes + row * NOTE_SIZE + i] = batch[row_at + J.batch_notes + i]; }
}

/// What the policy would do next, for the targets.
@compute @workgroup_size(32)
fn next_actions(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let out = J.next_policy + row * J.policy_row;
  var log_prob = 0.0;
  for (var i = 0u; i < J.actions; i += 1u) {
    let s = squashed(work[out + i], work[out + J.actions + i], noise_of(row, STREAM_NEXT_ACTION, i));
    work[J.other_pair + row * J.pair_row + i] = s.action;
    log_prob += s.log_prob;
  }
  work[J.notes + row * NOTE_SIZE + NOTE_LOG_PROB] = log_prob;
}

fn leave(at: u32, width: u32, first: f32) {
  work[at] = first;
  for (var i = 1u; i < width; i += 1u) { work[at + i] = 0.0; }
}

fn store_statistics(row: u32, s: SacStatistics) {
  let packed = pack_sac_statistics(s);
  for (var i = 0u; i < 8u; i += 1u) { work[J.statistics + row * 8u + i] = packed[i / 4u][i % 4u]; }
}

/// The lower of two values; not finite if either is not, which `min` need not be.
fn lower_of(a: f32, b: f32) -> f32 {
  return select(a + b, min(a, b), is_finite(a) && is_finite(b));
}

/// Half the squared distance of both critics from the soft target (equations 5 and 6).
@compute @workgroup_size(32)
fn critic_loss(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let note = J.notes + row * NOTE_SIZE;
  let at = row * J.value_row;
  let weight = work[note + NOTE_WEIGHT];
  let alpha = poly_exp(state[SAC_LOG_ALPHA]);
  let next_value = lower_of(work[J.target1 + at], work[J.target2 + at]) - alpha * work[note + NOTE_LOG_PROB];
  // the value after an end is not asked for, whatever it is
  let discount = work[note + NOTE_DISCOUNT];
  let goal = work[note + NOTE_N_STEP_RETURN] + select(0.0, discount * next_value, discount != 0.0);
  let errors = vec2<f32>(work[J.q1 + at] - goal, work[J.q2 + at] - goal);
  let loss = 0.5 * dot(errors, errors);
  let value = 0.5 * (work[J.q1 + at] + work[J.q2 + at]);
  leave(J.q1 + at, J.value_row, weight * errors.x);
  leave(J.q2 + at, J.value_row, weight * errors.y);
  let bad = select(1.0, 0.0, is_finite(loss) && is_finite(goal));
  store_statistics(row, SacStatistics(weight, weight * loss, weight * value, weight * goal, 0.0, 0.0, weight * bad, 0.0));
}

/// What the policy does now, as an input of both critics, each with its own, where its derivative comes back.
@compute @workgroup_size(32)
fn new_actions(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let out = J.policy + row * J.policy_row;
  let pair = J.pair + row * J.pair_row;
  let other = J.other_pair + row * J.pair_row;
  var log_prob = 0.0;
  for (var i = 0u; i < J.actions; i += 1u) {
    let s = squashed(work[out + i], work[out + J.actions + i], noise_of(row, STREAM_NEW_ACTION, i));
    work[pair + i] = s.action;
    work[other + i] = s.action;
    log_prob += s.log_prob;
  }
  for (var i = 0u; i < J.critic_count + J.memory; i += 1u) {
    work[other + J.actions + i] = work[pair + J.actions + i];
  }
  work[J.notes + row * NOTE_SIZE + NOTE_LOG_PROB] = log_prob;
}

/// The lower of both critics is what the policy raises.
@compute @workgroup_size(32)
fn lower_value(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let note = J.notes + row * NOTE_SIZE;
  let at = row * J.value_row;
  let weight = work[note + NOTE_WEIGHT];
  let first = work[J.q1 + at] <= work[J.q2 + at];
  work[note + NOTE_LOWER_VALUE] = lower_of(work[J.q1 + at], work[J.q2 + at]);
  leave(J.q1 + at, J.value_row, select(0.0, -weight, first));
  leave(J.q2 + at, J.value_row, select(-weight, 0.0, first));
}

/// alpha log pi - Q by means and raw deviations (equations 7 and 9), through the action that was drawn.
@compute @workgroup_size(32)
fn policy_loss(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let note = J.notes + row * NOTE_SIZE;
  let weight = work[note + NOTE_WEIGHT];
  let alpha = poly_exp(state[SAC_LOG_ALPHA]);
  let out = J.policy + row * J.policy_row;
  for (var i = 0u; i < J.actions; i += 1u) {
    let noise = noise_of(row, STREAM_NEW_ACTION, i);
    let s = squashed(work[out + i], work[out + J.actions + i], noise);
    let by_action = work[J.pair + row * J.pair_row + i] + work[J.other_pair + row * J.pair_row + i];
    let by_u = (weight * alpha * 2.0 * s.action / (s.slope + SATURATED) + by_action) * s.slope;
    work[out + i] = by_u;
    work[out + J.actions + i] = (by_u * s.moved - weight * alpha) * s.spread;
  }
  for (var i = 2u * J.actions; i < J.policy_row; i += 1u) { work[out + i] = 0.0; }
  let log_prob = work[note + NOTE_LOG_PROB];
  let loss = alpha * log_prob - work[note + NOTE_LOWER_VALUE];
  let bad = select(1.0, 0.0, is_finite(loss));
  store_statistics(row, SacStatistics(weight, weight * loss, weight * -log_prob, 0.0, 0.0, 0.0, weight * bad, 0.0));
}
