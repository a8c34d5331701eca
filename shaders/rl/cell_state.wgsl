// What cells with a memory share: states of the worlds that act, and those that sequences of a minibatch begin with. A
// rollout is cut into sequences; the state that each began with was kept when it acted. The policy's cell and the value's
// go side by side.

@group(0) @binding(3) var<storage, read_write> work: array<vec4<f32>>;
/// States of worlds, and those that sequences of the rollout began with: the policy's, then the value's; of each what the
/// cell puts out, then what it keeps beside.
@group(0) @binding(4) var<storage, read_write> hidden: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> rollout_hidden: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> samples: array<Sample>;

/// A vec4 of a cell's state, of a world or a sequence.
fn state_at(c: Cell, owner: u32, network: u32, q: u32) -> u32 {
  return (owner * 2u + network) * c.parts * c.s4 + q;
}

fn sigmoid4(x: vec4<f32>) -> vec4<f32> {
  return keep_nan4(x, 0.5 + 0.5 * poly_tanh4(0.5 * x));
}

/// Whether the world of a lane took a new start state at a step of its sequence.
fn is_reset(lane: u32, step: u32) -> bool {
  let sample = sample_of(step * U.lanes + lane);
  return (u32(samples[sample].flags) & SKIPPED) != 0u;
}
