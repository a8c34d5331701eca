// A categorical policy over many actions, block by block: what is kept of a row, and derivatives by logits.

@group(0) @binding(3) var<storage, read_write> work: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> rollout_actions: array<u32>;
@group(0) @binding(5) var<storage, read> worlds: array<World>;

/// What is kept of a row lies in two vec4s: a HeadRow, in whose place the loss puts a HeadSlope.
fn kept_of(row: u32) -> array<vec4<f32>, 2> {
  let at = J.kept + row * 2u;
  return array<vec4<f32>, 2>(work[at], work[at + 1u]);
}

fn keep_row(row: u32, r: HeadRow) {
  let packed = pack_head_row(r);
  work[J.kept + row * 2u] = packed[0];
  work[J.kept + row * 2u + 1u] = packed[1];
}

/// Adds the block to what is kept. Returns the share of its own exponentials, their sum, and what they are above.
fn fold(row: u32) -> vec3<f32> {
  let at = J.logits + row * J.width;
  let quads = (J.count + 3u) / 4u;
  let found = best_of(at);
  let best = found.score;
  let argmax = found.action;
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
  if (J.index == 0u) {
    keep_row(row, HeadRow(best, own, weighted, bitcast<f32>(argmax), 0.0, 0.0, 0.0, 0.0));
    return vec3<f32>(1.0, own, best);
  }
  let old = unpack_head_row(kept_of(row));
  let top = max(old.top, best);
  let old_scale = poly_exp(old.top - top);
  let scale = poly_exp(best - top);
  var kept = old;
  kept.top = top;
  kept.total = old.total * old_scale + own * scale;
  kept.weighted = old_scale * (old.weighted + (old.top - top) * old.total) + scale * (weighted + (best - top) * own);
  if (best > old.top) { kept.likeliest = bitcast<f32>(J.first + argmax); }
  keep_row(row, kept);
  return vec3<f32>(own * scale / kept.total, own, best);
}

fn choose(row: u32, action: u32, logit: f32) {
  var kept = unpack_head_row(kept_of(row));
  kept.chosen = bitcast<f32>(action);
  kept.logit = logit;
  keep_row(row, kept);
}

/// Draws an action as the blocks go by: a later block takes over with its share of all so far, and within it one is drawn
/// by inverting the distribution.
@compute @workgroup_size(32)
fn act(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid);
  if (row >= U.rows) { return; }
  let block = fold(row);
  if ((U.flags & FLAG_DETERMINISTIC) != 0u) {
    let kept = unpack_head_row(kept_of(row));
    choose(row, bitcast<u32>(kept.likeliest), kept.top);
    return;
  }
  let id = worlds[U.first + row].id;
  let words = philox4x32(vec4<u32>(id, U.draw, STREAM_POLICY, J.index), U.seed);
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
  if (row >= U.rows) { return; }
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
  if (row >= U.rows) { return; }
  let quad = thread % J.width;
  let kept = unpack_head_slope(kept_of(row));
  let chosen = bitcast<u32>(kept.chosen);
  let local = vec4<u32>(quad * 4u) + vec4<u32>(0u, 1u, 2u, 3u);
  let at = J.logits + row * J.width + quad;
  let l = work[at] - kept.log_sum;
  let p = poly_exp4(l);
  let hit = select(vec4<f32>(0.0), vec4<f32>(1.0), local + J.first == vec4<u32>(chosen));
  let by_logit = kept.by_log_prob * (hit - p) + kept.entropy_weight * p * (l + kept.entropy);
  work[at] = select(vec4<f32>(0.0), by_logit, local < vec4<u32>(J.count));
}
