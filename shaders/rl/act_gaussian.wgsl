// A diagonal Gaussian policy acts: one draw a world, named by (seed, world, draw), and its log probability.

@group(0) @binding(2) var<storage, read> params: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> work: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> norm: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> worlds: array<World>;
@group(0) @binding(6) var<storage, read_write> actions: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> rollout_actions: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read_write> samples: array<Sample>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let world = U.first + row;
  let value = work[J.value + row * J.value4].x;
  if ((U.flags & FLAG_BOOTSTRAP) != 0u) {
    worlds[world].last_value = value;
    return;
  }
  let id = worlds[world].id;
  let sample = world * U.steps + U.t;
  var log_prob = 0.0;
  for (var i = 0u; i < J.actions4; i += 1u) {
    let mean = work[J.mean + row * J.mean4 + i];
    let log_std = clamp(params[J.log_std + i], vec4<f32>(U.log_std_min), vec4<f32>(U.log_std_max));
    let words = philox4x32(vec4<u32>(id, U.draw, STREAM_POLICY, i), U.seed);
    var z = normals(words);
    if ((U.flags & FLAG_DETERMINISTIC) != 0u) { z = vec4<f32>(0.0); }
    let action = mean + poly_exp4(log_std) * z;
    let terms = -0.5 * z * z - log_std - 0.91893853320467274;
    let used = vec4<u32>(i * 4u) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(J.actions);
    log_prob += dot(select(vec4<f32>(0.0), terms, used), vec4<f32>(1.0));
    let low = norm[J.bounds + 2u * i];
    let high = norm[J.bounds + 2u * i + 1u];
    var sent = clamp(action, low, high);
    // the derivative of the squashing depends on the action alone: it cancels in every ratio
    if ((U.flags & FLAG_SQUASH) != 0u) { sent = low + (high - low) * (0.5 + 0.5 * poly_tanh4(action)); }
    actions[(U.local + row) * J.actions4 + i] = sent;
    if ((U.flags & FLAG_KEEP) != 0u) { rollout_actions[sample * J.actions4 + i] = action; }
  }
  if ((U.flags & FLAG_KEEP) != 0u) {
    samples[sample].log_prob = log_prob;
    samples[sample].value = value;
  }
}
