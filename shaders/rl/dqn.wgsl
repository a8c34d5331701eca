// Deep Q-learning (Mnih et al. 2015) over many actions. Values of all actions go by in blocks only where the best one is
// sought; everything else takes single columns: see shaders/rl/columns.wgsl.

/// Observations of a sample into the inputs of the networks.
@compute @workgroup_size(32)
fn load(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid) / J.obs_row;
  let i = thread_of(gid) % J.obs_row;
  if (row >= U.rows) { return; }
  var now = 0.0;
  var next = 0.0;
  if (i < J.observations) {
    now = normalised(batch[row * J.batch_row + i], i);
    next = normalised(batch[row * J.batch_row + J.batch_next + i], i);
  }
  work[J.obs + row * J.obs_row + i] = now;
  work[J.next_obs + row * J.obs_row + i] = next;
}

/// The error of the action that was taken, and Huber's loss of it: squares up to U.huber, lines beyond.
@compute @workgroup_size(32)
fn loss(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let kept = J.kept + row * Q_SIZE;
  let note = row * J.batch_row + J.batch_notes;
  let weight = batch[note + NOTE_WEIGHT];
  let action = u32(batch[row * J.batch_row + J.batch_action]);
  let value = value_of(J.head, action, J.x + row * J.k);
  let next_value = value_of(J.target_head, u32(work[kept + Q_BEST]), J.next_x + row * J.k);
  // the value after an end is not asked for, whatever it is
  let discount = batch[note + NOTE_DISCOUNT];
  let goal = batch[note + NOTE_N_STEP_RETURN] + select(0.0, discount * next_value, discount != 0.0);
  let error = value - goal;
  let size = abs(error);
  let lost = select(0.5 * error * error, U.huber * (size - 0.5 * U.huber), size > U.huber);
  work[kept + Q_ACTION] = f32(action);
  work[kept + Q_BY_VALUE] = weight * clamp(error, -U.huber, U.huber);
  let bad = select(1.0, 0.0, is_finite(lost) && is_finite(goal));
  let sums = pack_sac_statistics(
    SacStatistics(weight, weight * lost, weight * value, weight * goal, 0.0, 0.0, weight * bad, 0.0)
  );
  for (var i = 0u; i < 8u; i += 1u) { work[J.statistics + row * 8u + i] = sums[i / 4u][i % 4u]; }
}
