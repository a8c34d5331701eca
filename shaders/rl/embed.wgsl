// Embeddings of actions: what is known of each, through a small linear map that is learned. Laid out as the head's blocks.

@group(0) @binding(2) var<storage, read> params: array<f32>;
@group(0) @binding(3) var<storage, read> features: array<f32>;
@group(0) @binding(4) var<storage, read_write> embedding: array<f32>;
@group(0) @binding(5) var<storage, read> slopes: array<f32>;
@group(0) @binding(6) var<storage, read_write> grads: array<f32>;

/// Where the numbers of an action begin; the next dimension lies a row further.
fn place(action: u32) -> u32 {
  return J.to + (action / J.width) * (J.k + 1u) * J.width + action % J.width;
}

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let action = thread_of(gid);
  if (action >= J.actions) { return; }
  for (var d = 0u; d < J.dims; d += 1u) {
    var y = 0.0;
    for (var f = 0u; f < J.features; f += 1u) {
      y = fma(params[J.map + f * J.k + d], features[action * J.features + f], y);
    }
    embedding[place(action) + d * J.width] = y;
  }
}

/// Derivatives by the map, summed over the actions in order.
@compute @workgroup_size(32)
fn gradient(@builtin(global_invocation_id) gid: vec3<u32>) {
  let thread = thread_of(gid);
  let d = thread % J.dims;
  let f = thread / J.dims;
  if (f >= J.features) { return; }
  var total = 0.0;
  for (var action = 0u; action < J.actions; action += 1u) {
    total = fma(features[action * J.features + f], slopes[place(action) + d * J.width], total);
  }
  grads[J.map + f * J.k + d] = total;
}
