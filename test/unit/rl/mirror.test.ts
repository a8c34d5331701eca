// mirror symmetry: rows in the mirror, names that columns come from, what it makes of a policy, and what is refused
import { afterAll, expect, test } from "vitest";
import { philox4x32, seedKey, streams } from "../../../src/core/rng.ts";
import { Box, Discrete } from "../../../src/env/index.ts";
import { makeJsVec, type JsEnv } from "../../../src/env/js-env.ts";
import { joinColumns, mirrorColumns, planPpo, Ppo, ppoConfig } from "../../../src/rl/index.ts";
import { envShape } from "../../../src/rl/device/env-shape.ts";
import { learnerEnvOf } from "../../../src/rl/device/js-vec.ts";
import { AppliedPolicy } from "../../../src/rl/networks/apply-policy.ts";
import { mirrors } from "../../../src/rl/ppo/mirror.ts";
import { mirrorRollout } from "../../../src/rl/ppo/update.ts";
import { WORLD } from "../../../src/rl/tables/device-tables.ts";
import { closeSharedDevice, makeCase, ON_WASM, sharedDevice, STEPS, WORLDS } from "../../support/learner-case.ts";
import { LEARNER_CASES } from "../../support/learner-cases.ts";

afterAll(closeSharedDevice);

test("columns of names, and of lists side by side", () => {
  const names = ["FL_hip", "FL_knee", "FR_hip", "FR_knee", "waist"];
  const joints = mirrorColumns(names, { swap: [["FL", "FR"]], negate: ["*_hip", "waist"] });
  expect(joints).toEqual([-3, 4, -1, 2, -5]);
  expect(joinColumns([1, -2, 3], joints, [-1])).toEqual([1, -2, 3, -6, 7, -4, 5, -8, -9]);
  expect(() => mirrorColumns(["left_arm"], { swap: [["left", "right"]] })).toThrow(
    '[bad-mirror] the mirror image of "left_arm" is "right_arm", which is none of left_arm.',
  );
  expect(() => mirrorColumns(names, { swap: [["left", "right"]] })).toThrow(
    '[bad-mirror] "left" and "right" of the mirror: no name fits, of FL_hip, FL_knee, FR_hip, FR_knee, waist.',
  );
  expect(() => mirrorColumns(names, { swop: [] } as never)).toThrow('the mirror has no option "swop"; nearest: swap');
  expect(() => mirrorColumns(names, { negate: ["*_hop"] })).toThrow('"*_hop" of the mirror: no name fits, of FL_hip');
  expect(() => mirrorColumns(names, { swap: ["FL"] } as never)).toThrow("pass pairs of parts of names");
  expect(() => mirrorColumns(names, { swap: [["FL", "FR"]], negate: ["FL_hip"] })).toThrow(
    '[bad-mirror] negate names one of "FL_hip" and "FR_hip", which are each other\'s mirror image. Name both, as in "*_hip".',
  );
  expect(() => mirrorColumns([...names, "waist"], {})).toThrow('[bad-mirror] "waist" of the mirror is named twice');
  expect(() => joinColumns([1, 5], [1])).toThrow(/list 0 of columns is \[1,5\]/);
});

test.each(["wasm", "gpu"])(
  "half of the worlds' rollouts are mirrored in place, and back again, on %s",
  async (where) => {
    const found = LEARNER_CASES.find(({ name }) => name === "Gaussian, tanh")!;
    const { observations, actions } = found.env;
    // the first two swap, the third changes its sign, the others stay
    const columns = (count: number) => [-2, -1, -3, ...Array.from({ length: count }, (_, i) => i + 4)].slice(0, count);
    const [mirrorObservations, mirrorActions] = [columns(observations), columns(actions)];
    const config = { ...found.config, mirrorObservations, mirrorActions };
    const made = await makeCase({ ...found, config }, 3, where === "wasm" ? ON_WASM : await sharedDevice());
    await using _ = made.learner;
    const { learner, shape } = made;
    const ids = Array.from({ length: WORLDS }, (_world, i) => 10 + i);
    const worlds = new Uint32Array(learner.words("worlds"));
    ids.forEach((id, i) => (worlds[i * WORLD.size] = id));
    learner.write("worlds", worlds);
    const seed = seedKey(5);
    learner.uniforms.set({ seed: [...seed] });
    const read = async () => [
      await learner.read("rollout_obs", new Float32Array(shape.samples * 4 * shape.obs4)),
      await learner.read("rollout_actions", new Float32Array(shape.samples * 4 * shape.actions4)),
    ];
    const before = await read();
    const mirrored = ids.map((id) => philox4x32([id, 7, streams.mirror, 0], seed)[0] < 2 ** 31);
    expect(new Set(mirrored).size).toBe(2);
    const wanted = before.map((rows, part) => {
      const list = part === 0 ? mirrorObservations : mirrorActions;
      const width = rows.length / shape.samples;
      return rows.map((x, i) => {
        const [sample, column] = [Math.floor(i / width), i % width];
        if (!mirrored[Math.floor(sample / STEPS)] || column >= list.length) return x;
        return Math.sign(list[column]) * rows[sample * width + Math.abs(list[column]) - 1];
      });
    });
    mirrorRollout(learner, 7);
    expect(await read()).toEqual(wanted);
    mirrorRollout(learner, 7);
    expect(await read()).toEqual(before);
  },
);

/** A point on a line is pushed towards its middle; worlds begin on the right alone. */
const right: JsEnv = {
  id: "Right",
  observationSpace: new Box({ low: -2, high: 2, shape: [1] }),
  actionSpace: new Box({ low: -1, high: 1, shape: [1] }),
  maxEpisodeSteps: 8,
  makeWorld() {
    let x = 0;
    return {
      reset: ({ random }) => [(x = 0.5 + random.uniform(0))],
      step([push]) {
        x = Math.max(0.1, x + 0.3 * push);
        return { observation: [x], reward: -x };
      },
      save: () => x,
      load: (saved) => (x = Number(saved)),
    };
  },
};

const OPTIONS = { seed: 2, hidden: [8], rolloutSteps: 16, minibatches: 2, epochs: 4, learningRate: 1e-2 };
const MIRROR = { mirrorObservations: [-1], mirrorActions: [-1] };

test("what was learnt on one side is known on the other, with the same bits each time and after a resume", async () => {
  const make = (options: object) => Ppo.create(makeJsVec(right, { numEnvs: 16, seed: 1 }), { ...OPTIONS, ...options });
  const onTheLeft = async (ppo: Ppo) => new AppliedPolicy(await ppo.policy(), 1).act([-1])[0];
  await using plain = await make({});
  await using ppo = await make(MIRROR);
  for (let i = 0; i < 20; i++) await plain.iterate();
  for (let i = 0; i < 19; i++) await ppo.iterate();
  const saved = await ppo.snapshot();
  await ppo.iterate();
  expect(await onTheLeft(ppo)).toBeGreaterThan(0.3);
  expect(await onTheLeft(plain)).toBeLessThan(await onTheLeft(ppo));
  await using cut = await make(MIRROR);
  await cut.restore(saved);
  await cut.iterate();
  expect(await cut.parameters()).toEqual(await ppo.parameters());
});

test("what has no mirror image is refused by name", () => {
  const envs = makeJsVec(right, { numEnvs: 2 });
  const refused =
    (options: object, env = envs) =>
    () =>
      planPpo(env, { hidden: [4], ...options });
  expect(refused({ mirrorActions: [-1] })).toThrow(
    "mirrorObservations is []; Right has 1 columns: pass as many, since mirrorActions is given and both belong together.",
  );
  expect(refused({ ...MIRROR, mirrorActions: [1, 2] })).toThrow("Right has 1 columns");
  expect(refused({ ...MIRROR, recurrent: "gru", recurrentSize: 8 })).toThrow(
    "the states of a gru have no mirror image",
  );
  const choose = makeJsVec({ ...right, id: "Choose", actionSpace: new Discrete(2) }, { numEnvs: 2 });
  expect(refused(MIRROR, choose)).toThrow("the actions of Choose are discrete");
  // an action that is squashed is mirrored within its bounds
  const lame = (low: number[], high: number[]) =>
    makeJsVec({ ...right, actionSpace: new Box({ low, high, shape: [low.length] }) }, { numEnvs: 2 });
  expect(refused({ ...MIRROR, squash: true }, lame([-1], [2]))).toThrow(
    "action 1 is from -1 to 2, and in the mirror, of action 1, from -2 to 1, which squashed actions follow",
  );
  expect(refused(MIRROR, lame([-1], [2]))).not.toThrow();
  const swapped = { ...MIRROR, mirrorActions: [-2, -1], squash: true };
  expect(refused(swapped, lame([-1, -2], [2, 1]))).not.toThrow();
  expect(refused(swapped, lame([-1, -1], [2, 2]))).toThrow("of action 2, from -2 to 1");
  const groups = { policy: { from: 0, size: 1 }, critic: { from: 1, size: 1 } };
  const apart = { ...envShape(learnerEnvOf(envs)), observations: 2, groups };
  const both = { ...MIRROR, recurrent: "none" };
  expect(mirrors(apart, { ...both, mirrorObservations: [-1, 2] })).toBe(true);
  expect(() => mirrors(apart, { ...both, mirrorObservations: [2, 1] })).toThrow(
    "column 1 is of policy, and 2, which it is in the mirror, of critic: pass for each one of its own group",
  );
  for (const list of [[2, 3, 1], [0], [1.5], [-2, 1], [2]])
    expect(() => ppoConfig({ mirrorActions: list })).toThrow("[bad-option] mirrorActions is");
});
