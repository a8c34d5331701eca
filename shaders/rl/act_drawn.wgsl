// A categorical policy whose logits went by in blocks acts for a replay; before there is anything to learn from, actions are
// uniform. See shaders/rl/streamed_head.wgsl.

@group(0) @binding(3) var<storage, read> work: array<f32>;
@group(0) @binding(5) var<storage, read> worlds: array<World>;
@group(0) @binding(6) var<storage, read_write> actions: array<u32>;
@group(0) @binding(7) var<storage, read_write> rollout_actions: array<f32>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let world = U.first + row;
  var choice = bitcast<u32>(work[J.kept + row * HEAD_SIZE + HEAD_CHOSEN]);
  if ((U.flags & FLAG_RANDOM) != 0u) {
    let words = philox4x32(vec4<u32>(worlds[world].id, U.draw, STREAM_POLICY, 0u), U.seed);
    choice = integer_from_bits(words.y, J.count);
  }
  actions[(U.local + row) * J.action_words] = J.start + choice;
  if ((U.flags & FLAG_KEEP) != 0u) {
    rollout_actions[(world * U.steps + U.t) * J.action_words] = f32(choice);
  }
}
