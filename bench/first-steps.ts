// processor seconds, and seconds of a clock (`wall`), from a model's file to the results of the first step: each in a fresh process with nothing cached.
// npx tsx bench/first-steps.ts [--device gpu|wasm] [--worlds N] [--rounds N] [--set NAME=VALUE] [--simulation] NAME=FILE ...
// As a task that observes positions, velocities and all sensors; with --simulation, as createSimulation.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { cpuSeconds } from "../src/bench/machine.ts";
import { guardOutput } from "../src/cli/io.ts";
import { spans } from "../src/core/spans.ts";
import { createSimulation, defineTask, loadModel, makeVec, startAround } from "../src/index.ts";

guardOutput();

const { values, positionals } = parseArgs({
  options: {
    device: { type: "string", default: "gpu" },
    worlds: { type: "string", default: "256" },
    rounds: { type: "string", default: "1" },
    set: { type: "string", multiple: true, default: [] },
    simulation: { type: "boolean", default: false },
    here: { type: "boolean", default: false },
  },
  allowPositionals: true,
});

/** Processor seconds until each phase has ended, and milliseconds of spans. */
async function firstStep(file: string): Promise<object> {
  const begun = cpuSeconds();
  const started = performance.now();
  const wall = () => Number(((performance.now() - started) / 1000).toFixed(2));
  const since = () => Number((cpuSeconds() - begun).toFixed(2));
  const given = values.set.map((text) => text.split("=") as [string, string]);
  const options = Object.fromEntries(given.map(([name, value]) => [name, JSON.parse(value) as unknown]));
  const batch = { numEnvs: Number(values.worlds), device: values.device, ...options } as never;
  const model = await loadModel(file);
  const loaded = since();
  if (values.simulation) {
    await using simulation = await createSimulation(model, batch);
    const made = since();
    simulation.step(1);
    await simulation.sync();
    return { loaded, made, all: since(), wall: wall(), spans: spans() };
  }
  const observe = { qpos: "qpos", qvel: "qvel", ...(model.nsensor > 0 ? { sensors: "sensordata" } : {}) };
  const task = defineTask({
    id: "FirstStep-v0",
    model: pathToFileURL(file),
    frameSkip: 2,
    maxEpisodeSteps: 1000,
    observe,
    reward: { alive: "1" },
    reset: startAround({}),
  });
  await using env = await makeVec(task, batch);
  const made = since();
  await env.reset();
  const reset = since();
  await env.step(env.actionSpace.sample(0));
  const [all, allWall] = [since(), wall()];
  await env.step(env.actionSpace.sample(1));
  return { loaded, made, reset, all, wall: allWall, second: since(), spans: spans() };
}

function inProcess(file: string): unknown {
  const folder = mkdtempSync(join(tmpdir(), "corral-first-"));
  const env = {
    ...process.env,
    XDG_CACHE_HOME: folder,
    CORRAL_MODEL_CACHE: join(folder, "models"),
    MESA_SHADER_CACHE_DISABLE: "true",
  };
  const flags = Object.entries(values).flatMap(([name, value]) =>
    Array.isArray(value)
      ? value.flatMap((one) => [`--${name}`, one])
      : value === true
        ? [`--${name}`]
        : value === false
          ? []
          : [`--${name}`, value],
  );
  try {
    const args = [...process.execArgv, fileURLToPath(import.meta.url), ...flags, "--here", file];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
    return status === 0 ? JSON.parse(stdout) : { failed: stderr.trim().split("\n").slice(0, 12).join(" ") };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (values.here) process.stdout.write(JSON.stringify(await firstStep(positionals[0])));
else
  for (let round = 0; round < Number(values.rounds); round++)
    for (const given of positionals) {
      const [name, file] = given.split("=");
      console.log(name, JSON.stringify(inProcess(file)));
    }
