// Soft actor-critic over discrete actions (Christodoulou 2019): what happens to each sample of a batch between runs of the
// networks. The column of the action that was taken is what both critics learn: see shaders/rl/columns.wgsl. Expectations
// over all actions come from shaders/rl/soft_head.wgsl.

@group(0) @binding(7) var<storage, read> state: array<f32>;

/// Observations of a sample into the inputs of policy and critics.
@compute @workgroup_size(32)
fn load(@builtin(global_invocation_id) gid: vec3<u32>) {
  let width = max(J.obs_row, J.seen_row);
  let row = thread_of(gid) / width;
  let i = thread_of(gid) % width;
  if (row >= U.rows) { return; }
  let row_at = row * J.batch_row;
  if (i < J.obs_row) {
    let is_used = i < J.policy_count;
    let column = min(i, J.policy_count - 1u);
    let at = row_at + column;
    work[J.obs + row * J.obs_row + i] = select(0.0, normalised(batch[at], column), is_used);
    work[J.next_obs + row * J.obs_row + i] = select(0.0, normalised(batch[at + J.batch_next], column), is_used);
  }
  if (i < J.seen_row) {
    let is_used = i < J.critic_count;
    let column = J.critic_first + min(i, J.critic_count - 1u);
    let at = row_at + column;
    work[J.seen + row * J.seen_row + i] = select(0.0, normalised(batch[at], column), is_used);
    work[J.next_seen + row * J.seen_row + i] = select(0.0, normalised(batch[at + J.batch_next], column), is_used);
  }
}

fn store_statistics(row: u32, s: SacStatistics) {
  let packed = pack_sac_statistics(s);
  for (var i = 0u; i < 8u; i += 1u) { work[J.statistics + row * 8u + i] = packed[i / 4u][i % 4u]; }
}

/// Half the squared distance of both critics from the soft value that is expected next.
@compute @workgroup_size(32)
fn critic_loss(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let note = row * J.batch_row + J.batch_notes;
  let weight = batch[note + NOTE_WEIGHT];
  let action = u32(batch[row * J.batch_row + J.batch_action]);
  let soft = J.soft + row * SOFT_SIZE;
  let total = work[soft + SOFT_TOTAL];
  let entropy = poly_log(total) - work[soft + SOFT_WEIGHTED] / total;
  let next_value = work[soft + SOFT_VALUED] / total + poly_exp(state[SAC_LOG_ALPHA]) * entropy;
  // the value after an end is not asked for, whatever it is
  let discount = batch[note + NOTE_DISCOUNT];
  let goal = batch[note + NOTE_N_STEP_RETURN] + select(0.0, discount * next_value, discount != 0.0);
  let values = vec2<f32>(
    value_of(J.head, action, J.x + row * J.k),
    value_of(J.other_head, action, J.other_x + row * J.k)
  );
  let errors = values - goal;
  let loss = 0.5 * dot(errors, errors);
  work[J.kept + row * Q_SIZE + Q_ACTION] = f32(action);
  work[J.kept + row * Q_SIZE + Q_BY_VALUE] = weight * errors.x;
  work[J.other_kept + row * Q_SIZE + Q_ACTION] = f32(action);
  work[J.other_kept + row * Q_SIZE + Q_BY_VALUE] = weight * errors.y;
  let value = 0.5 * (values.x + values.y);
  let bad = select(1.0, 0.0, is_finite(loss) && is_finite(goal));
  store_statistics(row, SacStatistics(weight, weight * loss, weight * value, weight * goal, 0.0, 0.0, weight * bad, 0.0));
}

/// alpha log pi - Q expected under the policy; a SoftSlope takes the place of the SoftRow.
@compute @workgroup_size(32)
fn policy_loss(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let weight = batch[row * J.batch_row + J.batch_notes + NOTE_WEIGHT];
  let alpha = poly_exp(state[SAC_LOG_ALPHA]);
  let soft = J.soft + row * SOFT_SIZE;
  let total = work[soft + SOFT_TOTAL];
  let log_total = poly_log(total);
  let entropy = log_total - work[soft + SOFT_WEIGHTED] / total;
  let loss = -alpha * entropy - work[soft + SOFT_VALUED] / total;
  work[soft + SLOPE_LOG_SUM] = work[soft + SOFT_TOP] + log_total;
  work[soft + SLOPE_EXPECTED] = loss;
  work[soft + SLOPE_WEIGHT] = weight;
  work[soft + SLOPE_ALPHA] = alpha;
  let bad = select(1.0, 0.0, is_finite(loss));
  store_statistics(row, SacStatistics(weight, weight * loss, weight * entropy, 0.0, 0.0, 0.0, weight * bad, 0.0));
}
