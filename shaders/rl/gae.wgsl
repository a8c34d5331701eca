// Discounted returns of each world (their spread scales rewards), then generalized advantage estimation backwards in
// time (Schulman et al. 2016). A truncated episode is continued by the value of its last observation, which is the next
// row: environments reset on the step after the end, and that step is skipped.

@group(0) @binding(1) var<storage, read_write> samples: array<Sample>;
@group(0) @binding(2) var<storage, read_write> worlds: array<World>;
@group(0) @binding(3) var<storage, read> state: array<f32>;

/// Rewards so many deviations of returns so far large are left out of their statistics, if they are rare.
const HUGE = 1e6;

/// Sums of discounted returns around the mean so far: without huge rewards and how many those are, then with them.
@compute @workgroup_size(32)
fn returns(@builtin(global_invocation_id) gid: vec3<u32>) {
  let world = thread_of(gid);
  if (world >= U.worlds) { return; }
  let start = state[S_REWARD_MEAN];
  let limit = HUGE * max(1.0, sqrt(state[S_REWARD_VAR]));
  var g = worlds[world].discounted_return;
  var g_all = g;
  var count = 0.0;
  var huge = 0.0;
  var total = vec2<f32>(0.0);
  var squares = vec2<f32>(0.0);
  for (var t = 0u; t < U.steps; t += 1u) {
    let at = world * U.steps + t;
    let flags = u32(samples[at].flags);
    if ((flags & SKIPPED) != 0u) { continue; }
    let reward = samples[at].reward;
    let is_huge = !(abs(reward) <= limit);
    g = g * U.gamma + select(reward, 0.0, is_huge);
    g_all = g_all * U.gamma + reward;
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
  worlds[world].discounted_return = g;
  worlds[world].sums_a = vec4<f32>(count, total.x, squares.x, huge);
  worlds[world].sums_b = vec4<f32>(total.y, squares.y, 0.0, 0.0);
}

@compute @workgroup_size(32)
fn advantages(@builtin(global_invocation_id) gid: vec3<u32>) {
  let world = thread_of(gid);
  if (world >= U.worlds) { return; }
  let scale = state[S_REWARD_SCALE];
  let last = samples[world * U.steps + U.steps - 1u].last_value;
  var next_value = select(worlds[world].last_value, last, (U.flags & FLAG_COLLECTED) != 0u);
  var advantage = 0.0;
  var first = vec4<f32>(0.0);
  var second = vec4<f32>(0.0);
  for (var back = 0u; back < U.steps; back += 1u) {
    let at = world * U.steps + (U.steps - 1u - back);
    let value = samples[at].value;
    let flags = u32(samples[at].flags);
    if ((flags & SKIPPED) != 0u) {
      advantage = 0.0;
      next_value = value;
      samples[at].advantage = 0.0;
      samples[at].value_target = value;
      continue;
    }
    let given = samples[at].reward;
    let scaled = given * scale;
    // what is not finite stays so, for the loss to report
    let reward = select(given, clamp(scaled, -U.clip_reward, U.clip_reward), is_finite(given));
    let goes_on = (flags & (TERMINATED | TRUNCATED)) == 0u;
    let bootstrap = select(next_value, 0.0, (flags & TERMINATED) != 0u);
    let delta = reward + U.gamma * bootstrap - value;
    advantage = delta + select(0.0, U.gamma * U.lambda * advantage, goes_on);
    next_value = value;
    let target_value = advantage + value;
    samples[at].advantage = advantage;
    samples[at].value_target = target_value;
    first += vec4<f32>(1.0, advantage, advantage * advantage, target_value);
    second += vec4<f32>(target_value * target_value, select(0.0, 1.0, reward != scaled), 0.0, 0.0);
  }
  worlds[world].sums_a = first;
  worlds[world].sums_b = second;
}
