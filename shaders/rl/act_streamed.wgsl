// A categorical policy whose logits went by in blocks acts. See shaders/rl/streamed_head.wgsl.

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
  let kept = J.kept + row * HEAD_SIZE;
  let choice = bitcast<u32>(work[kept + HEAD_CHOSEN]);
  actions[(U.local + row) * J.action_words] = J.start + choice;
  if ((U.flags & FLAG_KEEP) != 0u) {
    let sample = world * U.steps + U.t;
    rollout_actions[sample * J.action_words] = choice;
    samples[sample].log_prob = work[kept + HEAD_LOGIT] - work[kept + HEAD_TOP] - poly_log(work[kept + HEAD_TOTAL]);
    samples[sample].value = value;
  }
}
