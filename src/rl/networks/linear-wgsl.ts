// kernels of a dense layer, emitted for tiles held in registers, without shared memory: what ran fastest on the software
// driver. Shapes are read from a uniform, so each is compiled once for networks of any width.
//
// On that driver a load costs as much as dozens of products, whether lanes ask for one address or for eight. Where
// subgroups have 8 lanes, each lane therefore loads a part of what all of them need, and hands it to the others. Elsewhere
// each loads all that it needs, which caches of a GPU answer.
//
// Products and sums are written as fma: the software driver does not fuse them by itself, and takes half as long again.
//
// A row's result does not depend on the rows beside it: one world alone gets the bits it gets among 65,536.
import { ACTIVATED_WGSL, SLOPE_WGSL } from "./activations.ts";
import { LANES, tileRows, type Sharing } from "./linear-groups.ts";
import { TILE } from "./networks.ts";

const QUADS = TILE / 4;
const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const quads = upTo(QUADS);
const XYZW = ["x", "y", "z", "w"] as const;

const indent = (lines: readonly string[], by: string): string => lines.map((line) => by + line).join("\n");

/** The entry point of a kernel whose lanes hand loads to each other. */
const LANES_MAIN = `
@compute @workgroup_size(${LANES})
fn main(
  @builtin(local_invocation_index) index: u32,
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(subgroup_invocation_id) lane: u32,
) {
  let L = layers[group.z];`;

/** The start of a kernel whose lanes take tiles of rows, and whose workgroups or lanes take 8 columns of `width`. */
function tilesOfRows(sharing: Sharing, count: string, width: string): string {
  const each = tileRows(sharing);
  const tiles = `let tiles = (${count} + ${each - 1}u) / ${each}u;`;
  if (sharing !== "lanes") {
    return `
@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) gid: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
  let L = layers[group.z];
  let thread = thread_of(gid);
  ${tiles}
  let column = (thread / tiles) * ${QUADS}u;
  if (column >= ${width}) { return; }
  let row = (thread % tiles) * ${each}u;
  let is_inside = true;`;
  }
  return `${LANES_MAIN}
  ${tiles}
  let column = group.y * ${QUADS}u;
  if (column >= ${width}) { return; }
  // lanes beyond the last row load for the others, and store nothing
  let tile = group.x * ${LANES}u + index;
  let is_inside = tile < tiles;
  let row = min(tile, tiles - 1u) * ${each}u;`;
}

/** y = f(x W + b). */
const forwardKernel = (sharing: Sharing): string => forward(sharing, "U.rows");

/** The same for one step of sequences, whose rows are the lanes. */
const lanesForwardKernel = (sharing: Sharing): string => forward(sharing, "U.lanes");

function forward(sharing: Sharing, count: string): string {
  const rows = upTo(tileRows(sharing));
  const isShared = sharing === "lanes";
  // of the 8 vec4s of weights for four inputs and eight columns, each lane loads one
  const weight = (j: number, q: number): string =>
    isShared ? `subgroupBroadcast(mine, ${QUADS * j + q}u)` : `params[L.w + (4u * k + ${j}u) * L.n4 + column + ${q}u]`;
  return `@group(0) @binding(2) var<storage, read> params: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> work: array<vec4<f32>>;

${ACTIVATED_WGSL}${tilesOfRows(sharing, count, "L.n4")}
${indent(
  [
    ...rows.flatMap((r) => quads.map((q) => `var y${r}_${q} = params[L.b + column + ${q}u];`)),
    ...rows.map((r) => `let at${r} = L.x + (row + ${r}u) * L.k4;`),
    ...(isShared ? [`let own = L.w + (lane / ${QUADS}u) * L.n4 + column + lane % ${QUADS}u;`] : []),
  ],
  "  ",
)}
  for (var k = 0u; k < L.k4; k += 1u) {
${indent(
  [
    ...(isShared ? ["let mine = params[own + 4u * k * L.n4];"] : []),
    ...rows.map((r) => `let x${r} = work[at${r} + k];`),
    ...XYZW.flatMap((c, j) => [
      ...quads.map((q) => `let w${c}${q} = ${weight(j, q)};`),
      ...rows.flatMap((r) => quads.map((q) => `y${r}_${q} = fma(vec4<f32>(x${r}.${c}), w${c}${q}, y${r}_${q});`)),
    ]),
  ],
  "    ",
)}
  }
  if (!is_inside) { return; }
  let keeps = keeps_argument(L.activation);
${indent(
  rows.flatMap((r) =>
    quads.flatMap((q) => [
      `let to${r}_${q} = L.y + (row + ${r}u) * L.n4 + column + ${q}u;`,
      `work[to${r}_${q}] = activated(y${r}_${q}, L.activation);`,
      `if (keeps) { work[to${r}_${q} + U.work_rows * L.n4] = y${r}_${q}; }`,
    ]),
  ),
  "  ",
)}
}
`;
}

/** The derivative by x, of the activation that made x too, in the place of x. */
const backwardKernel = (sharing: Sharing): string => backward(sharing, false, "U.rows");

/**
 * The same for a block of many outputs: derivatives are added up at `b` of the layer, and go to the place of x with the last
 * block. `mode`: 1 for the first block, 2 for the last.
 */
const headBackwardKernel = (sharing: Sharing): string => backward(sharing, true, "U.rows");

/** The same for one step of sequences, whose rows are the lanes: added to what is there. */
const lanesBackwardKernel = (sharing: Sharing): string => backward(sharing, true, "U.lanes");

function backward(sharing: Sharing, inBlocks: boolean, count: string): string {
  const rows = upTo(tileRows(sharing));
  const isShared = sharing === "lanes";
  const each = (line: (r: number, q: number) => string[]) => rows.flatMap((r) => quads.flatMap((q) => line(r, q)));
  // one vec4 for each of the eight columns, of which each lane loads one
  const weight = (j: number): string =>
    isShared ? `subgroupBroadcast(mine, ${j}u)` : `params[L.w + (4u * column + ${j}u) * L.n4 + n]`;
  // derivatives of earlier blocks, and where they are kept until the last
  const sums = each((r, q) => [
    `var x${r}_${q} = vec4<f32>(0.0);`,
    ...(inBlocks ? [`if (!is_first) { x${r}_${q} = work[L.b + (row + ${r}u) * L.k4 + column + ${q}u]; }`] : []),
  ]);
  const keep = each((r, q) => [`  work[L.b + (row + ${r}u) * L.k4 + column + ${q}u] = x${r}_${q};`]);
  const sumsOfLanes = `  for (var n = 0u; n < L.n4; n += 1u) {
${indent(
  [
    ...(isShared ? ["let mine = params[own + n];"] : []),
    ...rows.map((r) => `let y${r} = work[at${r} + n];`),
    ...quads.flatMap((q) =>
      XYZW.flatMap((c, j) => [
        `let w${q}${c} = ${weight(4 * q + j)};`,
        ...rows.map((r) => {
          const sum = `x${r}_${q}.${c}`;
          return `${sum} = ${XYZW.reduce((inner, i) => `fma(y${r}.${i}, w${q}${c}.${i}, ${inner})`, sum)};`;
        }),
      ]),
    ),
  ],
  "    ",
)}
  }`;
  return `@group(0) @binding(2) var<storage, read> params: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> work: array<vec4<f32>>;

${SLOPE_WGSL}${tilesOfRows(sharing, count, "L.k4")}
${indent(
  [
    ...(inBlocks ? ["let is_first = (L.mode & 1u) != 0u;", "let is_last = (L.mode & 2u) != 0u;"] : []),
    ...sums,
    ...rows.map((r) => `let at${r} = L.y + (row + ${r}u) * L.n4;`),
    ...(isShared ? ["let own = L.w + (4u * column + lane) * L.n4;"] : []),
  ],
  "  ",
)}
${sharing === "vectors" ? dotsOfVectors(rows) : sumsOfLanes}
  if (!is_inside) { return; }
${indent(inBlocks ? ["if (!is_last) {", ...keep, "  return;", "}"] : [], "  ")}
  // what was kept of the inputs: themselves, or what they were made from
  let kept = select(0u, U.work_rows * L.k4, keeps_argument(L.activation));
${indent(
  each((r, q) => [
    `let to${r}_${q} = L.x + (row + ${r}u) * L.k4 + column + ${q}u;`,
    `work[to${r}_${q}] = x${r}_${q} * slope(work[to${r}_${q} + kept], L.activation);`,
  ]),
  "  ",
)}
}
`;
}

/**
 * Products of rows and columns where scalars are dear: four at a time along both, four columns in turn so that their sums
 * stay in registers, and lanes added at the end.
 */
const dotsOfVectors = (rows: readonly number[]): string =>
  indent(
    quads.flatMap((q) => [
      "{",
      ...rows.flatMap((r) => XYZW.map((c) => `  var s${r}${c} = vec4<f32>(0.0);`)),
      "  for (var n = 0u; n < L.n4; n += 1u) {",
      ...rows.map((r) => `    let y${r} = work[at${r} + n];`),
      ...XYZW.flatMap((c, j) => [
        `    let w${c} = params[L.w + (4u * column + ${4 * q + j}u) * L.n4 + n];`,
        ...rows.map((r) => `    s${r}${c} = fma(y${r}, w${c}, s${r}${c});`),
      ]),
      "  }",
      ...rows.map((r) => {
        const sums = XYZW.map((c) => `dot(s${r}${c}, vec4<f32>(1.0))`);
        return `  x${r}_${q} += vec4<f32>(${sums.join(", ")});`;
      }),
      "}",
    ]),
    "  ",
  );

/** Derivatives by W and b, summed over each chunk of rows in order. */
const gradientKernel = (sharing: Sharing): string => gradient(sharing, "U.chunks", "U.chunk_rows");

/** The same over all rows, into the gradient itself. */
const wholeGradientKernel = (sharing: Sharing): string => gradient(sharing, "1u", "U.rows");

const gradient = (
  sharing: Sharing,
  chunks: string,
  chunkRows: string,
): string => `@group(0) @binding(3) var<storage, read> work: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> partials: array<vec4<f32>>;
${sharing === "lanes" ? sharedGradient(chunks, chunkRows) : ownGradient(chunks, chunkRows)}`;

/** Each invocation a tile of 8 inputs by 8 outputs. */
const ownGradient = (chunks: string, chunkRows: string): string => `
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
    ...upTo(TILE).flatMap((i) => quads.map((q) => `var w${i}_${q} = vec4<f32>(0.0);`)),
    ...quads.map((q) => `var b${q} = vec4<f32>(0.0);`),
  ],
  "  ",
)}
  let end = min((chunk + 1u) * ${chunkRows}, U.rows);
  for (var row = chunk * ${chunkRows}; row < end; row += 1u) {
${indent(
  [
    ...quads.map((q) => `let x${q} = work[L.x + row * L.k4 + k + ${q}u];`),
    ...quads.map((q) => `let y${q} = work[L.y + row * L.n4 + n + ${q}u];`),
    ...upTo(TILE).flatMap((i) =>
      quads.map((q) => `w${i}_${q} = fma(vec4<f32>(x${i >> 2}.${XYZW[i & 3]}), y${q}, w${i}_${q});`),
    ),
    ...quads.map((q) => `b${q} += y${q};`),
  ],
  "    ",
)}
  }
  let base = chunk * U.total4;
  if (L.mode == 0u) {
${indent(
  upTo(TILE).flatMap((i) =>
    quads.map((q) => `partials[base + L.w + (4u * k + ${i}u) * L.n4 + n + ${q}u] = w${i}_${q};`),
  ),
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

/** Rows that lanes load at a time, one vec4 each. */
const TURN = LANES / QUADS;

/**
 * Each lane four inputs of its own by 8 outputs that all lanes share, or the other way round, `turned`, where that leaves
 * fewer lanes idle.
 */
const sharedGradient = (chunks: string, chunkRows: string): string => `${LANES_MAIN}
  let turned = ((L.k4 + ${LANES - 1}u) / ${LANES}u) * L.n4 > ((L.n4 + ${LANES - 1}u) / ${LANES}u) * L.k4;
  let own4 = select(L.k4, L.n4, turned);
  let other4 = select(L.n4, L.k4, turned);
  let groups = (own4 + ${LANES - 1}u) / ${LANES}u;
  let chunk = group.x / groups;
  let other = group.y * ${QUADS}u;
  if (chunk >= ${chunks} || other >= other4) { return; }
  let own = (group.x % groups) * ${LANES}u + index;
  let own_at = select(L.x, L.y, turned) + min(own, own4 - 1u);
  let other_at = select(L.y, L.x, turned) + other + lane % ${QUADS}u;
  let ahead = lane / ${QUADS}u;
${indent(
  XYZW.flatMap((c) => quads.map((q) => `var w${c}${q} = vec4<f32>(0.0);`)),
  "  ",
)}
  var own_sum = vec4<f32>(0.0);
  var other_sums = vec4<f32>(0.0);
  let end = min((chunk + 1u) * ${chunkRows}, U.rows);
  for (var row = chunk * ${chunkRows}; row < end; row += ${TURN}u) {
    // rows beyond the end: the last, times 0
    let mine = select(vec4<f32>(0.0), work[other_at + min(row + ahead, end - 1u) * other4], row + ahead < end);
    other_sums += mine;
${indent(
  upTo(TURN).flatMap((r) => [
    `let x${r} = work[own_at + min(row + ${r}u, end - 1u) * own4];`,
    `own_sum += select(vec4<f32>(0.0), x${r}, row + ${r}u < end);`,
    ...quads.flatMap((q) => [
      `let y${r}_${q} = subgroupBroadcast(mine, ${QUADS * r + q}u);`,
      ...XYZW.map((c) => `w${c}${q} = fma(vec4<f32>(x${r}.${c}), y${r}_${q}, w${c}${q});`),
    ]),
  ]),
  "    ",
)}
  }
${indent(
  quads.map((q) => {
    const parts = upTo(TURN).map((r) => `subgroupBroadcast(other_sums, ${QUADS * r + q}u)`);
    return `let b${q} = ${parts.join(" + ")};`;
  }),
  "  ",
)}
  let base = chunk * U.total4;
  let w_at = base + L.w + select(4u * own * L.n4 + other, 4u * other * L.n4 + own, turned);
  let w_next = select(1u, 4u * L.n4, turned);
  if (L.mode == 0u && own < own4) {
${indent(
  XYZW.flatMap((c, i) =>
    quads.map((q) => {
      const column = XYZW.map((row) => `w${row}${q}.${c}`).join(", ");
      return `partials[w_at + ${i}u * L.n4 + ${q}u * w_next] = select(w${c}${q}, vec4<f32>(${column}), turned);`;
    }),
  ),
  "    ",
)}
  }
  if (turned && other == 0u && own < own4) {
    partials[base + L.b + own] = own_sum;
  }
  if (!turned && own == 0u) {
${indent(
  quads.map((q) => `partials[base + L.b + other + ${q}u] = b${q};`),
  "    ",
)}
  }
}
`;

/** The kernels by name. */
export const LINEAR = {
  forward: forwardKernel,
  lanesForward: lanesForwardKernel,
  backward: backwardKernel,
  headBackward: headBackwardKernel,
  lanesBackward: lanesBackwardKernel,
  gradient: gradientKernel,
  wholeGradient: wholeGradientKernel,
};
export type LinearKernel = keyof typeof LINEAR;
