// a policy as an ONNX model. In: `observation` [batch, observations], float32, as the environment gives it. Out: `action`,
// float32 [batch, actions] or int64 [batch] (several choices: [batch, choices]); and what the policy draws from in
// training: `mean` and `log_std`, or `logits`. A policy with a memory takes `hidden` [batch, size] too, zeros if an
// episode begins, and gives `next_hidden` for the next call.
import { corralVersion } from "../core/version.ts";
import { encodeOnnx, type OnnxConstant, type OnnxNode, type OnnxValue } from "../io/onnx.ts";
import { ACTIVATIONS } from "../rl/networks/activations.ts";
import { NORM_EPSILON } from "../rl/networks/layer-norm.ts";
import type { Policy, PolicyCell } from "../rl/networks/policy.ts";
import { factsOf, finite, isBounded } from "./facts.ts";

/** Nodes and constants, as they come together. */
class Graph {
  readonly nodes: OnnxNode[] = [];
  readonly constants: OnnxConstant[] = [];

  constant(name: string, data: Float32Array | readonly bigint[], shape: readonly number[] = [data.length]): string {
    const numbers = data instanceof Float32Array ? data : BigInt64Array.from(data);
    this.constants.push({ name, shape, data: numbers });
    return name;
  }

  node(op: string, inputs: readonly string[], output: string, attributes: OnnxNode["attributes"] = {}): string {
    this.nodes.push({ op, inputs, outputs: [output], attributes });
    return output;
  }
}

/** Names of a cell's gates, in their order. */
const GATES = { gru: ["reset", "update", "candidate"], lstm: ["input", "forget", "candidate", "output"] } as const;

/** A step of the cell, from `hidden` to `next_hidden`; what it puts out. */
function remember(graph: Graph, cell: PolicyCell, from: string): string {
  const { kind, size, inputs, inputWeight, inputBias, stateWeight, stateBias } = cell;
  const names = GATES[kind];
  const split = (x: string, outputs: readonly string[]): void => {
    const sizes = graph.constant(`${outputs[0]}.sizes`, Array<bigint>(outputs.length).fill(BigInt(size)));
    graph.nodes.push({ op: "Split", inputs: [x, sizes], outputs, attributes: { axis: 1 } });
  };
  const gates = (part: "ih" | "hh", x: string, weight: Float32Array, bias: Float32Array, width: number): string[] => {
    const w = graph.constant(`policy.${kind}.${part}.weight`, weight, [names.length * size, width]);
    const b = graph.constant(`policy.${kind}.${part}.bias`, bias);
    const y = graph.node("Gemm", [x, w, b], `gates_${part}`, { transB: 1 });
    const outputs = names.map((name) => `${name}_${part}`);
    split(y, outputs);
    return outputs;
  };
  if (kind === "lstm") split("hidden", ["shown", "memory"]);
  const below = gates("ih", from, inputWeight, inputBias, inputs);
  const state = gates("hh", kind === "lstm" ? "shown" : "hidden", stateWeight, stateBias, size);
  const sum = (i: number): string => graph.node("Add", [below[i], state[i]], `${names[i]}_sum`);
  const gate = (i: number): string => graph.node("Sigmoid", [sum(i)], names[i]);
  if (kind === "gru") {
    const [reset, update] = [gate(0), gate(1)];
    const inner = graph.node("Mul", [reset, state[2]], "candidate_inner");
    const candidate = graph.node("Tanh", [graph.node("Add", [below[2], inner], "candidate_sum")], "candidate");
    const change = graph.node("Mul", [update, graph.node("Sub", ["hidden", candidate], "change")], "kept");
    return graph.node("Add", [candidate, change], "next_hidden");
  }
  const candidate = graph.node("Tanh", [sum(2)], "candidate");
  const added = graph.node("Mul", [gate(0), candidate], "added");
  const memory = graph.node("Add", [graph.node("Mul", [gate(1), "memory"], "kept"), added], "next_memory");
  const shown = graph.node("Mul", [gate(3), graph.node("Tanh", [memory], "memory_shown")], "next_shown");
  graph.node("Concat", [shown, memory], "next_hidden", { axis: 1 });
  return shown;
}

export function encodePolicyOnnx(policy: Policy): Uint8Array<ArrayBuffer> {
  const { id, observations, normalizer, layers, cell, head } = policy;
  const graph = new Graph();
  const scalar = (x: number) => Float32Array.of(x);

  // observations as the network knows them
  let x = graph.node("Sub", ["observation", graph.constant("normalizer.mean", normalizer.mean)], "centred");
  x = graph.node("Mul", [x, graph.constant("normalizer.inverse_std", normalizer.inverseStd)], "scaled");
  if (normalizer.clip < Infinity) {
    const ends = [-normalizer.clip, normalizer.clip].map((end, i) =>
      graph.constant(i === 0 ? "clip.low" : "clip.high", scalar(end), []),
    );
    x = graph.node("Clip", [x, ...ends], "clipped");
  }

  const last = head.kind === "gaussian" ? "mean" : "logits";
  layers.forEach(({ inputs, outputs, activation, weight, bias, norm }, i) => {
    if (cell && i === layers.length - 1) x = remember(graph, cell, x);
    const w = graph.constant(`policy.${i}.weight`, weight, [outputs, inputs]);
    const b = graph.constant(`policy.${i}.bias`, bias);
    const y = i === layers.length - 1 ? last : `layer_${i}`;
    x = graph.node("Gemm", [x, w, b], y, { transB: 1 });
    if (norm) {
      const [gain, shift] = (["weight", "bias"] as const).map((part) =>
        graph.constant(`policy.${i}.norm.${part}`, norm[part]),
      );
      x = graph.node("LayerNormalization", [x, gain, shift], `normed_${i}`, { epsilon: { float: NORM_EPSILON } });
    }
    const nodes = ACTIVATIONS[activation].onnx;
    const argument = x;
    nodes.forEach(([op, ...takes], n) => {
      const from = takes.map((name) => (name === "$x" ? argument : `hidden_${i}_inner`));
      x = graph.node(op, from, n === nodes.length - 1 ? `hidden_${i}` : `hidden_${i}_inner`);
    });
  });

  const outputs: OnnxValue[] = [];
  if (head.kind === "gaussian") {
    const { actions, low, high, squash, logStd } = head;
    outputs.push({ name: "action", type: "float32", shape: ["batch", actions] });
    outputs.push({ name: "mean", type: "float32", shape: ["batch", actions] });
    if (squash) {
      const half = graph.constant(
        "half_range",
        low.map((l, i) => (high[i] - l) / 2),
      );
      const middle = graph.constant(
        "middle",
        low.map((l, i) => l + (high[i] - l) / 2),
      );
      graph.node("Tanh", [x], "squashed");
      graph.node("Mul", ["squashed", half], "stretched");
      graph.node("Add", ["stretched", middle], "action");
    } else if (isBounded(low, high)) {
      graph.node("Max", [x, graph.constant("low", finite(low))], "raised");
      graph.node("Min", ["raised", graph.constant("high", finite(high))], "action");
    } else graph.node("Identity", [x], "action");
    if (logStd) {
      outputs.push({ name: "log_std", type: "float32", shape: [actions] });
      graph.node("Identity", [graph.constant("policy.log_std", logStd)], "log_std");
    }
  } else {
    const { alternatives, start, single } = head;
    const total = alternatives.reduce((sum, n) => sum + n, 0);
    outputs.push({ name: "action", type: "int64", shape: single ? ["batch"] : ["batch", alternatives.length] });
    outputs.push({ name: "logits", type: "float32", shape: ["batch", total] });
    const argmax = (from: string, to: string, keepdims: number) =>
      graph.node("ArgMax", [from], to, { axis: 1, keepdims, select_last_index: 0 });
    if (single) {
      argmax(x, start === 0 ? "action" : "choice", 0);
      if (start !== 0) graph.node("Add", ["choice", graph.constant("start", [BigInt(start)])], "action");
    } else {
      const sizes = graph.constant("alternatives", alternatives.map(BigInt));
      const parts = alternatives.map((_, i) => `logits_${i}`);
      graph.nodes.push({ op: "Split", inputs: [x, sizes], outputs: parts, attributes: { axis: 1 } });
      const choices = parts.map((part, i) => argmax(part, `choice_${i}`, 1));
      graph.node("Concat", choices, "action", { axis: 1 });
    }
  }
  const states = (name: string): OnnxValue[] =>
    cell ? [{ name, type: "float32", shape: ["batch", cell.stateSize] }] : [];
  return encodeOnnx({
    name: `${id} policy`,
    producer: "corral",
    version: corralVersion(),
    doc: `The deterministic policy of ${id}: observations as the environment gives them, actions as it takes them.`,
    inputs: [{ name: "observation", type: "float32", shape: ["batch", observations] }, ...states("hidden")],
    outputs: [...outputs, ...states("next_hidden")],
    constants: graph.constants,
    nodes: graph.nodes,
    metadata: factsOf(policy),
  });
}
