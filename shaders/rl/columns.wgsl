// Columns of a head over many actions. What concerns one action a sample takes one column: its value, its gradient, and the
// derivative by what the column is multiplied with. A column is weights of its own, or an embedding: what is known of the
// action times a map that is learned.

@group(0) @binding(2) var<storage, read> batch: array<f32>;
@group(0) @binding(3) var<storage, read_write> work: array<f32>;
@group(0) @binding(4) var<storage, read> params: array<f32>;
@group(0) @binding(5) var<storage, read> features: array<f32>;
@group(0) @binding(6) var<storage, read_write> grads: array<f32>;

/// Where the number of an action lies that an input is multiplied with; the row after the last is that of biases.
fn place(head: u32, action: u32, i: u32) -> u32 {
  return head + ((action / J.width) * (J.k + 1u) + i) * J.width + action % J.width;
}

fn weight_of(head: u32, action: u32, i: u32) -> f32 {
  if (J.features == 0u) { return params[place(head, action, i)]; }
  var weight = 0.0;
  for (var f = 0u; f < J.features; f += 1u) {
    weight = fma(features[action * J.features + f], params[head + f * J.k + i], weight);
  }
  return weight;
}

/// What an action is worth to the network whose last row of inputs lies at `x`.
fn value_of(head: u32, action: u32, x: u32) -> f32 {
  var value = 0.0;
  if (J.features == 0u) { value = params[place(head, action, J.k)]; }
  for (var i = 0u; i < J.inputs; i += 1u) { value = fma(work[x + i], weight_of(head, action, i), value); }
  return value;
}

/// Numbers that an invocation clears.
const CLEARED = 8u;

@compute @workgroup_size(32)
fn clear_head(@builtin(global_invocation_id) gid: vec3<u32>) {
  let at = thread_of(gid) * CLEARED;
  if (at >= J.head_size) { return; }
  for (var i = 0u; i < CLEARED; i += 1u) { grads[J.head + at + i] = 0.0; }
}

/// Derivatives by the columns of actions of the batch, each summed by its first row in the order of rows.
@compute @workgroup_size(32)
fn head_gradient(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid) / (J.k + 1u);
  let i = thread_of(gid) % (J.k + 1u);
  if (row >= U.rows) { return; }
  let action = work[J.kept + row * Q_SIZE + Q_ACTION];
  for (var r = 0u; r < row; r += 1u) {
    if (work[J.kept + r * Q_SIZE + Q_ACTION] == action) { return; }
  }
  var total = 0.0;
  for (var r = row; r < U.rows; r += 1u) {
    let kept = J.kept + r * Q_SIZE;
    if (work[kept + Q_ACTION] != action) { continue; }
    var x = 1.0;
    if (i < J.k) { x = work[J.x + r * J.k + i]; }
    total = fma(work[kept + Q_BY_VALUE], x, total);
  }
  grads[place(J.head, u32(action), i)] = total;
}

/// Derivatives by the map of embeddings.
@compute @workgroup_size(32)
fn map_gradient(@builtin(global_invocation_id) gid: vec3<u32>) {
  let f = thread_of(gid) / J.k;
  let i = thread_of(gid) % J.k;
  if (f >= J.features) { return; }
  var total = 0.0;
  for (var row = 0u; row < U.rows; row += 1u) {
    let kept = J.kept + row * Q_SIZE;
    let feature = features[u32(work[kept + Q_ACTION]) * J.features + f];
    total = fma(work[kept + Q_BY_VALUE] * feature, work[J.x + row * J.k + i], total);
  }
  grads[J.head + f * J.k + i] = total;
}

/// Derivatives by the head's inputs, of the activation that made them too, in their place.
@compute @workgroup_size(32)
fn head_slope(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid) / J.k;
  let i = thread_of(gid) % J.k;
  if (row >= U.rows) { return; }
  let at = J.x + row * J.k + i;
  let kept = J.kept + row * Q_SIZE;
  var made = work[at];
  if (keeps_argument(J.activation)) { made = work[at + U.work_rows * J.k]; }
  let by = work[kept + Q_BY_VALUE] * weight_of(J.head, u32(work[kept + Q_ACTION]), i);
  work[at] = by * slope(vec4<f32>(made), J.activation).x;
}
