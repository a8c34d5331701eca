// what is not finite in a stopped update, and whether the update ended as it was recorded
import { floatsOf } from "../../core/float32.ts";
import { OPTIMIZER_PLACE, STATE } from "../tables/device-tables.ts";
import type { DeviceCore } from "./device-core.ts";
import { REASONS } from "./metrics.ts";

/** How a recorded update ended. */
interface Recorded {
  readonly arenas: Readonly<Record<string, Uint32Array<ArrayBuffer>>>;
  readonly halted: string;
  readonly minibatch: number;
  readonly minibatches: number;
}

/** Numbers of one quantity that are not finite. */
export interface BadQuantity {
  /** Part of the update: what it began with, forward, loss, backward, gradient, step. */
  readonly stage: string;
  readonly name: string;
  /** The first of them, where it lies, and how many there are. */
  readonly value: number;
  readonly at: string;
  readonly count: number;
}

export interface UpdateReplay {
  /** Whether the update ended as it was recorded, bit for bit. */
  readonly identical: boolean;
  readonly device: string;
  readonly recorded: string;
  readonly halted: string;
  readonly minibatch: number;
  readonly minibatches: number;
  /** In the order in which they were computed. */
  readonly bad: readonly BadQuantity[];
  /** Arenas that ended otherwise. */
  readonly differences: readonly string[];
}

export type Place = (i: number) => string;

/** What is not finite among numbers, `stride` a row of which the first `width` count. */
export function look(
  stage: string,
  name: string,
  data: Float32Array,
  place: Place,
  width = 1,
  stride = width,
): BadQuantity[] {
  let first = -1;
  let count = 0;
  for (let row = 0; row * stride < data.length; row++) {
    for (let i = row * stride; i < Math.min(data.length, row * stride + width); i++) {
      if (Number.isFinite(data[i])) continue;
      if (first < 0) first = i;
      count++;
    }
  }
  if (count === 0) return [];
  const index = Math.floor(first / stride) * width + (first % stride);
  return [{ stage, name, value: data[first], at: place(index), count }];
}

export const elements: Place = (i) => `[${i}]`;

/** Adam's two means come in turns of four. */
export function momentsOf(words: Uint32Array<ArrayBuffer>, which: 0 | 1): Float32Array {
  const all = floatsOf(words);
  return Float32Array.from({ length: all.length / 2 }, (_, i) => all[8 * (i >> 2) + 4 * which + (i & 3)]);
}

/** Where Adam would move parameters that the gradient gate has looked at, in float32: `place` is that of its optimizer in the state. */
export async function stepOf(
  core: DeviceCore,
  { params, moments, grads }: Readonly<Record<"params" | "moments" | "grads", Float32Array>>,
  place: number,
  {
    rate,
    beta1,
    beta2,
    adamEpsilon,
    weightDecay,
  }: Readonly<Record<"rate" | "beta1" | "beta2" | "adamEpsilon" | "weightDecay", number>>,
): Promise<Float32Array> {
  const state = (await core.readState()).subarray(place);
  const f = Math.fround;
  const scale = state[OPTIMIZER_PLACE.scale];
  const by = f(rate / f(1 - f(state[OPTIMIZER_PLACE.beta1_power] * f(beta1))));
  const unbias = f(1 / f(1 - f(state[OPTIMIZER_PLACE.beta2_power] * f(beta2))));
  const kept = f(1 - f(rate * weightDecay));
  return params.map((p, i) => {
    const at = 8 * (i >> 2) + (i & 3);
    const g = f(grads[i] * scale);
    const m = f(beta1 * moments[at] + (1 - beta1) * g);
    const v = f(beta2 * moments[at + 4] + (1 - beta2) * f(g * g));
    return f(p * kept) - f(f(by * m) / f(Math.sqrt(f(v * unbias)) + adamEpsilon));
  });
}

/** Whether a learner ended as it was recorded, bit for bit. */
export async function outcomeOf(
  core: DeviceCore,
  { arenas, halted, minibatch, minibatches }: Recorded,
  bad: readonly BadQuantity[],
): Promise<UpdateReplay> {
  const differences: string[] = [];
  for (const name of ["params", "moments", "grads", "state"]) {
    const now = await core.read(name, new Uint32Array(arenas[name].length));
    if (now.some((word, i) => word !== arenas[name][i])) differences.push(name);
  }
  const state = await core.readState();
  return {
    identical: differences.length === 0,
    device: core.backing.name,
    recorded: halted,
    halted: REASONS[state[STATE.halted]] ?? "nothing",
    minibatch,
    minibatches,
    bad,
    differences,
  };
}
