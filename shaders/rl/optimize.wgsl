// From partial gradients to new parameters: ordered sums, the norm, a gradient gate that lets nothing bad through, Adam.

@group(0) @binding(2) var<storage, read_write> grads: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> scratch: array<f32>;
@group(0) @binding(4) var<storage, read_write> state: array<f32>;
@group(0) @binding(5) var<storage, read_write> moments: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> params: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read> partials: array<vec4<f32>>;

/// Sums the chunks in order, to `other` further on.
@compute @workgroup_size(32)
fn reduce(@builtin(global_invocation_id) gid: vec3<u32>) {
  if (thread_of(gid) >= J.count) { return; }
  let i = J.at + thread_of(gid);
  var total = vec4<f32>(0.0);
  for (var chunk = 0u; chunk < U.chunks; chunk += 1u) { total += partials[chunk * U.total4 + i]; }
  grads[J.other + i] = total;
}

/// Parts that the gradient is cut into, one for each invocation of a gradient gate.
const PARTS = 128u;
var<workgroup> squares: array<f32, PARTS>;

/// The squared length of the gradient, in the first invocation; 0 in others.
fn squared_length(part: u32) -> f32 {
  let each = (J.count + PARTS - 1u) / PARTS;
  var own = 0.0;
  for (var n = part * each; n < min((part + 1u) * each, J.count); n += 1u) {
    let g = grads[J.at + n];
    own += dot(g, g);
  }
  squares[part] = own;
  scratch[part] = own;
  workgroupBarrier();
  var total = 0.0;
  if (part == 0u) {
    for (var i = 0u; i < PARTS; i += 1u) { total += squares[i]; }
  }
  return total;
}

/// One step of Adam (Kingma and Ba 2015) with decay of weights that is decoupled from the gradient (AdamW, Loshchilov and
/// Hutter 2019), as the gradient gate has set it.
struct Adam {
  scale: f32,
  rate: f32,
  unbias: f32,
  decay: f32,
}

fn adam_of(place: u32) -> Adam {
  let rate = state[place + S_RATE];
  return Adam(
    state[place + S_SCALE],
    rate / (1.0 - state[place + S_BETA1_POWER]),
    1.0 / (1.0 - state[place + S_BETA2_POWER]),
    rate * U.weight_decay,
  );
}

/// Where four parameters go, and their means of the gradient and its square.
struct AdamStep {
  p: vec4<f32>,
  m: vec4<f32>,
  v: vec4<f32>,
}

fn is_weight(i: u32) -> bool {
  return U.log_std_count == 0u || i < U.log_std_at;
}

fn adam_step(i: u32, by: Adam) -> AdamStep {
  let g = grads[i] * by.scale;
  let m = U.beta1 * moments[2u * i] + (1.0 - U.beta1) * g;
  let v = U.beta2 * moments[2u * i + 1u] + (1.0 - U.beta2) * g * g;
  let kept = select(1.0, 1.0 - by.decay, is_weight(i));
  return AdamStep(params[i] * kept - by.rate * m / (sqrt(v * by.unbias) + U.adam_eps), m, v);
}

/// Rates below which no step leaves the finite numbers: Adam's steps are at most some thousand times as long.
const SAFE_RATE = 1e6;
var<workgroup> looks: u32;

/// Whether the step that the first invocation has set up would write what is not finite; called by a whole workgroup.
/// Looks at every parameter only where the rates leave any doubt.
fn is_bad_step(part: u32) -> bool {
  if (part == 0u) {
    let by = adam_of(J.place);
    let is_safe = abs(by.rate) <= SAFE_RATE && by.decay <= 2.0 && U.beta2 >= U.beta1 * U.beta1;
    looks = select(0u, 1u, state[J.place + S_APPLY] != 0.0 && !is_safe);
  }
  storageBarrier();
  if (workgroupUniformLoad(&looks) == 0u) { return false; }
  let by = adam_of(J.place);
  var bad = 0.0;
  for (var n = part; n < J.count; n += PARTS) {
    let p = adam_step(J.at + n, by).p;
    for (var i = 0u; i < 4u; i += 1u) { bad += select(1.0, 0.0, is_finite(p[i])); }
  }
  squares[part] = bad;
  workgroupBarrier();
  var total = 0.0;
  for (var i = 0u; i < PARTS; i += 1u) { total += squares[i]; }
  return total > 0.0;
}

/// Numbers of an optimizer, to be put back if its step is not made.
fn optimizer_of(place: u32) -> vec3<f32> {
  return vec3<f32>(state[place + S_BETA1_POWER], state[place + S_BETA2_POWER], state[place + S_RATE]);
}

fn take_back(place: u32, before: vec3<f32>) {
  state[place + S_BETA1_POWER] = before.x;
  state[place + S_BETA2_POWER] = before.y;
  state[place + S_RATE] = before.z;
  state[place + S_APPLY] = 0.0;
  state[S_HALTED] = HALTED_STEP;
}

/// The gradient gate: decides whether this minibatch changes the parameters, and by what scale of its gradient.
@compute @workgroup_size(PARTS)
fn gradient_gate(@builtin(local_invocation_index) part: u32) {
  let total = squared_length(part);
  let before = optimizer_of(0u);
  workgroupBarrier();
  var summary = Summary();
  if (part == 0u) { summary = decide(total); }
  let is_bad = is_bad_step(part);
  if (part > 0u) { return; }
  if (is_bad) { take_back(0u, before); }
  if (state[S_HALTED] == 0.0) { add_to_metrics(summary); }
}

/// What the metrics take from a minibatch.
struct Summary {
  count: f32,
  norm: f32,
  kl: f32,
  spread: f32,
  bounded: f32,
}

/// Statistics that were summed with the gradients, behind those of the parameters.
fn summed() -> Statistics {
  return unpack_statistics(array<vec4<f32>, 2>(grads[U.params4], grads[U.params4 + 1u]));
}

fn decide(total: f32) -> Summary {
  if ((U.flags & FLAG_FIRST_MINIBATCH) != 0u) {
    state[S_STOPPED] = 0.0;
    for (var i = 0u; i < METRICS_SIZE; i += 1u) { state[S_MINIBATCHES + i] = 0.0; }
  }
  if ((U.flags & FLAG_ADAPT_RATE) == 0u || state[S_RATE] == 0.0) { state[S_RATE] = U.learning_rate; }

  let sums = summed();
  let count = max(sums.weight, 1.0);
  let norm = sqrt(total) / count;
  let kl = sums.kl / count;

  var halted = state[S_HALTED];
  var spread = 0.0;
  var bounded = 0.0;
  for (var i = 0u; i < U.log_std_count; i += 1u) {
    let log_std = params[U.log_std_at + i / 4u][i % 4u];
    if (!is_finite(log_std) && halted == 0.0) { halted = HALTED_LOG_STD; }
    spread += poly_exp(log_std) / f32(U.log_std_count);
    bounded += select(0.0, 1.0, log_std <= U.log_std_min || log_std >= U.log_std_max);
  }
  let loss_finite = sums.not_finite == 0.0 && is_finite(sums.policy_loss) && is_finite(sums.value_loss)
    && is_finite(sums.entropy) && is_finite(sums.kl);
  if (!loss_finite && halted == 0.0) { halted = HALTED_LOSS; }
  if (!is_finite(total) && halted == 0.0) { halted = HALTED_GRADIENT; }
  state[S_HALTED] = halted;

  if ((U.flags & FLAG_STOP_AT_KL) != 0u && kl > 1.5 * U.target_kl) { state[S_STOPPED] = 1.0; }
  let apply = halted == 0.0 && state[S_STOPPED] == 0.0;
  state[S_APPLY] = select(0.0, 1.0, apply);
  if (apply) {
    state[S_BETA1_POWER] *= U.beta1;
    state[S_BETA2_POWER] *= U.beta2;
    if ((U.flags & FLAG_ADAPT_RATE) != 0u) {
      if (kl > 2.0 * U.target_kl) { state[S_RATE] = max(state[S_RATE] / 1.5, U.adaptive_min); }
      if (kl < 0.5 * U.target_kl) { state[S_RATE] = min(state[S_RATE] * 1.5, U.adaptive_max); }
    }
  }
  // sums became means; too long a gradient is shortened
  state[S_SCALE] = select(1.0, U.max_grad_norm / norm, norm > U.max_grad_norm) / count;
  return Summary(count, norm, kl, spread, bounded);
}

fn add_to_metrics(summary: Summary) {
  let sums = summed();
  state[S_MINIBATCHES] += 1.0;
  state[S_POLICY_LOSS] += sums.policy_loss / summary.count;
  state[S_VALUE_LOSS] += sums.value_loss / summary.count;
  state[S_ENTROPY] += sums.entropy / summary.count;
  state[S_KL] += summary.kl;
  state[S_CLIPPED] += sums.clipped / summary.count;
  state[S_GRAD_NORM] += summary.norm;
  state[S_RATIOS_CLIPPED] += sums.extreme;
  state[S_APPLIED] += state[S_APPLY];
  state[S_GRAD_CLIPPED] += select(0.0, 1.0, summary.norm > U.max_grad_norm);
  state[S_STD] = summary.spread;
  state[S_STD_AT_BOUND] = summary.bounded;
}

/// Moves the parameters, where the gradient gate lets it. Log standard deviations do not decay and stay within their bounds.
@compute @workgroup_size(32)
fn adam(@builtin(global_invocation_id) gid: vec3<u32>) {
  if (state[J.place + S_APPLY] == 0.0) { return; }
  let by = adam_of(J.place);
  let stride = (J.count + ADAM_EACH - 1u) / ADAM_EACH;
  if (thread_of(gid) >= stride) { return; }
  for (var n = thread_of(gid); n < J.count; n += stride) {
    let i = J.at + n;
    let next = adam_step(i, by);
    moments[2u * i] = next.m;
    moments[2u * i + 1u] = next.v;
    params[i] = select(clamp(next.p, vec4<f32>(U.log_std_min), vec4<f32>(U.log_std_max)), next.p, is_weight(i));
  }
}
