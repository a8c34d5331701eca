// Gated recurrent units (Cho et al. 2014, gates in the order and form of PyTorch's GRU), step by step.

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

fn next_state(c: Cell, row: u32, q: u32) -> CellState {
  let g = gates_of(c, row, q);
  return CellState(fma(g.update, work[c.before + row * c.s4 + q] - g.candidate, g.candidate), vec4<f32>(0.0));
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
