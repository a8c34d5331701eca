// Gated recurrent units (Cho et al. 2014, gates in the order and form of PyTorch's GRU), step by step: the policy's cell
// and the value's side by side. A rollout is cut into sequences; the state that each began with was kept when it acted.

@group(0) @binding(3) var<storage, read_write> work: array<vec4<f32>>;
/// States of worlds, and those that sequences of the rollout began with: the policy's, then the value's.
@group(0) @binding(4) var<storage, read_write> hidden: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> rollout_hidden: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> samples: array<Sample>;

fn sigmoid4(x: vec4<f32>) -> vec4<f32> {
  return keep_nan4(x, 0.5 + 0.5 * poly_tanh4(0.5 * x));
}

struct Gates {
  reset: vec4<f32>,
  update: vec4<f32>,
  candidate: vec4<f32>,
  /// The candidate's part from the state, before the reset.
  inner: vec4<f32>,
}

fn gates_of(c: Cell, row: u32, q: u32) -> Gates {
  let x = c.below + row * 3u * c.s4 + q;
  let h = c.gates + row * 3u * c.s4 + q;
  var g: Gates;
  g.reset = sigmoid4(work[x] + work[h]);
  g.update = sigmoid4(work[x + c.s4] + work[h + c.s4]);
  g.inner = work[h + 2u * c.s4];
  let candidate = fma(g.reset, g.inner, work[x + 2u * c.s4]);
  g.candidate = keep_nan4(candidate, poly_tanh4(candidate));
  return g;
}

/// Whether the world of a lane took a new start state at a step of its sequence.
fn is_reset(lane: u32, step: u32) -> bool {
  let sample = sample_of(step * U.lanes + lane);
  return (u32(samples[sample].flags) & SKIPPED) != 0u;
}

/// States that the sequences of a minibatch began with.
@compute @workgroup_size(32)
fn enter(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let c = cells[group.z];
  let lane = thread_of(gid) / c.s4;
  let q = thread_of(gid) % c.s4;
  if (lane >= U.lanes) { return; }
  let sequence = sample_of(lane) / U.unroll;
  work[c.before + lane * c.s4 + q] = rollout_hidden[(sequence * 2u + group.z) * c.s4 + q];
}

/// One step of all sequences; worlds that took a new start state begin the next one at zero.
@compute @workgroup_size(32)
fn step(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let c = cells[group.z];
  let lane = thread_of(gid) / c.s4;
  let q = thread_of(gid) % c.s4;
  if (lane >= U.lanes) { return; }
  let row = c.step * U.lanes + lane;
  let g = gates_of(c, row, q);
  let next = fma(g.update, work[c.before + row * c.s4 + q] - g.candidate, g.candidate);
  work[c.state + row * c.s4 + q] = next;
  if (c.step + 1u < U.unroll) {
    work[c.before + (row + U.lanes) * c.s4 + q] = select(next, vec4<f32>(0.0), is_reset(lane, c.step));
  }
}

/// Derivatives by the state after a step lie in its place; those by what the gates got take theirs. What goes further back
/// through the update gate is left in the carry, to which the gates' part is added.
@compute @workgroup_size(32)
fn back(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let c = cells[group.z];
  let lane = thread_of(gid) / c.s4;
  let q = thread_of(gid) % c.s4;
  if (lane >= U.lanes) { return; }
  let row = c.step * U.lanes + lane;
  let carry = c.carry + lane * c.s4 + q;
  var slope = work[c.state + row * c.s4 + q];
  if (c.step + 1u < U.unroll && !is_reset(lane, c.step)) { slope += work[carry]; }
  let g = gates_of(c, row, q);
  let before = work[c.before + row * c.s4 + q];
  let by_candidate = slope * (1.0 - g.update) * (1.0 - g.candidate * g.candidate);
  let by_update = slope * (before - g.candidate) * g.update * (1.0 - g.update);
  let by_reset = by_candidate * g.inner * g.reset * (1.0 - g.reset);
  let x = c.below + row * 3u * c.s4 + q;
  let h = c.gates + row * 3u * c.s4 + q;
  work[x] = by_reset;
  work[x + c.s4] = by_update;
  work[x + 2u * c.s4] = by_candidate;
  work[h] = by_reset;
  work[h + c.s4] = by_update;
  work[h + 2u * c.s4] = by_candidate * g.reset;
  work[carry] = slope * g.update;
}

/// States of the worlds that act; where a sequence of the rollout begins, they are kept.
@compute @workgroup_size(32)
fn enter_acting(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let c = cells[group.z];
  let row = thread_of(gid) / c.s4;
  let q = thread_of(gid) % c.s4;
  if (row >= U.rows) { return; }
  let world = U.first + row;
  let now = hidden[(world * 2u + group.z) * c.s4 + q];
  work[c.before + row * c.s4 + q] = now;
  if ((U.flags & FLAG_KEEP) != 0u && U.t % U.unroll == 0u) {
    let sequence = (world * U.steps + U.t) / U.unroll;
    rollout_hidden[(sequence * 2u + group.z) * c.s4 + q] = now;
  }
}

/// One step of the worlds that act. The values of the last observations of a rollout leave states as they are.
@compute @workgroup_size(32)
fn step_acting(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let c = cells[group.z];
  let row = thread_of(gid) / c.s4;
  let q = thread_of(gid) % c.s4;
  if (row >= U.rows) { return; }
  let g = gates_of(c, row, q);
  let next = fma(g.update, work[c.before + row * c.s4 + q] - g.candidate, g.candidate);
  work[c.state + row * c.s4 + q] = next;
  if ((U.flags & FLAG_BOOTSTRAP) == 0u) { hidden[((U.first + row) * 2u + group.z) * c.s4 + q] = next; }
}

/// Worlds that took a new start state forget.
@compute @workgroup_size(32)
fn forget(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let c = cells[group.z];
  let row = thread_of(gid) / c.s4;
  let q = thread_of(gid) % c.s4;
  if (row >= U.rows) { return; }
  let world = U.first + row;
  if ((u32(samples[world * U.steps + U.t].flags) & SKIPPED) == 0u) { return; }
  hidden[(world * 2u + group.z) * c.s4 + q] = vec4<f32>(0.0);
}
