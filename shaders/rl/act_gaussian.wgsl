// A diagonal Gaussian policy acts: one draw a world, named by (seed, world, draw), and its log probability.

struct Job {
  /// Where the means and the value lie in the network's memory, and vec4s of their rows.
  mean: u32,
  mean4: u32,
  value: u32,
  value4: u32,
  /// Actions: how many, and vec4s of them in the environment and in the rollout.
  actions: u32,
  actions4: u32,
  log_std: u32,
  bounds: u32,
}
@group(0) @binding(1) var<uniform> J: Job;
@group(0) @binding(2) var<storage, read> params: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> work: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> norm: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> worlds: array<f32>;
@group(0) @binding(6) var<storage, read_write> actions: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> rollout_actions: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read_write> samples: array<f32>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= C.rows) { return; }
  let world = C.first + row;
  let value = work[J.value + row * J.value4].x;
  if ((C.flags & BOOTSTRAP) != 0u) {
    worlds[world * WORLD + 2u] = value;
    return;
  }
  let id = bitcast<u32>(worlds[world * WORLD]);
  let sample = world * C.steps + C.t;
  var log_prob = 0.0;
  for (var i = 0u; i < J.actions4; i += 1u) {
    let mean = work[J.mean + row * J.mean4 + i];
    let log_std = clamp(params[J.log_std + i], vec4<f32>(C.log_std_min), vec4<f32>(C.log_std_max));
    let words = philox4x32(vec4<u32>(id, C.draw, STREAM_POLICY, i), C.seed);
    var z = normals(words);
    if ((C.flags & DETERMINISTIC) != 0u) { z = vec4<f32>(0.0); }
    let action = mean + poly_exp4(log_std) * z;
    let terms = -0.5 * z * z - log_std - 0.91893853320467274;
    let used = vec4<u32>(i * 4u) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(J.actions);
    log_prob += dot(select(vec4<f32>(0.0), terms, used), vec4<f32>(1.0));
    let low = norm[J.bounds + 2u * i];
    let high = norm[J.bounds + 2u * i + 1u];
    var sent = clamp(action, low, high);
    // the derivative of the squashing depends on the action alone: it cancels in every ratio
    if ((C.flags & SQUASH) != 0u) { sent = low + (high - low) * (0.5 + 0.5 * poly_tanh4(action)); }
    actions[(C.local + row) * J.actions4 + i] = sent;
    if ((C.flags & KEEP) != 0u) { rollout_actions[sample * J.actions4 + i] = action; }
  }
  if ((C.flags & KEEP) != 0u) {
    samples[sample * SAMPLE] = log_prob;
    samples[sample * SAMPLE + 1u] = value;
  }
}
