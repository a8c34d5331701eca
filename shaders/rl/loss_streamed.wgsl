// PPO's loss of a categorical policy whose logits went by in blocks. See shaders/rl/streamed_head.wgsl.

@group(0) @binding(3) var<storage, read_write> work: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> samples: array<Sample>;
@group(0) @binding(6) var<storage, read> state: array<f32>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let sample = sample_of(row);
  let at = J.kept + 2u * row;
  let kept = unpack_head_row(array<vec4<f32>, 2>(work[at], work[at + 1u]));
  let log_sum = poly_log(kept.total);
  let log_prob = kept.logit - kept.top - log_sum;
  let entropy = log_sum - kept.weighted / kept.total;
  let value = J.value + row * J.value4;
  var s = surrogate(samples[sample], log_prob, work[value].x);
  if (!counts(row)) { s.weight = 0.0; }

  let slope = HeadSlope(
    kept.top + log_sum,
    s.weight * s.by_log_prob,
    s.weight * s.entropy_coef,
    entropy,
    kept.chosen,
    0.0,
    0.0,
    0.0,
  );
  let packed = pack_head_slope(slope);
  work[at] = packed[0];
  work[at + 1u] = packed[1];
  work[value] = vec4<f32>(s.weight * s.by_value, 0.0, 0.0, 0.0);
  for (var i = 1u; i < J.value4; i += 1u) { work[value + i] = vec4<f32>(0.0); }
  let summed = pack_statistics(statistics(s, entropy));
  work[J.statistics + row * 2u] = summed[0];
  work[J.statistics + row * 2u + 1u] = summed[1];
}
