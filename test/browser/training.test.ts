// the page of a run that trains: curves, throughput, memory by holder, episodes, worlds that move; names are text
import { afterAll, beforeAll, expect, test } from "vitest";
import "../../envs/index.ts";
import type { TrainProgress } from "../../src/runs/progress.ts";
import { RunWatch } from "../../src/view/run-watch.ts";
import { openBrowser, type Browser } from "../support/browser.ts";
import { fromKept, openPage, settled, still } from "../support/browser-page.ts";
import { pictureBounds } from "../support/tolerances.ts";

const CODE = "<img src=x onerror=document.title='ran'>";

let browser: Browser | undefined;
let run: RunWatch;
beforeAll(async () => {
  browser = await openBrowser();
  const facts = {
    id: "CartPole",
    device: CODE,
    steps: 1000,
    memory: [
      ["environments", 4096],
      [CODE, 2 ** 21],
    ],
  } as const;
  run = await RunWatch.open(facts, { env: {}, seed: 1, worlds: 2 });
});
afterAll(async () => {
  await browser?.close();
  await run[Symbol.asyncDispose]();
});

/** What a run reports of an update. */
const progress = (iteration: number): TrainProgress => ({
  envSteps: 100 * iteration,
  steps: 1000,
  iteration,
  seconds: iteration,
  envStepsPerSec: 100,
  secondsLeft: 10 - iteration,
  metrics: { episodes: 3, episodeReturn: 10 * iteration, episodeLength: 20, [CODE]: iteration } as never,
  evaluation: undefined,
  evaluated: false,
});

test("shows a run as it goes on", async (context) => {
  if (!browser) return context.skip("no browser for this system");
  run.progress(progress(1));
  const { page, wrong } = await openPage(browser, run.url);
  await settled(page, "document.querySelector('#run-now').textContent.startsWith('update 1: 100 of 1,000 env steps')");
  expect(await page.locator("#run-memory").textContent()).toContain(`${CODE}2 MiB`);
  run.progress(progress(2));
  run.event(CODE);
  await settled(page, "document.querySelectorAll('#run-episodes li').length === 2");
  await settled(page, "document.querySelectorAll('#run-events li').length === 1");
  expect(await page.locator("#run-episodes li:first-child").textContent()).toBe("3 ended: return 20, length 20");
  expect(await page.locator("#run-curves").textContent()).toContain("rollout/ep_rew_mean 20 (10 to 20)");
  expect(await page.evaluate("document.querySelectorAll('#run-curves polyline')[0].getAttribute('points')")).toBe(
    "100,49.0 200,1.0",
  );
  expect(await page.locator("#run-events").textContent()).toBe(CODE);
  // worlds move on by themselves while the run does something else
  await settled(page, "Number(/step (\\d+)/.exec(document.querySelector('#now').textContent)[1]) >= 3");
  await page.locator("#play").click();
  await settled(page, "document.querySelector('#play').textContent === 'play'");
  await page.locator("#reset").click();
  await settled(page, "document.querySelector('#now').textContent.includes(' 0.000 s')");
  expect(fromKept("training", await still(page.locator("#canvas")))).toBeLessThan(pictureBounds.page.value);
  expect(await page.evaluate("document.querySelectorAll('img').length")).toBe(0);
  await page.setViewportSize({ width: 360, height: 640 });
  expect(await page.evaluate("document.documentElement.scrollWidth <= 360")).toBe(true);
  expect(wrong).toEqual([]);
  await page.close();
});
