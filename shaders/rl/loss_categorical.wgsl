// Derivatives of PPO's loss by logits and values, in place of what the network put out.

@group(0) @binding(3) var<storage, read_write> work: array<f32>;
@group(0) @binding(4) var<storage, read> rollout_actions: array<u32>;
@group(0) @binding(5) var<storage, read> samples: array<Sample>;
@group(0) @binding(6) var<storage, read> state: array<f32>;

/// The largest logit of a choice, and the logarithm of the sum of exponentials above it.
fn normalizer(at: u32, count: u32) -> vec2<f32> {
  var best = work[at];
  for (var a = 1u; a < count; a += 1u) { best = max(best, work[at + a]); }
  var total = 0.0;
  for (var a = 0u; a < count; a += 1u) { total += poly_exp(work[at + a] - best); }
  return vec2<f32>(best, poly_log(total));
}

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let sample = sample_of(row);
  let logits = J.logits + row * J.logits_row;
  var log_prob = 0.0;
  var entropy = 0.0;
  var at = logits;
  for (var d = 0u; d < J.choices; d += 1u) {
    let count = J.alternatives[d / 4u][d % 4u];
    let scale = normalizer(at, count);
    log_prob += work[at + rollout_actions[sample * J.action_words + d]] - scale.x - scale.y;
    for (var a = 0u; a < count; a += 1u) {
      let l = work[at + a] - scale.x - scale.y;
      entropy -= poly_exp(l) * l;
    }
    at += count;
  }
  var s = surrogate(samples[sample], log_prob, work[J.value + row * J.value_row]);
  if (!counts(row)) { s.weight = 0.0; }

  at = logits;
  for (var d = 0u; d < J.choices; d += 1u) {
    let count = J.alternatives[d / 4u][d % 4u];
    let scale = normalizer(at, count);
    let chosen = rollout_actions[sample * J.action_words + d];
    var own_entropy = 0.0;
    for (var a = 0u; a < count; a += 1u) {
      let l = work[at + a] - scale.x - scale.y;
      own_entropy -= poly_exp(l) * l;
    }
    for (var a = 0u; a < count; a += 1u) {
      let l = work[at + a] - scale.x - scale.y;
      let p = poly_exp(l);
      let by_logit = s.by_log_prob * (select(0.0, 1.0, a == chosen) - p) + s.entropy_coef * p * (l + own_entropy);
      work[at + a] = s.weight * by_logit;
    }
    at += count;
  }
  for (; at < logits + J.logits_row; at += 1u) { work[at] = 0.0; }
  let value = J.value + row * J.value_row;
  work[value] = s.weight * s.by_value;
  for (var i = 1u; i < J.value_row; i += 1u) { work[value + i] = 0.0; }
  let packed = pack_statistics(statistics(s, entropy));
  for (var i = 0u; i < 8u; i += 1u) { work[J.statistics + row * 8u + i] = packed[i / 4u][i % 4u]; }
}
