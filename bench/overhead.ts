// what the environment adds to the physics: `Simulation` and `makeVec` step the same states under the same controls, in
// turns, all on the device, nothing read. The environment computes observations, rewards, conditions, sums, resets and
// infos, and keeps its recording. Run: npx tsx bench/overhead.ts [ENV...] [--worlds N] [--pairs N] [--out FILE]
import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { guardOutput } from "../src/cli/io.ts";
import { createSimulation, makeVec, type Simulation, type VectorEnv } from "../src/index.ts";

guardOutput();

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    worlds: { type: "string", default: "4096" },
    pairs: { type: "string", default: "24" },
    out: { type: "string" },
  },
});
const ids = positionals.length > 0 ? positionals : ["HalfCheetah-v5", "Ant-v5"];
const [numEnvs, pairs] = [Number(values.worlds), Number(values.pairs)];
/** Control steps of a measurement, and before the first one. */
const [STEPS, WARM] = [4, 100];

const sorted = (list: readonly number[]) => list.toSorted((a, b) => a - b);
const median = (list: readonly number[]) => sorted(list)[list.length >> 1];
const percent = (x: number) => Number((100 * x).toFixed(2));

/** Seconds, and processor seconds: what it costs on a software driver, whatever else the machine does. */
async function time(run: () => Promise<void>): Promise<[number, number]> {
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  await run();
  const { user, system } = process.cpuUsage(cpu);
  return [(performance.now() - start) / 1000, (user + system) / 1e6];
}

async function runEnv(env: VectorEnv, actions: Float32Array): Promise<void> {
  // the first brings the actions to the device, where they stay
  await env.step(actions, { readback: false });
  for (let t = 1; t < STEPS; t++) await env.step(env.gpu!.actions, { readback: false });
  await env.sync();
}

async function runPhysics(sim: Simulation, frameSkip: number): Promise<void> {
  for (let t = 0; t < STEPS; t++) sim.step(frameSkip);
  await sim.sync();
}

/** Puts the simulation's worlds where the environment's are, under the same controls. */
async function align(sim: Simulation, env: VectorEnv, actions: Float32Array): Promise<void> {
  const state = await env.getState(["qpos", "qvel", "qacc_warmstart"]);
  await sim.setState({ ...state, ctrl: actions });
}

async function measure(id: string, recorder: boolean) {
  const env = await makeVec(id, { numEnvs, seed: 1, recorder });
  const { outputs } = env.spec.shape;
  const physics = await createSimulation(env.model, { numEnvs });
  // the forces on bodies that an Ant observes are physics too, which others do not ask for
  const wanted = await createSimulation(env.model, { numEnvs, outputs });
  const draw = (t: number) => env.actionSpace.sample(1, { draw: t }) as Float32Array;
  await env.reset();
  for (let t = 0; t < WARM; t++) await env.step(draw(t), { readback: false });

  const batches = ["env", "physics", "outputs"] as const;
  const seconds: Record<(typeof batches)[number], [number, number][]> = { env: [], physics: [], outputs: [] };
  for (let pair = -2; pair < pairs; pair++) {
    const actions = draw(WARM + pair);
    for (const sim of [physics, wanted]) await align(sim, env, actions);
    // who comes first goes round
    for (const k of [0, 1, 2].map((i) => (i + pair + 3) % 3)) {
      const name = batches[k];
      const sim = name === "physics" ? physics : wanted;
      const taken = await time(() => (name === "env" ? runEnv(env, actions) : runPhysics(sim, env.frameSkip)));
      if (pair >= 0) seconds[name].push(taken);
    }
  }
  const cost = (of: "physics" | "outputs", clock: 0 | 1) => {
    const ratios = seconds.env.map((taken, i) => taken[clock] / seconds[of][i][clock] - 1);
    return {
      median: percent(median(ratios)),
      quartiles: [0.25, 0.75].map((q) => percent(sorted(ratios)[Math.floor(q * ratios.length)])),
      ofFastest: percent(
        Math.min(...seconds.env.map((t) => t[clock])) / Math.min(...seconds[of].map((t) => t[clock])) - 1,
      ),
    };
  };
  const result = {
    id,
    numEnvs,
    recorder,
    device: env.deviceName,
    physicsStepsPerSecond: Object.fromEntries(
      batches.map((name) => [
        name,
        Math.round((numEnvs * STEPS * env.frameSkip) / median(seconds[name].map(([wall]) => wall))),
      ]),
    ),
    // percent that the environment takes more than the physics, and than physics with what the task reads of it
    wall: { physics: cost("physics", 0), sameOutputs: cost("outputs", 0) },
    processor: { physics: cost("physics", 1), sameOutputs: cost("outputs", 1) },
    outputs,
  };
  for (const batch of [env, physics, wanted]) await batch.close();
  return result;
}

const results = [];
for (const id of ids) {
  for (const recorder of [false, true]) {
    results.push(await measure(id, recorder));
    console.error(JSON.stringify(results.at(-1)));
  }
}
const document = { steps: STEPS, pairs, load: loadavg()[0], node: process.version, results };
if (values.out) writeFileSync(values.out, `${JSON.stringify(document, undefined, 2)}\n`);
else console.log(JSON.stringify(document, undefined, 2));
