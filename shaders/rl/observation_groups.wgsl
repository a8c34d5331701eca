// Columns of the normalised observations that each network sees, where observations come in groups.

@group(0) @binding(3) var<storage, read_write> work: array<f32>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let G = groups[group.z];
  let row = thread_of(gid) / (4u * G.k4);
  let i = thread_of(gid) % (4u * G.k4);
  if (row >= U.rows) { return; }
  // padding is zero
  var value = 0.0;
  if (i < G.count) { value = work[row * 4u * U.k4 + G.first + i]; }
  work[4u * (G.to + row * G.k4) + i] = value;
}
