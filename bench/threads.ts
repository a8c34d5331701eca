// microseconds of a control step on the device wasm, of small batches and large, in the calling thread and in more, in turns.
// The least of many is said too: what else the machine does only adds to it.
// npx tsx bench/threads.ts [--threads N] [--rounds N] [ENV=WORLDS,WORLDS,... ...]
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import "../envs/index.ts";
import { guardOutput } from "../src/cli/io.ts";
import { makeVec } from "../src/env/index.ts";

guardOutput();

const { values, positionals } = parseArgs({
  options: { threads: { type: "string" }, rounds: { type: "string" } },
  allowPositionals: true,
});
const most = Number(values.threads ?? availableParallelism());
const rounds = Number(values.rounds ?? 9);
const targets = positionals.length > 0 ? positionals : ["CartPole=1,8,64", "HalfCheetah-v5=1,8,64,1024,4096"];

/** Milliseconds of a slice. */
const SLICE = 60;

const median = (list: readonly number[]): number => list.toSorted((a, b) => a - b)[list.length >> 1];

for (const target of targets) {
  const [id, counts] = target.split("=");
  for (const numEnvs of counts.split(",").map(Number)) {
    const sides = await Promise.all(
      [1, most].map(async (threads) => {
        const env = await makeVec(id, { numEnvs, threads, device: "wasm", recorder: false });
        await env.reset({ seed: 1 });
        return { threads, env, slices: [] as number[], least: Infinity };
      }),
    );
    for (let round = -1; round < rounds; round++) {
      for (const side of sides) {
        const { env } = side;
        const actions = env.actionSpace.sample(1);
        const begin = performance.now();
        let steps = 0;
        for (let last = begin; last - begin < SLICE; steps++) {
          const before = performance.now();
          await env.step(actions);
          last = performance.now();
          if (round >= 0) side.least = Math.min(side.least, 1000 * (last - before));
        }
        if (round >= 0) side.slices.push((1000 * (performance.now() - begin)) / steps);
      }
    }
    const [one, more] = sides;
    const told = sides.map(
      ({ threads, slices, least }) =>
        `threads: ${threads} ${median(slices).toFixed(0)} us (least ${least.toFixed(0)}, best slice ${Math.min(...slices).toFixed(0)})`,
    );
    const gain = Math.min(...one.slices) / Math.min(...more.slices);
    console.log(`${id}, ${numEnvs} worlds: ${told.join("; ")}; best slices ${gain.toFixed(2)} x`);
    for (const { env } of sides) await env.close();
  }
}
