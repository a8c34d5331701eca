// a policy that is plain numbers, applied on the host: for pictures and plays, not for training
import { ACTIVATIONS, sigmoid } from "./activations.ts";
import { normalise } from "./layer-norm.ts";
import type { Policy, PolicyCell, PolicyLayer } from "./policy.ts";

/** W x + b, with W [outputs, inputs] row-major. */
function affine(weight: ArrayLike<number>, bias: ArrayLike<number>, x: readonly number[]): number[] {
  const inputs = x.length;
  const out = Array.from(bias);
  for (let row = 0, at = 0; row < out.length; row++) {
    let sum = out[row];
    for (let i = 0; i < inputs; i++) sum += weight[at++] * x[i];
    out[row] = sum;
  }
  return out;
}

function layer({ weight, bias, activation, norm }: PolicyLayer, x: readonly number[]): number[] {
  const y = affine(weight, bias, x);
  if (norm) normalise(y, norm.weight, norm.bias);
  return y.map(ACTIVATIONS[activation].onHost);
}

/** The next state of a cell, gates in PyTorch's form. */
function recall(cell: PolicyCell, x: number[], state: number[]): number[] {
  const { kind, size, inputWeight, inputBias, stateWeight, stateBias } = cell;
  const h = state.slice(0, size);
  const [a, b] = [affine(inputWeight, inputBias, x), affine(stateWeight, stateBias, h)];
  if (kind === "lstm") {
    const gate = (place: number, i: number) => a[place * size + i] + b[place * size + i];
    const memory = state
      .slice(size)
      .map((old, i) => sigmoid(gate(1, i)) * old + sigmoid(gate(0, i)) * Math.tanh(gate(2, i)));
    return [...memory.map((c, i) => sigmoid(gate(3, i)) * Math.tanh(c)), ...memory];
  }
  return h.map((old, i) => {
    const reset = sigmoid(a[i] + b[i]);
    const update = sigmoid(a[size + i] + b[size + i]);
    const candidate = Math.tanh(a[2 * size + i] + reset * b[2 * size + i]);
    return (1 - update) * candidate + update * old;
  });
}

/** The most likely actions of a policy in some worlds; one with a cell remembers them. */
export class AppliedPolicy {
  readonly #policy: Policy;
  readonly #states: number[][];

  constructor(policy: Policy, worlds: number) {
    this.#policy = policy;
    this.#states = Array.from({ length: worlds }, () => Array<number>(policy.cell?.stateSize ?? 0).fill(0));
  }

  /** Forgets what it remembers of a world, whose episode is over. */
  forget(world: number): void {
    this.#states[world].fill(0);
  }

  /** Observations [worlds, width] to actions [worlds, ...]; what the policy sees comes first in each row. */
  act(observations: ArrayLike<number>): number[] {
    const width = observations.length / this.#states.length;
    return this.#states.flatMap((_, world) => {
      const row = Array.from({ length: this.#policy.observations }, (__, i) => observations[world * width + i]);
      return this.#one(world, row);
    });
  }

  #one(world: number, observation: readonly number[]): number[] {
    const { normalizer, layers, cell } = this.#policy;
    const { mean, inverseStd, clip } = normalizer;
    let x = observation.map((o, i) => Math.min(clip, Math.max(-clip, (o - mean[i]) * inverseStd[i])));
    for (const each of layers.slice(0, -1)) x = layer(each, x);
    if (cell) {
      this.#states[world] = recall(cell, x, this.#states[world]);
      x = this.#states[world].slice(0, cell.size);
    }
    return this.#actionOf(layer(layers.at(-1)!, x));
  }

  #actionOf(outputs: readonly number[]): number[] {
    const { head } = this.#policy;
    if (head.kind === "categorical") {
      let first = 0;
      return head.alternatives.map((count) => {
        const scores = outputs.slice(first, (first += count));
        return scores.indexOf(Math.max(...scores)) + head.start;
      });
    }
    const { low, high, squash, actions } = head;
    return outputs.slice(0, actions).map((x, i) => {
      if (squash) return low[i] + (high[i] - low[i]) * (0.5 + 0.5 * Math.tanh(x));
      return Math.min(high[i], Math.max(low[i], x));
    });
  }
}
