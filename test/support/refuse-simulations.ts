// a program for a process of its own: bounds its memory, makes simulations until something refuses, closes all, makes one
// that fits again and again, and fills up once more. Beside all that one simulation lives on. Prints one JSON line.
// `node --expose-gc` with true|false ADAPTER driver|budget [CONTROL_GROUP]: true looks for leaks
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CorralError } from "../../src/core/errors.ts";
import { openDevice } from "../../src/gpu/device.ts";
import { memoryInfo } from "../../src/gpu/memory-info.ts";
import { createBudget } from "../../src/memory/device-budget.ts";
import { loadModel } from "../../src/model/model.ts";
import { createSimulation, type Simulation } from "../../src/batch/simulation.ts";

const ROOM = 2 ** 30;
/** 40 MB: less than the 64 MiB that the driver must have left, so that a refusal leaves Node room for its own heap. */
const WORLDS = 260_000;
/** Of those that are made again and again: 900 KB each, of which a hundred are far beyond the growth that is allowed. */
const FEW = 400;

/** Constructions until compilers and pools have what they keep, and then those that are looked at. */
const SETTLE = 150;
const REPEATS = 100;
const EVERY = 5;

/** What one run found; sizes in bytes. */
export interface RefuseResult {
  readonly filled: Filled;
  readonly again: Filled;
  /** Data that the process has mapped, the JavaScript heap aside, after every fifth of the constructions that are looked at. */
  readonly memory: readonly number[];
  /** What the JavaScript heap holds after a collection, at the same times. */
  readonly heap: readonly number[];
  /** Held at the end; only what lives beside all. */
  readonly live: number;
  readonly beside: number;
  /** Whether the simulation beside went on as it would have. */
  readonly unharmed: boolean;
  readonly limit: number;
  readonly source: string;
}

/** Simulations that could be made, what they held, and the code of the refusal. */
interface Filled {
  readonly count: number;
  readonly code: string;
  readonly bytes: number;
}

const [leaks, adapter, refuser, group] = process.argv.slice(2);
const gpu = await openDevice({ adapter });

// the driver can only refuse if the budget does not
const budget = await createBudget(gpu, refuser === "driver" ? { limit: 2 ** 50, available: Infinity } : {});
// what is held counts, not what is computed: kernels are small, since hundreds are made
const model = await loadModel(
  `<mujoco><worldbody><body><joint type="slide"/><geom size=".1"/></body></worldbody></mujoco>`,
);
const beside = await make(8);
if (group === undefined) execFileSync("prlimit", ["--pid", String(process.pid), `--as=${status("VmSize") + ROOM}`]);
else writeFileSync(join(group, "cgroup.procs"), String(process.pid));
if (refuser === "budget") {
  const { bytes, source } = await memoryInfo(gpu.info);
  budget.change({ limit: bytes, source });
}

const filled = await fill(refuser === "budget");
const memory: number[] = [];
const heap: number[] = [];
for (let i = 0; i < (leaks === "true" ? SETTLE + REPEATS : 2); i++) {
  const simulation = await make(FEW);
  simulation.step();
  await simulation.close();
  if (i % EVERY > 0) continue;
  global.gc?.();
  if (i < SETTLE) continue;
  heap.push(process.memoryUsage().heapUsed);
  memory.push(status("VmData") - process.memoryUsage().heapTotal);
}
const again = await fill(false);
const { live, limit, source } = budget;
const result: RefuseResult = {
  filled,
  again,
  memory,
  heap,
  live,
  limit,
  source,
  beside: beside.plan.totalBytes,
  unharmed: await isUnharmed(),
};
console.log(JSON.stringify(result));
process.exit(0);

function make(numEnvs: number): Promise<Simulation> {
  return createSimulation(model, { numEnvs, device: gpu });
}

/** Makes simulations until a refusal, and closes all. `touches`: they step. */
async function fill(touches: boolean): Promise<Filled> {
  const held: Simulation[] = [];
  let code = "";

  while (code === "") {
    try {
      const simulation = await make(WORLDS);
      held.push(simulation);
      // a budget must stop before memory that is touched runs out; a driver refuses what is asked for
      if (touches) simulation.step();
      beside.step();
      await simulation.sync();
    } catch (error) {
      if (!(error instanceof CorralError)) throw error;
      code = error.code;
    }
  }

  const bytes = budget.live - beside.plan.totalBytes;
  for (const simulation of held) await simulation.close();
  return { count: held.length, code, bytes };
}

/** Has the simulation beside the state of one that is made now and steps as often? */
async function isUnharmed(): Promise<boolean> {
  const other = await make(8);
  for (let i = 0; i < beside.steps; i++) other.step();
  const [a, b] = [await beside.getState(["qpos", "qvel"]), await other.getState(["qpos", "qvel"])];
  await other.close();
  return JSON.stringify([...a.qpos, ...a.qvel]) === JSON.stringify([...b.qpos, ...b.qvel]);
}

/** A line of this process's status, in bytes. */
function status(name: string): number {
  return 1024 * Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
}
