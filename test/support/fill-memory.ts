/**
 * A program for a process of its own: bounds its address space, allocates until something refuses, gives all back, and
 * allocates again. Prints one JSON line. `node --import tsx fill-memory.ts ADAPTER driver|budget`
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { CorralError } from "../../src/core/errors.ts";
import { openDevice } from "../../src/gpu/device.ts";
import { Budget } from "../../src/memory/budget.ts";
import { createBudget } from "../../src/memory/device-budget.ts";
import { drain } from "../../src/memory/drain.ts";
import { planBatch } from "../../src/memory/plan.ts";
import { reserve, type Reservation } from "../../src/memory/reserve.ts";

const ROOM = 2 ** 30;
const STEP = 64 * 2 ** 20;

const [adapter, refuser] = process.argv.slice(2);
const gpu = await openDevice({ adapter });
execFileSync("prlimit", ["--pid", String(process.pid), `--as=${addressSpace() + ROOM}`]);

// the driver can only refuse where the budget does not
const budget = refuser === "budget" ? await createBudget(gpu) : new Budget({ limit: "1TiB" });
const fields = [{ name: "x", group: "state", type: "f32", shared: STEP / 4 }] as const;
const plan = planBatch({
  name: "filler",
  numEnvs: 1,
  limits: gpu.limits,
  arenas: [{ name: "rows", access: "read_write", fields }],
});

const filled = await fill();
const before = addressSpace();
for (let i = 0; i < 100; i++) await (await reserve(gpu, plan, budget)).close();
const growth = addressSpace() - before;
const again = await fill();
console.log(JSON.stringify({ filled, again, growth, live: budget.live, limit: budget.limit, source: budget.source }));
process.exit(0);

/** Allocates and touches until a refusal, and closes all. */
async function fill(): Promise<{ count: number; code: string }> {
  const held: Reservation[] = [];
  let code = "";

  while (code === "") {
    try {
      const reservation = await reserve(gpu, plan, budget);
      held.push(reservation);
      const encoder = gpu.device.createCommandEncoder();
      encoder.clearBuffer(reservation.buffer("rows"));
      gpu.device.queue.submit([encoder.finish()]);
      await drain(gpu);
    } catch (error) {
      if (!(error instanceof CorralError)) throw error;
      code = error.code;
    }
  }

  for (const reservation of held) await reservation.close();
  return { count: held.length, code };
}

function addressSpace(): number {
  return 1024 * Number(/VmSize:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
}
