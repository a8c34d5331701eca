// A rollout as if seen in a mirror, for some of the worlds: of a body that is its own mirror image it is as good a rollout
// (Abdolhosseini et al. 2019). A column is the negative or not of its partner, whose partner it is, so rows change in place.

@group(0) @binding(2) var<storage, read> mirror: array<f32>;
@group(0) @binding(3) var<storage, read> worlds: array<World>;
@group(0) @binding(4) var<storage, read_write> rollout_obs: array<f32>;
@group(0) @binding(5) var<storage, read_write> rollout_actions: array<f32>;

/// Half of the worlds, others in each update.
fn is_mirrored(world: u32) -> bool {
  let words = philox4x32(vec4<u32>(worlds[world].id, U.draw, STREAM_MIRROR, 0u), U.seed);
  return words.x < 0x80000000u;
}

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>) {
  let width = J.observations + J.actions;
  let sample = thread_of(gid) / width;
  let column = thread_of(gid) % width;
  if (sample >= U.samples || !is_mirrored(sample / U.steps)) { return; }
  let is_action = column >= J.observations;
  let own = select(column, column - J.observations, is_action);
  // counted from 1, with the sign
  let signed_place = mirror[column];
  let partner = u32(abs(signed_place)) - 1u;
  // the lower of two moves both
  if (partner < own) { return; }
  let factor = select(1.0, -1.0, signed_place < 0.0);
  if (is_action) {
    let at = sample * J.action_row;
    let kept = rollout_actions[at + own];
    rollout_actions[at + own] = factor * rollout_actions[at + partner];
    rollout_actions[at + partner] = factor * kept;
  } else {
    let at = sample * J.observation_row;
    let kept = rollout_obs[at + own];
    rollout_obs[at + own] = factor * rollout_obs[at + partner];
    rollout_obs[at + partner] = factor * kept;
  }
}
