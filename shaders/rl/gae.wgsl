// Discounted returns of each world (their spread scales rewards), then generalized advantage estimation backwards in
// time (Schulman et al. 2016). A truncated episode is continued by the value of its last observation, which is the next
// row: environments reset on the step after the end, and that step is skipped.

@group(0) @binding(1) var<storage, read_write> samples: array<f32>;
@group(0) @binding(2) var<storage, read_write> worlds: array<f32>;
@group(0) @binding(3) var<storage, read> state: array<f32>;

fn sums(w: u32, first: vec4<f32>, second: vec4<f32>) {
  for (var i = 0u; i < 4u; i += 1u) {
    worlds[w + 8u + i] = first[i];
    worlds[w + 12u + i] = second[i];
  }
}

/// Rewards so many deviations of returns so far large are left out of their statistics, if they are rare.
const HUGE = 1e6;

/// Sums of discounted returns around the mean so far: without huge rewards and how many those are, then with them.
@compute @workgroup_size(32)
fn returns(@builtin(global_invocation_id) gid: vec3<u32>) {
  let world = thread_of(gid);
  if (world >= C.worlds) { return; }
  let w = world * WORLD;
  let start = state[S_REWARD_MEAN];
  let limit = HUGE * max(1.0, sqrt(state[S_REWARD_VAR]));
  var g = worlds[w + 1u];
  var g_all = g;
  var count = 0.0;
  var huge = 0.0;
  var total = vec2<f32>(0.0);
  var squares = vec2<f32>(0.0);
  for (var t = 0u; t < C.steps; t += 1u) {
    let at = (world * C.steps + t) * SAMPLE;
    let flags = u32(samples[at + 3u]);
    if ((flags & SKIPPED) != 0u) { continue; }
    let reward = samples[at + 2u];
    let is_huge = !(abs(reward) <= limit);
    g = g * C.gamma + select(reward, 0.0, is_huge);
    g_all = g_all * C.gamma + reward;
    count += 1.0;
    huge += select(0.0, 1.0, is_huge);
    let around = vec2<f32>(g, g_all) - start;
    total += around;
    squares += around * around;
    if ((flags & (TERMINATED | TRUNCATED)) != 0u) {
      g = 0.0;
      g_all = 0.0;
    }
  }
  worlds[w + 1u] = g;
  sums(w, vec4<f32>(count, total.x, squares.x, huge), vec4<f32>(total.y, squares.y, 0.0, 0.0));
}

@compute @workgroup_size(32)
fn advantages(@builtin(global_invocation_id) gid: vec3<u32>) {
  let world = thread_of(gid);
  if (world >= C.worlds) { return; }
  let w = world * WORLD;
  let scale = state[S_REWARD_SCALE];
  // of a rollout that came from elsewhere it lies in the last sample's spare place
  let last = (world * C.steps + C.steps - 1u) * SAMPLE;
  var next_value = select(worlds[w + 2u], samples[last + 6u], (C.flags & COLLECTED) != 0u);
  var advantage = 0.0;
  var first = vec4<f32>(0.0);
  var second = vec4<f32>(0.0);
  for (var back = 0u; back < C.steps; back += 1u) {
    let at = (world * C.steps + (C.steps - 1u - back)) * SAMPLE;
    let value = samples[at + 1u];
    let flags = u32(samples[at + 3u]);
    if ((flags & SKIPPED) != 0u) {
      advantage = 0.0;
      next_value = value;
      samples[at + 4u] = 0.0;
      samples[at + 5u] = value;
      continue;
    }
    let given = samples[at + 2u];
    let scaled = given * scale;
    // what is not finite stays so, for the loss to tell of
    let reward = select(given, clamp(scaled, -C.clip_reward, C.clip_reward), is_finite(given));
    let goes_on = (flags & (TERMINATED | TRUNCATED)) == 0u;
    let bootstrap = select(next_value, 0.0, (flags & TERMINATED) != 0u);
    let delta = reward + C.gamma * bootstrap - value;
    advantage = delta + select(0.0, C.gamma * C.lambda * advantage, goes_on);
    next_value = value;
    let target_value = advantage + value;
    samples[at + 4u] = advantage;
    samples[at + 5u] = target_value;
    first += vec4<f32>(1.0, advantage, advantage * advantage, target_value);
    second += vec4<f32>(target_value * target_value, select(0.0, 1.0, reward != scaled), 0.0, 0.0);
  }
  sums(w, first, second);
}
