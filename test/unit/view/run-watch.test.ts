// a run that trains with a page: the same bits, whether a page looks or not, and what the page is told
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import "../../../envs/index.ts";
import { TrainingRun } from "../../../src/runs/train.ts";
import { decodeFrame, fromJson } from "../../../src/view/messages.ts";
import type { RunNumbers } from "../../../src/view/run-messages.ts";
import { RunWatch } from "../../../src/view/run-watch.ts";
import { holdDevice } from "../../support/hold-device.ts";

holdDevice();

const OPTIONS = {
  numEnvs: 8,
  steps: 8 * 64 * 6,
  seed: 5,
  evalEvery: 100,
  env: { device: "wasm" },
  config: { rolloutSteps: 64 },
};

/** What a run leaves; `look` is called between updates. */
async function trained(look?: (page: RunWatch, update: number) => Promise<void>): Promise<string> {
  await using run = await TrainingRun.create("CartPole", OPTIONS);
  const { id, memory, settings, envOptions: env } = run;
  const facts = { id, device: run.env.deviceName, steps: settings.steps, memory };
  const options = { env, seed: settings.seed, worlds: settings.numEnvs };
  await using page = look && (await RunWatch.open(facts, options));
  let updates = 0;
  await run.train({
    onProgress: (progress) => page?.progress(progress),
    ...(page && {
      onBetween: async () => {
        await look(page, ++updates);
        await page.look(run.env, () => run.algorithm.policy());
      },
    }),
  });
  const { learner, env: worlds } = await run.algorithm.snapshot();
  const hash = createHash("sha256");
  for (const words of Object.values(learner)) hash.update(words);
  return hash.update(JSON.stringify(worlds)).digest("hex");
}

const get = async (page: RunWatch, name: string): Promise<Response> => {
  const response = await fetch(page.url + name);
  expect(response.ok, name).toBe(true);
  return response;
};

test("a page that is opened, that looks and that is closed changes no bit of a run", async () => {
  const alone = await trained();
  expect(await trained(async () => {}), "closed").toBe(alone);
  const steps: number[] = [];
  let numbers: RunNumbers | undefined;
  const watched = await trained(async (page, update) => {
    if (update === 1) {
      const facts = fromJson(await (await get(page, "scene")).text()) as Record<string, unknown>;
      expect(facts).toMatchObject({ title: "CartPole", worlds: 4, run: { id: "CartPole" } });
    }
    // looks, is closed, and looks again
    if (update === 3 || update === 4) return;
    const frame = decodeFrame(await (await get(page, "frame?after=0")).arrayBuffer());
    expect(frame.poses.worlds).toBe(4);
    steps.push(frame.facts.step);
    if (update !== 5) return;
    // updates are told of together
    do numbers = fromJson(await (await get(page, "run?after=0")).text()) as RunNumbers;
    while (numbers.points.length < 5);
  });
  expect(watched).toBe(alone);
  expect(steps).toHaveLength(4);
  expect(numbers!.points).toHaveLength(5);
  const [first] = numbers!.points;
  expect(first).toMatchObject({ iteration: 1, envSteps: 512 });
  expect(first.numbers["time/fps"]).toBeGreaterThan(0);
  expect(first.numbers["rollout/episodes"]).toBeGreaterThan(0);
});
