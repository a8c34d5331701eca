// draws of a learner: others after its rates were lowered, others in each evaluation that is given a first draw of its own
import { expect, test } from "vitest";
import "../../envs/index.ts";
import { makeVec } from "../../src/env/index.ts";
import { lowered } from "../../src/rl/algorithm.ts";
import { Ppo, Sac } from "../../src/rl/index.ts";
import { holdDevice } from "../support/hold-device.ts";

holdDevice();

const SIZES = { hidden: [8] };

test.each(["ppo", "sac"])("%s acts otherwise once its rates were lowered, and each time the same", async (algo) => {
  await using env = await makeVec("InvertedPendulum-v5", { numEnvs: 4, autoreset: "next-step" });
  await using learner =
    algo === "ppo"
      ? await Ppo.create(env, { ...SIZES, rolloutSteps: 2, minibatches: 1, epochs: 1 })
      : await Sac.create(env, { ...SIZES, batchSize: 8, bufferSize: 64, storage: "host" });
  const start = await learner.snapshot();
  const actionsOf = async (snapshot: typeof start) => {
    await learner.restore(snapshot);
    await learner.iterate();
    return [...(await env.readActions())];
  };
  const first = await actionsOf(start);
  expect(await actionsOf(start)).toEqual(first);
  const once = await actionsOf(lowered(start, 0.5));
  expect(once).not.toEqual(first);
  expect(await actionsOf(lowered(start, 0.5))).toEqual(once);
  expect(await actionsOf(lowered(start, 0.25))).not.toEqual(once);
  expect(await actionsOf(start)).toEqual(first);
});

test("an evaluation that draws from elsewhere has other noise", async () => {
  await using env = await makeVec("InvertedPendulum-v5", { numEnvs: 4, autoreset: "next-step" });
  await using ppo = await Ppo.create(env, SIZES);
  const actionsOf = async (firstDraw: number) => {
    const actions: number[][] = [];
    await ppo.evaluate(env, { sample: true, firstDraw, onStep: (step) => void actions.push([...step.actions]) });
    return actions;
  };
  const [zero, again, far] = [await actionsOf(0), await actionsOf(0), await actionsOf(1000)];
  expect(again).toEqual(zero);
  // observations are the same at the first step
  expect(far[0]).not.toEqual(zero[0]);
});
