// Layer norm (Ba, Kiros and Hinton 2016) of rows that a dense layer put out, and the activation after it. What lies behind
// the outputs of all rows: what the activation takes, what was normalised, and the factor that normalised it.

@group(0) @binding(2) var<storage, read> params: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> work: array<vec4<f32>>;

/// As PyTorch's.
const EPSILON = 1e-5;

/// Numbers of a row that are no padding.
fn is_own(quad: u32, count: u32) -> vec4<bool> {
  return vec4<u32>(4u * quad) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(count);
}

fn sum_of(x: vec4<f32>) -> f32 { return dot(x, vec4<f32>(1.0)); }

@compute @workgroup_size(32)
fn normalise(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let N = norms[group.z];
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let at = N.y + row * N.n4;
  let area = U.work_rows * N.n4;
  let count = f32(N.count);
  var total = vec4<f32>(0.0);
  for (var q = 0u; q < N.n4; q += 1u) { total += work[at + q]; }
  let mean = sum_of(total) / count;
  var squares = vec4<f32>(0.0);
  for (var q = 0u; q < N.n4; q += 1u) {
    let d = select(vec4<f32>(0.0), work[at + q] - mean, is_own(q, N.count));
    squares = fma(d, d, squares);
  }
  let factor = 1.0 / sqrt(sum_of(squares) / count + EPSILON);
  for (var q = 0u; q < N.n4; q += 1u) {
    let normal = select(vec4<f32>(0.0), (work[at + q] - mean) * factor, is_own(q, N.count));
    let x = fma(normal, params[N.gain + q], params[N.shift + q]);
    work[at + q] = activated(x, N.activation);
    work[at + area + q] = x;
    work[at + 2u * area + q] = normal;
  }
  work[N.y + 3u * area + row] = vec4<f32>(factor, 0.0, 0.0, 0.0);
}

/// Derivatives by what the activation takes become those by what the norm takes, and summands of the gradients of shifts
/// and gains in the places of what was kept.
@compute @workgroup_size(32)
fn back(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let N = norms[group.z];
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let at = N.y + row * N.n4;
  let area = U.work_rows * N.n4;
  let count = f32(N.count);
  var total = vec4<f32>(0.0);
  var along = vec4<f32>(0.0);
  for (var q = 0u; q < N.n4; q += 1u) {
    let by_normal = work[at + q] * params[N.gain + q];
    total += by_normal;
    along = fma(by_normal, work[at + 2u * area + q], along);
  }
  let mean = sum_of(total) / count;
  let slope = sum_of(along) / count;
  let factor = work[N.y + 3u * area + row].x;
  for (var q = 0u; q < N.n4; q += 1u) {
    let by_x = work[at + q];
    let normal = work[at + 2u * area + q];
    let by_input = factor * (by_x * params[N.gain + q] - mean - normal * slope);
    work[at + q] = select(vec4<f32>(0.0), by_input, is_own(q, N.count));
    work[at + area + q] = by_x;
    work[at + 2u * area + q] = by_x * normal;
  }
}
