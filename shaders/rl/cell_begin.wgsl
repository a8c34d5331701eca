// States of cells whose worlds lie in a replay, where sequences begin and where worlds forget.

@group(0) @binding(5) var<storage, read> replay_steps: array<ReplayStep>;

/// Sequences begin with nothing.
@compute @workgroup_size(32)
fn begin(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let c = cells[group.z];
  if (thread_of(gid) >= U.lanes * c.s4) { return; }
  work[c.before + thread_of(gid)] = vec4<f32>(0.0);
  if (c.parts == 2u) { work[c.memory + thread_of(gid)] = vec4<f32>(0.0); }
}

/// Worlds that took a new start state forget.
@compute @workgroup_size(32)
fn forget(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let c = cells[group.z];
  let row = thread_of(gid) / c.s4;
  if (row >= U.rows) { return; }
  let world = U.first + row;
  if ((u32(replay_steps[world * U.steps + U.t].flags) & SKIPPED) == 0u) { return; }
  clear_state(c, world, group.z, thread_of(gid) % c.s4);
}
