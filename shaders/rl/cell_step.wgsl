// Steps of cells of every kind: of sequences, and of worlds that act.

/// One step of all sequences; worlds that took a new start state begin the next one at zero.
@compute @workgroup_size(32)
fn step(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let c = cells[group.z];
  let lane = thread_of(gid) / c.s4;
  let q = thread_of(gid) % c.s4;
  if (lane >= U.lanes) { return; }
  let row = c.step * U.lanes + lane;
  let next = next_state(c, row, q);
  work[c.state + row * c.s4 + q] = next.shown;
  if (c.step + 1u < U.unroll) {
    let forgets = is_reset(lane, c.step);
    let after = (row + U.lanes) * c.s4 + q;
    work[c.before + after] = select(next.shown, vec4<f32>(0.0), forgets);
    if (c.parts == 2u) { work[c.memory + after] = select(next.memory, vec4<f32>(0.0), forgets); }
  }
}

/// One step of the worlds that act. The values of the last observations of a rollout leave states as they are.
@compute @workgroup_size(32)
fn step_acting(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let c = cells[group.z];
  let row = thread_of(gid) / c.s4;
  let q = thread_of(gid) % c.s4;
  if (row >= U.rows) { return; }
  let next = next_state(c, row, q);
  work[c.state + row * c.s4 + q] = next.shown;
  if ((U.flags & FLAG_BOOTSTRAP) != 0u) { return; }
  let at = state_at(c, U.first + row, group.z, q);
  hidden[at] = next.shown;
  if (c.parts == 2u) { hidden[at + c.s4] = next.memory; }
}
