// some updates of SAC on one batch, with the noise of each: what corral and Stable-Baselines3 both make
import { RandomStream, streams } from "../../src/core/rng.ts";
import { namedSac } from "../../src/rl/sac/policy.ts";
import { ON_WASM } from "./learner-case.ts";
import { DRAW, makeSac, SEED, type MadeSac } from "./sac-case.ts";

export const UPDATES = 20;
const RATE = 1e-3;
const CASE = {
  name: "updates",
  observations: 5,
  actions: 2,
  config: {
    hidden: [9, 7],
    learningRate: RATE,
    criticLearningRate: RATE,
    temperatureLearningRate: RATE,
    tau: 0.05,
    gamma: 0.9,
  },
};

export const makeUpdates = (): Promise<MadeSac> => makeSac(CASE, 3, ON_WASM);

type Rows = readonly (readonly number[])[];

/** Parameters by name, weights as rows: `mean` is the first half of the policy's last layer. */
export function numbersOf({ shape }: MadeSac, params: Float32Array): Record<string, Rows | readonly number[]> {
  const last = shape.nets.policy.at(-1)!.name;
  return Object.fromEntries(
    Object.entries(namedSac(shape, params))
      .filter(([name]) => !name.startsWith("normalizer"))
      .map(([name, { shape: size, data }]) => {
        const width = size[1] ?? 0;
        const rows = Array.from({ length: size[0] }, (_, r) => [...data.subarray(r * width, (r + 1) * width)]);
        return [name.replace(`${last}.`, "mean."), size.length === 2 ? rows : [...data]];
      }),
  );
}

/** What tools/reference/sb3_updates.py reads. */
export function inputOf(made: MadeSac) {
  const { rows, shape, params, logAlpha } = made;
  const used = rows.flatMap((row, i) => (row.weight > 0 ? [{ ...row, i }] : []));
  const noise = (draw: number, stream: number) =>
    used.map(({ i }) => {
      const draws = new RandomStream(SEED, i, draw, stream);
      return Array.from({ length: shape.env.actions }, (_, k) => draws.normal(k));
    });
  return {
    config: CASE.config,
    logAlpha,
    params: numbersOf(made, params),
    batch: {
      obs: used.map((row) => row.obs),
      next: used.map((row) => row.next),
      action: used.map((row) => row.action),
      reward: used.map((row) => [row.reward]),
      done: used.map((row) => [row.discount === 0 ? 1 : 0]),
    },
    noise: Array.from({ length: UPDATES }, (_, k) => ({
      new: noise(DRAW + k, streams.newAction),
      next: noise(DRAW + k, streams.nextAction),
    })),
  };
}
