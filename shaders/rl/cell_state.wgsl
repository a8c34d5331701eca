// What cells with a memory share: the states of worlds that act. Cells of several networks go side by side.

@group(0) @binding(3) var<storage, read_write> work: array<vec4<f32>>;
/// States of worlds, network by network: of each what the cell puts out, then what it keeps beside.
@group(0) @binding(4) var<storage, read_write> hidden: array<vec4<f32>>;

/// A vec4 of a cell's state, of a world or a sequence.
fn state_at(c: Cell, owner: u32, network: u32, q: u32) -> u32 {
  return (owner * c.networks + network) * c.parts * c.s4 + q;
}

/// A world remembers nothing.
fn clear_state(c: Cell, world: u32, network: u32, q: u32) {
  let at = state_at(c, world, network, q);
  hidden[at] = vec4<f32>(0.0);
  if (c.parts == 2u) { hidden[at + c.s4] = vec4<f32>(0.0); }
}

fn sigmoid4(x: vec4<f32>) -> vec4<f32> {
  return keep_nan4(x, 0.5 + 0.5 * poly_tanh4(0.5 * x));
}

/// What a cell makes of a step: what it puts out, and what it keeps beside, if it does.
struct CellState {
  shown: vec4<f32>,
  memory: vec4<f32>,
}
