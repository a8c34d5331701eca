// Running mean and variance of observations, updated with a rollout (Chan et al. 1979, shifted by the mean so far).

@group(0) @binding(2) var<storage, read> rollout_obs: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> scratch: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> norm: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> state: array<f32>;

/// What sums are taken around, so that their squares do not cancel: the mean so far, or the first observation of all. Each
/// column has a count of its own: some may be new.
fn origin(column: u32) -> vec4<f32> {
  return select(norm[NORM_MEAN * U.k4 + column], rollout_obs[column], norm[NORM_COUNT * U.k4 + column] == vec4<f32>(0.0));
}

/// Sums of one column of four over one part of the samples.
@compute @workgroup_size(32)
fn parts(@builtin(global_invocation_id) gid: vec3<u32>) {
  let thread = thread_of(gid);
  let part = thread / U.obs4;
  let column = thread % U.obs4;
  if (part >= U.sum_parts) { return; }
  let each = (U.samples + U.sum_parts - 1u) / U.sum_parts;
  let mean = origin(column);
  var total = vec4<f32>(0.0);
  var squares = vec4<f32>(0.0);
  for (var s = part * each; s < min((part + 1u) * each, U.samples); s += 1u) {
    let d = rollout_obs[s * U.obs4 + column] - mean;
    total += d;
    squares += d * d;
  }
  scratch[(part * U.obs4 + column) * 2u] = total;
  scratch[(part * U.obs4 + column) * 2u + 1u] = squares;
}

/// The same of the newest rows of a replay's ring, as many of each world: from row `t` of it on, the oldest first.
@compute @workgroup_size(32)
fn ring_parts(@builtin(global_invocation_id) gid: vec3<u32>) {
  let thread = thread_of(gid);
  let part = thread / U.obs4;
  let column = thread % U.obs4;
  if (part >= U.sum_parts) { return; }
  let each = (U.samples + U.sum_parts - 1u) / U.sum_parts;
  let fresh = U.samples / U.worlds;
  let mean = origin(column);
  var total = vec4<f32>(0.0);
  var squares = vec4<f32>(0.0);
  for (var s = part * each; s < min((part + 1u) * each, U.samples); s += 1u) {
    let row = (s / fresh) * U.steps + (U.t + s % fresh) % U.steps;
    let d = rollout_obs[row * U.obs4 + column] - mean;
    total += d;
    squares += d * d;
  }
  scratch[(part * U.obs4 + column) * 2u] = total;
  scratch[(part * U.obs4 + column) * 2u + 1u] = squares;
}

/// norm: mean, 1 / standard deviation, variance, and the count.
@compute @workgroup_size(32)
fn merge(@builtin(global_invocation_id) gid: vec3<u32>) {
  let column = thread_of(gid);
  if (column >= U.obs4) { return; }
  var total = vec4<f32>(0.0);
  var squares = vec4<f32>(0.0);
  for (var part = 0u; part < U.sum_parts; part += 1u) {
    total += scratch[(part * U.obs4 + column) * 2u];
    squares += scratch[(part * U.obs4 + column) * 2u + 1u];
  }
  let now = f32(U.samples);
  // 2^20 times what is new at most, so that float32 adds to it and the old shares fade: the variance grew without end
  let count = min(norm[NORM_COUNT * U.k4 + column], vec4<f32>(1048576.0 * now));
  let all = count + now;
  let inside = total / now;
  let spread = max(squares / now - inside * inside, vec4<f32>(0.0));
  let shift = (origin(column) - norm[NORM_MEAN * U.k4 + column]) + inside;
  let variance = (norm[NORM_VARIANCE * U.k4 + column] * count + spread * now) / all + shift * shift * (count / all) * (now / all);
  // columns that only fill up stay zero
  let used = norm[NORM_INVERSE_STD * U.k4 + column] != vec4<f32>(0.0);
  let mean = norm[NORM_MEAN * U.k4 + column] + select(vec4<f32>(0.0), shift * (now / all), used);
  // observations whose squares overflow move nothing
  let good = finite4(mean) & finite4(variance);
  norm[NORM_MEAN * U.k4 + column] = select(norm[NORM_MEAN * U.k4 + column], mean, good);
  norm[NORM_VARIANCE * U.k4 + column] = select(norm[NORM_VARIANCE * U.k4 + column], variance, good);
  norm[NORM_COUNT * U.k4 + column] = all;
  let scale = select(vec4<f32>(0.0), 1.0 / sqrt(variance + 1e-8), used);
  norm[NORM_INVERSE_STD * U.k4 + column] = select(norm[NORM_INVERSE_STD * U.k4 + column], scale, good);
}

fn finite4(v: vec4<f32>) -> vec4<bool> {
  return vec4<bool>(is_finite(v.x), is_finite(v.y), is_finite(v.z), is_finite(v.w));
}

/// Numbers of one column of four, in one part of the samples, that were clipped once they were normalised.
@compute @workgroup_size(32)
fn clipped(@builtin(global_invocation_id) gid: vec3<u32>) {
  let thread = thread_of(gid);
  let part = thread / U.obs4;
  let column = thread % U.obs4;
  if (part >= U.sum_parts) { return; }
  let each = (U.samples + U.sum_parts - 1u) / U.sum_parts;
  var count = vec4<f32>(0.0);
  for (var s = part * each; s < min((part + 1u) * each, U.samples); s += 1u) {
    let scaled = (rollout_obs[s * U.obs4 + column] - norm[NORM_MEAN * U.k4 + column]) * norm[NORM_INVERSE_STD * U.k4 + column];
    count += select(vec4<f32>(0.0), vec4<f32>(1.0), abs(scaled) > vec4<f32>(U.clip_obs));
  }
  scratch[thread] = count;
}

@compute @workgroup_size(1)
fn tally() {
  var total = vec4<f32>(0.0);
  for (var i = 0u; i < U.sum_parts * U.obs4; i += 1u) { total += scratch[i]; }
  state[S_OBSERVATIONS_CLIPPED] = total.x + total.y + total.z + total.w;
}
