/** Updates that are not finite: stopped, kept as a bundle that can be executed again, and survived where it was asked for. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import "../../envs/index.ts";
import { TILE } from "../../src/rl/networks.ts";
import { BUNDLES } from "../../src/runs/folder.ts";
import { TrainingRun, type TrainOptions } from "../../src/runs/train.ts";
import { corralInside } from "../support/cli-inside.ts";
import { logOf, TINY, trainRun, UPDATES } from "../support/runs.ts";

const root = mkdtempSync(join(tmpdir(), "corral-non-finite-"));
afterAll(() => rmSync(root, { recursive: true }));

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
