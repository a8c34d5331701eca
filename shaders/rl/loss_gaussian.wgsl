// Derivatives of PPO's loss by means, values and log standard deviations, in place of what the network put out.

@group(0) @binding(2) var<storage, read> params: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> work: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> rollout_actions: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> samples: array<Sample>;
@group(0) @binding(6) var<storage, read> state: array<f32>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let sample = sample_of(row);
  var log_prob = 0.0;
  var entropy = 0.0;
  for (var i = 0u; i < J.actions4; i += 1u) {
    let log_std = params[J.log_std + i];
    let z = (rollout_actions[sample * J.actions4 + i] - work[J.mean + row * J.mean4 + i]) * poly_exp4(-log_std);
    let used = vec4<u32>(i * 4u) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(J.actions);
    let terms = -0.5 * z * z - log_std - 0.91893853320467274;
    log_prob += dot(select(vec4<f32>(0.0), terms, used), vec4<f32>(1.0));
    entropy += dot(select(vec4<f32>(0.0), log_std + 1.41893853320467274, used), vec4<f32>(1.0));
  }
  let value = work[J.value + row * J.value4].x;
  var s = surrogate(samples[sample], log_prob, value);
  if (!counts(row)) { s.weight = 0.0; }

  for (var i = 0u; i < J.actions4; i += 1u) {
    let log_std = params[J.log_std + i];
    let inverse = poly_exp4(-log_std);
    let z = (rollout_actions[sample * J.actions4 + i] - work[J.mean + row * J.mean4 + i]) * inverse;
    let used = vec4<u32>(i * 4u) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(J.actions);
    let by_mean = s.weight * s.by_log_prob * z * inverse;
    let by_log_std = s.weight * (s.by_log_prob * (z * z - 1.0) - s.entropy_coef);
    work[J.mean + row * J.mean4 + i] = select(vec4<f32>(0.0), by_mean, used);
    work[J.slopes + row * J.slopes4 + i] = select(vec4<f32>(0.0), by_log_std, used);
  }
  work[J.value + row * J.value4] = vec4<f32>(s.weight * s.by_value, 0.0, 0.0, 0.0);
  let packed = pack_statistics(statistics(s, entropy));
  work[J.statistics + row * 2u] = packed[0];
  work[J.statistics + row * 2u + 1u] = packed[1];
}
