// A block of scores of many actions: its largest.

const OUTSIDE = -3.0e38;

/// Four scores of the block; those beyond its end are out of reach.
fn logits(at: u32, quad: u32) -> vec4<f32> {
  let inside = vec4<u32>(quad * 4u) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(J.count);
  return select(vec4<f32>(OUTSIDE), work[at + quad], inside);
}

struct Best {
  score: f32,
  action: u32,
}

/// The first of equal ones, counted from the start of the block.
fn best_of(at: u32) -> Best {
  let quads = (J.count + 3u) / 4u;
  var top4 = logits(at, 0u);
  var where4 = vec4<u32>(0u);
  for (var q = 1u; q < quads; q += 1u) {
    let l = logits(at, q);
    where4 = select(where4, vec4<u32>(q), l > top4);
    top4 = max(top4, l);
  }
  var best = top4.x;
  var argmax = where4.x * 4u;
  for (var i = 1u; i < 4u; i += 1u) {
    let action = where4[i] * 4u + i;
    if (top4[i] > best || (top4[i] == best && action < argmax)) {
      best = top4[i];
      argmax = action;
    }
  }
  return Best(best, argmax);
}
