// Random numbers of the learner, by name; see shaders/lib/philox.wgsl.

/// Streams of src/core/rng.ts.
const STREAM_POLICY = 5u;
const STREAM_REPLAY = 9u;
const STREAM_NEXT_ACTION = 10u;
const STREAM_NEW_ACTION = 11u;
const STREAM_MIRROR = 13u;

/// Four standard normal numbers from four words (Box-Muller).
fn normals(words: vec4<u32>) -> vec4<f32> {
  let a = sqrt(-2.0 * poly_log(positive_uniform_from_bits(words.x)));
  let b = sqrt(-2.0 * poly_log(positive_uniform_from_bits(words.z)));
  let p = poly_sincos(6.2831853071795865 * uniform_from_bits(words.y));
  let q = poly_sincos(6.2831853071795865 * uniform_from_bits(words.w));
  return vec4<f32>(a * p.y, a * p.x, b * q.y, b * q.x);
}
