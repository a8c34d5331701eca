// Sequences out of a ring of rows, one row a world and control step, for networks that remember. Rows of a batch lie step by
// step, sequences side by side. See replay.wgsl for the ring.

@group(0) @binding(2) var<storage, read> replay_obs: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> replay_actions: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> replay_steps: array<ReplayStep>;
@group(0) @binding(5) var<storage, read_write> batch: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> resets: array<f32>;

fn is_skipped(row: u32) -> bool {
  return (u32(replay_steps[row].flags) & SKIPPED) != 0u;
}

/// A step of a sequence, as `sample` writes it. It counts once the memory is as old as the burn-in, or as the episode.
@compute @workgroup_size(32)
fn sample_sequences(@builtin(global_invocation_id) gid: vec3<u32>) {
  let row = thread_of(gid) / J.row4;
  let column = thread_of(gid) % J.row4;
  if (row >= U.rows) { return; }
  let step = row / U.lanes;
  let words = philox4x32(vec4<u32>(row % U.lanes, U.draw, STREAM_REPLAY, 0u), U.seed);
  let base = integer_from_bits(words.x, U.worlds) * U.steps;
  let start = integer_from_bits(words.y, U.ring_starts);
  let slot = (U.ring_first + start + step) % U.steps;
  let next = (slot + 1u) % U.steps;
  let skipped = is_skipped(base + slot);
  // an episode that began in the sequence, or just before it, is remembered from its start
  var counts = step >= J.burn_in;
  for (var k = select(1u, 0u, start > 0u); k <= step && !counts; k += 1u) {
    counts = is_skipped(base + (U.ring_first + start + k + U.steps - 1u) % U.steps);
  }
  if (column == 0u) { resets[row] = select(0.0, 1.0, skipped); }

  let result = replay_steps[base + slot];
  var value = vec4<f32>(0.0);
  value[NOTE_N_STEP_RETURN] = result.reward;
  value[NOTE_DISCOUNT] = select(U.gamma, 0.0, (u32(result.flags) & TERMINATED) != 0u);
  value[NOTE_WEIGHT] = select(0.0, 1.0, counts && !skipped);
  if (column < U.obs4) { value = replay_obs[(base + slot) * U.obs4 + column]; }
  else if (column < 2u * U.obs4) { value = replay_obs[(base + next) * U.obs4 + column - U.obs4]; }
  else if (column < 2u * U.obs4 + J.actions4) {
    value = replay_actions[(base + slot) * J.actions4 + column - 2u * U.obs4];
  }
  batch[row * J.row4 + column] = value;
}
