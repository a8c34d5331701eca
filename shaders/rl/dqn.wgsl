// Deep Q-learning (Mnih et al. 2015) over many actions. Values of all actions go by in blocks only where the best one is
// sought; everything else concerns one action a sample, so that it takes one column of the head: its value, its gradient,
// and the derivative by what the column is multiplied with. A column is weights of its own, or an embedding: what is known
// of the action times a map that is learned.

@group(0) @binding(2) var<storage, read> batch: array<f32>;
@group(0) @binding(3) var<storage, read_write> work: array<f32>;
@group(0) @binding(4) var<storage, read> params: array<f32>;
@group(0) @binding(5) var<storage, read> features: array<f32>;
@group(0) @binding(6) var<storage, read_write> grads: array<f32>;

/// Observations of a sample into the inputs of the networks.
@compute @workgroup_size(32)
fn load(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid) / J.obs_row;
  let i = thread_of(gid) % J.obs_row;
  if (row >= U.rows) { return; }
  var now = 0.0;
  var next = 0.0;
  if (i < J.observations) {
    now = batch[row * J.batch_row + i];
    next = batch[row * J.batch_row + J.batch_next + i];
  }
  work[J.obs + row * J.obs_row + i] = now;
  work[J.next_obs + row * J.obs_row + i] = next;
}

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
