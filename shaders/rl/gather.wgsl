// Observations of a minibatch into the network's input.

@group(0) @binding(2) var<storage, read> rollout_obs: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> norm: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> work: array<vec4<f32>>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let thread = thread_of(gid);
  let row = thread / C.k4;
  let column = thread % C.k4;
  if (row >= C.rows) { return; }
  var value = vec4<f32>(0.0);
  if (column < C.obs4) { value = rollout_obs[sample_of(row) * C.obs4 + column]; }
  let scaled = (value - norm[column]) * norm[C.k4 + column];
  work[row * C.k4 + column] = clamp(scaled, vec4<f32>(-C.clip_obs), vec4<f32>(C.clip_obs));
}
