// the noise of actions is bounded by less and less, down to what a run is to end with
import { expect, test } from "vitest";
import "../../../envs/index.ts";
import { makeVec } from "../../../src/env/index.ts";
import { Ppo } from "../../../src/rl/index.ts";

const WORLDS = 4;
const STEPS = 8;
const UPDATES = 6;

const made = async (config: object) => {
  const env = await makeVec("Reacher-v5", { numEnvs: WORLDS, seed: 3, device: "wasm", threads: 1 });
  const totalSteps = WORLDS * STEPS * UPDATES;
  return Ppo.create(env, {
    totalSteps,
    seed: 1,
    rolloutSteps: STEPS,
    minibatches: 1,
    hidden: [8],
    ...config,
  });
};
const logStdOf = async (ppo: Ppo) => {
  const { head } = await ppo.policy();
  if (head.kind !== "gaussian") throw new Error(head.kind);
  return head.logStd!.reduce((most, x) => Math.max(most, x));
};

test("falls from initialLogStd to finalLogStd over all steps, with every update", async () => {
  // entropy is worth so much that nothing but the bound takes it away
  await using ppo = await made({ initialLogStd: -0.5, finalLogStd: -2, entropyCoef: 10 });
  for (let k = 0; k < UPDATES; k++) {
    const { stdAtBound } = await ppo.iterate();
    expect(await logStdOf(ppo)).toBeCloseTo(-2 + (1 - k / UPDATES) * 1.5, 5);
    expect(stdAtBound).toBe(0);
  }
});

test("stays as it is learnt where the bound is above it, and where there is none", async () => {
  const after = async (config: object) => {
    await using ppo = await made({ initialLogStd: -3, ...config });
    for (let k = 0; k < UPDATES; k++) await ppo.iterate();
    return logStdOf(ppo);
  };
  const free = await after({});
  expect(await after({ finalLogStd: 1 })).toBe(free);
  expect(free).toBeGreaterThan(-3.1);
});

test("is refused below minLogStd, and where it is no number", async () => {
  await expect(made({ finalLogStd: -6 })).rejects.toMatchObject({ code: "bad-option" });
  await expect(made({ finalLogStd: NaN })).rejects.toMatchObject({ code: "bad-option" });
});
