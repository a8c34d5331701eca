/**
 * A policy as one WGSL kernel: a workgroup for each row of observations. Sums run in the order of the kernel that was
 * trained, so that on the same device a row has the same bits.
 */
import { readFileSync } from "node:fs";
import { CorralError } from "../core/errors.ts";
import type { Policy } from "../rl/policy.ts";
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

const list = (type: string, values: readonly string[]): string =>
  `array<${type}, ${values.length}>(${values.join(", ")})`;

/** `placeOf`: where an array of `policy.named` begins in the buffer of weights, in floats. Throws `unsupported-export`. */
export function policyKernel(policy: Policy, placeOf: (name: string) => number): string {
  const { id, observations, normalizer, layers, head } = policy;
  const width = Math.max(observations, ...layers.slice(0, -1).map(({ outputs }) => outputs));
  if (width > MAX_WIDTH) {
    throw new CorralError(
      "unsupported-export",
      `a layer of the policy is ${width} wide; the WGSL kernel keeps at most ${MAX_WIDTH} numbers in workgroup memory. Export to ONNX or safetensors.`,
      { width, limit: MAX_WIDTH },
    );
  }
  const dense = (i: number, from: string): string => `
fn layer_${i}(o: u32) -> f32 {
  var y = weights[${placeOf(`policy.${i}.bias`)}u + o];
  let w = ${placeOf(`policy.${i}.weight`)}u + o * ${layers[i].inputs}u;
  for (var k = 0u; k < ${layers[i].inputs}u; k += 1u) { y = fma(${from}[k], weights[w + k], y); }
  return y;
}
`;
  const rows = ["even", "odd"];
  const hidden = layers.slice(0, -1).map(({ outputs, activation }, i) => {
    const value = activation === "tanh" ? "poly_tanh4(vec4<f32>(y)).x" : activation === "relu" ? "max(y, 0.0)" : "y";
    return `  for (var o = lane; o < ${outputs}u; o += LANES) {
    let y = layer_${i}(o);
    ${rows[(i + 1) % 2]}[o] = ${value};
  }
  workgroupBarrier();`;
  });

  const last = layers.length - 1;
  return `// The policy of ${id}, trained with ${policy.algo}: one workgroup for each row. Made by corral; see README.md beside it.

@group(0) @binding(0) var<storage, read> weights: array<f32>;
@group(0) @binding(1) var<storage, read> observations: array<f32>;
@group(0) @binding(2) var<storage, read_write> actions: array<${head.kind === "gaussian" ? "f32" : "i32"}>;

const LANES = ${LANES}u;
const OBSERVATIONS = ${observations}u;
var<workgroup> even: array<f32, ${width}>;
var<workgroup> odd: array<f32, ${width}>;

${readFileSync(new URL("../../shaders/lib/math.wgsl", import.meta.url), "utf8")}
${layers.map((_, i) => dense(i, rows[i % 2])).join("")}
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
  choose(row, lane);
}
`;
}

function gaussianHead(head: Extract<Policy["head"], { kind: "gaussian" }>, last: number): string {
  const { actions, squash } = head;
  const [low, high] = [head.low, head.high].map((bounds) => [...finite(bounds)].map(literal));
  const sent = squash ? "low + (high - low) * (0.5 + 0.5 * poly_tanh4(vec4<f32>(mean)).x)" : "clamp(mean, low, high)";
  return `const LOW = ${list("f32", low)};
const HIGH = ${list("f32", high)};

fn choose(row: u32, lane: u32) {
  for (var o = lane; o < ${actions}u; o += LANES) {
    let mean = layer_${last}(o);
    let low = LOW[o];
    let high = HIGH[o];
    actions[row * ${actions}u + o] = ${sent};
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
