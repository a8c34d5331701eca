// the Node side of rate.py: steps a batch for as many seconds as each line of standard input says, and prints env steps and env steps/s
import { createInterface } from "node:readline";
import { makeVec } from "../../src/index.ts";

const [id, worlds, results, device] = process.argv.slice(2);
const options = { numEnvs: Number(worlds), seed: 1, copy: results === "copies", ...(device ? { device } : {}) };
await using env = await makeVec(id, options as never);
await env.reset();
const actions = env.actionSpace.sample(1);
await env.step(actions);
console.log(env.deviceName);
for await (const line of createInterface({ input: process.stdin })) {
  const seconds = Number(line);
  const start = performance.now();
  let steps = 0;
  while (performance.now() - start < 1000 * seconds) {
    // what Python gets too
    for (const name of (await env.step(actions)).infos.names()) env.infos.get(name);
    steps++;
  }
  const all = steps * env.numEnvs;
  console.log(`${all} ${(1000 * all) / (performance.now() - start)}`);
}
