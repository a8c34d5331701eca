// A categorical policy over many actions, block by block: what is kept of a row, and derivatives by logits.

struct Block {
  /// Where logits of the block and what is kept of rows lie in the network's memory, and a row of logits: vec4s.
  logits: u32,
  width: u32,
  kept: u32,
  /// Which block, its first action, how many it has.
  index: u32,
  first: u32,
  count: u32,
  action_words: u32,
  pad: u32,
}
@group(0) @binding(1) var<uniform> J: Block;
@group(0) @binding(3) var<storage, read_write> work: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> rollout_actions: array<u32>;
@group(0) @binding(5) var<storage, read> worlds: array<f32>;

/// What is kept of a row, two vec4s. The first: the largest logit, the sum of exponentials above it, that of exponentials
/// times exponents, and the likeliest action. The second: the chosen action and its logit. The loss puts others in their
/// places: the logarithm of the sum of all exponentials, its derivative by the log probability, the weight of the entropy,
/// and the entropy; the chosen action stays.
const OUTSIDE = -3.0e38;

/// Four logits of the block; those beyond its end are out of reach.
fn logits(at: u32, quad: u32) -> vec4<f32> {
  let inside = vec4<u32>(quad * 4u) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(J.count);
  return select(vec4<f32>(OUTSIDE), work[at + quad], inside);
}

/// Adds the block to what is kept. Returns the share of its own exponentials, their sum, and what they are above.
fn fold(row: u32) -> vec3<f32> {
  let at = J.logits + row * J.width;
  let quads = (J.count + 3u) / 4u;
  var top4 = logits(at, 0u);
  var where4 = vec4<u32>(0u);
  for (var q = 1u; q < quads; q += 1u) {
    let l = logits(at, q);
    where4 = select(where4, vec4<u32>(q), l > top4);
    top4 = max(top4, l);
  }
  // the first of equal ones
  var best = top4.x;
  var argmax = where4.x * 4u;
  for (var i = 1u; i < 4u; i += 1u) {
    let action = where4[i] * 4u + i;
    if (top4[i] > best || (top4[i] == best && action < argmax)) {
      best = top4[i];
      argmax = action;
    }
  }
  var sums = vec4<f32>(0.0);
  var products = vec4<f32>(0.0);
  for (var q = 0u; q < quads; q += 1u) {
    let d = logits(at, q) - best;
    let e = poly_exp4(d);
    sums += e;
    products = fma(e, max(d, vec4<f32>(-100.0)), products);
  }
  let own = dot(sums, vec4<f32>(1.0));
  let weighted = dot(products, vec4<f32>(1.0));
  let kept = J.kept + row * 2u;
  if (J.index == 0u) {
    work[kept] = vec4<f32>(best, own, weighted, bitcast<f32>(argmax));
    return vec3<f32>(1.0, own, best);
  }
  let old = work[kept];
  let top = max(old.x, best);
  let old_scale = poly_exp(old.x - top);
  let scale = poly_exp(best - top);
  let total = old.y * old_scale + own * scale;
  let all_weighted = old_scale * (old.z + (old.x - top) * old.y) + scale * (weighted + (best - top) * own);
  let likeliest = select(bitcast<u32>(old.w), J.first + argmax, best > old.x);
  work[kept] = vec4<f32>(top, total, all_weighted, bitcast<f32>(likeliest));
  return vec3<f32>(own * scale / total, own, best);
}

fn choose(row: u32, action: u32, logit: f32) {
  work[J.kept + row * 2u + 1u] = vec4<f32>(bitcast<f32>(action), logit, 0.0, 0.0);
}

/// Draws an action as the blocks go by: a later block takes over with its share of all so far, and within it one is drawn
/// by inverting the distribution.
@compute @workgroup_size(32)
fn act(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= C.rows) { return; }
  let block = fold(row);
  if ((C.flags & DETERMINISTIC) != 0u) {
    let kept = work[J.kept + row * 2u];
    choose(row, bitcast<u32>(kept.w), kept.x);
    return;
  }
  let id = bitcast<u32>(worlds[(C.first + row) * WORLD]);
  let words = philox4x32(vec4<u32>(id, C.draw, STREAM_POLICY, J.index), C.seed);
  if (J.index > 0u && uniform_from_bits(words.x) >= block.x) { return; }
  let at = J.logits + row * J.width;
  let goal = uniform_from_bits(words.y) * block.y;
  var passed = 0.0;
  var choice = J.count - 1u;
  for (var q = 0u; q < (J.count + 3u) / 4u; q += 1u) {
    let e = poly_exp4(logits(at, q) - block.z);
    let sum = dot(e, vec4<f32>(1.0));
    if (goal < passed + sum) {
      // rounding may pass the goal by: then it is the last of the four
      var i = 0u;
      passed += e.x;
      while (i < 3u && goal >= passed) {
        i += 1u;
        passed += e[i];
      }
      choice = min(q * 4u + i, J.count - 1u);
      break;
    }
    passed += sum;
  }
  choose(row, J.first + choice, work[at + choice / 4u][choice % 4u]);
}

/// The same for the loss, whose action is the rollout's.
@compute @workgroup_size(32)
fn loss(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= C.rows) { return; }
  _ = fold(row);
  let action = rollout_actions[sample_of(row) * J.action_words];
  if (action < J.first || action >= J.first + J.count) { return; }
  let local = action - J.first;
  choose(row, action, work[J.logits + row * J.width + local / 4u][local % 4u]);
}

/// Derivatives by the block's logits, in their place.
@compute @workgroup_size(32)
fn slope(@builtin(global_invocation_id) gid: vec3<u32>) {
  let thread = thread_of(gid);
  let row = thread / J.width;
  if (row >= C.rows) { return; }
  let quad = thread % J.width;
  let kept = work[J.kept + row * 2u];
  let chosen = bitcast<u32>(work[J.kept + row * 2u + 1u].x);
  let local = vec4<u32>(quad * 4u) + vec4<u32>(0u, 1u, 2u, 3u);
  let at = J.logits + row * J.width + quad;
  let l = work[at] - kept.x;
  let p = poly_exp4(l);
  let hit = select(vec4<f32>(0.0), vec4<f32>(1.0), local + J.first == vec4<u32>(chosen));
  let by_logit = kept.y * (hit - p) + kept.z * p * (l + kept.w);
  work[at] = select(vec4<f32>(0.0), by_logit, local < vec4<u32>(J.count));
}
