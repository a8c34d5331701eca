// Observations of the environment into the network's input, and into the rollout.

@group(0) @binding(2) var<storage, read> obs: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> norm: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> rollout_obs: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> work: array<vec4<f32>>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let thread = thread_of(gid);
  let row = thread / U.k4;
  let column = thread % U.k4;
  if (row >= U.rows) { return; }
  var value = vec4<f32>(0.0);
  if (column < U.obs4) {
    value = obs[(U.local + row) * U.obs4 + column];
    if ((U.flags & FLAG_KEEP) != 0u) {
      rollout_obs[((U.first + row) * U.steps + U.t) * U.obs4 + column] = value;
    }
  }
  let scaled = (value - norm[NORM_MEAN * U.k4 + column]) * norm[NORM_INVERSE_STD * U.k4 + column];
  work[row * U.k4 + column] = clamp(scaled, vec4<f32>(-U.clip_obs), vec4<f32>(U.clip_obs));
}
