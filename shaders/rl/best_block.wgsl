// The best of many actions as blocks of their values go by. See shaders/rl/dqn.wgsl.

@group(0) @binding(3) var<storage, read_write> work: array<vec4<f32>>;

/// Takes the block's best if it is better than those before; what is kept of a row is a QRow.
@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let found = best_of(J.logits + row * J.width);
  let kept = work[J.kept + row];
  if (J.index > 0u && !(found.score > kept.x)) { return; }
  work[J.kept + row] = vec4<f32>(found.score, f32(J.first + found.action), 0.0, 0.0);
}
