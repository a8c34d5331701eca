// Sequences that a rollout is cut into; the state that each began with was kept when it acted.

@group(0) @binding(5) var<storage, read_write> rollout_hidden: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> samples: array<Sample>;

/// Whether the world of a lane took a new start state at a step of its sequence.
fn is_reset(lane: u32, step: u32) -> bool {
  let sample = sample_of(step * U.lanes + lane);
  return (u32(samples[sample].flags) & SKIPPED) != 0u;
}
