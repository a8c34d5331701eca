// a program for a process of its own: 64 environments on the CPU and 64 plans at once, then devices with batches, opened
// and closed again and again. Prints what the process has at each point as one JSON line. `node --expose-gc` with ADAPTER
import { readdirSync, readFileSync } from "node:fs";
import { createBudget, makeVec, openDevice, planVec } from "../../src/index.ts";

const COLLECTORS = 64;
const DEVICES = 6;
const ID = "InvertedPendulum-v5";

/** What the process has. */
export interface Host {
  readonly threads: number;
  readonly files: number;
  /** Handles that keep the process alive until they are closed. */
  readonly handles: number;
  /** Libraries of graphics drivers, and Dawn, that are loaded. */
  readonly libraries: readonly string[];
}

export interface HostSide {
  readonly start: Host;
  readonly working: Host;
  readonly collected: Host;
  /** After each device was closed. */
  readonly devices: readonly Host[];
  /** Observations that all collectors together have taken. */
  readonly rows: number;
}

const [adapter] = process.argv.slice(2);

// MuJoCo, and the threads that Node makes at first use
await (await makeVec(ID, { numEnvs: 8, device: "cpu" })).close();
// the pipes of a process are handles from their first use on
for (const pipe of [process.stdout, process.stderr]) pipe.write("");
const start = look();

const collectors = await Promise.all(
  Array.from({ length: COLLECTORS }, (_, seed) => makeVec(ID, { numEnvs: 4, device: "cpu", seed })),
);
let rows = 0;
await Promise.all([
  ...collectors.map(async (env, draw) => {
    await env.reset();
    for (let i = 0; i < 5; i++) {
      const { observations } = await env.step(env.actionSpace.sample(draw, { draw: i }));
      rows += observations.length / 4;
    }
  }),
  ...collectors.map((_, i) => planVec(ID, { numEnvs: 1000 * (i + 1), budget: "1GiB" })),
]);
const working = look();
for (const env of collectors) await env.close();
const collected = look();

const devices: Host[] = [];
for (let i = 0; i < DEVICES; i++) {
  const gpu = await openDevice({ adapter });
  const env = await makeVec(ID, { numEnvs: 64, device: gpu });
  await env.reset();
  await env.step(env.actionSpace.sample(0));
  await env.close();
  (await createBudget(gpu)).assertEmpty();
  gpu.close();
  await collect();
  devices.push(look());
}
const result: HostSide = { start, working, collected, devices, rows };
console.log(JSON.stringify(result));

/** A driver's threads end when Node collects the device. */
async function collect(): Promise<void> {
  for (let i = 0; i < 5; i++) {
    global.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function look(): Host {
  const maps = readFileSync("/proc/self/maps", "utf8");
  const found = maps.match(/[^/\s]*(?:dawn|vulkan|swiftshader|lvp|gallium)[^/\s]*$/gim) ?? [];
  return {
    threads: readdirSync("/proc/self/task").length,
    files: readdirSync("/proc/self/fd").length,
    // requests under way, timers and immediates pass by themselves
    handles: process.getActiveResourcesInfo().filter((name) => !/Req|ConnectWrap|Timeout|Immediate/.test(name)).length,
    libraries: [...new Set(found)],
  };
}
