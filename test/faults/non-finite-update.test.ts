// updates that are not finite: stopped, kept as a bundle that can be executed again, and survived if it was asked for
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import "../../envs/index.ts";
import { Flag } from "../../src/rl/tables/device-tables.ts";
import { batchEvidence, stoppedAt } from "../../src/rl/replay/evidence.ts";
import { halves, learnBatch } from "../../src/rl/sac/batch.ts";
import { reexecuteSac } from "../../src/rl/sac/reexecute.ts";
import { closeSharedDevice, sharedDevice } from "../support/learner-case.ts";
import { DRAW, makeSac, SEED } from "../support/sac-case.ts";
import { TILE } from "../../src/rl/networks/networks.ts";
import { BUNDLES } from "../../src/runs/folder.ts";
import { TrainingRun } from "../../src/runs/train.ts";
import type { TrainOptions } from "../../src/runs/options.ts";
import { corralInside } from "../support/cli-inside.ts";
import { logOf, TINY, trainRun, UPDATES } from "../support/runs.ts";
import { holdDevice } from "../support/hold-device.ts";

holdDevice();

const root = mkdtempSync(join(tmpdir(), "corral-non-finite-"));
afterAll(() => rmSync(root, { recursive: true }));
afterAll(closeSharedDevice);

const bundlesOf = (folder: string): string[] =>
  readdirSync(join(folder, BUNDLES)).map((name) => join(folder, BUNDLES, name));

test("a run that diverges ends with a bundle, which is executed again to the same bits", async () => {
  const out = join(root, "diverges");
  const flags = "--envs 8 --steps 6400 --rollout-steps 8 --hidden 8 --eval-envs 2 --schedule constant".split(" ");
  const { code, stderr } = await corralInside(["train", "CartPole", ...flags, "--learning-rate", "1e30", "--out", out]);
  expect(code).toBe(1);
  const [path] = bundlesOf(out);
  expect(stderr).toContain(`corral replay ${path} says what became so first.`);
  expect(logOf(out).at(-1)).toMatchObject({ end: true, error: { code: "non-finite-update" } });

  const replayed = await corralInside(["replay", path]);
  expect(replayed.stdout).toContain("identical: the update is stopped in minibatch ");
  expect(replayed.stdout).toMatch(/first not finite: .* of .* = /);
  expect(replayed.code).toBe(0);
  expect((await corralInside(["replay", path, "--bisect"])).stderr).toContain("is of an update, not of worlds");
  // and without an adapter, whose bits may be others
  const inWasm = await corralInside(["replay", path, "--device", "wasm", "--threads", "2"]);
  expect(inWasm.stdout).toMatch(/first not finite: .* of .* = /);
  expect((await corralInside(["replay", path, "--device", "cpu"])).stderr).toContain("pass gpu or wasm");
});

test("a step of Adam beyond float32 is stopped, named and executed again", async () => {
  const out = join(root, "adam");
  const small = "--steps 6400 --rollout-steps 8 --schedule constant --learning-rate 1e38";
  const flags = `--envs 4 --hidden 8 --eval-envs 2 ${small} --out`.split(" ");
  expect((await corralInside(["train", "InvertedPendulum-v5", ...flags, out])).code).toBe(1);
  const [path] = bundlesOf(out);
  const { code, stdout } = await corralInside(["replay", path]);
  expect([code, stdout]).toEqual([0, expect.stringContaining("by its step of Adam")]);
  expect(stdout).toMatch(/first not finite: next policy\.0\.weight of \[0\] = \S+, and \d+ more \(step\)/);
});

/** A run of which a parameter is spoilt before some updates. */
async function spoilt(name: string, options: TrainOptions, updates: readonly number[]): Promise<string> {
  const folder = join(root, name);
  await using run = await TrainingRun.create("InvertedPendulum-v5", options);
  const { algorithm: ppo } = run;
  const iterate = ppo.iterate.bind(ppo);
  const left = [...updates];
  ppo.iterate = async () => {
    if (left[0] === ppo.iteration + 1) {
      left.shift();
      const { learner, ...rest } = await ppo.snapshot();
      const params = learner.params.slice();
      // the log standard deviation lies last, padded to a tile
      new Float32Array(params.buffer)[params.length - TILE] = NaN;
      await ppo.restore({ ...rest, learner: { ...learner, params } });
    }
    return iterate();
  };
  await trainRun(folder, run);
  return folder;
}

test("with onNonFiniteUpdate: lower the run goes on from its last copy at half the rate, and says so", async () => {
  const options: TrainOptions = {
    ...TINY,
    onNonFiniteUpdate: "lower",
    config: { ...TINY.config, schedule: "adaptive", targetKl: 0.01 },
  };
  const folder = await spoilt("lowered", options, [1, 5]);
  const log = logOf(folder);
  expect(log.filter((line) => "event" in line)).toMatchObject([
    { event: "rate-lowered", iteration: 0, message: expect.stringContaining("goes on from update 0 with 0.5 x") },
    { event: "rate-lowered", iteration: 4, message: expect.stringContaining("goes on from update 4 with 0.25 x") },
  ]);
  const told = log.filter((line) => "kl" in line).map(({ iteration }) => iteration);
  expect(told).toEqual(Array.from({ length: UPDATES }, (_, i) => i + 1));

  // what was spoilt is what is found, before all that follows from it
  const paths = bundlesOf(folder);
  expect(paths).toHaveLength(2);
  const { code, stdout } = await corralInside(["replay", paths[1], "--json"]);
  const { replay } = JSON.parse(stdout) as { replay: { identical: boolean; first: object; bad: { name: string }[] } };
  expect(code).toBe(0);
  expect(replay.first).toMatchObject({ stage: "what the update began with", name: "log_std", at: "[0]" });
  expect(replay.bad.map(({ name }) => name)).toContain("entropy");
});

test("it is lowered so often, then the run ends", async () => {
  const options: TrainOptions = { ...TINY, onNonFiniteUpdate: "lower", mostLowered: 1 };
  await expect(spoilt("often", options, [3, 4])).rejects.toMatchObject({
    code: "non-finite-update",
    message: expect.stringContaining("lowered 1 times before"),
  });
});

test("SAC: a policy that overflows after the critics have moved", async () => {
  const made = await makeSac({ name: "relu", observations: 5, actions: 2, config: { hidden: [9] } }, 3);
  await using _ = made.learner;
  const { learner, shape, config, params } = made;
  // a huge weight, of a number that the next observations do not have
  const [first] = shape.nets.policy;
  for (let o = 0; o < first.outputs; o++) params[4 * first.w + o] = 1e38;
  learner.write("params", params);
  const batch = await learner.read("batch", new Float32Array(learner.words("batch")));
  for (let row = 0; row < config.batchSize; row++) {
    batch[row * 4 * shape.row4] = 10;
    batch[row * 4 * shape.row4 + 4 * shape.obs4] = 0;
  }
  learner.write("batch", batch);
  learnBatch(learner, { draw: DRAW, flags: Flag.firstMinibatch, samples: false, movesPolicy: true });
  const stopped = stoppedAt(await learner.readState(), DRAW, 1);
  expect(stopped).toEqual({ half: "policy", minibatch: 0 });
  const { learningRate, criticLearningRate } = config;
  const facts = {
    algo: "sac" as const,
    env: shape.env,
    config,
    seed: SEED,
    iteration: 0,
    worldIds: [0, 1, 2],
    draw: DRAW,
    ...stopped,
    minibatches: 1,
    learningRate,
    criticLearningRate,
  };
  const evidence = await batchEvidence(learner, facts, halves(learner, DRAW).policy);
  expect(["loss", "gradient"]).toContain(evidence.halted);
  const replay = await reexecuteSac(await sharedDevice(), evidence);
  expect(replay).toMatchObject({ identical: true, halted: evidence.halted });
  expect(["forward", "loss", "backward", "gradient"]).toContain(replay.bad[0].stage);
  // earlier batches of the update were whole, and moved the policy or did not
  const state = Object.assign(new Float32Array(64), { 16: 3, 22: 2 });
  expect(stoppedAt(state, 0, 2)).toEqual({ half: "critics", minibatch: 3 });
  expect(stoppedAt(state, 0, 1)).toEqual({ half: "policy", minibatch: 2 });
  expect(stoppedAt(state, 0, undefined)).toEqual({ half: "critics", minibatch: 3 });
});
