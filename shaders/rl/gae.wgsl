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

@compute @workgroup_size(32)
fn returns(@builtin(global_invocation_id) gid: vec3<u32>) {
  let world = thread_of(gid);
  if (world >= C.worlds) { return; }
  let w = world * WORLD;
  let start = state[S_REWARD_MEAN];
  var g = worlds[w + 1u];
  var count = 0.0;
  var total = 0.0;
  var squares = 0.0;
  for (var t = 0u; t < C.steps; t += 1u) {
    let at = (world * C.steps + t) * SAMPLE;
    let flags = u32(samples[at + 3u]);
    if ((flags & SKIPPED) != 0u) { continue; }
    g = g * C.gamma + samples[at + 2u];
    count += 1.0;
    total += g - start;
    squares += (g - start) * (g - start);
    if ((flags & (TERMINATED | TRUNCATED)) != 0u) { g = 0.0; }
  }
  worlds[w + 1u] = g;
  sums(w, vec4<f32>(count, total, squares, 0.0), vec4<f32>(0.0));
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
    let scaled = samples[at + 2u] * scale;
    let reward = clamp(scaled, -C.clip_reward, C.clip_reward);
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
