// corral's side of bench/learning.ts: one environment with so many worlds, measured when asked. See sides.ts.
import { createInterface } from "node:readline";
import { machineFacts } from "../src/bench/machine.ts";
import { guardOutput } from "../src/cli/io.ts";
import { computeWithoutThreads } from "../src/gpu/driver-threads.ts";
import { makeVec, Ppo } from "../src/index.ts";
import { isShort, runDefaults } from "../src/runs/defaults.ts";

guardOutput();

interface Setup {
  readonly id: string;
  readonly numEnvs: number;
  readonly seconds: number;
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const { id, numEnvs, seconds } = JSON.parse((await lines.next()).value as string) as Setup;
// how many threads a driver takes is settled once in a process
const withoutThreads = isShort(id, { numEnvs });
if (withoutThreads) computeWithoutThreads();
await using env = await makeVec(id, { numEnvs, seed: 0 });
await using ppo = await Ppo.create(env, { ...runDefaults(id).config, seed: 0, schedule: "constant" });
const { rolloutSteps, epochs, minibatches, hidden } = ppo.config;
const actions = env.actionSpace.sample(0);
const kinds: Record<string, () => Promise<unknown>> = {
  simulated: async () => {
    for (let t = 0; t < rolloutSteps; t++) await env.step(actions, { readback: false });
  },
  inference: () => ppo.collect(),
  training: () => ppo.iterate(),
};

/** Env steps per second of rollouts. */
async function rate(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  let done = 0;
  do {
    await run();
    done += rolloutSteps;
  } while (performance.now() - start < 1000 * seconds);
  await env.read();
  return (1000 * done * env.numEnvs) / (performance.now() - start);
}

await ppo.iterate();
console.log(
  JSON.stringify({
    machine: machineFacts(env.deviceName),
    withoutThreads,
    config: { rolloutSteps, epochs, minibatches, hidden },
    bytes: env.plan.totalBytes + ppo.plan.totalBytes,
  }),
);
for (let line = await lines.next(); !line.done; line = await lines.next()) {
  const { kind } = JSON.parse(line.value) as { kind: string };
  console.log(JSON.stringify({ rate: await rate(kinds[kind]) }));
}
