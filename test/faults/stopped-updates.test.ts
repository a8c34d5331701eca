// an update that is not finite, of learners in plain JavaScript environments and of imitation: it is refused by name, moves nothing, and a good copy goes on from there
import { expect, test } from "vitest";
import { makeJsVec } from "../../src/env/js-env.ts";
import { Dqn, Ppo, SacDiscrete, type Teacher } from "../../src/rl/index.ts";
import { corridor } from "../support/maze.ts";

const WORLDS = 4;
const REPLAY = { seed: 1, hidden: [8], bufferSize: 400, batchSize: 16, learningStarts: 16, collectSteps: 4 };
const ROLLOUT = { seed: 1, hidden: [8], rolloutSteps: 8, minibatches: 2, epochs: 2 };

const worlds = () => makeJsVec(corridor, { numEnvs: WORLDS, seed: 1 });
const right: Teacher = (observations) => new Int32Array(observations.length / 2).fill(1);
const recorded = {
  observations: new Float32Array(2 * 32).map((_, i) => (i % 9) / 9),
  actions: new Int32Array(32).map((_, i) => i % 2),
};

type Learner = Dqn | Ppo | SacDiscrete;
interface Case {
  readonly name: string;
  readonly make: () => Promise<Learner>;
  readonly update: (learner: Learner) => Promise<unknown>;
  /** Whether it leaves what it takes to execute it again. */
  readonly keeps: boolean;
}
const iterate = (learner: Learner) => learner.iterate();
const CASES: readonly Case[] = [
  { name: "DQN", make: () => Dqn.create(worlds(), REPLAY), update: iterate, keeps: true },
  { name: "SAC of discrete actions", make: () => SacDiscrete.create(worlds(), REPLAY), update: iterate, keeps: true },
  ...(["a teacher", "recordings"] as const).map((name) => ({
    name,
    make: () => Ppo.create(worlds(), ROLLOUT),
    update: (ppo: Learner) => (name === "a teacher" ? (ppo as Ppo).imitate(right) : (ppo as Ppo).clone(recorded)),
    keeps: false,
  })),
];

test.each(CASES)("$name", async ({ make, update, keeps }) => {
  await using learner = await make();
  await expect(learner.evidence()).rejects.toMatchObject({ code: "no-evidence" });
  for (let i = 0; i < 8; i++) await update(learner);
  const good = await learner.snapshot();
  const params = good.learner.params.slice();
  // the policy's first weight
  new Float32Array(params.buffer)[0] = NaN;
  const spoilt = { ...good, learner: { ...good.learner, params } };
  await learner.restore(spoilt);

  await expect(update(learner)).rejects.toMatchObject({ code: "non-finite-update" });
  const { learner: left } = await learner.snapshot();
  expect(left.params).toEqual(params);
  expect(left.moments).toEqual(good.learner.moments);
  const evidence = await learner.evidence();
  expect(evidence).toEqual(keeps ? expect.objectContaining({ iteration: 8, halted: "loss" }) : undefined);
  // it stays stopped, and says the same
  await expect(update(learner)).rejects.toMatchObject({ code: "non-finite-update" });

  await learner.restore(good);
  await update(learner);
  const { learner: after } = await learner.snapshot();
  expect(after.params).not.toEqual(good.learner.params);
  expect(new Float32Array(after.params.buffer).every(Number.isFinite)).toBe(true);
  // to the bits of one that was never stopped
  await using other = await make();
  await other.restore(good);
  await update(other);
  expect((await other.snapshot()).learner.params).toEqual(after.params);
});
