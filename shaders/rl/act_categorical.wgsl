// A categorical policy acts, one choice or several: each is drawn by inverting the distribution, in order.

struct Job {
  /// Where logits and value lie in the network's memory (floats), and floats of their rows.
  logits: u32,
  logits_row: u32,
  value: u32,
  value_row: u32,
  /// Choices, words of an action in the environment and in the rollout, and the smallest action.
  choices: u32,
  action_words: u32,
  start: u32,
  pad: u32,
  /// Alternatives of each choice.
  alternatives: array<vec4<u32>, 8>,
}
@group(0) @binding(1) var<uniform> J: Job;
@group(0) @binding(3) var<storage, read> work: array<f32>;
@group(0) @binding(5) var<storage, read_write> worlds: array<f32>;
@group(0) @binding(6) var<storage, read_write> actions: array<u32>;
@group(0) @binding(7) var<storage, read_write> rollout_actions: array<u32>;
@group(0) @binding(8) var<storage, read_write> samples: array<f32>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= C.rows) { return; }
  let world = C.first + row;
  let value = work[J.value + row * J.value_row];
  if ((C.flags & BOOTSTRAP) != 0u) {
    worlds[world * WORLD + 2u] = value;
    return;
  }
  let id = bitcast<u32>(worlds[world * WORLD]);
  let sample = world * C.steps + C.t;
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
    if ((C.flags & DETERMINISTIC) == 0u) {
      let words = philox4x32(vec4<u32>(id, C.draw, STREAM_POLICY, d / 4u), C.seed);
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
    actions[(C.local + row) * J.action_words + d] = J.start + choice;
    if ((C.flags & KEEP) != 0u) { rollout_actions[sample * J.action_words + d] = choice; }
    at += count;
  }
  if ((C.flags & KEEP) != 0u) {
    samples[sample * SAMPLE] = log_prob;
    samples[sample * SAMPLE + 1u] = value;
  }
}
