// The memory of SAC's critics: what it sees, what critics see of it, and what comes back from them.

@group(0) @binding(2) var<storage, read> batch: array<f32>;
@group(0) @binding(3) var<storage, read_write> work: array<f32>;

/// Observations of a batch, as critics see them, into the memory.
@compute @workgroup_size(32)
fn see(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid) / J.seen_row;
  let i = thread_of(gid) % J.seen_row;
  if (row >= U.rows) { return; }
  var value = 0.0;
  let column = J.critic_first + i;
  if (i < J.critic_count) { value = normalised(batch[row * J.batch_row + column], column); }
  work[J.seen + row * J.seen_row + i] = value;
}

/// States into the inputs of critics, and those of the slow memory at the next step into the inputs of targets.
@compute @workgroup_size(32)
fn remember(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid) / J.size;
  let i = thread_of(gid) % J.size;
  if (row >= U.rows) { return; }
  let to = row * J.pair_row + J.column + i;
  work[J.pair + to] = work[J.state + row * J.size + i];
  work[J.other_pair + to] = work[J.target_state + (row + U.lanes) * J.size + i];
}

/// Derivatives that both critics left in their inputs, by the states.
@compute @workgroup_size(32)
fn remember_back(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid) / J.size;
  let i = thread_of(gid) % J.size;
  if (row >= U.rows) { return; }
  let at = row * J.pair_row + J.column + i;
  work[J.state + row * J.size + i] = work[J.pair + at] + work[J.other_pair + at];
}
