// SAC by where its replay lies: batches per second and env steps per second of whole updates; and env steps per second of
// collectors with 1 thread, 2 and so on to the processors, by themselves and while the device learns from the last batch.
// Run: npx tsx bench/off-policy.ts [ENV] [--seconds S] [--json]
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { guardOutput } from "../src/cli/io.ts";
import { Collector, makeVec, Sac } from "../src/index.ts";
import { runDefaults } from "../src/runs/defaults.ts";

guardOutput();

const { values, positionals } = parseArgs({
  options: { seconds: { type: "string", default: "2" }, json: { type: "boolean" } },
  allowPositionals: true,
});
const [id = "InvertedPendulum-v5"] = positionals;
const seconds = Number(values.seconds);
const STEPS = 64;
const WARM_UP = 8;

/** How often something can be done in a second, once it has been done a few times. */
async function rate(run: () => Promise<unknown>): Promise<number> {
  for (let i = 0; i < WARM_UP; i++) await run();
  const start = performance.now();
  let done = 0;
  for (; performance.now() - start < 1000 * seconds; done++) await run();
  return (1000 * done) / (performance.now() - start);
}

const { numEnvs, config } = runDefaults(id, "sac");
const folder = mkdtempSync(join(tmpdir(), "corral-bench-"));
const options = { ...config, seed: 0, learningStarts: 0 };
await using env = await makeVec(id, { numEnvs, seed: 0 });
const found: Record<string, number> = {};
const tell = (name: string, value: number) => {
  found[name] = value;
  if (!values.json) console.log(`${name.padEnd(44)} ${Math.round(value)}`);
};
try {
  for (const storage of ["gpu", "host", "file"] as const) {
    await using sac = await Sac.create(env, { ...options, storage, replayFile: join(folder, "replay") });
    const updates = await rate(() => sac.iterate());
    tell(`${storage}: batches/s`, updates * sac.config.gradientSteps);
    tell(`${storage}: env steps/s`, updates * sac.config.collectSteps * numEnvs);
  }
  for (let threads = 1; threads <= availableParallelism(); threads *= 2) {
    await using sac = await Sac.create(env, { ...options, storage: "host" });
    await using collector = await Collector.create(id, { ...sac.collecting, steps: STEPS, threads });
    const params = await sac.parameters();
    const alone = await rate(() => collector.collect(params));
    tell(`${threads} threads: env steps/s, collecting only`, alone * STEPS * numEnvs);
    collector.start(params);
    const together = await rate(async () => {
      const batch = await collector.take();
      collector.start(await sac.parameters());
      await sac.iterateFrom(batch);
    });
    tell(`${threads} threads: env steps/s, learning meanwhile`, together * STEPS * numEnvs);
    await collector.take();
  }
} finally {
  rmSync(folder, { recursive: true });
}
if (values.json) console.log(JSON.stringify({ id, numEnvs, ...found }));
