// A permutation of 0 to samples - 1 without a table: a Feistel network, walked until it lands inside.
// Twin of src/rl/ppo/shuffle.ts.

fn feistel(half: u32, key: u32) -> u32 {
  var h = (half ^ key) * 0x9e3779b1u;
  h ^= h >> 15u;
  h *= 0x85ebca6bu;
  h ^= h >> 13u;
  return h;
}

fn shuffled(position: u32) -> u32 {
  let mask = (1u << U.half_bits) - 1u;
  var x = position;
  loop {
    var left = x >> U.half_bits;
    var right = x & mask;
    for (var round = 0u; round < 4u; round += 1u) {
      let next = left ^ (feistel(right, U.keys[round]) & mask);
      left = right;
      right = next;
    }
    x = (left << U.half_bits) | right;
    if (x < U.units) { break; }
  }
  return x;
}

/// The sample of a row of a minibatch: one of all samples, or a step of a sequence, whose rows lie step by step. Lanes that
/// are left over look at the first sequence.
fn sample_of(row: u32) -> u32 {
  let lanes = max(U.lanes, 1u);
  let lane = row % lanes;
  let is_sequence = U.lanes > 0u;
  let unit = select(row, select(0u, lane, lane < U.valid), is_sequence);
  let at = shuffled(U.first + unit);
  return select(at, at * U.unroll + row / lanes, is_sequence);
}

/// Whether a row of a minibatch counts.
fn counts(row: u32) -> bool {
  return U.lanes == 0u || row % U.lanes < U.valid;
}
