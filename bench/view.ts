// what looking costs: a run with a page that nobody looks at, 300 pictures of Humanoid, frames of one Ant and of crowds.
// `npx tsx bench/view.ts [--updates N]`; on a busy machine go by processor time and by ratios
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import "../envs/index.ts";
import { makeVec } from "../src/env/index.ts";
import { taskOf } from "../src/env/registry.ts";
import { openDevice } from "../src/gpu/index.ts";
import { loadModel } from "../src/model/model.ts";
import { DrawList } from "../src/render/draw-list.ts";
import { Stage } from "../src/render/poses.ts";
import { Renderer } from "../src/render/renderer.ts";
import { SHOWN, showWorlds } from "../src/render/show.ts";
import { poses } from "../src/runs/poses.ts";
import { TrainingRun } from "../src/runs/train.ts";
import { RunWatch } from "../src/view/run-watch.ts";

const { values } = parseArgs({ options: { updates: { type: "string", default: "60" } } });
const updates = Number(values.updates);

/** Seconds of processor time and of the clock that a call takes. */
async function timed(call: () => Promise<void>): Promise<{ cpu: number; wall: number }> {
  const [cpu, wall] = [process.cpuUsage(), performance.now()];
  await call();
  const { user, system } = process.cpuUsage(cpu);
  return { cpu: (user + system) / 1e6, wall: (performance.now() - wall) / 1000 };
}

/** A run of CartPole, with a page that is closed or without one. */
async function trained(paged: boolean): Promise<number> {
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
  await using page = paged ? await RunWatch.open(facts, { env, seed: 1, worlds: 64 }) : undefined;
  const look = page && { onBetween: () => page.look(run.env, () => run.algorithm.policy()) };
  const { cpu } = await timed(async () => {
    await run.train({ onProgress: (progress) => page?.progress(progress), ...look });
  });
  return cpu;
}

const median = (all: readonly number[]): number => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)];

const [without, closed]: [number[], number[]] = [[], []];
await trained(false);
for (let turn = 0; turn < 7; turn++) {
  without.push(await trained(false));
  closed.push(await trained(true));
}
const ratios = closed.map((cpu, i) => cpu / without[i]);
console.log(
  `${updates} updates of CartPole: ${median(without).toFixed(3)} s of processor time, with a closed page ${median(closed).toFixed(3)} s; ratio of neighbours ${median(ratios).toFixed(3)} (${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)})`,
);

const gpu = await openDevice();
console.log(gpu.info.description);

async function film(id: string, worlds: number, frames: number): Promise<void> {
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

await film("Humanoid-v5", 1, 300);
for (const worlds of [1, 16, 256, 1024]) await film("Ant-v5", worlds, worlds > 16 ? 3 : 10);
gpu.close();
