// `corral replay`: the last steps of worlds that failed, executed again and explained
import { CorralError } from "../core/errors.ts";
import { inLine } from "../core/show.ts";
import { countOf } from "../core/units.ts";
import { explain, type BisectReport } from "../crash/bisect.ts";
import { minimise, type Minimised } from "../crash/minimise.ts";
import { writeReproduction } from "../crash/reproduction.ts";
import { replay, type ReplayReport } from "../crash/replay.ts";
import { examine, trippedWorld, type CrashScene } from "../crash/scene.ts";
import { secondOpinion, type SecondOpinion } from "../crash/second-opinion.ts";
import type { ReexecuteOptions } from "../crash/reexecute.ts";
import { isWasmName } from "../batch/wasm/batch.ts";
import type { Bundle } from "../record/bundle.ts";
import { isUpdateBundle } from "../runs/update-bundle.ts";
import { readBundle } from "../record/read-bundle.ts";
import { EXIT, integerOption, parse, print, printJson, UsageError } from "./io.ts";
import { replayUpdate } from "./replay-update.ts";
import { table } from "./table.ts";
import { deviceOf, onlyArgument } from "./target.ts";

export const summary = "execute a crash bundle again, find what broke first, and why";

export const help = `
Usage: corral replay BUNDLE [--bisect] [--against mujoco] [--minimise [--out DIR]] [--world ID]
                     [--json]

Executes the recorded control steps of a bundle (the folder, or a zip of it) again and compares
every bit. It holds all that it takes: the kernel, the model, states, actions, random counters. The
task's code is not needed.

A bundle of an update that was stopped, which corral train writes, is executed again kernel by
kernel: what became not finite first, in which world and step, or in which parameter.

  --bisect          what broke first: control step, physics step, stage, field with its MJCF name,
                    what fed it, and why
  --against mujoco  the same steps in MuJoCo's float64: is it the physics that blows up, or float32?
  --minimise        the shortest way to the failure, the smallest changes of timestep, iterations,
                    solver and integrator at which it does not occur, and a reproduction: one
                    TypeScript file and the MJCF
  --out DIR         where the reproduction goes (BUNDLE-reproduction)
  --world ID        the world to look at, by id; default: the first that failed
  --adapter NAME    auto, gpu, system or embedded; default: the one with the driver of the
                    recording, else auto
  --device NAME     gpu, wasm, cpu (the same bits) or cpu-f64; default: where it was recorded. What
                    an adapter recorded is executed on wasm beside it, and alone where there is no
                    adapter; of an update: gpu or wasm
  --threads N       threads of wasm (1; of an update as many as cores)
  --recorded-kernel run the kernel of the bundle as it is where this version emits another of its
                    program: the bits of the version that wrote it. Only for a bundle whose
                    writer you trust
  --seconds N       give up after so many [600]: a bundle may hold a loop without end
  --json            one JSON document on stdout

A bundle is data. Whatever its format does not define is refused before anything of it runs; the
code that runs is emitted here of its program.

Exit codes: 0 done and identical, 1 the bits differ or a reproduction cannot be written, 2 bad usage
or no readable bundle, 3 no device.
`;

export async function run(args: string[]): Promise<number> {
  const options = {
    adapter: { type: "string" },
    device: { type: "string" },
    threads: { type: "string" },
    bisect: { type: "boolean" },
    against: { type: "string" },
    minimise: { type: "boolean" },
    out: { type: "string" },
    world: { type: "string" },
    "recorded-kernel": { type: "boolean" },
    seconds: { type: "string" },
  } as const;
  const { values, positionals } = parse(args, options, 1);
  const path = onlyArgument(positionals, "BUNDLE");
  if (values.against !== undefined && values.against !== "mujoco")
    throw new UsageError(`--against is '${values.against}': pass mujoco.`);
  if (values.out !== undefined && !values.minimise)
    throw new UsageError(
      `--out is '${values.out}', the folder of a reproduction: pass --minimise too, or leave it out.`,
    );
  const world = values.world === undefined ? undefined : integerOption("world", values.world, 0, 0);
  const chosen = deviceOf(values);
  if (isUpdateBundle(path)) {
    const given = Object.keys(values).filter((name) => !["adapter", "device", "threads", "json"].includes(name));
    if (given.length === 0) return replayUpdate(path, chosen, values.json ?? false);
    throw new UsageError(`${path} is of an update, not of worlds: leave out --${given.join(", --")}.`);
  }
  const bundle = readBundle(path);
  trippedWorld(bundle, world);

  const { device } = chosen;
  const where = {
    ...chosen,
    ...(values.seconds === undefined ? {} : { seconds: integerOption("seconds", values.seconds, 1) }),
    recordedKernel: values["recorded-kernel"] ?? false,
  };
  const looks = values.bisect || values.against !== undefined || values.minimise;
  const { report, scene } = looks
    ? await examine(bundle, where, world)
    : { report: await replay(bundle, where), scene: undefined };
  // what no other machine has the driver of, every machine can execute as WebAssembly
  const isOfAdapter = bundle.about.device.precision === "gpu" && !["wasm", "cpu", "cpu-f64"].includes(device ?? "auto");
  const beside = isOfAdapter && !isWasmName(report.device) ? await replayBeside(bundle, where) : undefined;
  const found = scene && (await explain(scene));
  const opinion = values.against && scene ? await secondOpinion(scene, found!) : undefined;
  // the other findings are printed even if there is nothing to minimise
  const [minimised, refusal] = values.minimise && scene ? await reduced(scene, found!) : [];
  const folder = values.out ?? `${path.replace(/[/\\]+$/, "")}-reproduction`;
  const written = minimised ? writeReproduction(folder, bundle, minimised) : [];
  if (values.json) {
    printJson({
      bundle: bundle.about,
      replay: report,
      wasm: beside ?? null,
      bisect: found ?? null,
      against: opinion ?? null,
      minimised: minimised ? { ...minimised, model: undefined, files: written } : null,
    });
  } else {
    const parts = [[inLine(bundle.about.message)], describeReplay(report), ...(beside ? [describeBeside(beside)] : [])];
    if (found && values.bisect) parts.push(describeBisect(found));
    if (opinion) parts.push(describeOpinion(opinion));
    if (minimised) parts.push(describeMinimised(minimised, written));
    print(parts.map((lines) => lines.join("\n")).join("\n\n"));
  }
  if (refusal) throw refusal;
  return report.identical ? EXIT.done : EXIT.failed;
}

const reduced = (scene: CrashScene, found: BisectReport): Promise<[Minimised?, CorralError?]> =>
  minimise(scene, found).then(
    (minimised) => [minimised],
    (error: unknown) => {
      if (error instanceof CorralError) return [undefined, error];
      throw error;
    },
  );

function describeReplay(r: ReplayReport): string[] {
  const differences = r.differences.map(
    ({ what, recorded, here }) => `  ${what}: recorded with ${recorded}, here ${here}`,
  );
  const about = differences.length > 0 ? ["what is not as it was recorded:", ...differences] : [];
  const steps = countOf(r.steps, "control step");
  if (r.identical) return [`identical: ${steps}, hash ${r.hash}`, ...about];
  const lines = [`NOT identical: ${steps} on ${r.device}, hash ${r.hash}, recorded ${r.recordedHash}`];
  if (r.first) {
    const { step, world, field, element, recorded, here } = r.first;
    lines.push(
      `first seen after control step ${step}: ${field}[${element}] of world ${world} is ${here}, recorded ${recorded}`,
    );
  }
  const rows = Object.entries(r.drift).map(([field, error]) => [field, error.toExponential(1)]);
  if (rows.length > 0) lines.push("drift at the end, |x - recorded| / (1 + |recorded|):", table(rows));
  if (differences.length === 0) about.push("nothing that corral knows of differs: same version, driver and shader");
  return [...lines, ...about];
}

/** The same on WebAssembly; undefined if it cannot hold a kernel. */
const replayBeside = (bundle: Bundle, where: ReexecuteOptions): Promise<ReplayReport | undefined> =>
  replay(bundle, { ...where, device: "wasm" }).catch((error: unknown) => {
    if (error instanceof CorralError && error.code.startsWith("wasm-")) return undefined;
    throw error;
  });

function describeBeside(r: ReplayReport): string[] {
  if (r.identical) return [`on ${r.device} too: ${r.steps} control steps, the same bits`];
  const lines = [`beside it on ${r.device}, which any machine executes to the same bits: hash ${r.hash}`];
  if (r.first) {
    const { step, world, field, element, recorded, here } = r.first;
    lines.push(
      `  they part after control step ${step}: ${field}[${element}] of world ${world} is ${here} there, recorded ${recorded}`,
    );
  }
  const rows = Object.entries(r.drift).map(([field, error]) => [field, error.toExponential(1)]);
  return rows.length > 0 ? [...lines, "  apart at the end, |x - recorded| / (1 + |recorded|):", table(rows)] : lines;
}

const shown = (x: number): string => String(Number(x.toPrecision(7)));

function describeBisect(b: BisectReport): string[] {
  const { blame } = b;
  const lines = [
    `world ${b.world} (id ${b.id}): ${b.status.join(", ")}`,
    `  control step   ${b.step} of the run, ${b.episodeStep} of the episode`,
  ];
  if (blame) {
    const evaluation = blame.evaluation > 0 ? `, evaluation ${blame.evaluation} of RK4` : "";
    if (blame.physicsStep > 0) lines.push(`  physics step   ${blame.physicsStep}${evaluation}`);
    lines.push(`  stage          ${blame.stage}`, `  first bad      ${blame.text} = ${shown(blame.value)}`);
    const fed = blame.operands.map((o) => `${o.name} = ${shown(o.value)}`).join(", ");
    if (fed !== "") lines.push(`  fed by         ${blame.op ? `${blame.op} of ` : ""}${fed}`);
  }
  if (b.deviceOnly) {
    lines.push(
      "  note           only the device fails: on the CPU in float32 every number of this step is as it should be",
    );
  } else if (!b.agrees) {
    const device = b.devicePhysicsStep > 0 ? `after physics step ${b.devicePhysicsStep}` : "after none";
    lines.push(`  note           this is the step on the CPU in float32; the device calls the world bad ${device}`);
  }
  const rows = b.history.map((h) => [String(h.step), shown(h.qpos), shown(h.qvel)]);
  lines.push("", "  before control step, max |qpos|, max |qvel|", table(rows));
  for (const cause of b.causes) lines.push("", `${cause.certainty}: ${cause.text}`, `  ${cause.remedy}`);
  return lines;
}

function describeOpinion(o: SecondOpinion): string[] {
  const rows = o.apart.slice(-8).map((a) => [String(a.step), a.qpos.toExponential(1), a.qvel.toExponential(1)]);
  const apart = rows.length > 0 ? ["  before control step, distance from MuJoCo: qpos, qvel", table(rows)] : [];
  return [`against MuJoCo in float64: ${o.text}`, ...apart];
}

function describeMinimised(m: Minimised, written: readonly string[]): string[] {
  const { first, last } = m.steps;
  const rows = m.trials.map((t) => [t.change, t.crashes ? "still fails" : "goes through"]);
  return [
    `shortest: control step${first === last ? ` ${last}` : `s ${first} to ${last}`}, of ${m.recorded} recorded, in ${m.where.arithmetic} on the CPU`,
    ...(m.bounded
      ? ["forces that were not finite are as large as float32 goes, since no call takes such numbers"]
      : []),
    "tried from the first of them on, and 20 control steps further:",
    table(rows, 2),
    m.cures.length > 0 ? `smallest change that helps: ${m.cures[0].change}` : "no change that was tried helps",
    `reproduction: ${written[0]}`,
  ];
}
