// learners of tasks that nobody thought of, and what they cannot take
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import "../../../envs/index.ts";
import { defineTask, makeVec, startAround, type VectorEnv } from "../../../src/env/index.ts";
import { AppliedPolicy } from "../../../src/rl/networks/apply-policy.ts";
import { readPolicy } from "../../../src/export/read-policy.ts";
import { Ppo, Sac } from "../../../src/rl/index.ts";
import { ENDLESS_STEPS } from "../../../src/rl/evaluate.ts";
import { Overlapped } from "../../../src/runs/overlapped.ts";
import { TrainingRun } from "../../../src/runs/train.ts";

/** A point on a rail, whose reward is if it is. */
const point = defineTask({
  id: "Point",
  model: `<mujoco><option timestep="0.01" gravity="0 0 0"/><worldbody><body><joint name="rail" type="slide" axis="1 0 0"/>
    <geom size=".1" mass="1"/></body></worldbody><actuator><motor joint="rail" ctrlrange="-1 1"/></actuator></mujoco>`,
  frameSkip: 1,
  maxEpisodeSteps: Infinity,
  observe: { qpos: "qpos", qvel: "qvel" },
  reward: { near: "-square(qpos(joint.rail))" },
  terminated: { far: "qpos(joint.rail) > 5" },
  reset: startAround({ qpos: 0.5, qvel: 0.1 }),
});
const SMALL = { hidden: [8], rolloutSteps: 4, minibatches: 1, epochs: 1 };

let env: VectorEnv;
beforeAll(async () => void (env = await makeVec(point, { numEnvs: 3, seed: 1, device: "wasm" })));
afterAll(() => env.close());

describe("an environment without a limit of control steps", () => {
  test("is evaluated all the same: episodes that nothing ends are cut", async () => {
    await using ppo = await Ppo.create(env, SMALL);
    const [sums, seen] = [
      [0, 0, 0],
      [0, 0, 0],
    ];
    let cuts = 0;
    const evaluation = await ppo.evaluate(env, {
      seed: 1,
      onStep: (step) => {
        for (let w = 0; w < 3; w++) {
          if (step.playing[w] === 0) continue;
          seen[w]++;
          sums[w] += step.result.rewards[w];
        }
        cuts += Number(step.cuts);
      },
    });
    expect(evaluation.cut).toBe(seen.filter((steps) => steps === ENDLESS_STEPS).length);
    expect(cuts).toBe(Number(evaluation.cut > 0));
    expect(evaluation.meanLength).toBeCloseTo((seen[0] + seen[1] + seen[2]) / 3, 9);
    expect([...evaluation.returns]).toEqual(sums);
  });
});

describe("refused", () => {
  const codeOf = (made: Promise<AsyncDisposable>) =>
    made.then(
      (one) => one[Symbol.asyncDispose](),
      ({ message }: Error) => message,
    );

  test.each([Ppo, Sac])("what is no environment, and options that are none: %o", async (Learner) => {
    const create = (env: unknown, options?: unknown) => codeOf(Learner.create(env as VectorEnv, options as object));
    expect(await create(Promise.resolve(env))).toMatch(/^\[bad-env\] the environment is a promise, not awaited\. Pass/);
    expect(await create(undefined)).toMatch(/^\[bad-env\] the environment is none that makeVec made/);
    expect(await create({})).toMatch(/^\[bad-env\]/);
    expect(await create(env, null)).toMatch(/^\[bad-option\] options is null; pass an object/);
    expect(await create(env, { adamEpsilon: 0 })).toMatch(/^\[bad-option\] adamEpsilon is 0/);
    expect(await create(env, { maxGradNorm: 0 })).toMatch(/^\[bad-option\] maxGradNorm is 0/);
  });

  test("more worlds of an evaluation than train, before anything is made", async () => {
    const made = codeOf(TrainingRun.create("CartPole", { numEnvs: 3, evalEnvs: 9, env: { device: "wasm" } }));
    expect(await made).toMatch(/^\[bad-option\] evalEnvs is 9; the learner has room for 3 worlds/);
  });

  test("the file of a replay for PPO, which has none, or for one that is kept in memory", async () => {
    const create = (options: object) =>
      codeOf(
        TrainingRun.create("InvertedPendulum-v5", {
          numEnvs: 3,
          replayFile: "rows.bin",
          env: { device: "wasm" },
          ...options,
        }),
      );
    expect(await create({})).toMatch(/^\[bad-option\] replayFile is "rows.bin"; ppo keeps no replay: leave it out/);
    expect(await create({ algo: "sac" })).toMatch(/^\[bad-option\] replayFile is "rows.bin"; storage is "gpu"/);
  });

  test("environments that were closed", async () => {
    const closed = await makeVec("CartPole", { numEnvs: 8, device: "wasm", threads: 1 });
    await closed.close();
    const making = Ppo.create(closed, SMALL);
    await expect(making).rejects.toThrow("[closed] CartPole was closed. Make another one for the learner.");
  });

  test("policies, counts of worlds and observations that do not fit a policy", () => {
    const policy = readPolicy(readFileSync("envs/biped/policy.safetensors"));
    const seen = policy.observations;
    expect(() => new AppliedPolicy({} as never, 1)).toThrow("[bad-policy] the policy is {}; pass what readPolicy");
    expect(() => new AppliedPolicy(policy, 0)).toThrow("[bad-num-envs] a policy acts in 0 worlds");
    for (const world of [-1, 2, 0.5, "1"])
      expect(() => new AppliedPolicy(policy, 2).forget(world as number)).toThrow("[bad-world] world is ");
    const actor = new AppliedPolicy(policy, 2);
    const says = `[bad-shape] observations have ${2 * seen - 2} numbers; BipedVelocity sees ${seen} numbers in each of 2 worlds.`;
    expect(() => actor.act(new Float32Array(2 * seen - 2))).toThrow(says);
    expect(() => actor.act(new Float32Array(2 * seen + 1))).toThrow("[bad-shape]");
    expect(() => actor.act(undefined as never)).toThrow("[bad-shape] observations are undefined;");
    // what a critic sees besides comes after
    expect(actor.act(new Float32Array(2 * seen + 4))).toEqual(actor.act(new Float32Array(2 * seen)));
  });

  test("snapshots that are none, or of other environments, and steps that nothing collected; nothing has changed", async () => {
    await using ppo = await Ppo.create(env, SMALL);
    const before = await ppo.parameters();
    const snapshot = await ppo.snapshot();
    await ppo.iterate();
    const learnt = await ppo.parameters();
    expect(learnt).not.toEqual(before);
    const counts = [{ envSteps: NaN }, { iteration: "1" }, { rateScale: 0 }, { env: null }];
    for (const wrong of [undefined, {}, { learner: {} }, { env: {} }, ...counts].map((x, i) =>
      i > 1 ? { ...snapshot, ...x } : x,
    ))
      await expect(ppo.restore(wrong as never)).rejects.toMatchObject({ code: "bad-snapshot" });
    expect(await ppo.parameters()).toEqual(learnt);
    await expect(ppo.iterateFrom(undefined as never)).rejects.toMatchObject({ code: "bad-peer" });
    await ppo.restore(snapshot);
    expect(await ppo.parameters()).toEqual(before);
    await expect(Overlapped.create(undefined as never)).rejects.toThrow("[bad-option] learner is undefined; pass what");
    await using sac = await Sac.create(env, { bufferSize: 64, batchSize: 8, hidden: [8], storage: "host" });
    await expect(sac.iterateFrom(undefined as never)).rejects.toMatchObject({ code: "bad-peer" });
  });

  test("calls at the wrong time reject, and do not throw", async () => {
    const ppo = await Ppo.create(env, SMALL);
    const first = ppo.iterate();
    await expect(ppo.iterate()).rejects.toMatchObject({ code: "call-in-flight" });
    expect((await first).minibatches).toBe(1);
    await ppo.close();
    await expect(ppo.iterate()).rejects.toMatchObject({ code: "closed" });
  });
});
