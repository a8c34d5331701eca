// Sequences out of a replay: each begins with a state of zeros.

/// By row: 1 where the world took a new start state.
@group(0) @binding(6) var<storage, read> resets: array<f32>;

/// Whether the world of a lane took a new start state at a step of its sequence.
fn is_reset(lane: u32, step: u32) -> bool {
  return resets[step * U.lanes + lane] != 0.0;
}
