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
const BAD_STEP = 4.0;

/// One step of Adam (Kingma and Ba 2015) with decay of weights that is decoupled from the gradient (AdamW, Loshchilov and
/// Hutter 2019), as the judge has set it.
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
    rate / (1.0 - state[place + S_BETA1]),
    1.0 / (1.0 - state[place + S_BETA2]),
    rate * C.weight_decay,
  );
}

/// Where four parameters go, and their means of the gradient and its square.
struct Moved {
  p: vec4<f32>,
  m: vec4<f32>,
  v: vec4<f32>,
}

fn is_weight(i: u32) -> bool {
  return C.log_std_count == 0u || i < C.log_std_at;
}

fn moved(i: u32, by: Adam) -> Moved {
  let g = grads[i] * by.scale;
  let m = C.beta1 * moments[2u * i] + (1.0 - C.beta1) * g;
  let v = C.beta2 * moments[2u * i + 1u] + (1.0 - C.beta2) * g * g;
  let kept = select(1.0, 1.0 - by.decay, is_weight(i));
  return Moved(params[i] * kept - by.rate * m / (sqrt(v * by.unbias) + C.adam_eps), m, v);
}

/// Rates below which no step leaves the finite numbers: Adam's steps are at most some thousand times as long.
const SAFE_RATE = 1e6;
var<workgroup> looks: u32;

/// Whether the step that the first invocation has set up would write what is not finite; called by a whole workgroup.
/// Looks at every parameter only where the rates leave any doubt.
fn is_bad_step(part: u32) -> bool {
  if (part == 0u) {
    let by = adam_of(J.place);
    let is_safe = abs(by.rate) <= SAFE_RATE && by.decay <= 2.0 && C.beta2 >= C.beta1 * C.beta1;
    looks = select(0u, 1u, state[J.place + S_APPLY] != 0.0 && !is_safe);
  }
  storageBarrier();
  if (workgroupUniformLoad(&looks) == 0u) { return false; }
  let by = adam_of(J.place);
  var bad = 0.0;
  for (var n = part; n < J.count; n += PARTS) {
    let p = moved(J.at + n, by).p;
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
  return vec3<f32>(state[place + S_BETA1], state[place + S_BETA2], state[place + S_RATE]);
}

fn take_back(place: u32, before: vec3<f32>) {
  state[place + S_BETA1] = before.x;
  state[place + S_BETA2] = before.y;
  state[place + S_RATE] = before.z;
  state[place + S_APPLY] = 0.0;
  state[S_HALTED] = BAD_STEP;
}

/// Decides whether this minibatch changes the parameters, and by what scale of its gradient.
@compute @workgroup_size(PARTS)
fn judge(@builtin(local_invocation_index) part: u32) {
  let total = squared_length(part);
  let before = optimizer_of(0u);
  workgroupBarrier();
  var told = Told();
  if (part == 0u) { told = decide(total); }
  let is_bad = is_bad_step(part);
  if (part > 0u) { return; }
  if (is_bad) { take_back(0u, before); }
  if (state[S_HALTED] == 0.0) { tell(told); }
}

/// What a minibatch tells of itself.
struct Told {
  count: f32,
  norm: f32,
  kl: f32,
  spread: f32,
  bounded: f32,
}

fn decide(total: f32) -> Told {
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
  return Told(count, norm, kl, spread, bounded);
}

fn tell(told: Told) {
  let a = grads[C.params4];
  let b = grads[C.params4 + 1u];
  state[S_METRICS] += 1.0;
  state[S_METRICS + 1u] += a.y / told.count;
  state[S_METRICS + 2u] += a.z / told.count;
  state[S_METRICS + 3u] += a.w / told.count;
  state[S_METRICS + 4u] += told.kl;
  state[S_METRICS + 5u] += b.y / told.count;
  state[S_METRICS + 6u] += told.norm;
  state[S_METRICS + 7u] += b.w;
  state[S_METRICS + 8u] += state[S_APPLY];
  state[S_METRICS + 9u] += select(0.0, 1.0, told.norm > C.max_grad_norm);
  state[S_METRICS + 10u] = told.spread;
  state[S_METRICS + 11u] = told.bounded;
}

/// vec4s that an invocation of Adam moves: twin of ADAM_EACH.
const EACH = 4u;

/// Moves the parameters, where the judge allows it. Log standard deviations do not decay and stay within their bounds.
@compute @workgroup_size(32)
fn adam(@builtin(global_invocation_id) gid: vec3<u32>) {
  if (state[J.place + S_APPLY] == 0.0) { return; }
  let by = adam_of(J.place);
  let stride = (J.count + EACH - 1u) / EACH;
  if (thread_of(gid) >= stride) { return; }
  for (var n = thread_of(gid); n < J.count; n += stride) {
    let i = J.at + n;
    let next = moved(i, by);
    moments[2u * i] = next.m;
    moments[2u * i + 1u] = next.v;
    params[i] = select(clamp(next.p, vec4<f32>(C.log_std_min), vec4<f32>(C.log_std_max)), next.p, is_weight(i));
  }
}
