/**
 * Kernels of a dense layer, emitted for tiles of 8 by 8 held in registers, without shared memory: what ran fastest on the
 * software driver. Shapes are read from a uniform, so each is compiled once for networks of any width.
 *
 * Products and sums are written as fma: the software driver does not fuse them by itself, and takes half as long again.
 *
 * A row's result does not depend on the rows beside it: one world alone gets the bits it gets among 65,536.
 */
import { TILE } from "./networks.ts";

/** Layers that one dispatch may run side by side. */
export const MAX_PARTS = 4;

const QUADS = TILE / 4;
const rows = Array.from({ length: TILE }, (_, i) => i);
const quads = Array.from({ length: QUADS }, (_, i) => i);
const XYZW = ["x", "y", "z", "w"] as const;

const head = `
struct Linear {
  /// Inputs [rows, k4] and outputs [rows, n4] in the network's memory, weights [k, n4] and biases: vec4s.
  x: u32,
  k4: u32,
  w: u32,
  b: u32,
  y: u32,
  n4: u32,
  /// 0 none, 1 tanh, 2 relu: of the outputs; backwards, of the inputs.
  activation: u32,
  bias_only: u32,
}
/// Layers that run side by side, one for each z of the dispatch.
@group(0) @binding(1) var<uniform> layers: array<Linear, ${MAX_PARTS}>;
`;

/** Derivatives of earlier blocks, and where they are kept until the last. */
const sumsSoFar = [
  "let is_first = (L.bias_only & 1u) != 0u;",
  "let is_last = (L.bias_only & 2u) != 0u;",
  ...rows.flatMap((r) =>
    quads.flatMap((q) => [
      `var x${r}_${q} = vec4<f32>(0.0);`,
      `if (!is_first) { x${r}_${q} = work[L.b + (row + ${r}u) * L.k4 + column + ${q}u]; }`,
    ]),
  ),
];
const keepSums = [
  "if (!is_last) {",
  ...rows.flatMap((r) => quads.map((q) => `  work[L.b + (row + ${r}u) * L.k4 + column + ${q}u] = x${r}_${q};`)),
  "  return;",
  "}",
];

const indent = (lines: readonly string[], by: string): string => lines.map((line) => by + line).join("\n");

/** y = f(x W + b). */
export const forwardKernel = (): string => forward("C.rows");

/** The same for one step of sequences, whose rows are the lanes. */
export const lanesForwardKernel = (): string => forward("C.lanes");

const forward = (count: string): string => `${head}
@group(0) @binding(2) var<storage, read> params: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> work: array<vec4<f32>>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let L = layers[group.z];
  let thread = thread_of(gid);
  let tiles = (${count} + ${TILE - 1}u) / ${TILE}u;
  let column = (thread / tiles) * ${QUADS}u;
  if (column >= L.n4) { return; }
  let row = (thread % tiles) * ${TILE}u;
${indent(
  rows.flatMap((r) => quads.map((q) => `var y${r}_${q} = params[L.b + column + ${q}u];`)),
  "  ",
)}
  for (var k = 0u; k < L.k4; k += 1u) {
${indent(
  rows.map((r) => `let x${r} = work[L.x + (row + ${r}u) * L.k4 + k];`),
  "    ",
)}
${indent(
  XYZW.flatMap((c, j) => [
    ...quads.map((q) => `let w${c}${q} = params[L.w + (4u * k + ${j}u) * L.n4 + column + ${q}u];`),
    ...rows.flatMap((r) => quads.map((q) => `y${r}_${q} = fma(vec4<f32>(x${r}.${c}), w${c}${q}, y${r}_${q});`)),
  ]),
  "    ",
)}
  }
  if (L.activation == 1u) {
${indent(
  rows.flatMap((r) => quads.map((q) => `y${r}_${q} = poly_tanh4(y${r}_${q});`)),
  "    ",
)}
  }
  if (L.activation == 2u) {
${indent(
  rows.flatMap((r) => quads.map((q) => `y${r}_${q} = max(y${r}_${q}, vec4<f32>(0.0));`)),
  "    ",
)}
  }
${indent(
  rows.flatMap((r) => quads.map((q) => `work[L.y + (row + ${r}u) * L.n4 + column + ${q}u] = y${r}_${q};`)),
  "  ",
)}
}
`;

/** The derivative by x, of the activation that made x too, in the place of x. */
export const backwardKernel = (): string => backward(false, "C.rows");

/**
 * The same for a block of many outputs: derivatives are added up at `b` of the layer, and go to the place of x with the last
 * block. `bias_only`: 1 for the first block, 2 for the last.
 */
export const headBackwardKernel = (): string => backward(true, "C.rows");

/** The same for one step of sequences, whose rows are the lanes: added to what is there. */
export const lanesBackwardKernel = (): string => backward(true, "C.lanes");

const backward = (inBlocks: boolean, count: string): string => `${head}
@group(0) @binding(2) var<storage, read> params: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> work: array<vec4<f32>>;

fn slope(x: vec4<f32>, activation: u32) -> vec4<f32> {
  if (activation == 0u) { return vec4<f32>(1.0); }
  if (activation == 1u) { return 1.0 - x * x; }
  return select(vec4<f32>(0.0), vec4<f32>(1.0), x > vec4<f32>(0.0));
}

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let L = layers[group.z];
  let thread = thread_of(gid);
  let tiles = (${count} + ${TILE - 1}u) / ${TILE}u;
  let column = (thread / tiles) * ${QUADS}u;
  if (column >= L.k4) { return; }
  let row = (thread % tiles) * ${TILE}u;
${indent(inBlocks ? sumsSoFar : rows.flatMap((r) => quads.map((q) => `var x${r}_${q} = vec4<f32>(0.0);`)), "  ")}
  for (var n = 0u; n < L.n4; n += 1u) {
${indent(
  rows.map((r) => `let y${r} = work[L.y + (row + ${r}u) * L.n4 + n];`),
  "    ",
)}
${indent(
  quads.flatMap((q) =>
    XYZW.flatMap((c, j) => [
      `let w${q}${c} = params[L.w + (4u * (column + ${q}u) + ${j}u) * L.n4 + n];`,
      ...rows.map((r) => `x${r}_${q}.${c} += dot(y${r}, w${q}${c});`),
    ]),
  ),
  "    ",
)}
  }
${indent(inBlocks ? keepSums : [], "  ")}
${indent(
  rows.flatMap((r) =>
    quads.flatMap((q) => [
      `let at${r}_${q} = L.x + (row + ${r}u) * L.k4 + column + ${q}u;`,
      `work[at${r}_${q}] = x${r}_${q} * slope(work[at${r}_${q}], L.activation);`,
    ]),
  ),
  "  ",
)}
}
`;

/** Derivatives by W and b, summed over each chunk of rows in order. */
export const gradientKernel = (): string => gradient("C.chunks", "C.chunk_rows");

/** The same for a block of many outputs: over all rows, into the gradient itself. */
export const headGradientKernel = (): string => gradient("1u", "C.rows");

const gradient = (chunks: string, chunkRows: string): string => `${head}
@group(0) @binding(3) var<storage, read> work: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> partials: array<vec4<f32>>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let L = layers[group.z];
  let thread = thread_of(gid);
  let k_tiles = L.k4 / ${QUADS}u;
  let n_tiles = L.n4 / ${QUADS}u;
  let chunk = thread / (k_tiles * n_tiles);
  if (chunk >= ${chunks}) { return; }
  let k = ((thread / n_tiles) % k_tiles) * ${QUADS}u;
  let n = (thread % n_tiles) * ${QUADS}u;
${indent(
  [
    ...rows.flatMap((r) => quads.map((q) => `var w${r}_${q} = vec4<f32>(0.0);`)),
    ...quads.map((q) => `var b${q} = vec4<f32>(0.0);`),
  ],
  "  ",
)}
  let end = min((chunk + 1u) * ${chunkRows}, C.rows);
  for (var row = chunk * ${chunkRows}; row < end; row += 1u) {
${indent(
  [
    ...quads.map((q) => `let x${q} = work[L.x + row * L.k4 + k + ${q}u];`),
    ...quads.map((q) => `let y${q} = work[L.y + row * L.n4 + n + ${q}u];`),
    ...rows.flatMap((r) =>
      quads.map((q) => `w${r}_${q} = fma(vec4<f32>(x${r >> 2}.${XYZW[r & 3]}), y${q}, w${r}_${q});`),
    ),
    ...quads.map((q) => `b${q} += y${q};`),
  ],
  "    ",
)}
  }
  let base = chunk * C.total4;
  if (L.bias_only == 0u) {
${indent(
  rows.flatMap((r) => quads.map((q) => `partials[base + L.w + (4u * k + ${r}u) * L.n4 + n + ${q}u] = w${r}_${q};`)),
  "    ",
)}
  }
  if (k == 0u) {
${indent(
  quads.map((q) => `partials[base + L.b + n + ${q}u] = b${q};`),
  "    ",
)}
  }
}
`;
