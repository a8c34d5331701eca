// PPO's loss of a categorical policy whose logits went by in blocks. See shaders/rl/head.wgsl.

struct Job {
  kept: u32,
  value: u32,
  value_row: u32,
  statistics: u32,
}
@group(0) @binding(1) var<uniform> J: Job;
@group(0) @binding(3) var<storage, read_write> work: array<f32>;
@group(0) @binding(5) var<storage, read> samples: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> state: array<f32>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= C.rows) { return; }
  let sample = sample_of(row);
  let kept = J.kept + row * 8u;
  let best = work[kept];
  let total = work[kept + 1u];
  let log_sum = poly_log(total);
  let log_prob = work[kept + 5u] - best - log_sum;
  let entropy = log_sum - work[kept + 2u] / total;
  let value = J.value + row * J.value_row;
  let goal = samples[sample * 2u + 1u].xy;
  let scale = vec2<f32>(state[S_ADV_MEAN], state[S_ADV_SCALE]);
  var s = surrogate(samples[sample * 2u], goal, scale, log_prob, work[value]);
  if (!counts(row)) { s.weight = 0.0; }

  work[kept] = best + log_sum;
  work[kept + 1u] = s.weight * s.slope;
  work[kept + 2u] = s.weight * C.entropy_coef;
  work[kept + 3u] = entropy;
  work[value] = s.weight * s.value_slope;
  for (var i = 1u; i < J.value_row; i += 1u) { work[value + i] = 0.0; }
  let told = statistics(s, entropy);
  for (var i = 0u; i < 4u; i += 1u) {
    work[J.statistics + row * 8u + i] = told[0][i];
    work[J.statistics + row * 8u + 4u + i] = told[1][i];
  }
}
