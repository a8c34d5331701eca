// pictures of pages, taken in the browser that the tests use: a crash, and a run that trains
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { viewTarget } from "../src/cli/view-target.ts";
import { defineTask, makeVec } from "../src/env/index.ts";
import "../envs/index.ts";
import { TrainingRun } from "../src/runs/train.ts";
import { pageFiles } from "../src/view/page.ts";
import { routesOf } from "../src/view/routes.ts";
import { RunWatch } from "../src/view/run-watch.ts";
import { ViewServer } from "../src/view/server.ts";
import { Session } from "../src/view/session.ts";
import { openBrowser, type Browser } from "../test/support/browser.ts";

/** Milliseconds that a page has to draw; its adapter is software. */
const SETTLE_MS = 4000;

const [crash, training] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "corral-page-pictures-"));
const browser = await openBrowser();
if (!browser) throw new Error("there is no browser for this system: linux on x64 has one");
try {
  await pictureCrash(browser, crash);
  await pictureTraining(browser, training);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}

async function picture(of: Browser, url: string, file: string, size: { width: number; height: number }): Promise<void> {
  const page = await of.newPage({ viewport: size });
  await page.goto(url);
  await page.waitForSelector("body[data-ready]", { state: "attached" });
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  writeFileSync(file, await page.screenshot());
  await page.close();
}

/** The arm of docs/my-run-went-nan.md, whose wrist is too stiff. */
async function pictureCrash(of: Browser, file: string): Promise<void> {
  const arm = defineTask({
    id: "Arm",
    model: `<mujoco model="arm"><option timestep="0.002" gravity="0 0 -9.81"/><worldbody>
      <geom type="plane" size="3 3 .1"/>
      <body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 1 0" damping="1"/>
        <geom type="capsule" fromto="0 0 0 .4 0 0" size=".04" rgba=".8 .6 .4 1"/>
        <body name="hand" pos=".4 0 0"><joint name="wrist" axis="0 1 0" stiffness="22"/>
          <geom name="palm" type="sphere" pos=".03 0 0" size=".02" mass=".02"/><site name="tip" pos=".05 0 0"/></body>
      </body></worldbody>
      <actuator><motor name="shoulder" joint="shoulder" gear="20" ctrlrange="-1 1"/></actuator></mujoco>`,
    frameSkip: 5,
    maxEpisodeSteps: 500,
    outputs: () => ["site_xpos"],
    observe: { qpos: "qpos", qvel: "qvel" },
    reward: { height: "site_xpos(site.tip).z", effort: "-0.01 * sum(action * action)" },
    terminated: {},
  });
  await using env = await makeVec(arm, { numEnvs: 64, seed: 1, device: "wasm", recorder: { directory: folder } });
  await env.reset();
  for (let t = 0; t < 60 && env.health().bundles.length === 0; t++)
    await env.step(env.actionSpace.sample(1, { draw: t }));
  const [bundle] = env.health().bundles;
  await using session = new Session(await viewTarget(bundle, {}), true);
  await using server = await ViewServer.listen(routesOf(session, await pageFiles()));
  await picture(of, server.url, file, { width: 900, height: 900 });
}

async function pictureTraining(of: Browser, file: string): Promise<void> {
  await using run = await TrainingRun.create("InvertedPendulum-v5", {
    steps: 40_960,
    seed: 0,
    env: { device: "wasm" },
  });
  const { id, memory, settings, envOptions: env } = run;
  const facts = { id, device: run.env.deviceName, steps: settings.steps, memory };
  await using page = await RunWatch.open(facts, { env, seed: 0, worlds: settings.numEnvs });
  let seen: Promise<void> | undefined;
  await run.train({
    onProgress: (progress) => page.progress(progress),
    onBetween: async () => {
      await page.look(run.env, () => run.algorithm.policy());
      if (run.algorithm.envSteps >= settings.steps / 2)
        await (seen ??= picture(of, page.url, file, { width: 900, height: 900 }));
    },
  });
}
