// a policy as one WGSL kernel: a workgroup for each row of observations. Sums run in the order of the kernel that was
// trained, so that on the same device a row has the same bits.
import { readFileSync } from "node:fs";
import { CorralError } from "../core/errors.ts";
import { ACTIVATIONS } from "../rl/networks/activations.ts";
import { NORM_EPSILON } from "../rl/networks/layer-norm.ts";
import type { Policy, PolicyCell } from "../rl/networks/policy.ts";
import { finite } from "./facts.ts";

/** Invocations of a workgroup. */
const LANES = 64;
/** Two rows of activations in the 16 KiB of workgroup memory that every device has, beside what the choice takes. */
const MAX_WIDTH = 1920;

/** A float32 as WGSL writes it. */
function literal(x: number): string {
  const text = String(Math.fround(x));
  return /[.e]/.test(text) ? text : `${text}.0`;
}

const tanh = (x: string): string => `poly_tanh4(vec4<f32>(${x})).x`;

/** A result, or the argument if that is NaN, so that weights that went bad are seen. */
const keepNan = (x: string, result: string): string => `keep_nan4(vec4<f32>(${x}), vec4<f32>(${result})).x`;

const list = (type: string, values: readonly string[]): string =>
  `array<${type}, ${values.length}>(${values.join(", ")})`;

/** `placeOf`: where an array of `policy.named` begins in the buffer of weights, in floats. Throws `unsupported-export`. */
export function policyKernel(policy: Policy, placeOf: (name: string) => number): string {
  const { id, observations, normalizer, layers, cell, head } = policy;
  const state = cell?.stateSize ?? 0;
  const width = Math.max(observations, cell?.size ?? 0, ...layers.slice(0, -1).map(({ outputs }) => outputs));
  if (width + state / 2 > MAX_WIDTH) {
    throw new CorralError(
      "unsupported-export",
      `a layer of the policy is ${width} wide${state > 0 ? ` and its memory ${state}` : ""}; the WGSL kernel keeps at most ${MAX_WIDTH} numbers of each row in workgroup memory. Export to ONNX or safetensors.`,
      { width, limit: MAX_WIDTH },
    );
  }
  const dense = (fn: string, name: string, inputs: number, from: string): string => `
fn ${fn}(o: u32) -> f32 {
  var y = weights[${placeOf(`${name}.bias`)}u + o];
  let w = ${placeOf(`${name}.weight`)}u + o * ${inputs}u;
  for (var k = 0u; k < ${inputs}u; k += 1u) { y = fma(${from}[k], weights[w + k], y); }
  return y;
}
`;
  const rows = ["even", "odd"];
  // the cell stands between the last two layers
  const last = layers.length - 1;
  const rowOf = (i: number): string => rows[(cell && i === last ? i + 1 : i) % 2];
  const hidden = layers.slice(0, -1).map(({ outputs, activation, norm }, i) => {
    const to = rows[(i + 1) % 2];
    const each = (lines: string): string =>
      `  for (var o = lane; o < ${outputs}u; o += LANES) {\n${lines}\n  }\n  workgroupBarrier();`;
    const bent = `    ${to}[o] = (${ACTIVATIONS[activation].value}).x;`;
    if (!norm) return each(`    let x = vec4<f32>(layer_${i}(o));\n${bent}`);
    const [gain, shift] = ["weight", "bias"].map((part) => `weights[${placeOf(`policy.${i}.norm.${part}`)}u + o]`);
    return `${each(`    ${to}[o] = layer_${i}(o);`)}
  let norm_${i} = moments_of_${to}(${outputs}u);
  workgroupBarrier();
${each(`    let x = vec4<f32>(fma((${to}[o] - norm_${i}.x) * norm_${i}.y, ${gain}, ${shift}));\n${bent}`)}`;
  });

  return `// The policy of ${id}, trained with ${policy.algo}: one workgroup for each row. Made by corral; see README.md beside it.

@group(0) @binding(0) var<storage, read> weights: array<f32>;
@group(0) @binding(1) var<storage, read> observations: array<f32>;
@group(0) @binding(2) var<storage, read_write> actions: array<${head.kind === "gaussian" ? "f32" : "i32"}>;
${cell ? `/// What each row remembers; zeros where an episode begins.\n@group(0) @binding(3) var<storage, read_write> hidden: array<f32>;\nvar<workgroup> before: array<f32, ${state}>;\n` : ""}
const LANES = ${LANES}u;
const OBSERVATIONS = ${observations}u;
var<workgroup> even: array<f32, ${width}>;
var<workgroup> odd: array<f32, ${width}>;

${readFileSync(new URL("../../shaders/lib/math.wgsl", import.meta.url), "utf8")}
${layers.map(({ inputs }, i) => dense(`layer_${i}`, `policy.${i}`, inputs, rowOf(i))).join("")}
${cell ? dense("gate_below", `policy.${cell.kind}.ih`, cell.inputs, rows[last % 2]) + dense("gate_state", `policy.${cell.kind}.hh`, cell.size, "before") : ""}
${layers.some(({ norm }) => norm) ? rows.map(momentsOf).join("") : ""}
${head.kind === "gaussian" ? gaussianHead(head, last) : categoricalHead(head, last)}
@compute @workgroup_size(${LANES})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let row = group.x + group.y * 65535u;
  if (row >= arrayLength(&observations) / OBSERVATIONS) { return; }
  for (var i = lane; i < OBSERVATIONS; i += LANES) {
    let x = observations[row * OBSERVATIONS + i];
    let scaled = (x - weights[${placeOf("normalizer.mean")}u + i]) * weights[${placeOf("normalizer.inverse_std")}u + i];
    even[i] = clamp(scaled, ${literal(-Math.min(3e38, normalizer.clip))}, ${literal(Math.min(3e38, normalizer.clip))});
  }
  workgroupBarrier();
${hidden.join("\n")}
${cell ? cellStep(cell, rows[(last + 1) % 2]) : ""}
  choose(row, lane);
}
`;
}

/** Mean of a row, and the factor that gives it a variance of 1, summed as in shaders/rl/layer_norm.wgsl. */
const momentsOf = (row: string): string => `
fn quad_of_${row}(at: u32, count: u32) -> vec4<f32> {
  let places = vec4<u32>(at) + vec4<u32>(0u, 1u, 2u, 3u);
  let last = min(places, vec4<u32>(count - 1u));
  let x = vec4<f32>(${row}[last.x], ${row}[last.y], ${row}[last.z], ${row}[last.w]);
  return select(vec4<f32>(0.0), x, places < vec4<u32>(count));
}

fn moments_of_${row}(count: u32) -> vec2<f32> {
  var total = vec4<f32>(0.0);
  for (var at = 0u; at < count; at += 4u) { total += quad_of_${row}(at, count); }
  let mean = dot(total, vec4<f32>(1.0)) / f32(count);
  var squares = vec4<f32>(0.0);
  for (var at = 0u; at < count; at += 4u) {
    let is_own = vec4<u32>(at) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(count);
    let d = select(vec4<f32>(0.0), quad_of_${row}(at, count) - mean, is_own);
    squares = fma(d, d, squares);
  }
  return vec2<f32>(mean, 1.0 / sqrt(dot(squares, vec4<f32>(1.0)) / f32(count) + ${NORM_EPSILON}));
}
`;

/** A step of the cell: gates as in shaders/rl/gru.wgsl and shaders/rl/lstm.wgsl. */
const cellStep = ({ kind, size, stateSize }: PolicyCell, to: string): string => {
  const sum = (gate: number) => `gate_below(${gate * size}u + o) + gate_state(${gate * size}u + o)`;
  const step = {
    gru: () => `    let sums = vec4<f32>(${sum(0)}, ${sum(1)}, 0.0, 0.0);
    let gates = keep_nan4(sums, 0.5 + 0.5 * poly_tanh4(0.5 * sums));
    let inner = fma(gates.x, gate_state(${2 * size}u + o), gate_below(${2 * size}u + o));
    let candidate = ${keepNan("inner", tanh("inner"))};
    let next = fma(gates.y, before[o] - candidate, candidate);`,
    lstm: () => `    let sums = vec4<f32>(${sum(0)}, ${sum(1)}, ${sum(3)}, 0.0);
    let gates = keep_nan4(sums, 0.5 + 0.5 * poly_tanh4(0.5 * sums));
    let inner = ${sum(2)};
    let candidate = ${keepNan("inner", tanh("inner"))};
    let memory = fma(gates.y, before[${size}u + o], gates.x * candidate);
    let next = gates.z * ${keepNan("memory", tanh("memory"))};
    hidden[row * ${stateSize}u + ${size}u + o] = memory;`,
  }[kind]();
  return `  for (var k = lane; k < ${stateSize}u; k += LANES) { before[k] = hidden[row * ${stateSize}u + k]; }
  workgroupBarrier();
  for (var o = lane; o < ${size}u; o += LANES) {
${step}
    ${to}[o] = next;
    hidden[row * ${stateSize}u + o] = next;
  }
  workgroupBarrier();`;
};

function gaussianHead(head: Extract<Policy["head"], { kind: "gaussian" }>, last: number): string {
  const { actions, squash } = head;
  const [low, high] = [head.low, head.high].map((bounds) => [...finite(bounds)].map(literal));
  const sent = squash ? `low + (high - low) * (0.5 + 0.5 * ${tanh("mean")})` : "clamp(mean, low, high)";
  return `const LOW = ${list("f32", low)};
const HIGH = ${list("f32", high)};

fn choose(row: u32, lane: u32) {
  for (var o = lane; o < ${actions}u; o += LANES) {
    let mean = layer_${last}(o);
    let low = LOW[o];
    let high = HIGH[o];
    actions[row * ${actions}u + o] = ${keepNan("mean", sent)};
  }
}
`;
}

function categoricalHead({ alternatives, start }: Extract<Policy["head"], { kind: "categorical" }>, last: number) {
  return `const ALTERNATIVES = ${list(
    "u32",
    alternatives.map((n) => `${n}u`),
  )};
var<workgroup> lane_best: array<f32, LANES>;
var<workgroup> lane_choice: array<u32, LANES>;

/// The likeliest alternative of each choice, the first of equal ones.
fn choose(row: u32, lane: u32) {
  var begin = 0u;
  for (var d = 0u; d < ${alternatives.length}u; d += 1u) {
    let count = ALTERNATIVES[d];
    var best = -3.4e38;
    var choice = count;
    for (var a = lane; a < count; a += LANES) {
      let logit = layer_${last}(begin + a);
      if (logit > best) {
        best = logit;
        choice = a;
      }
    }
    lane_best[lane] = best;
    lane_choice[lane] = choice;
    workgroupBarrier();
    if (lane == 0u) {
      for (var other = 1u; other < LANES; other += 1u) {
        let better = lane_best[other] > best || (lane_best[other] == best && lane_choice[other] < choice);
        best = select(best, lane_best[other], better);
        choice = select(choice, lane_choice[other], better);
      }
      actions[row * ${alternatives.length}u + d] = ${start} + i32(min(choice, count - 1u));
    }
    workgroupBarrier();
    begin += count;
  }
}
`;
}
