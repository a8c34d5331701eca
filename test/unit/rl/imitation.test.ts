// imitation: the loss against finite differences and its definition, labels of a teacher, demonstrations, and what is refused
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { Box, Discrete } from "../../../src/env/index.ts";
import { makeJsVec, type JsEnv } from "../../../src/env/js-env.ts";
import { STATISTICS4 } from "../../../src/rl/device/arenas.ts";
import { Ppo, type Teacher } from "../../../src/rl/index.ts";
import { AppliedPolicy } from "../../../src/rl/networks/apply-policy.ts";
import { trainMinibatch } from "../../../src/rl/ppo/update.ts";
import { Flag } from "../../../src/rl/tables/device-tables.ts";
import { readDemonstrations } from "../../../src/runs/imitation.ts";
import { makeCase, ON_WASM } from "../../support/learner-case.ts";
import { LEARNER_CASES } from "../../support/learner-cases.ts";
import { differences, distribution, outputsOf, ppoLoss } from "../../support/ppo-reference.ts";
import { learnerBounds } from "../../support/tolerances.ts";

const folder = mkdtempSync(join(tmpdir(), "corral-imitation-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Parameters that finite differences move: one in so many. */
const STRIDE = process.env.CORRAL_FULL ? 1 : 5;

const KINDS = ["Gaussian, tanh", "several choices", "streamed", "recurrent"];
const CASES = LEARNER_CASES.filter(({ name }) => KINDS.includes(name));

describe.each(CASES)("$name", (learnerCase) => {
  test("the gradient is that of the negative log likelihood, the value's as ever", async () => {
    const made = await makeCase(learnerCase, 17, ON_WASM);
    await using _ = made.learner;
    const { learner, shape, config, scale, samples, isUsed } = made;
    const keys = [11, 22, 33, 44];
    trainMinibatch(learner, { first: 0, rows: shape.minibatch, valid: shape.each, keys, flags: Flag.imitate });
    const grads = await learner.read("grads", new Float32Array(4 * (shape.nets.params4 + STATISTICS4)));
    const at = 4 * shape.nets.params4;
    const loss = (p: ArrayLike<number>) => {
      const outputs = outputsOf(shape, p, samples);
      const taken = samples.map((s, i) => (s.skipped ? 0 : -distribution(shape, p, outputs[i].out, s.action).logProb));
      const likelihood = taken.reduce((a, b) => a + b, 0);
      const { value, entropy } = ppoLoss(shape, config, scale, p, samples);
      return { likelihood, total: likelihood + config.valueCoef * value - config.entropyCoef * entropy };
    };
    const isMoved = (i: number) => isUsed(i) && i % STRIDE === 0;
    const wanted = differences(Float64Array.from(made.params), isMoved, (p) => loss(p).total);
    const size = Math.max(...wanted.map(Math.abs));
    wanted.forEach((want, i) => {
      if (isMoved(i)) expect(Math.abs(grads[i] - want) / size).toBeLessThan(learnerBounds.gradient.value);
    });
    const { likelihood } = loss(made.params);
    expect(Math.abs(grads[at + 1] - likelihood)).toBeLessThan(learnerBounds.gradient.value * Math.abs(likelihood));
    expect([grads[at + 4], grads[at + 5]]).toEqual([0, 0]);
  });
});

/** Ten steps towards a goal that is seen; the reward is less the further the action is from where it lies. */
const reach: JsEnv = {
  id: "Reach",
  observationSpace: new Box({ low: -1, high: 1, shape: [2] }),
  actionSpace: new Box({ low: [-1], high: [3], shape: [1] }),
  maxEpisodeSteps: 10,
  makeWorld() {
    let goal = 0;
    const seen = () => [goal, 0.5];
    return {
      reset({ random }) {
        goal = 2 * random.uniform(0) - 1;
        return seen();
      },
      step: ([x]) => ({ observation: seen(), reward: -Math.abs(x - 1 - goal) }),
      save: () => goal,
      load: (saved) => (goal = Number(saved)),
    };
  },
};
const expert = (observations: Float32Array): Float32Array =>
  Float32Array.from({ length: observations.length / 2 }, (_, world) => 1 + observations[2 * world]);
const OPTIONS = { seed: 1, hidden: [16], rolloutSteps: 16, minibatches: 4, epochs: 4, learningRate: 1e-2 };
const returns = async (ppo: Ppo) => (await ppo.evaluate(makeJsVec(reach, { numEnvs: 16 }), { seed: 3 })).meanReturn;

test.each([false, true])(
  "a student learns what its teacher does, squashed: %s; and a student's student",
  async (squash) => {
    const student = async (teacher: Teacher, updates: number) => {
      await using ppo = await Ppo.create(makeJsVec(reach, { numEnvs: 16, seed: 1 }), { ...OPTIONS, squash });
      const before = await returns(ppo);
      for (let i = 0; i < updates; i++) await ppo.imitate(teacher);
      return { before, after: await returns(ppo), policy: await ppo.policy(), params: await ppo.parameters() };
    };
    const first = await student(expert, 12);
    expect(first.before).toBeLessThan(-3);
    expect(first.after).toBeGreaterThan(-1);
    expect((await student(expert, 12)).params).toEqual(first.params);
    expect((await student(first.policy, 12)).after).toBeGreaterThan(-1.5);
  },
);

test("steps that were recorded are cloned, and the value function stays", async () => {
  const count = 200;
  const observations = Array.from({ length: count }, (_, i) => [(2 * i) / count - 1, 0.5]).flat();
  const demonstrations = { observations, actions: expert(Float32Array.from(observations)) };
  const cloned = async () => {
    await using ppo = await Ppo.create(makeJsVec(reach, { numEnvs: 16, seed: 1 }), OPTIONS);
    const before = ppo.named(await ppo.snapshot());
    const losses: number[] = [];
    for (let i = 0; i < 12; i++) losses.push((await ppo.clone(demonstrations)).policyLoss);
    expect(losses.at(-1)!).toBeLessThan(losses[0] - 1);
    expect(await returns(ppo)).toBeGreaterThan(-1);
    const after = ppo.named(await ppo.snapshot());
    expect(after["value.0.weight"]).toEqual(before["value.0.weight"]);
    expect(after["policy.0.weight"]).not.toEqual(before["policy.0.weight"]);
    return ppo.parameters();
  };
  expect(await cloned()).toEqual(await cloned());
});

test("a student goes on from a snapshot as the one that was not cut off", async () => {
  const make = () => Ppo.create(makeJsVec(reach, { numEnvs: 16, seed: 1 }), OPTIONS);
  await using whole = await make();
  for (let i = 0; i < 3; i++) await whole.imitate(expert);
  const saved = await whole.snapshot();
  await whole.imitate(expert);
  await using cut = await make();
  await cut.restore(saved);
  await cut.imitate(expert);
  expect(await cut.parameters()).toEqual(await whole.parameters());
});

test.each(["gru", "lstm"] as const)(
  "a teacher with a memory (%s) goes on from a snapshot, and sees what it does not label",
  async (recurrent) => {
    const remembers = { ...OPTIONS, hidden: [8], recurrent, recurrentSize: 8, recurrentSteps: 16 };
    await using other = await Ppo.create(makeJsVec(reach, { numEnvs: 6, seed: 2 }), remembers);
    for (let i = 0; i < 3; i++) await other.iterate();
    const teacher = await other.policy();
    // rollouts end within episodes of ten steps
    const options = { ...OPTIONS, rolloutSteps: 8, epochs: 1 };
    const make = () => Ppo.create(makeJsVec(reach, { numEnvs: 6, seed: 1 }), options);
    await using whole = await make();
    await whole.imitate(teacher);
    await whole.iterate();
    const saved = await whole.snapshot();
    const { policyLoss } = await whole.imitate(teacher);
    await using cut = await make();
    await cut.restore(saved);
    expect((await cut.snapshot()).learner).toEqual(saved.learner);
    expect((await cut.imitate(teacher)).policyLoss).toBe(policyLoss);
    expect(await cut.parameters()).toEqual(await whole.parameters());
    // in an episode that does not end observations stay: the same by hand, with the rollout between
    const long = () => Ppo.create(makeJsVec({ ...reach, maxEpisodeSteps: 100 }, { numEnvs: 6, seed: 1 }), options);
    await using own = await long();
    await using byHand = await long();
    const applied = new AppliedPolicy(teacher, 6);
    let rows = new Float32Array();
    const acts = (observations: Float32Array) => applied.act((rows = observations.slice()));
    for (const [one, how] of [
      [own, teacher],
      [byHand, acts],
    ] as const) {
      await one.imitate(how);
      await one.iterate();
    }
    for (let t = 0; t < options.rolloutSteps; t++) acts(rows);
    expect((await own.imitate(teacher)).policyLoss).toBe((await byHand.imitate(acts)).policyLoss);
  },
);

test("what cannot be imitated is refused by name", async () => {
  await using ppo = await Ppo.create(makeJsVec(reach, { numEnvs: 4, seed: 1 }), { hidden: [4], rolloutSteps: 4 });
  await expect(ppo.imitate(() => [1])).rejects.toThrow(
    "the teacher returned 1 numbers; pass 4, 1 for each of 4 worlds",
  );
  await expect(ppo.imitate(() => [1, 1, NaN, 1])).rejects.toThrow(
    "[bad-demonstration] the teacher, world 2: number 0 of an action is NaN; pass a finite float32.",
  );
  await expect(ppo.imitate(() => null as never)).rejects.toThrow(
    "[bad-demonstration] the teacher returned null; pass a list of numbers",
  );
  const throws = () => {
    throw new Error("out of plans.");
  };
  await expect(ppo.imitate(throws)).rejects.toThrow("[bad-teacher] the teacher threw out of plans. Mend it.");
  await expect(ppo.imitate(() => Promise.reject<number[]>(null))).rejects.toThrow("the teacher threw null. Mend it.");
  expect((await ppo.imitate(() => [1, 1, 1, 1])).minibatches).toBeGreaterThan(0);
  await expect(ppo.clone({ observations: [1, 2], actions: [Infinity] })).rejects.toThrow(
    "demonstrations, step 0: number 0",
  );
  await expect((async () => ppo.evaluate(makeJsVec(reach, { numEnvs: 2 }), { episods: 3 } as never))()).rejects.toThrow(
    'an evaluation has no option "episods"; there are: sample, seed, firstDraw, onStart, onStep',
  );
  await expect(ppo.clone({ observations: [1, 2, 3], actions: [1] })).rejects.toMatchObject({
    code: "bad-demonstration",
  });
  await expect(ppo.clone({ observation: [] } as never)).rejects.toThrow("observations of demonstrations is undefined");
  await expect(ppo.imitate("policy.safetensors" as never)).rejects.toThrow(
    'the teacher is "policy.safetensors"; pass a policy, as await readPolicy(bytes) gives it, or a function',
  );
  const own = await ppo.policy();
  const wide = { ...own, observations: 7 };
  await expect(ppo.imitate(wide)).rejects.toThrow(
    "the teacher sees 7 numbers; Reach shows its policy 2 and its critic 2",
  );
  const other = { ...reach, id: "Choose", actionSpace: new Discrete(3, 1) };
  await using chooses = await Ppo.create(makeJsVec(other, { numEnvs: 4 }), { hidden: [4], rolloutSteps: 4 });
  await expect(chooses.imitate(own)).rejects.toThrow("the teacher's actions are 1 numbers; Choose takes discrete");
  await expect(chooses.imitate(() => [1, 2, 3, 4])).rejects.toThrow("is 4; pass an integer from 1 to 3");
  await using remembers = await Ppo.create(makeJsVec(reach, { numEnvs: 4 }), {
    hidden: [4],
    rolloutSteps: 4,
    recurrent: "gru",
    recurrentSize: 8,
  });
  await expect(ppo.clone({ observations: [1, 1e300], actions: [1] })).rejects.toThrow(
    "is 1e+300; pass a finite float32",
  );
  // of so many steps an update draws few
  const many = { observations: new Float32Array(2e5), actions: new Float32Array(1e5) };
  many.actions[99_999] = NaN;
  await expect(ppo.clone(many)).rejects.toThrow("demonstrations, step 99999: number 0 of an action is NaN");
  await expect(remembers.clone({ observations: [1, 2], actions: [1] })).rejects.toMatchObject({
    code: "unsupported-imitation",
  });
  expect((await remembers.imitate(expert)).halted).toBeUndefined();
});

test("recorded episodes are read, and refused with file and line", () => {
  const env = {
    id: "Reach",
    singleObservationSpace: reach.observationSpace,
    singleActionSpace: reach.actionSpace as Box,
  };
  const write = (...lines: string[]) => {
    const path = join(folder, "demos.jsonl");
    writeFileSync(path, lines.join("\n"));
    return path;
  };
  const good = JSON.stringify({
    observations: [
      [1, 2],
      [3, 4],
      [5, 6],
    ],
    actions: [[0.5], [0.25]],
  });
  const read = (...lines: string[]) => readDemonstrations(write(...lines), env);
  expect(read(good, "")).toEqual({ observations: [1, 2, 3, 4], actions: [0.5, 0.25] });
  // as some editors begin a text
  expect(read(`\uFEFF${good}`)).toEqual({ observations: [1, 2, 3, 4], actions: [0.5, 0.25] });
  expect(() => read(good, "{")).toThrow("has no JSON on line 2");
  expect(() => read('{"actions":[1]}')).toThrow("has no observations and actions of an episode on line 1");
  expect(() => read('{"observations":[[1,2]],"actions":[1,2]}')).toThrow("has on line 1 2 actions and 1 observations");
  expect(() => read(good.replace("[0.5],", ""))).toThrow("has on line 1 1 actions and 3 observations");
  expect(() => read('{"observations":[[1,2,3]],"actions":[1]}')).toThrow(
    "an observation of 3; Reach has 2 finite float32 numbers",
  );
  // a double that float32 has no number for
  expect(() => read('{"observations":[[1,1e300]],"actions":[1]}')).toThrow("an observation of 1e+300");
  expect(() => read('{"observations":[[1,null]],"actions":[1]}')).toThrow("an observation of null");
  const two = { id: "Turn", singleObservationSpace: env.singleObservationSpace, singleActionSpace: new Discrete(2) };
  const turns = JSON.stringify({
    observations: [
      [1, 2],
      [1, 2],
    ],
    actions: [1, 2],
  });
  expect(() => readDemonstrations(write(turns.replace("1,2]}", "1,0]}"), turns), two)).toThrow(
    "has on line 2, step 1: number 0 of an action is 2; pass an integer from 0 to 1",
  );
  expect(() => read("")).toThrow("holds no step");
  expect(() => readDemonstrations(join(folder, "none"), env)).toThrow("cannot be read");
});
