// a world of two independent trees steps each as a world of that tree alone does, masses up to 1e7 apart
import { describe, expect, test } from "vitest";
import { createSimulation } from "../../src/batch/simulation.ts";
import { toTheEnd } from "../../src/compare/documented.ts";
import { oneStep, outputsOf, type OneStep } from "../../src/compare/one-step.ts";
import { trajectory } from "../../src/compare/trajectory.ts";
import { loadModel, type Model } from "../../src/model/model.ts";
import { distance } from "../../src/monitor/measure.ts";
import { MuJoCoWorld, type WorldState } from "../../src/monitor/mujoco-world.ts";
import { randomSeeds } from "../support/oracle-suite.ts";
import { isFull } from "../support/sweep.ts";
import { createTrees } from "../support/random-trees-mjcf.ts";
import { EACH_TREE } from "../support/tolerances.ts";

type Options = { readonly device?: "cpu"; readonly unroll: boolean };

/** The part of a state, or of a step, that is of one tree. */
function partOf<T extends Partial<WorldState>>(all: T, model: Model, after: Model | undefined): T {
  const cut = (values: ArrayLike<number> | undefined, size: number, start = 0) =>
    values && Float64Array.from({ length: size }, (_, i) => values[start + i]);
  return {
    ...all,
    qpos: cut(all.qpos, model.nq, after?.nq),
    qvel: cut(all.qvel, model.nv, after?.nv),
    qacc_warmstart: cut(all.qacc_warmstart, model.nv, after?.nv),
    ctrl: cut(all.ctrl, model.nu, after?.nu),
  };
}

async function stepAll(model: Model, states: readonly WorldState[], options: Options): Promise<OneStep[]> {
  await using simulation = await createSimulation(model, {
    numEnvs: states.length,
    applied: false,
    outputs: outputsOf(model),
    ...options,
  });
  return await oneStep(model, simulation, states);
}

/** Steps of a world of two trees, and its parts. */
async function stepTogether(seed: number, options: Options) {
  const { together, apart } = createTrees(seed);
  const model = await loadModel(together);
  const alone = await Promise.all(apart.map((text) => loadModel(text)));
  const world = await MuJoCoWorld.create(toTheEnd(model));
  const states = [...trajectory(model, world, { steps: 20, envs: 2, seed: 1 })].map(({ from }) => from);
  world.delete();

  const steps = await stepAll(model, states, options);
  return alone.map((tree, k) => {
    const cut = <T extends Partial<WorldState>>(x: T): T => partOf(x, tree, k === 0 ? undefined : alone[0]);
    return { tree, states: states.map(cut), qvel: steps.map((x) => cut<Partial<WorldState>>(x).qvel!) };
  });
}

type Part = Awaited<ReturnType<typeof stepTogether>>[number];

/** The largest difference of qvel from MuJoCo's step of the tree alone. */
async function fromMuJoCo({ tree, states, qvel }: Part): Promise<number> {
  const oracle = await MuJoCoWorld.create(toTheEnd(tree));
  const found = states.map((state, i) => distance(qvel[i], oracle.step(state).qvel));
  oracle.delete();
  return Math.max(...found);
}

// forms by turns, with `test:full` both
describe.each(randomSeeds(6, 60))("seed %i", (seed) => {
  test.each(isFull ? [true, false] : [seed % 2 === 0])("straight-line: %s", async (unroll) => {
    const options = { device: "cpu", unroll } as const;
    for (const part of await stepTogether(seed, options)) {
      const alone = await stepAll(part.tree, part.states, options);
      const difference = Math.max(...alone.map((step, i) => distance(part.qvel[i], step.qvel)));
      expect(difference).toBeLessThanOrEqual(EACH_TREE.alone.value);
      expect(await fromMuJoCo(part)).toBeLessThanOrEqual(EACH_TREE.mujoco.value);
    }
  });
});

// compiling takes most of the time of this file
test.each(isFull ? [true, false] : [true])("on the device, straight-line: %s", async (unroll) => {
  for (const part of await stepTogether(3, { unroll })) {
    expect(await fromMuJoCo(part)).toBeLessThanOrEqual(EACH_TREE.mujoco.value);
  }
});
