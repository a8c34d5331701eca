// Running mean and variance of observations, updated with a rollout (Chan et al. 1979, shifted by the mean so far).

@group(0) @binding(2) var<storage, read> rollout_obs: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> scratch: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> norm: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> state: array<f32>;

/// What sums are taken around, so that their squares do not cancel: the mean so far, or the first observation of all.
fn origin(column: u32) -> vec4<f32> {
  return select(norm[column], rollout_obs[column], norm[3u * C.k4 + column].x == 0.0);
}

/// Sums of one column of four over one part of the samples.
@compute @workgroup_size(32)
fn parts(@builtin(global_invocation_id) gid: vec3<u32>) {
  let thread = thread_of(gid);
  let part = thread / C.obs4;
  let column = thread % C.obs4;
  if (part >= C.sum_parts) { return; }
  let each = (C.samples + C.sum_parts - 1u) / C.sum_parts;
  let mean = origin(column);
  var total = vec4<f32>(0.0);
  var squares = vec4<f32>(0.0);
  for (var s = part * each; s < min((part + 1u) * each, C.samples); s += 1u) {
    let d = rollout_obs[s * C.obs4 + column] - mean;
    total += d;
    squares += d * d;
  }
  scratch[(part * C.obs4 + column) * 2u] = total;
  scratch[(part * C.obs4 + column) * 2u + 1u] = squares;
}

/// norm: mean, 1 / standard deviation, variance, and the count.
@compute @workgroup_size(32)
fn merge(@builtin(global_invocation_id) gid: vec3<u32>) {
  let column = thread_of(gid);
  if (column >= C.obs4) { return; }
  var total = vec4<f32>(0.0);
  var squares = vec4<f32>(0.0);
  for (var part = 0u; part < C.sum_parts; part += 1u) {
    total += scratch[(part * C.obs4 + column) * 2u];
    squares += scratch[(part * C.obs4 + column) * 2u + 1u];
  }
  let count = norm[3u * C.k4 + column].x;
  let now = f32(C.samples);
  let all = count + now;
  let inside = total / now;
  let spread = max(squares / now - inside * inside, vec4<f32>(0.0));
  let shift = (origin(column) - norm[column]) + inside;
  let variance = (norm[2u * C.k4 + column] * count + spread * now) / all + shift * shift * (count / all) * (now / all);
  // columns that only fill up stay zero
  let used = norm[C.k4 + column] != vec4<f32>(0.0);
  let mean = norm[column] + select(vec4<f32>(0.0), shift * (now / all), used);
  // observations whose squares overflow move nothing
  let good = finite4(mean) & finite4(variance);
  norm[column] = select(norm[column], mean, good);
  norm[2u * C.k4 + column] = select(norm[2u * C.k4 + column], variance, good);
  norm[3u * C.k4 + column] = vec4<f32>(all);
  let scale = select(vec4<f32>(0.0), 1.0 / sqrt(variance + 1e-8), used);
  norm[C.k4 + column] = select(norm[C.k4 + column], scale, good);
}

fn finite4(v: vec4<f32>) -> vec4<bool> {
  return vec4<bool>(is_finite(v.x), is_finite(v.y), is_finite(v.z), is_finite(v.w));
}

/// Numbers of one column of four, in one part of the samples, that were clipped once they were normalised.
@compute @workgroup_size(32)
fn clipped(@builtin(global_invocation_id) gid: vec3<u32>) {
  let thread = thread_of(gid);
  let part = thread / C.obs4;
  let column = thread % C.obs4;
  if (part >= C.sum_parts) { return; }
  let each = (C.samples + C.sum_parts - 1u) / C.sum_parts;
  var count = vec4<f32>(0.0);
  for (var s = part * each; s < min((part + 1u) * each, C.samples); s += 1u) {
    let scaled = (rollout_obs[s * C.obs4 + column] - norm[column]) * norm[C.k4 + column];
    count += select(vec4<f32>(0.0), vec4<f32>(1.0), abs(scaled) > vec4<f32>(C.clip_obs));
  }
  scratch[thread] = count;
}

@compute @workgroup_size(1)
fn tally() {
  var total = vec4<f32>(0.0);
  for (var i = 0u; i < C.sum_parts * C.obs4; i += 1u) { total += scratch[i]; }
  state[S_EPISODES + 5u] = total.x + total.y + total.z + total.w;
}
