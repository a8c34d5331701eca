// calls without their arguments, and options of runs that there are not: refused in words
import { expect, test } from "vitest";
import "../../../envs/index.ts";
import { makeVec, type VectorEnv } from "../../../src/env/index.ts";
import { readPolicy } from "../../../src/export/read-policy.ts";
import { makeTerrain } from "../../../src/model/terrain/terrain.ts";
import { terrainFromImage } from "../../../src/model/terrain/image.ts";
import { planRun } from "../../../src/runs/plan.ts";
import { recordEpisodes } from "../../../src/runs/record-episodes.ts";
import { sweep } from "../../../src/runs/sweep.ts";
import { TrainingRun } from "../../../src/runs/train.ts";

const none = undefined as never;
test.each<[string, string, () => unknown]>([
  ["makeTerrain", "bad-option", () => makeTerrain(none)],
  ["terrainFromImage", "bad-option", () => terrainFromImage("hills.png", none)],
  ["readPolicy", "bad-policy", () => readPolicy(none)],
  ["readPolicy of text", "bad-policy", () => readPolicy("policy.safetensors" as never)],
  ["sweep", "bad-option", () => sweep("runs/none", none)],
  ["recordEpisodes", "bad-option", () => recordEpisodes(none, none)],
])("%s without what it takes ends with %s", async (_, code, call) => {
  await expect(Promise.resolve().then(call)).rejects.toMatchObject({ code });
});

test("a run names an option that it does not have, and says where those of the algorithm go", async () => {
  for (const made of [TrainingRun.create("CartPole", { step: 9 } as never), planRun("CartPole", { step: 9 } as never)])
    await expect(made).rejects.toThrow(/a run has no option "step"; .*steps/);
  const made = TrainingRun.create("CartPole", { gamma: 0.9 } as never);
  await expect(made).rejects.toThrow("gamma is of the algorithm: pass config: { gamma: ... }");
});

test("a fork of more worlds than there can be is refused, and the environment is as it was", async () => {
  await using env: VectorEnv = await makeVec("CartPole", { numEnvs: 2, seed: 1, device: "cpu" });
  await env.reset();
  await expect(env.fork([])).rejects.toThrow("it got []. Pass such as [0]");
  await expect(env.fork([0], 1e12)).rejects.toMatchObject({ code: "bad-option" });
  await using act = await env.fork([0], 3);
  expect(act.numEnvs).toBe(3);
  await expect(recordEpisodes(env, none)).rejects.toMatchObject({ code: "bad-option" });
});
