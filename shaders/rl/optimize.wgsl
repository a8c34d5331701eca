// From partial gradients to new parameters: ordered sums, the norm, a judge that lets nothing bad through, Adam.

/// Parameters that are moved together: vec4s, and where the numbers of their optimizer lie in the state (S_BETA1 to
/// S_APPLY, from `place` on). Other: how much further on sums go, where statistics or what follows lies.
struct Range {
  at: u32,
  count: u32,
  place: u32,
  other: u32,
}
@group(0) @binding(1) var<uniform> J: Range;
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
  for (var chunk = 0u; chunk < C.chunks; chunk += 1u) { total += partials[chunk * C.total4 + i]; }
  grads[J.other + i] = total;
}

/// Parts that the gradient is cut into, one for each invocation of a judge.
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

/// Reasons to halt.
const BAD_LOSS = 1.0;
const BAD_GRADIENT = 2.0;
const BAD_LOG_STD = 3.0;

/// Decides whether this minibatch changes the parameters, and by what scale of its gradient.
@compute @workgroup_size(PARTS)
fn judge(@builtin(local_invocation_index) part: u32) {
  let total = squared_length(part);
  if (part > 0u) { return; }
  if ((C.flags & FIRST_MINIBATCH) != 0u) {
    state[S_STOPPED] = 0.0;
    for (var i = 0u; i < 16u; i += 1u) { state[S_METRICS + i] = 0.0; }
  }
  if ((C.flags & ADAPT_RATE) == 0u || state[S_RATE] == 0.0) { state[S_RATE] = C.learning_rate; }

  // the statistics were summed with the gradients, after the parameters
  let a = grads[C.params4];
  let b = grads[C.params4 + 1u];
  let count = max(a.x, 1.0);
  let norm = sqrt(total) / count;
  let kl = b.x / count;

  var halted = state[S_HALTED];
  var spread = 0.0;
  var bounded = 0.0;
  for (var i = 0u; i < C.log_std_count; i += 1u) {
    let log_std = params[C.log_std_at + i / 4u][i % 4u];
    if (!is_finite(log_std) && halted == 0.0) { halted = BAD_LOG_STD; }
    spread += poly_exp(log_std) / f32(C.log_std_count);
    bounded += select(0.0, 1.0, log_std <= C.log_std_min || log_std >= C.log_std_max);
  }
  let loss_finite = b.z == 0.0 && is_finite(a.y) && is_finite(a.z) && is_finite(a.w) && is_finite(b.x);
  if (!loss_finite && halted == 0.0) { halted = BAD_LOSS; }
  if (!is_finite(total) && halted == 0.0) { halted = BAD_GRADIENT; }
  state[S_HALTED] = halted;

  if ((C.flags & STOP_AT_KL) != 0u && kl > 1.5 * C.target_kl) { state[S_STOPPED] = 1.0; }
  let apply = halted == 0.0 && state[S_STOPPED] == 0.0;
  state[S_APPLY] = select(0.0, 1.0, apply);
  if (apply) {
    state[S_BETA1] *= C.beta1;
    state[S_BETA2] *= C.beta2;
    if ((C.flags & ADAPT_RATE) != 0u) {
      if (kl > 2.0 * C.target_kl) { state[S_RATE] = max(state[S_RATE] / 1.5, C.adaptive_min); }
      if (kl < 0.5 * C.target_kl) { state[S_RATE] = min(state[S_RATE] * 1.5, C.adaptive_max); }
    }
  }
  // sums became means; too long a gradient is shortened
  state[S_SCALE] = select(1.0, C.max_grad_norm / norm, norm > C.max_grad_norm) / count;

  if (halted == 0.0) {
    state[S_METRICS] += 1.0;
    state[S_METRICS + 1u] += a.y / count;
    state[S_METRICS + 2u] += a.z / count;
    state[S_METRICS + 3u] += a.w / count;
    state[S_METRICS + 4u] += kl;
    state[S_METRICS + 5u] += b.y / count;
    state[S_METRICS + 6u] += norm;
    state[S_METRICS + 7u] += b.w;
    state[S_METRICS + 8u] += select(0.0, 1.0, apply);
    state[S_METRICS + 9u] += select(0.0, 1.0, norm > C.max_grad_norm);
    state[S_METRICS + 10u] = spread;
    state[S_METRICS + 11u] = bounded;
  }
}

/// vec4s that an invocation of Adam moves: twin of ADAM_EACH.
const EACH = 4u;

/// Adam (Kingma and Ba 2015), where the judge allows it, with decay of weights that is decoupled from the gradient (AdamW,
/// Loshchilov and Hutter 2019). Log standard deviations do not decay and stay within their bounds.
@compute @workgroup_size(32)
fn adam(@builtin(global_invocation_id) gid: vec3<u32>) {
  if (state[J.place + S_APPLY] == 0.0) { return; }
  let scale = state[J.place + S_SCALE];
  let rate = state[J.place + S_RATE] / (1.0 - state[J.place + S_BETA1]);
  let unbias = 1.0 / (1.0 - state[J.place + S_BETA2]);
  let decay = state[J.place + S_RATE] * C.weight_decay;
  let stride = (J.count + EACH - 1u) / EACH;
  if (thread_of(gid) >= stride) { return; }
  for (var n = thread_of(gid); n < J.count; n += stride) {
    let i = J.at + n;
    let g = grads[i] * scale;
    let m = C.beta1 * moments[2u * i] + (1.0 - C.beta1) * g;
    let v = C.beta2 * moments[2u * i + 1u] + (1.0 - C.beta2) * g * g;
    moments[2u * i] = m;
    moments[2u * i + 1u] = v;
    let is_weight = C.log_std_count == 0u || i < C.log_std_at;
    var p = params[i] * select(1.0, 1.0 - decay, is_weight) - rate * m / (sqrt(v * unbias) + C.adam_eps);
    if (!is_weight) {
      p = clamp(p, vec4<f32>(C.log_std_min), vec4<f32>(C.log_std_max));
    }
    params[i] = p;
  }
}
