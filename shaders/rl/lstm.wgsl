// Long short-term memory (Hochreiter and Schmidhuber 1997, gates in the order and form of PyTorch's LSTM), step by step.

struct Gates {
  input: vec4<f32>,
  forget: vec4<f32>,
  candidate: vec4<f32>,
  output: vec4<f32>,
}

fn gate_sum(c: Cell, row: u32, q: u32, gate: u32) -> vec4<f32> {
  let at = (row * 4u + gate) * c.s4 + q;
  return work[c.below + at] + work[c.gates + at];
}

fn gates_of(c: Cell, row: u32, q: u32) -> Gates {
  var g: Gates;
  g.input = sigmoid4(gate_sum(c, row, q, 0u));
  g.forget = sigmoid4(gate_sum(c, row, q, 1u));
  let candidate = gate_sum(c, row, q, 2u);
  g.candidate = keep_nan4(candidate, poly_tanh4(candidate));
  g.output = sigmoid4(gate_sum(c, row, q, 3u));
  return g;
}

/// The memory after a step.
fn memory_of(c: Cell, g: Gates, row: u32, q: u32) -> vec4<f32> {
  return fma(g.forget, work[c.memory + row * c.s4 + q], g.input * g.candidate);
}

fn tanh4(x: vec4<f32>) -> vec4<f32> {
  return keep_nan4(x, poly_tanh4(x));
}

fn next_state(c: Cell, row: u32, q: u32) -> CellState {
  let g = gates_of(c, row, q);
  let memory = memory_of(c, g, row, q);
  return CellState(g.output * tanh4(memory), memory);
}

/// Derivatives by the state after a step lie in its place; those by what the gates got take theirs. What goes further back
/// through the memory is left in its carry; the state's carry is what the gates' part makes it.
@compute @workgroup_size(32)
fn back(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let c = cells[group.z];
  let lane = thread_of(gid) / c.s4;
  let q = thread_of(gid) % c.s4;
  if (lane >= U.lanes) { return; }
  let row = c.step * U.lanes + lane;
  let carry = c.carry + lane * c.s4 + q;
  let memory_carry = c.memory_carry + lane * c.s4 + q;
  let g = gates_of(c, row, q);
  let shown = tanh4(memory_of(c, g, row, q));
  var slope = work[c.state + row * c.s4 + q];
  var by_memory = vec4<f32>(0.0);
  if (c.step + 1u < U.unroll && !is_reset(lane, c.step)) {
    slope += work[carry];
    by_memory = work[memory_carry];
  }
  by_memory += slope * g.output * (1.0 - shown * shown);
  let before = work[c.memory + row * c.s4 + q];
  let slopes = array<vec4<f32>, 4>(
    by_memory * g.candidate * g.input * (1.0 - g.input),
    by_memory * before * g.forget * (1.0 - g.forget),
    by_memory * g.input * (1.0 - g.candidate * g.candidate),
    slope * shown * g.output * (1.0 - g.output),
  );
  for (var i = 0u; i < 4u; i += 1u) {
    let at = (row * 4u + i) * c.s4 + q;
    work[c.below + at] = slopes[i];
    work[c.gates + at] = slopes[i];
  }
  work[carry] = vec4<f32>(0.0);
  work[memory_carry] = by_memory * g.forget;
}
