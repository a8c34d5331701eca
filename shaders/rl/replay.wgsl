// Transitions out of a ring of rows, one row a world and control step. The next observation of a row is the row after it:
// environments reset on the step after an episode's end, so that the last observation of an episode is a row too, whose
// action did nothing and which no sample starts at. Twin of src/rl/replay/replay.ts.

@group(0) @binding(2) var<storage, read> replay_obs: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> replay_actions: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> replay_steps: array<ReplayStep>;
@group(0) @binding(5) var<storage, read_write> batch: array<vec4<f32>>;

/// Draws until one starts at a row whose action did something; at least every second row of a world is one.
const TRIES = 32u;

/// A sample: observation, next observation, action; discounted rewards, what the next value counts, its weight.
@compute @workgroup_size(32)
fn sample(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid) / J.row4;
  let column = thread_of(gid) % J.row4;
  if (row >= U.rows) { return; }
  var base = 0u;
  var slot = 0u;
  var weight = 0.0;
  for (var i = 0u; i < TRIES; i += 1u) {
    let words = philox4x32(vec4<u32>(row, U.draw, STREAM_REPLAY, i), U.seed);
    base = integer_from_bits(words.x, U.worlds) * U.steps;
    slot = (U.ring_first + integer_from_bits(words.y, U.ring_starts)) % U.steps;
    if ((u32(replay_steps[base + slot].flags) & SKIPPED) == 0u) {
      weight = 1.0;
      break;
    }
  }

  // rewards up to the end of the episode, at most n
  var next = slot;
  var total = 0.0;
  var discount = 1.0;
  var flags = 0u;
  for (var k = 0u; k < U.n_steps && flags == 0u; k += 1u) {
    let step = replay_steps[base + next];
    total = fma(discount, step.reward, total);
    discount *= U.gamma;
    flags = u32(step.flags);
    next = (next + 1u) % U.steps;
  }
  if ((flags & TERMINATED) != 0u) { discount = 0.0; }

  var value = vec4<f32>(0.0);
  value[NOTE_N_STEP_RETURN] = total;
  value[NOTE_DISCOUNT] = discount;
  value[NOTE_WEIGHT] = weight;
  if (column < U.obs4) { value = replay_obs[(base + slot) * U.obs4 + column]; }
  else if (column < 2u * U.obs4) { value = replay_obs[(base + next) * U.obs4 + column - U.obs4]; }
  else if (column < 2u * U.obs4 + J.actions4) {
    value = replay_actions[(base + slot) * J.actions4 + column - 2u * U.obs4];
  }
  batch[row * J.row4 + column] = value;
}
