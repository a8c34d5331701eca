// Counter-based random numbers: Philox4x32-10, the twin of src/core/rng.ts.
// counter = (world id, episode, stream, block), key = seed as (low, high).

/// High 32 bits of the 64-bit product of two u32, through 16-bit halves (no partial sum overflows).
fn mul_high(a: u32, b: u32) -> u32 {
  let a_low = a & 0xffffu;
  let a_high = a >> 16u;
  let b_low = b & 0xffffu;
  let b_high = b >> 16u;
  let low = a_low * b_low;
  let middle = a_high * b_low + (low >> 16u);
  let carry = a_low * b_high + (middle & 0xffffu);
  return a_high * b_high + (middle >> 16u) + (carry >> 16u);
}

/// Four random u32 for one counter and key.
fn philox4x32(counter: vec4<u32>, key: vec2<u32>) -> vec4<u32> {
  var c = counter;
  var k = key;

  for (var round = 0u; round < 10u; round += 1u) {
    let high0 = mul_high(0xd2511f53u, c.x);
    let high1 = mul_high(0xcd9e8d57u, c.z);
    c = vec4<u32>(high1 ^ c.y ^ k.x, 0xcd9e8d57u * c.z, high0 ^ c.w ^ k.y, 0xd2511f53u * c.x);
    k += vec2<u32>(0x9e3779b9u, 0xbb67ae85u);
  }

  return c;
}

/// u32 to f32 in [0, 1): the upper 24 bits times 2^-24, exact.
fn uniform_from_bits(bits: u32) -> f32 {
  return f32(bits >> 8u) * 0x1p-24f;
}

/// u32 to f32 in (0, 1], for arguments of a logarithm.
fn positive_uniform_from_bits(bits: u32) -> f32 {
  return f32((bits >> 8u) + 1u) * 0x1p-24f;
}

/// u32 to an integer in [0, n), from one word.
fn integer_from_bits(bits: u32, n: u32) -> u32 {
  return mul_high(bits, n);
}
