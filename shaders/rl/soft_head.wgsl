// Expectations under a categorical policy over many actions (Christodoulou 2019), block by block: its logits and what two
// critics say of the same actions go by, and no row of actions is held.

@group(0) @binding(3) var<storage, read_write> work: array<vec4<f32>>;

/// The lower of two values; not finite if either is not, which `min` need not be.
fn lower_of(a: f32, b: f32) -> f32 {
  return select(a + b, min(a, b), is_finite(a) && is_finite(b));
}

/// What both critics say at least of four actions of a row.
fn lower_values(row: u32, quad: u32) -> vec4<f32> {
  let a = work[J.first_values + row * J.width + quad];
  let b = work[J.second_values + row * J.width + quad];
  return vec4<f32>(lower_of(a.x, b.x), lower_of(a.y, b.y), lower_of(a.z, b.z), lower_of(a.w, b.w));
}

/// Adds a block to a row's SoftRow: the largest logit, and sums of exponentials above it alone, times their exponents, and
/// times values.
@compute @workgroup_size(32)
fn fold(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let at = J.logits + row * J.width;
  let best = best_of(at).score;
  var sums = vec4<f32>(0.0);
  var products = vec4<f32>(0.0);
  var valued = vec4<f32>(0.0);
  for (var q = 0u; q < (J.count + 3u) / 4u; q += 1u) {
    let d = logits(at, q) - best;
    let e = poly_exp4(d);
    sums += e;
    products = fma(e, max(d, vec4<f32>(-100.0)), products);
    valued = fma(e, lower_values(row, q), valued);
  }
  let one = vec4<f32>(1.0);
  let own = vec4<f32>(best, dot(sums, one), dot(products, one), dot(valued, one));
  if (J.index == 0u) {
    work[J.kept + row] = own;
    return;
  }
  let old = work[J.kept + row];
  let top = max(old.x, best);
  let scales = vec2<f32>(poly_exp(old.x - top), poly_exp(best - top));
  let total = dot(scales, vec2<f32>(old.y, own.y));
  let moved = vec2<f32>(old.z + (old.x - top) * old.y, own.z + (best - top) * own.y);
  work[J.kept + row] = vec4<f32>(top, total, dot(scales, moved), dot(scales, vec2<f32>(old.w, own.w)));
}

/// Derivatives of alpha log pi - Q, expected under pi, by the block's logits, in their place; the row keeps a SoftSlope.
@compute @workgroup_size(32)
fn slope(@builtin(global_invocation_id) gid: vec3<u32>) {
  let thread = thread_of(gid);
  let row = thread / J.width;
  if (row >= U.rows) { return; }
  let quad = thread % J.width;
  let kept = work[J.kept + row];
  let at = J.logits + row * J.width + quad;
  let l = work[at] - kept.x;
  let by_logit = kept.z * poly_exp4(l) * (kept.w * l - lower_values(row, quad) - kept.y);
  let local = vec4<u32>(quad * 4u) + vec4<u32>(0u, 1u, 2u, 3u);
  work[at] = select(vec4<f32>(0.0), by_logit, local < vec4<u32>(J.count));
}
