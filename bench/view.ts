// what looking costs: a run with a page that nobody looks at (`run`), 300 pictures of Humanoid and of Ants (`film`), the
// same Ants in a browser (`page`). `npx tsx bench/view.ts [run film page] [--updates N] [--turns N]`; on a busy machine go by
// processor time and by ratios
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import "../envs/index.ts";
import { guardOutput } from "../src/cli/io.ts";
import { makeVec } from "../src/env/index.ts";
import { taskOf } from "../src/env/registry.ts";
import { viewTarget } from "../src/cli/view-target.ts";
import { openDevice, type GpuDevice } from "../src/gpu/index.ts";
import { loadModel } from "../src/model/model.ts";
import { DrawList } from "../src/render/draw-list.ts";
import { Stage } from "../src/render/poses.ts";
import { Renderer } from "../src/render/renderer.ts";
import { SHOWN, showWorlds } from "../src/render/show.ts";
import { poses } from "../src/runs/poses.ts";
import { TrainingRun } from "../src/runs/train.ts";
import { pageFiles } from "../src/view/page.ts";
import { routesOf } from "../src/view/routes.ts";
import { RunWatch } from "../src/view/run-watch.ts";
import { ViewServer } from "../src/view/server.ts";
import { Session } from "../src/view/session.ts";
import { openBrowser } from "../test/support/browser.ts";

guardOutput();

const { values, positionals } = parseArgs({
  options: { updates: { type: "string", default: "60" }, turns: { type: "string", default: "8" } },
  allowPositionals: true,
});
const updates = Number(values.updates);
const isWanted = (part: "run" | "film" | "page") => positionals.length === 0 || positionals.includes(part);
/** Worlds of a picture. */
const CROWDS = [1, 16, 256, 1024];

/** Seconds of processor time and of the clock that a call takes. */
async function timed(call: () => Promise<void>): Promise<{ cpu: number; wall: number }> {
  const [cpu, wall] = [process.cpuUsage(), performance.now()];
  await call();
  const { user, system } = process.cpuUsage(cpu);
  return { cpu: (user + system) / 1e6, wall: (performance.now() - wall) / 1000 };
}

/** Seconds on a processor of each thread of this process, by its number (Linux). */
function threadSeconds(): Map<string, number> {
  const tasks = "/proc/self/task";
  const seconds = (id: string) => Number(readFileSync(`${tasks}/${id}/schedstat`, "utf8").split(" ")[0]) / 1e9;
  return new Map(existsSync(tasks) ? readdirSync(tasks).map((id) => [id, seconds(id)]) : []);
}

/**
 * Processor time of a run of CartPole, with a page that is closed or without one; with it that of the page's own thread,
 * and the time that the thread which learns spends for the page.
 */
async function trained(paged: boolean): Promise<{ cpu: number; thread: number; calls: number }> {
  const options = {
    numEnvs: 64,
    steps: 64 * 32 * updates,
    evalEvery: 1e6,
    seed: 1,
    env: { device: "wasm", threads: 1 },
  };
  await using run = await TrainingRun.create("CartPole", options);
  const { id, memory, settings, envOptions: env } = run;
  const facts = { id, device: run.env.deviceName, steps: settings.steps, memory };
  const before = threadSeconds();
  await using page = paged ? await RunWatch.open(facts, { env, seed: 1, worlds: 64 }) : undefined;
  const begun = [...threadSeconds()].filter(([thread]) => !before.has(thread));
  let calls = 0;
  const spent = <T>(call: () => T): T => {
    const at = performance.now();
    const made = call();
    calls += (performance.now() - at) / 1000;
    return made;
  };
  const look = page && { onBetween: () => spent(() => page.look(run.env, () => run.algorithm.policy())) };
  const { cpu } = await timed(async () => {
    await run.train({ onProgress: (progress) => spent(() => page?.progress(progress)), ...look });
  });
  const after = threadSeconds();
  const thread = begun.reduce((sum, [id, seconds]) => sum + (after.get(id) ?? seconds) - seconds, 0);
  return { cpu, thread, calls };
}

const median = (all: readonly number[]): number => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)];

async function besideClosed(): Promise<void> {
  const [without, closed]: [number[], number[]] = [[], []];
  const shares: number[] = [];
  await trained(false);
  for (let turn = 0; turn < Number(values.turns); turn++) {
    // each goes first as often as the other
    for (const paged of turn % 2 === 0 ? [false, true] : [true, false]) {
      const { cpu, thread, calls } = await trained(paged);
      (paged ? closed : without).push(cpu);
      if (paged) shares.push((100 * (thread + calls)) / cpu);
    }
  }
  const ratios = closed.map((cpu, i) => cpu / without[i]);
  const seconds = (all: readonly number[]) => `${median(all).toFixed(3)} s (least ${Math.min(...all).toFixed(3)})`;
  console.log(
    `${updates} updates of CartPole: ${seconds(without)} of processor time, with a closed page ${seconds(closed)}; ratio of neighbours ${median(ratios).toFixed(3)} (${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)}), of the least ${(Math.min(...closed) / Math.min(...without)).toFixed(3)}; the page's thread and calls take ${median(shares).toFixed(2)} % (${Math.min(...shares).toFixed(2)} to ${Math.max(...shares).toFixed(2)})`,
  );
}

async function film(gpu: GpuDevice, id: string, worlds: number, frames: number): Promise<void> {
  await using env = await makeVec(id, { numEnvs: worlds, device: "wasm" });
  using stage = await Stage.create(await loadModel(taskOf(id).model, { visuals: true }));
  const size = { width: 640, height: 480, capacity: stage.capacity(worlds) };
  const renderer = await Renderer.create(gpu, stage.scene, size);
  const list = new DrawList();
  let drawn = 0;
  const { cpu, wall } = await timed(async () => {
    for await (const shown of poses(env, "random", 0, frames - 1)) {
      const placed = stage.poses(shown);
      showWorlds(list, stage.scene, placed, stage.radius, SHOWN);
      await renderer.draw(list, stage.freeView(placed), stage.reach(placed));
      drawn++;
    }
  });
  const each = (1000 * wall) / drawn;
  console.log(
    `${worlds} ${id}, ${drawn} pictures of 640x480: ${wall.toFixed(1)} s, ${cpu.toFixed(1)} s of processor time, ${each.toFixed(0)} ms each, ${renderer.triangles} triangles`,
  );
  renderer.close();
}

async function films(): Promise<void> {
  const gpu = await openDevice();
  console.log(gpu.info.description);
  await film(gpu, "Humanoid-v5", 1, 300);
  for (const worlds of CROWDS) await film(gpu, "Ant-v5", worlds, worlds > 16 ? 3 : 10);
  gpu.close();
}

/** Milliseconds of a picture in the browser that tests use, as its page says them. */
async function pages(): Promise<void> {
  const browser = await openBrowser();
  if (!browser) return console.log("no browser for this system");
  try {
    for (const worlds of CROWDS) {
      await using session = new Session(await viewTarget("Ant-v5", { worlds: String(worlds), threads: "1" }));
      await using server = await ViewServer.listen(routesOf(session, await pageFiles()));
      const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
      await page.goto(server.url);
      await page.waitForSelector("body[data-ready]", { state: "attached" });
      // as large as the pictures above
      await page.evaluate(
        "Object.assign(document.querySelector('#canvas').style, { width: '640px', height: '480px', flex: 'none' })",
      );
      await setTimeout(worlds > 16 ? 20_000 : 8_000);
      const told = await page.locator("#pace").textContent();
      const size = await page.evaluate<string>("`${canvas.width}x${canvas.height}`");
      console.log(`${worlds} Ant-v5 in Chromium ${browser.version()}, ${size}: ${told}`);
      await page.close();
    }
  } finally {
    await browser.close();
  }
}

if (isWanted("run")) await besideClosed();
if (isWanted("film")) await films();
if (isWanted("page")) await pages();
