// what the flight recorder costs: two batches side by side, one with it and one without, stepped in turns, so that what
// else the machine does falls on both. Run: npx tsx bench/recorder.ts [ENV] [WORLDS] [--unread]
import { guardOutput } from "../src/cli/io.ts";
import { formatBytes, makeVec } from "../src/index.ts";

guardOutput();

const [id = "Ant-v5", worlds = "2048"] = process.argv.slice(2);
const readback = !process.argv.includes("--unread");
const PAIRS = 48;
const STEPS = 8;

const numEnvs = Number(worlds);
const envs = await Promise.all([makeVec(id, { numEnvs, recorder: true }), makeVec(id, { numEnvs, recorder: false })]);
const actions = envs[0].actionSpace.sample(0);

/** Seconds of some steps, and processor seconds: what they cost on a software driver, whatever else the machine does. */
async function time(env: (typeof envs)[0]): Promise<[number, number]> {
  const start = performance.now();
  const cpu = process.cpuUsage();
  for (let t = 0; t < STEPS; t++) {
    if (readback) await env.step(actions);
    else await env.step(actions, { readback: false });
  }
  if (!readback) await env.read();
  const { user, system } = process.cpuUsage(cpu);
  return [(performance.now() - start) / 1000, (user + system) / 1e6];
}

for (const env of envs) {
  await env.reset();
  await time(env);
}
const ratios: number[] = [];
const busy: number[] = [];
const seconds: [number[], number[]] = [[], []];
for (let pair = 0; pair < PAIRS; pair++) {
  // who comes first alternates
  const order = pair % 2 === 0 ? [0, 1] : [1, 0];
  const taken: [number, number][] = [];
  for (const k of order) {
    taken[k] = await time(envs[k]);
    seconds[k].push(taken[k][0]);
  }
  ratios.push(taken[0][0] / taken[1][0]);
  busy.push(taken[0][1] / taken[1][1]);
}
const median = (list: number[]) => list.toSorted((a, b) => a - b)[list.length >> 1];
const recorded = envs[0].plan.fields.filter((f) => f.group === "record").reduce((sum, f) => sum + f.bytes, 0);
console.log(
  JSON.stringify({
    id,
    numEnvs,
    readback,
    device: envs[0].deviceName,
    stepsPerSecond: seconds.map((s) => Math.round((numEnvs * STEPS) / median(s))),
    cost: { median: median(ratios) - 1, min: Math.min(...ratios) - 1, max: Math.max(...ratios) - 1 },
    processor: { median: median(busy) - 1, min: Math.min(...busy) - 1, max: Math.max(...busy) - 1 },
    ofFastest: Math.min(...seconds[0]) / Math.min(...seconds[1]) - 1,
    recorder: formatBytes(recorded),
    perWorld: recorded / numEnvs,
    total: formatBytes(envs[0].plan.totalBytes),
  }),
);
for (const env of envs) await env.close();
