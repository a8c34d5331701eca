// models of other projects: which of them load, what blocks the others, how far steps are from MuJoCo's, how fast they are
//
//   npx tsx tools/zoo [FOLDER] [--only TEXT] [--bounds] [--measure TEXT] [--write]
//
// FOLDER (../zoo) holds a folder OWNER+NAME for each repository of repositories.ts, as it is at its commit. --bounds steps
// every accepted model with actuators beside MuJoCo, without a GPU.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { CorralError } from "../../src/core/errors.ts";
import { unrollByDefault } from "../../src/batch/kernel/form.ts";
import { createSimulation, loadModel } from "../../src/index.ts";
import type { Model } from "../../src/model/model.ts";
import { MAX_PAIRS } from "../../src/model/pairs.ts";
import { unsupportedFeatures } from "../../src/model/supported.ts";
import { MuJoCoWorld } from "../../src/monitor/mujoco-world.ts";
import { startState } from "../../src/compare/trajectory.ts";
import { asked, USAGE } from "./asked.ts";
import { REPOSITORIES } from "./repositories.ts";

/** What is known of a file after it was loaded. */
interface Scanned {
  readonly path: string;
  readonly actuated: boolean;
  readonly features: readonly string[];
  /** Why it does not load, in one line. */
  readonly error?: string;
}

interface Measured {
  readonly path: string;
  readonly nv: number;
  readonly form: string;
  readonly contacts: number;
  readonly qpos: number;
  readonly qvelP99: number;
  readonly verdict: string;
  readonly firstStep: number;
  readonly stepsPerSecond: number;
  readonly ratio: number;
}

interface Judged {
  readonly path: string;
  readonly firstStep: number;
  readonly reasons: readonly string[];
}

const WORLDS = 256;
/** Models that take longer to their first step are told, s of a processor. */
const SLOW = 20;
const tsx = fileURLToPath(import.meta.resolve("tsx"));

/** XML files that are models: others are parts of them. */
function filesOf(folder: string, only: string): string[] {
  return REPOSITORIES.flatMap(({ name, folders }) =>
    folders.flatMap((part) => {
      const base = join(folder, name.replace("/", "+"), part);
      const found = readdirSync(base, { recursive: true, encoding: "utf8" }).filter((f) => /\.(xml|urdf)$/.test(f));
      return found.map((f) => join(base, f));
    }),
  )
    .filter((path) => path.includes(only) && /<(mujoco|robot)[\s>]/.test(readFileSync(path, "utf8")))
    .sort();
}

/** What of a model is refused; a world of too many pairs is a model too. */
function refused(model: Model): string[] {
  try {
    return unsupportedFeatures(model).map(({ feature }) => feature);
  } catch (error) {
    if (error instanceof CorralError && error.code === "too-many-pairs")
      return [`more than ${MAX_PAIRS} pairs of geoms`];
    throw error;
  }
}

async function scan(path: string): Promise<Scanned> {
  try {
    const model = await loadModel(path);
    return { path, actuated: model.nactuator > 0, features: refused(model) };
  } catch (error) {
    const text = error instanceof CorralError ? error.message : String(error);
    return { path, actuated: false, features: [], error: text.split("\n")[0] };
  }
}

/** Runs in a process of its own: a driver that dies takes one model with it. */
async function measure(path: string): Promise<Measured> {
  const model = await loadModel(path);
  const begun = performance.now();
  await using simulation = await createSimulation(model, { numEnvs: WORLDS });
  const state = Array.from({ length: WORLDS }, (_, env) => startState(model, 1, env));
  await simulation.setState({ qpos: Float32Array.from(state.flatMap(({ qpos }) => [...qpos])) });
  simulation.step(1);
  await simulation.sync();
  const firstStep = (performance.now() - begun) / 1000;
  // processor time of all threads: others may use the machine
  const used = () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  };
  let [steps, from] = [0, used()];
  while (used() - from < 1.5) {
    simulation.step(5);
    await simulation.sync();
    steps += 5 * WORLDS;
  }
  const stepsPerSecond = steps / (used() - from);
  const world = await MuJoCoWorld.create(model);
  world.load(state[0]);
  const { mujoco, model: m, data } = world.oracle;
  [steps, from] = [0, used()];
  while (used() - from < 1) {
    for (let i = 0; i < 10; i++) mujoco.mj_step(m, data);
    steps += 10;
  }
  const theirs = steps / (used() - from);
  world.delete();
  const compared = await compareWithMuJoCo(model, { steps: 60, envs: 4, device: "wasm" });
  return {
    path,
    nv: model.nv,
    form: unrollByDefault(model) ? "straight" : "rolled",
    contacts: compared.contacts.most,
    qpos: compared.oneStep.qpos?.max ?? 0,
    qvelP99: compared.oneStep.qvel?.p99 ?? 0,
    verdict: compared.verdict.passed ? "within" : compared.verdict.reasons.join("; "),
    firstStep,
    stepsPerSecond,
    ratio: stepsPerSecond / theirs,
  };
}

/** One model without a GPU: seconds of the processor to its first step, and whether its steps are within bounds. */
async function judge(path: string): Promise<Judged> {
  const begun = process.cpuUsage();
  const model = await loadModel(path);
  await using simulation = await createSimulation(model, { numEnvs: 64, device: "wasm" });
  simulation.step(1);
  await simulation.sync();
  const { user, system } = process.cpuUsage(begun);
  const { verdict } = await compareWithMuJoCo(model, { steps: 30, envs: 3, device: "wasm" });
  return { path, firstStep: (user + system) / 1e6, reasons: verdict.reasons };
}

interface Answers {
  readonly one: Measured;
  readonly judged: Judged;
}

function inProcess<How extends keyof Answers>(how: How, path: string): Answers[How] | string {
  const self = fileURLToPath(import.meta.url);
  const run = spawnSync(process.execPath, ["--import", tsx, self, `--${how}`, path], {
    encoding: "utf8",
    timeout: 240_000,
    maxBuffer: 2 ** 26,
    env: { ...process.env, CORRAL_MODEL_CACHE: "off" },
  });
  const line = run.stdout.split("\n").find((text) => text.startsWith("{"));
  return line
    ? (JSON.parse(line) as Answers[How])
    : (run.stderr.split("\n").find((l) => l.includes("[")) ?? run.signal ?? `no answer, exit code ${run.status}`);
}

/** Models that each feature blocks; in brackets those with actuators. */
function histogram(models: readonly Scanned[]): string[] {
  const features = [...new Set(models.flatMap((m) => m.features))];
  const rows = features.map((feature) => {
    const blocked = models.filter((m) => m.features.includes(feature));
    const only = blocked.filter((m) => m.features.length === 1);
    const count = (list: readonly Scanned[]) => `${list.length} (${list.filter((m) => m.actuated).length})`;
    return { feature, blocks: blocked.length, line: `| ${feature} | ${count(blocked)} | ${count(only)} |` };
  });
  return [
    "| feature | blocks (with actuators) | is the only blocker of |",
    "|---|---:|---:|",
    ...rows.sort((a, b) => b.blocks - a.blocks).map(({ line }) => line),
  ];
}

const short = (x: number): string => x.toExponential(0);

function measuredTable(folder: string, rows: readonly (Measured | string)[]): string[] {
  return [
    "| model | nv | form | contacts | worst qpos | p99 qvel | bounds | first step, s | steps/s of a core | times MuJoCo |",
    "|---|---:|---|---:|---:|---:|---|---:|---:|---:|",
    ...rows.map((m) =>
      typeof m === "string"
        ? `| ${m} |`
        : `| ${m.path.slice(folder.length + 1)} | ${m.nv} | ${m.form} | ${m.contacts} | ${short(m.qpos)} | ${short(m.qvelP99)} | ${m.verdict} | ${m.firstStep.toFixed(1)} | ${Math.round(m.stepsPerSecond).toLocaleString("en")} | ${m.ratio.toFixed(1)} |`,
    ),
  ];
}

/** How many models step within bounds, which do not, which are slow to begin. */
function boundsOf(folder: string, rows: readonly (Judged | string)[]): string[] {
  const judged = rows.filter((row) => typeof row !== "string");
  const within = judged.filter(({ reasons }) => reasons.length === 0);
  const short = (path: string) => path.slice(folder.length + 1);
  return [
    `${within.length} of ${rows.length} step within bounds (30 steps of 3 worlds on \`wasm\`).`,
    "",
    ...judged.flatMap(({ path, reasons }) => (reasons.length ? [`- ${short(path)}: ${reasons.join("; ")}`] : [])),
    ...rows.flatMap((row) => (typeof row === "string" ? [`- ${row}`] : [])),
    ...judged.flatMap(({ path, firstStep }) =>
      firstStep > SLOW ? [`- ${short(path)}: ${firstStep.toFixed(0)} processor seconds to the first step`] : [],
    ),
  ];
}

const { values, positionals, refused: misspelt } = asked(process.argv.slice(2));

if (misspelt !== undefined) {
  process.stderr.write(misspelt);
  process.exitCode = 2;
} else if (values.help) {
  process.stdout.write(USAGE);
} else if (values.one !== undefined) {
  process.stdout.write(`${JSON.stringify(await measure(values.one))}\n`);
} else if (values.judged !== undefined) {
  process.stdout.write(`${JSON.stringify(await judge(values.judged))}\n`);
} else {
  const folder = resolve(positionals[0] ?? "../zoo");
  const scanned: Scanned[] = [];
  for (const path of filesOf(folder, values.only)) scanned.push(await scan(path));
  const models = scanned.filter(({ error }) => error === undefined);
  const actuated = models.filter((m) => m.actuated);
  const accepted = (list: readonly Scanned[]) => list.filter(({ features }) => features.length === 0).length;
  const share = (list: readonly Scanned[]) =>
    `${accepted(list)} of ${list.length} (${((100 * accepted(list)) / Math.max(1, list.length)).toFixed(1)} %)`;
  const chosen = values.measure?.split(",");
  const measured = models
    .filter((m) => m.features.length === 0 && chosen?.some((text) => m.path.includes(text)))
    .map((m) => {
      const result = inProcess("one", m.path);
      return typeof result === "string" ? `${m.path.slice(folder.length + 1)}: ${result}` : result;
    });
  const bounds = values.bounds
    ? actuated.flatMap(({ path, features }) => {
        if (features.length > 0) return [];
        const result = inProcess("judged", path);
        return [typeof result === "string" ? `${path.slice(folder.length + 1)}: ${result}` : result];
      })
    : [];
  const page = [
    "# The zoo",
    "",
    "<!-- written by tools/zoo: npx tsx tools/zoo FOLDER --measure LIST --write -->",
    "",
    "Models of other projects, which are not in this repository. `tools/zoo/repositories.ts` names them by repository and",
    "commit. Files that MuJoCo itself does not compile (parts of models, plugins, files that are absent) do not count.",
    "",
    `${share(models)} of all models are accepted, ${share(actuated)} of those with actuators; ${scanned.length - models.length} files are no models.`,
    "",
    "## What blocks the others",
    "",
    ...histogram(models),
    "",
    ...(values.bounds ? ["## Steps", "", ...boundsOf(folder, bounds), ""] : []),
    "## Measured",
    "",
    `One step beside MuJoCo (WebAssembly SIMD, up to 240 steps), then ${WORLDS} worlds on the default device: steps in a processor second, of all threads.`,
    "",
    ...measuredTable(folder, measured),
    "",
  ].join("\n");
  process.stdout.write(page);
  if (values.write) writeFileSync(new URL("../../docs/zoo.md", import.meta.url), page);
}
