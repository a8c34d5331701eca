// Running mean and variance of observations, updated with a rollout (Chan et al. 1979, shifted by the mean so far).

@group(0) @binding(2) var<storage, read> rollout_obs: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> scratch: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> norm: array<vec4<f32>>;

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
  norm[column] += select(vec4<f32>(0.0), shift * (now / all), used);
  norm[2u * C.k4 + column] = variance;
  norm[3u * C.k4 + column] = vec4<f32>(all);
  norm[C.k4 + column] = select(vec4<f32>(0.0), 1.0 / sqrt(variance + 1e-8), used);
}
