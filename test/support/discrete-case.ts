// what learners over discrete actions are tried on: features of actions, parameters and a batch, made up from a seed
import { RandomStream } from "../../src/core/rng.ts";
import type { QNetwork } from "../../src/rl/dqn/arenas.ts";
import { markLayer } from "./ppo-reference.ts";

export const BATCH = 37;
export const OBSERVATIONS = 5;
const FEATURES = 3;

/** One row of a batch. */
export interface RefRow {
  readonly obs: readonly number[];
  readonly next: readonly number[];
  readonly action: number;
  readonly reward: number;
  readonly discount: number;
  readonly weight: number;
}

/** Normal numbers of a seed, one after the other. */
export function normalsOf(seed: number): () => number {
  const random = new RandomStream(seed, 0, 0, 1024);
  let drawn = 0;
  return () => Math.fround(random.normal(drawn++));
}

/** An environment of so many actions, each with numbers that are known of it. */
export const discreteFacts = (actions: number, normal: () => number) =>
  ({
    id: "case",
    numEnvs: 3,
    observations: OBSERVATIONS,
    actions: 1,
    outputs: actions,
    features: { count: FEATURES, values: Float32Array.from({ length: actions * FEATURES }, normal) },
    head: "categorical",
    alternatives: [actions],
  }) as const;

/** Parameters of networks, in as many vectors as there are; `used`: which are not padding. */
export function discreteParams(networks: readonly QNetwork[], params4: number, normal: () => number) {
  const used = new Uint8Array(4 * params4);
  const params = new Float32Array(used.length);
  for (const { layers, head } of networks) {
    for (const layer of head.embedding ? layers : [...layers, ...head.blocks]) markLayer(used, layer);
    if (!head.embedding) continue;
    const { at, dims, features: count } = head.embedding;
    for (let f = 0; f < count; f++) {
      const row = 4 * at + f * head.blocks[0].k;
      used.fill(1, row, row + dims);
    }
  }
  used.forEach((isUsed, i) => (params[i] = isUsed ? 0.4 * normal() : 0));
  return { params, used };
}

/** A batch in the layout of a learner's arena, and its rows. */
export function discreteBatch(
  { row4, obs4, actions4 }: { readonly row4: number; readonly obs4: number; readonly actions4: number },
  actions: number,
  normal: () => number,
  see: (x: number, i: number) => number,
) {
  const batch = new Float32Array(BATCH * 4 * row4);
  const rows = Array.from({ length: BATCH }, (_, row): RefRow => {
    const obs = Array.from({ length: OBSERVATIONS }, normal);
    const next = Array.from({ length: OBSERVATIONS }, normal);
    // some actions come more than once
    const action = (row * row) % actions;
    const [reward, discount] = [normal(), row % 5 === 2 ? 0 : Math.fround(0.9)];
    const weight = row % 11 === 3 ? 0 : 1;
    const at = row * 4 * row4;
    batch.set(obs, at);
    batch.set(next, at + 4 * obs4);
    batch[at + 8 * obs4] = action;
    batch.set([reward, discount, weight], at + 8 * obs4 + 4 * actions4);
    return { obs: obs.map(see), next: next.map(see), action, reward, discount, weight };
  });
  return { batch, rows };
}
