// `corral render`: pictures of a model, an environment or a run, without a screen
import { existsSync } from "node:fs";
import { extname } from "node:path";
import "../../envs/index.ts";
import { isHostDevice } from "../batch/devices.ts";
import { formatBytes } from "../core/units.ts";
import { integer } from "../core/schema.ts";
import { shareDevice } from "../gpu/shared-device.ts";
import { makeVec, type NamedOptions } from "../env/make.ts";
import { alternatives } from "../core/names.ts";
import { inLine } from "../core/show.ts";
import { loadModel } from "../model/model.ts";
import { Gif } from "../render/gif.ts";
import { png } from "../render/png.ts";
import { Stage, type WorldPose } from "../render/poses.ts";
import { Renderer } from "../render/renderer.ts";
import { assertRun, CONFIG_FILE, readConfig } from "../runs/run-config.ts";
import { policyOfRun } from "../runs/policy.ts";
import { poses, type Actor } from "../runs/poses.ts";
import { isModelPath } from "../sizing/plan.ts";
import { writeWhole } from "../io/write-whole.ts";
import { assertWritable, EXIT, integerOption, parse, print, printJson, UsageError } from "./io.ts";
import { deviceOf, onlyArgument, taskOfTarget } from "./target.ts";
import { idOfNamed } from "./task-file.ts";
import { join } from "node:path";
import { taskOf } from "../env/registry.ts";

export const summary = "pictures of a model, an environment or a run: PNG or animated GIF, without a screen";

export const help = `
Usage: corral render TARGET --out FILE.png|FILE.gif [options]

Draws worlds of TARGET: the path of an MJCF file, the id of an environment, a task file, or the folder of a run, whose
policy acts. Positions are drawn by MuJoCo's kinematics, meshes and height fields too; any adapter draws.

  --out FILE        .png is the last picture, .gif all of them
  --steps N         control steps (100 for a GIF, 0 for a PNG)
  --every N         a picture after each so many control steps (2)
  --worlds N        worlds side by side (1)
  --actions WHAT    random (default) or none; a run's policy acts by itself
  --seed S          of start states and random actions (0)
  --camera NAME     a camera of the model; without it MuJoCo's free camera, which follows a floating base
  --size WxH        pixels (640x480)
  --groups          geoms of all groups, those that only collide among them
  --device NAME     where worlds step: wasm (default), gpu, cpu or cpu-f64; a run's policy acts there
  --threads N       threads of wasm (as many as cores)
  --adapter NAME    draws: auto (default), gpu, system, embedded, or an index or name of corral doctor; steps too on gpu
  --json            one JSON document on stdout

Exit codes: 0 written, 2 bad usage, 3 no device or no memory.
`;

const text = { type: "string" } as const;
const OPTIONS = {
  out: text,
  steps: text,
  every: text,
  worlds: text,
  actions: text,
  seed: text,
  camera: text,
  size: text,
  adapter: text,
  device: text,
  threads: text,
  groups: { type: "boolean" },
} as const;

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, OPTIONS, 1);
  const target = onlyArgument(positionals, "TARGET");
  const { out } = values;
  const kind = extname(out ?? "").toLowerCase();
  if (out === undefined || (kind !== ".png" && kind !== ".gif"))
    throw new UsageError(
      `--out is ${out === undefined ? "missing" : `'${out}'`}: pass a file that ends in .png or .gif.`,
    );
  assertWritable("out", out);
  const [width, height] = sizeOf(values.size);
  const steps = integerOption("steps", values.steps, kind === ".gif" ? 100 : 0, 0);
  const every = integerOption("every", values.every, 2);
  const worlds = integerOption("worlds", values.worlds, 1);
  const seed = integerOption("seed", values.seed, 0, 0);
  const { id, actor, options } = await subjectOf(target, values.actions);

  const task = id === undefined ? await taskOfTarget(target) : taskOf(id);
  // a model that only stands still need not be one that is simulated
  const still = steps === 0 && isModelPath(target);
  const { device = "wasm", threads, adapter } = deviceOf(values);
  const where = {
    device,
    ...(threads === undefined ? {} : { threads }),
    ...(isHostDevice(device) || adapter === undefined ? {} : { adapter }),
  };
  const made = { ...options, numEnvs: worlds, seed, ...where } as NamedOptions;
  await using env = still ? undefined : await makeVec(task, made);
  const model = await loadModel(task.model, { visuals: true });
  using stage = await Stage.create(model, { allGroups: values.groups ?? false });
  const camera = cameraOf(stage, values.camera);
  const lease = await shareDevice(values.adapter);
  let renderer: Renderer | undefined;
  try {
    renderer = await Renderer.create(lease.gpu, stage.scene, stage.parts, { width, height, worlds });
    const instances = new Float32Array(renderer.instanceFloats);
    const dt = env ? env.frameSkip * env.model.opt.timestep : 0;
    const gif = kind === ".gif" ? new Gif(dt * every) : undefined;
    const shows = env ? poses(env, actor, seed, steps) : [[...Array(worlds)].map(() => ({ qpos: model.qpos0 }))];
    let [pictures, step] = [0, 0];
    let bytes: Uint8Array = new Uint8Array(0);
    for await (const shown of shows) {
      const wanted = gif ? step % every === 0 : step === steps;
      step++;
      if (!wanted) continue;
      const picture = await draw(renderer, stage, shown, instances, camera);
      pictures++;
      if (gif) gif.add(picture);
      else bytes = png(picture);
    }
    if (gif) bytes = gif.bytes();
    writeWhole(out, bytes);
    const facts = { target, out, pictures, width, height, worlds, bytes: bytes.length };
    if (values.json) printJson(facts);
    else
      print(
        `${out}: ${pictures} picture${pictures === 1 ? "" : "s"} of ${width} x ${height}, ${formatBytes(bytes.length)}`,
      );
    return EXIT.done;
  } finally {
    renderer?.close();
    lease.release();
  }
}

function draw(
  renderer: Renderer,
  stage: Stage,
  shown: readonly WorldPose[],
  instances: Float32Array<ArrayBuffer>,
  camera: number,
) {
  stage.instances(shown, instances);
  const view = camera < 0 ? stage.freeView(shown) : stage.cameraView(camera, shown[0]);
  return renderer.draw(instances, view, stage.reach(shown));
}

/** What is shown, and what acts in it. */
async function subjectOf(
  target: string,
  actions: string | undefined,
): Promise<{ id: string | undefined; actor: Actor; options: object }> {
  if (actions !== undefined && actions !== "random" && actions !== "none")
    throw new UsageError(`--actions is '${actions}': pass random or none.`);
  const actor = (actions ?? "random") as Actor;
  const isRun = existsSync(join(target, CONFIG_FILE));
  if (!isRun) return { id: isModelPath(target) ? undefined : target, actor, options: {} };
  assertRun(target);
  const file = join(target, CONFIG_FILE);
  const { task, env } = readConfig(file);
  if (typeof task === "string") await idOfNamed(task, file);
  return { id: String(env), actor: actions === undefined ? await policyOfRun(target) : actor, options: {} };
}

function sizeOf(given: string | undefined): [number, number] {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(given ?? "640x480") ?? [];
  const [w, h] = [Number(width), Number(height)];
  const { want } = integer(16, 4096);
  if (w >= 16 && h >= 16 && w <= 4096 && h <= 4096) return [w, h];
  throw new UsageError(`--size is '${given}': pass WIDTHxHEIGHT, each ${want}.`);
}

/** The index of a camera; -1 for the free one. */
function cameraOf({ cameras }: Stage, name: string | undefined): number {
  if (name === undefined) return -1;
  const found = cameras.indexOf(name);
  if (found >= 0) return found;
  const { hint } = alternatives(name, cameras);
  throw new UsageError(`--camera is '${inLine(name)}', which the model does not have; ${hint}.`);
}
