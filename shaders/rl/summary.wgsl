// Sums over worlds, in a fixed order, and what follows from them: the scale of rewards, of advantages, and episodes.

@group(0) @binding(1) var<storage, read> worlds: array<World>;
@group(0) @binding(2) var<storage, read_write> scratch: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> state: array<f32>;

/// One part of the worlds for each of `sum_parts` threads.
@compute @workgroup_size(32)
fn parts(@builtin(global_invocation_id) gid: vec3<u32>) {
  let part = thread_of(gid);
  if (part >= U.sum_parts) { return; }
  let each = (U.worlds + U.sum_parts - 1u) / U.sum_parts;
  var a = vec4<f32>(0.0);
  var b = vec4<f32>(0.0);
  var episodes = vec3<f32>(0.0);
  var bad = 0.0;
  for (var world = part * each; world < min((part + 1u) * each, U.worlds); world += 1u) {
    bad += worlds[world].bad_steps;
    episodes += vec3<f32>(worlds[world].episodes, worlds[world].returns, worlds[world].lengths);
    a += worlds[world].sums_a;
    b += worlds[world].sums_b;
  }
  scratch[part * 3u] = a;
  scratch[part * 3u + 1u] = b;
  scratch[part * 3u + 2u] = vec4<f32>(episodes, bad);
}

fn all_parts(which: u32) -> vec4<f32> {
  var total = vec4<f32>(0.0);
  for (var part = 0u; part < U.sum_parts; part += 1u) { total += scratch[part * 3u + which]; }
  return total;
}

/// The running mean and variance of discounted returns, merged as in Chan et al. (1979), shifted by the mean. Huge rewards
/// do not move them where at most one in so many is; nor does a rollout whose squares overflow. State counts what was left out.
const RARE = 100.0;
@compute @workgroup_size(1)
fn scale_rewards() {
  let sums = all_parts(0u);
  let all_sums = all_parts(1u);
  let is_rare = sums.w <= max(1.0, sums.x / RARE);
  let total = select(vec4<f32>(sums.x, all_sums.xy, 0.0), sums, is_rare);
  let scaled = (U.flags & FLAG_SCALE_REWARD) != 0u;
  var left_out = total.w;
  let count = state[S_REWARD_COUNT];
  let mean = state[S_REWARD_MEAN];
  let now = total.x;
  if (now > 0.0) {
    let shift = total.y / now;
    let spread = max(total.z / now - shift * shift, 0.0);
    let all = count + now;
    let variance = (state[S_REWARD_VAR] * count + spread * now) / all + shift * shift * (count / all) * (now / all);
    let next_mean = mean + shift * (now / all);
    if (is_finite(variance) && is_finite(next_mean)) {
      state[S_REWARD_VAR] = variance;
      state[S_REWARD_MEAN] = next_mean;
      state[S_REWARD_COUNT] = all;
    } else {
      left_out = now;
    }
  }
  state[S_REWARDS_LEFT_OUT] = select(0.0, left_out, scaled);
  state[S_REWARD_SCALE] = select(1.0, 1.0 / sqrt(state[S_REWARD_VAR] + 1e-8), scaled && state[S_REWARD_VAR] > 0.0);
}

fn tell_episodes() {
  let episodes = all_parts(2u);
  state[S_EPISODES] = episodes.x;
  state[S_EPISODE_RETURNS] = episodes.y;
  state[S_EPISODE_LENGTHS] = episodes.z;
  state[S_BAD_STEPS] = episodes.w;
}

/// Episodes that ended, for learners that have no advantages.
@compute @workgroup_size(1)
fn episodes() {
  tell_episodes();
}

@compute @workgroup_size(1)
fn scale_advantages() {
  let a = all_parts(0u);
  let b = all_parts(1u);
  let count = max(a.x, 1.0);
  let mean = a.y / count;
  let variance = max(a.z / count - mean * mean, 0.0);
  let mean_return = a.w / count;
  let spread = max(b.x / count - mean_return * mean_return, 0.0);
  let normalize = (U.flags & FLAG_NORMALIZE_ADVANTAGE) != 0u;
  state[S_ADV_MEAN] = select(0.0, mean, normalize);
  state[S_ADV_SCALE] = select(1.0, 1.0 / (sqrt(variance) + 1e-8), normalize);
  // what the value function explains of the returns
  state[S_EXPLAINED] = select(0.0, 1.0 - variance / spread, spread > 0.0);
  state[S_VALID] = a.x;
  tell_episodes();
  state[S_REWARDS_CLIPPED] = b.y;
}
