// batches of a replay that are not finite: a run leaves a bundle of the one that failed, which is executed again to the same bits
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import "../../envs/index.ts";
import type { Algorithm, AlgorithmSnapshot } from "../../src/rl/algorithm.ts";
import { BUNDLES } from "../../src/runs/folder.ts";
import { TrainingRun } from "../../src/runs/train.ts";
import { readUpdateBundle } from "../../src/runs/update-bundle.ts";
import { readEvidence } from "../../src/runs/update-format.ts";
import { corralInside } from "../support/cli-inside.ts";
import { holdDevice } from "../support/hold-device.ts";
import { trainRun } from "../support/runs.ts";

holdDevice();

const root = mkdtempSync(join(tmpdir(), "corral-non-finite-batches-"));
afterAll(() => rmSync(root, { recursive: true }));

const bundleOf = (folder: string): string => {
  const [name] = readdirSync(join(folder, BUNDLES));
  return join(folder, BUNDLES, name);
};

interface Told {
  readonly bundle: object;
  readonly replay: { readonly first: object; readonly bad: readonly { readonly name: string }[] };
}

async function replayed(path: string): Promise<Told> {
  const { code, stdout, stderr } = await corralInside(["replay", path, "--json"]);
  expect(code, stderr + stdout).toBe(0);
  return JSON.parse(stdout) as Told;
}

/** A snapshot of which the first number of an array by name is not one. */
function spoilt(algorithm: Algorithm, { learner, ...rest }: AlgorithmSnapshot, name: string): AlgorithmSnapshot {
  // numbers that count say where each lies
  const places = new Uint32Array(Float32Array.from({ length: learner.params.length }, (_, i) => i).buffer);
  const [at] = algorithm.named({ ...rest, learner: { ...learner, params: places } })[name].data;
  const params = learner.params.slice();
  new Float32Array(params.buffer)[at] = NaN;
  return { ...rest, learner: { ...learner, params } };
}

const SIZES = { collectSteps: 4, gradientSteps: 3, batchSize: 16, bufferSize: 400, learningStarts: 32, hidden: [8] };
// of 27,000 actions as WebAssembly, which is much faster than the embedded driver
const CASES = [
  { algo: "sac", env: "InvertedPendulum-v5", spoils: "q1.1.weight", config: {}, then: "critic loss" },
  {
    algo: "sac",
    env: "InvertedPendulum-v5",
    spoils: "policy.1.weight",
    config: { storage: "host", normalizeObservations: true },
    then: "target value",
  },
  { algo: "dqn", env: "CartPole", spoils: "policy.1.weight", config: {}, then: "loss" },
  {
    algo: "dqn",
    env: "CartPole",
    spoils: "target.0.bias",
    config: { doubleQ: false, storage: "host" },
    then: "target value",
  },
  { algo: "dqn", env: "ArmTable", spoils: "policy.embedding", config: { layerNorm: true }, then: "loss" },
  { algo: "sac-discrete", env: "CartPole", spoils: "q2.1.bias", config: { storage: "host" }, then: "critic loss" },
  { algo: "sac-discrete", env: "ArmTable", spoils: "target2.embedding", config: {}, then: "target value" },
] as const;

test.each(CASES)("$algo of $env, $spoils spoilt", async ({ algo, env, spoils, config, then }) => {
  const folder = join(root, `${algo}-${env}-${spoils}`);
  const sizes = { ...SIZES, ...config };
  const device = env === "ArmTable" ? { env: { device: "wasm" as const } } : {};
  const options = { algo, numEnvs: 4, steps: 400, seed: 3, evalEnvs: 2, config: sizes, ...device };
  await using run = await TrainingRun.create(env, options);
  const { algorithm } = run;
  const iterate = algorithm.iterate.bind(algorithm);
  algorithm.iterate = async () => {
    if (algorithm.iteration === 5) await algorithm.restore(spoilt(algorithm, await algorithm.snapshot(), spoils));
    return iterate();
  };
  await expect(trainRun(folder, run)).rejects.toMatchObject({ code: "non-finite-update" });
  const { bundle, replay } = await replayed(bundleOf(folder));
  expect(bundle).toMatchObject({ algo, iteration: 5, half: "critics", minibatch: 0, minibatches: 3 });
  const first = { stage: "what the batch began with", name: spoils, at: "[0]" };
  expect(replay).toMatchObject({ identical: true, recorded: "loss", halted: "loss", first });
  expect(replay.bad.map(({ name }) => name)).toContain(then);
  expect((await corralInside(["replay", bundleOf(folder)])).stdout).toContain("in minibatch 1 of 3, by its loss");
});

test("a bundle whose actions no kernel may look for is refused", async () => {
  const folder = join(root, "strange");
  const config = { ...SIZES, learningRate: 1e38 };
  const options = { algo: "dqn", numEnvs: 4, steps: 400, evalEnvs: 2, config, env: { device: "wasm" } } as const;
  await using run = await TrainingRun.create("CartPole", options);
  await expect(trainRun(folder, run)).rejects.toMatchObject({ code: "non-finite-update" });
  const { about, evidence } = readUpdateBundle(bundleOf(folder));
  const { env, arenas } = evidence;
  expect(readEvidence({ ...about }, arenas).evidence).toEqual(evidence);
  expect(() => readEvidence({ ...about, half: "policy" }, arenas)).toThrow('half is "policy"; it is critics');
  for (const action of [4e9, 2, -1, 0.5, NaN]) {
    const batch = arenas.batch.slice();
    new Float32Array(batch.buffer)[2 * 4 * Math.ceil(env.observations / 4)] = action;
    expect(() => readEvidence({ ...about }, { ...arenas, batch })).toThrow("it is an action from 0 to 1");
  }
});

test("so is one of PPO", async () => {
  const folder = join(root, "strange-ppo");
  const config = { rolloutSteps: 8, hidden: [8], learningRate: 1e38, schedule: "constant" } as const;
  await using run = await TrainingRun.create("CartPole", { numEnvs: 4, evalEnvs: 2, config, env: { device: "wasm" } });
  await expect(trainRun(folder, run)).rejects.toMatchObject({ code: "non-finite-update" });
  const { about, evidence } = readUpdateBundle(bundleOf(folder));
  const rollout_actions = evidence.arenas.rollout_actions.slice();
  rollout_actions[4] = 2;
  const arenas = { ...evidence.arenas, rollout_actions };
  expect(() => readEvidence({ ...about }, arenas)).toThrow(
    "arenas.rollout_actions[4] is 2; it is an action from 0 to 1",
  );
});

const FLAGS = "--envs 4 --hidden 8 --eval-envs 2 --steps 400 --batch-size 16 --buffer-size 400 --learning-starts 32";
const ADAM = [
  ["sac", "InvertedPendulum-v5", "--critic-learning-rate", "critics", "q1.0.weight"],
  ["dqn", "CartPole", "--learning-rate", "critics", "policy.0.weight"],
  ["sac-discrete", "CartPole", "--critic-learning-rate", "critics", "q1.0.weight"],
  ["sac-discrete", "CartPole", "--learning-rate", "policy", "policy.0.weight"],
] as const;

test.each(ADAM)("%s of %s: a step of Adam beyond float32 by %s, in its %s", async (algo, env, rate, half, name) => {
  const out = join(root, `adam-${algo}-${half}`);
  const run = await corralInside(["train", env, "--algo", algo, ...FLAGS.split(" "), rate, "1e38", "--out", out]);
  expect(run.code).toBe(1);
  const path = bundleOf(out);
  expect(run.stderr).toContain(`corral replay ${path} says what became so first.`);
  const { bundle, replay } = await replayed(path);
  expect(bundle).toMatchObject({ algo, half });
  expect(replay).toMatchObject({ identical: true, halted: "step of Adam", first: { name: `next ${name}`, at: "[0]" } });
  // and without an adapter, whose bits may be others
  const inWasm = await corralInside(["replay", path, "--device", "wasm", "--threads", "2"]);
  expect(inWasm.stdout).toMatch(/first not finite: .* of .* = /);
});
