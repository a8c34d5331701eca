// A categorical policy acts, one choice or several: each is drawn by inverting the distribution, in order.

@group(0) @binding(3) var<storage, read> work: array<f32>;
@group(0) @binding(5) var<storage, read_write> worlds: array<World>;
@group(0) @binding(6) var<storage, read_write> actions: array<u32>;
@group(0) @binding(7) var<storage, read_write> rollout_actions: array<u32>;
@group(0) @binding(8) var<storage, read_write> samples: array<Sample>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let world = U.first + row;
  let value = work[J.value + row * J.value_row];
  if ((U.flags & FLAG_BOOTSTRAP) != 0u) {
    worlds[world].last_value = value;
    return;
  }
  let id = worlds[world].id;
  let sample = world * U.steps + U.t;
  var log_prob = 0.0;
  var at = J.logits + row * J.logits_row;
  for (var d = 0u; d < J.choices; d += 1u) {
    let count = J.alternatives[d / 4u][d % 4u];
    var best = work[at];
    var choice = 0u;
    for (var a = 1u; a < count; a += 1u) {
      if (work[at + a] > best) {
        best = work[at + a];
        choice = a;
      }
    }
    var total = 0.0;
    for (var a = 0u; a < count; a += 1u) { total += poly_exp(work[at + a] - best); }
    if ((U.flags & FLAG_DETERMINISTIC) == 0u) {
      let words = philox4x32(vec4<u32>(id, U.draw, STREAM_POLICY, d / 4u), U.seed);
      let goal = uniform_from_bits(words[d % 4u]) * total;
      var passed = 0.0;
      choice = count - 1u;
      for (var a = 0u; a < count; a += 1u) {
        passed += poly_exp(work[at + a] - best);
        if (goal < passed) {
          choice = a;
          break;
        }
      }
    }
    log_prob += work[at + choice] - best - poly_log(total);
    actions[(U.local + row) * J.action_words + d] = J.start + choice;
    if ((U.flags & FLAG_KEEP) != 0u) { rollout_actions[sample * J.action_words + d] = choice; }
    at += count;
  }
  if ((U.flags & FLAG_KEEP) != 0u) {
    samples[sample].log_prob = log_prob;
    samples[sample].value = value;
  }
}
