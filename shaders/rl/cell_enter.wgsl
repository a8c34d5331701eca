// States of cells with a memory, where sequences begin and where worlds forget.

/// States that the sequences of a minibatch began with.
@compute @workgroup_size(32)
fn enter(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let c = cells[group.z];
  let lane = thread_of(gid) / c.s4;
  let q = thread_of(gid) % c.s4;
  if (lane >= U.lanes) { return; }
  let at = state_at(c, sample_of(lane) / U.unroll, group.z, q);
  work[c.before + lane * c.s4 + q] = rollout_hidden[at];
  if (c.parts == 2u) { work[c.memory + lane * c.s4 + q] = rollout_hidden[at + c.s4]; }
}

/// States of the worlds that act; where a sequence of the rollout begins, they are kept.
@compute @workgroup_size(32)
fn enter_acting(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let c = cells[group.z];
  let row = thread_of(gid) / c.s4;
  let q = thread_of(gid) % c.s4;
  if (row >= U.rows) { return; }
  recall_state(c, row, group.z, q);
  if ((U.flags & FLAG_KEEP) == 0u || U.t % U.unroll != 0u) { return; }
  let world = U.first + row;
  let at = state_at(c, world, group.z, q);
  let kept = state_at(c, (world * U.steps + U.t) / U.unroll, group.z, q);
  rollout_hidden[kept] = hidden[at];
  if (c.parts == 2u) { rollout_hidden[kept + c.s4] = hidden[at + c.s4]; }
}

/// Worlds that took a new start state forget.
@compute @workgroup_size(32)
fn forget(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let c = cells[group.z];
  let row = thread_of(gid) / c.s4;
  if (row >= U.rows) { return; }
  let world = U.first + row;
  if ((u32(samples[world * U.steps + U.t].flags) & SKIPPED) == 0u) { return; }
  clear_state(c, world, group.z, thread_of(gid) % c.s4);
}
