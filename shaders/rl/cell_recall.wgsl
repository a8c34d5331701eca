// States of the worlds that act.

fn recall_state(c: Cell, row: u32, network: u32, q: u32) {
  let at = state_at(c, U.first + row, network, q);
  work[c.before + row * c.s4 + q] = hidden[at];
  if (c.parts == 2u) { work[c.memory + row * c.s4 + q] = hidden[at + c.s4]; }
}

@compute @workgroup_size(32)
fn recall(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let c = cells[group.z];
  let row = thread_of(gid) / c.s4;
  if (row >= U.rows) { return; }
  recall_state(c, row, group.z, thread_of(gid) % c.s4);
}
