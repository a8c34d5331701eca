// a program for a process of its own: Hopper whose world 2 breaks, with bundles into a folder. Prints one JSON line.
import { readdirSync } from "node:fs";
import { makeVec } from "../../src/env/index.ts";
import "../../envs/index.ts";

const [directory] = process.argv.slice(2);
await using env = await makeVec("Hopper-v5", { numEnvs: 4, device: "cpu", recorder: { directory } });
await env.reset();
for (let t = 0; t < 6; t++) {
  if (t === 2) await env.setState({ qvel: [1e9, -3e9, 3e9, 0, 0, 0] }, [2]);
  await env.step(new Float32Array(12));
}
const { bundles, notWritten, steps } = env.health();
console.log(JSON.stringify({ bundles, notWritten, steps, left: readdirSync(directory) }));
