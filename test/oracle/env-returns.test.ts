// returns and lengths of whole episodes under one stochastic policy have the distributions that were recorded of real
// Gymnasium: 256 episodes of each, other random numbers. Bodies that take long to step, with `test:full`.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { makeVec } from "../../src/env/index.ts";
import { worldsOnWasm } from "../support/on-wasm.ts";
import "../../envs/index.ts";
import { normal } from "../support/collider-poses.ts";
import { ksBound2, ksDistance2 } from "../support/ks.ts";
import { createRandom } from "../support/mjcf-random.ts";

worldsOnWasm();

interface Recorded {
  readonly policy: { readonly gain: number; readonly noise: number; readonly entries: number };
  readonly envs: Readonly<
    Record<
      string,
      { readonly max_episode_steps: number; readonly returns: readonly number[]; readonly lengths: readonly number[] }
    >
  >;
}

const file = new URL("../fixtures/gymnasium/returns.json", import.meta.url);
const { policy, envs } = JSON.parse(readFileSync(file, "utf8")) as Recorded;
const full = process.env.CORRAL_FULL === "1";
const QUICK = new Set(["Hopper-v5", "InvertedPendulum-v5", "InvertedDoublePendulum-v5", "Reacher-v5", "Swimmer-v5"]);
const IDS = Object.keys(envs).filter((id) => full || QUICK.has(id));

/** Episodes of the policy of `tools/reference/record_returns.py`, one a world. */
async function episodes(id: string, count: number, limit: number): Promise<{ returns: number[]; lengths: number[] }> {
  await using env = await makeVec(id, { numEnvs: count, seed: 5, maxEpisodeSteps: limit, autoreset: "same-step" });
  const space = env.singleActionSpace;
  if (space.kind !== "box") throw new Error(`${id} has ${String(space)}`);
  const random = createRandom(3);
  const returns = Array<number>(count).fill(NaN);
  const lengths = Array<number>(count).fill(NaN);
  const weight = (i: number, j: number) => Math.sin(7 * i + 13 * j + 1) / 4;

  let { observations } = await env.reset();
  for (let t = 0; t < limit; t++) {
    const width = observations.length / count;
    const entries = Math.min(width, policy.entries);
    const actions = new Float32Array(count * space.size);
    for (let world = 0; world < count; world++) {
      for (let j = 0; j < space.size; j++) {
        let wanted = policy.noise * normal(random);
        for (let i = 0; i < entries; i++) {
          wanted += policy.gain * Math.tanh(observations[world * width + i]) * weight(i, j);
        }
        const [low, high] = [space.low[j], space.high[j]];
        const action = (low + high) / 2 + ((high - low) / 2) * wanted;
        actions[world * space.size + j] = Math.min(high, Math.max(low, action));
      }
    }
    const step = await env.step(actions);
    observations = step.observations;
    const ended = step.infos.episode;
    ended?.mask.forEach((over, world) => {
      if (!over || !Number.isNaN(returns[world])) return;
      returns[world] = ended.r[world];
      lengths[world] = ended.l[world];
    });
  }
  return { returns, lengths };
}

describe.each(IDS)("%s", (id) => {
  test("returns are distributed as Gymnasium's", async () => {
    const theirs = envs[id];
    const ours = await episodes(id, 256, theirs.max_episode_steps);
    const bound = ksBound2(256, theirs.returns.length);
    expect(ours.returns.every(Number.isFinite)).toBe(true);
    expect(ksDistance2(ours.returns, theirs.returns)).toBeLessThan(bound);
    expect(ksDistance2(ours.lengths, theirs.lengths)).toBeLessThan(bound);
  });
});
