// A categorical policy whose logits went by in blocks acts. See shaders/rl/head.wgsl.

struct Job {
  kept: u32,
  value: u32,
  value_row: u32,
  action_words: u32,
  start: u32,
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
  let kept = J.kept + row * 8u;
  let choice = bitcast<u32>(work[kept + 4u]);
  actions[(C.local + row) * J.action_words] = J.start + choice;
  if ((C.flags & KEEP) != 0u) {
    let sample = world * C.steps + C.t;
    rollout_actions[sample * J.action_words] = choice;
    samples[sample * SAMPLE] = work[kept + 5u] - work[kept] - poly_log(work[kept + 1u]);
    samples[sample * SAMPLE + 1u] = value;
  }
}
