// A permutation of 0 to samples - 1 without a table: a Feistel network, walked until it lands inside.
// Twin of src/rl/shuffle.ts.

fn feistel(half: u32, key: u32) -> u32 {
  var h = (half ^ key) * 0x9e3779b1u;
  h ^= h >> 15u;
  h *= 0x85ebca6bu;
  h ^= h >> 13u;
  return h;
}

fn shuffled(position: u32) -> u32 {
  let mask = (1u << C.half_bits) - 1u;
  var x = position;
  loop {
    var left = x >> C.half_bits;
    var right = x & mask;
    for (var round = 0u; round < 4u; round += 1u) {
      let next = left ^ (feistel(right, C.keys[round]) & mask);
      left = right;
      right = next;
    }
    x = (left << C.half_bits) | right;
    if (x < C.units) { break; }
  }
  return x;
}

/// The sample of a row of a minibatch: one of all samples, or a step of a sequence, whose rows lie step by step. Lanes that
/// are left over look at the first sequence.
fn sample_of(row: u32) -> u32 {
  let lanes = max(C.lanes, 1u);
  let lane = row % lanes;
  let is_sequence = C.lanes > 0u;
  let unit = select(row, select(0u, lane, lane < C.valid), is_sequence);
  let at = shuffled(C.first + unit);
  return select(at, at * C.unroll + row / lanes, is_sequence);
}

/// Whether a row of a minibatch counts.
fn counts(row: u32) -> bool {
  return C.lanes == 0u || row % C.lanes < C.valid;
}
