// Observations of the environment into the network's input, and into the rollout.

@group(0) @binding(2) var<storage, read> obs: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> norm: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> rollout_obs: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> work: array<vec4<f32>>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let thread = thread_of(gid);
  let row = thread / C.k4;
  let column = thread % C.k4;
  if (row >= C.rows) { return; }
  var value = vec4<f32>(0.0);
  if (column < C.obs4) {
    value = obs[(C.local + row) * C.obs4 + column];
    if ((C.flags & KEEP) != 0u) {
      rollout_obs[((C.first + row) * C.steps + C.t) * C.obs4 + column] = value;
    }
  }
  let scaled = (value - norm[column]) * norm[C.k4 + column];
  work[row * C.k4 + column] = clamp(scaled, vec4<f32>(-C.clip_obs), vec4<f32>(C.clip_obs));
}
