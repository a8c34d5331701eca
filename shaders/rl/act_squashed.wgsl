// A squashed Gaussian policy acts; before there is anything to learn from, actions are uniform.

@group(0) @binding(3) var<storage, read> work: array<f32>;
@group(0) @binding(4) var<storage, read> norm: array<f32>;
@group(0) @binding(5) var<storage, read> worlds: array<World>;
@group(0) @binding(6) var<storage, read_write> actions: array<f32>;
@group(0) @binding(7) var<storage, read_write> rollout_actions: array<f32>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let world = U.first + row;
  let id = worlds[world].id;
  let out = J.out + row * J.out_row;
  for (var i = 0u; i < J.actions; i += 1u) {
    let noise = select(noise_of(id, STREAM_POLICY, i), 0.0, (U.flags & FLAG_DETERMINISTIC) != 0u);
    var action = squashed(work[out + i], work[out + J.actions + i], noise).action;
    if ((U.flags & FLAG_RANDOM) != 0u) {
      let words = philox4x32(vec4<u32>(id, U.draw, STREAM_POLICY, i / 4u), U.seed);
      action = 2.0 * uniform_from_bits(words[i % 4u]) - 1.0;
    }
    let low = norm[J.bounds + 8u * (i / 4u) + i % 4u];
    let high = norm[J.bounds + 8u * (i / 4u) + 4u + i % 4u];
    actions[(U.local + row) * J.action_row + i] = low + (high - low) * (0.5 + 0.5 * action);
    if ((U.flags & FLAG_KEEP) != 0u) { rollout_actions[(world * U.steps + U.t) * J.action_row + i] = action; }
  }
}
