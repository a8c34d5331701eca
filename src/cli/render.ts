// `corral render`: pictures of a model, an environment or a run, without a screen
import { extname } from "node:path";
import "../../envs/index.ts";
import { isHostDevice } from "../batch/devices.ts";
import { countOf, formatBytes } from "../core/units.ts";
import { integer } from "../core/schema.ts";
import { shareDevice } from "../gpu/shared-device.ts";
import { isBundlePath } from "../record/sealed.ts";
import { DrawList } from "../render/draw-list.ts";
import { Gif } from "../render/gif.ts";
import { Mp4 } from "../render/mp4.ts";
import { png, type Picture } from "../render/png.ts";
import { isRecordingPath } from "../render/recording.ts";
import { Renderer } from "../render/renderer.ts";
import { SHOWN, showWorlds } from "../render/show.ts";
import { encodeFrame } from "../view/messages.ts";
import { standalonePage } from "../view/page.ts";
import { cameraOf, crashFilm, playedFilm, recordedFilm, type Film, type FilmOptions } from "./film.ts";
import { assertWritable, EXIT, integerOption, parse, print, printJson, UsageError } from "./io.ts";
import { deviceOf, deviceOr, onlyArgument } from "./target.ts";
import { writeOutput } from "./write-output.ts";
import { viewTarget } from "./view-target.ts";

export const summary = "pictures of a model, environment, run, recording or crash: PNG, GIF, MP4, no screen";

export const help = `
Usage: corral render TARGET --out FILE.png|FILE.gif|FILE.mp4|FILE.html [options]

Draws worlds of TARGET: the path of an MJCF file, the id of an environment, a task file, the folder
of a run, whose policy acts, the file of a policy (.safetensors) of corral export, which acts in its
environment, a recording (.npz) of corral play, or a crash bundle: its recorded control steps,
MuJoCo's ghost in blue, what broke first in red. Positions are drawn by MuJoCo's kinematics, meshes
and height fields too; any adapter draws.

  --out FILE        .png is the last picture, .gif and .mp4 are all of them; .mp4 needs: npm install
                    h264-mp4-encoder; .html is one file that plays them in a browser with WebGPU,
                    and loads nothing
  --steps N         control steps (0 for a PNG, 200 for HTML, else 100; of a recording all; of a
                    crash all, for a PNG up to the one that broke)
  --every N         a picture after each so many control steps (2); pages have all
  --worlds N        worlds side by side (1)
  --world ID        of a crash bundle: the world to draw, by id; default: the first that failed
  --policy FILE     a policy of corral export acts in the environment
  --actions WHAT    random (default) or none; a policy acts by itself
  --seed S          of start states and random actions (0)
  --camera NAME     a camera of the model; without it MuJoCo's free camera, which follows a floating
                    base
  --size WxH        pixels (640x480); of a page its reader chooses this, and --plain and --groups
  --plain           colours alone: a light, a sky and a floor of our own in place of the model's
                    textures and lights
  --groups          geoms of all groups, those that only collide among them
  --device NAME     where worlds step: wasm (default), gpu, cpu or cpu-f64; a policy acts there
  --threads N       threads of wasm (as many as cores)
  --adapter NAME    draws: auto (default), gpu, system, embedded, or an index or name of corral
                    doctor; steps too on gpu
  --json            one JSON document on stdout

Exit codes: 0 written, 1 FILE could not be written, 2 bad usage or what
cannot be read, 3 no device or no memory.
`;

const KINDS = [".png", ".gif", ".mp4", ".html"];

/** Takes pictures, and has the bytes of a file. */
interface Clip {
  add(picture: Picture): void;
  bytes(): Uint8Array;
  close?(): void;
}

const text = { type: "string" } as const;
const OPTIONS = {
  out: text,
  steps: text,
  every: text,
  worlds: text,
  world: text,
  actions: text,
  policy: text,
  seed: text,
  camera: text,
  size: text,
  adapter: text,
  device: text,
  threads: text,
  groups: { type: "boolean" },
  plain: { type: "boolean" },
} as const;

export async function run(args: string[]): Promise<number> {
  const { values, positionals } = parse(args, OPTIONS, 1);
  const target = onlyArgument(positionals, "TARGET");
  const { out } = values;
  const kind = extname(out ?? "").toLowerCase();
  if (out === undefined || !KINDS.includes(kind))
    throw new UsageError(
      `--out is ${out === undefined ? "missing" : `'${out}'`}: pass a file that ends in ${KINDS.join(", ")}.`,
    );
  assertWritable("out", out, { leave: false });
  const [width, height] = sizeOf(values.size);
  const wanted = values.steps === undefined ? undefined : integerOption("steps", values.steps, 0, 0);
  const every = integerOption("every", values.every, 2);
  const worlds = integerOption("worlds", values.worlds, 1);
  const seed = integerOption("seed", values.seed, 0, 0);
  const moves = kind !== ".png";
  if (kind === ".html") {
    const other = (["every", "size", "plain", "groups"] as const).find((name) => values[name] !== undefined);
    if (other !== undefined)
      throw new UsageError(`--${other} is of pictures: in a page whoever looks at it chooses. Leave it out.`);
    return renderPage(target, out, wanted ?? Infinity, values);
  }

  const { device: named, threads, adapter } = deviceOf(values);
  const device = deviceOr("wasm", named);
  const where = {
    device,
    ...(threads === undefined ? {} : { threads }),
    ...(isHostDevice(device) || adapter === undefined ? {} : { adapter }),
  };
  const shown = { ...SHOWN, ...(values.groups ? { groups: 255 } : {}), textures: !values.plain };
  const { actions, camera, policy } = values;
  const made: FilmOptions = {
    steps: wanted,
    moves,
    every,
    worlds,
    seed,
    actions,
    policy,
    camera,
    shown,
    aspect: width / height,
    where,
  };
  await using film = await filmOf(target, made, values);
  const seconds = film.dt * every;
  const save = (bytes: Uint8Array, pictures: number) => {
    writeOutput(out, bytes);
    const facts = { target, out, pictures, width, height, worlds: film.worlds, bytes: bytes.length };
    if (values.json) printJson(facts);
    else print(`${out}: ${countOf(pictures, "picture")} of ${width} x ${height}, ${formatBytes(bytes.length)}`);
    return EXIT.done;
  };
  const clip: Clip | undefined =
    kind === ".gif" ? new Gif(seconds) : kind === ".mp4" ? await Mp4.create(width, height, seconds) : undefined;
  const lease = await shareDevice(values.adapter);
  let renderer: Renderer | undefined;
  try {
    const { scene, radius, capacity } = film;
    renderer = await Renderer.create(lease.gpu, scene, { width, height, capacity });
    const drawn = new DrawList();
    let pictures = 0;
    let bytes: Uint8Array = new Uint8Array(0);
    const take = async (drawing: Promise<Picture> | undefined) => {
      if (drawing === undefined) return;
      const picture = await drawing;
      pictures++;
      if (clip) clip.add(picture);
      else bytes = png(picture);
    };
    // one picture becomes part of the file while the next is drawn
    let drawing: Promise<Picture> | undefined;
    for await (const { poses, view, reach, marks } of film.shots) {
      showWorlds(drawn, scene, poses, radius, shown, marks);
      const next = renderer.draw(drawn, view, reach);
      // whoever waits for it is told
      next.catch(() => {});
      await take(drawing);
      drawing = next;
    }
    await take(drawing);
    return save(clip ? clip.bytes() : bytes, pictures);
  } finally {
    renderer?.close();
    lease.release();
    clip?.close?.();
  }
}

async function filmOf(target: string, options: FilmOptions, values: Parameters<typeof viewTarget>[1]): Promise<Film> {
  if (isRecordingPath(target)) return recordedFilm(target, options);
  if (!isBundlePath(target)) return playedFilm(target, options);
  const subject = await viewTarget(target, values);
  try {
    return crashFilm(subject, options);
  } catch (error) {
    await subject[Symbol.asyncDispose]();
    throw error;
  }
}

/** Control steps of a page, which holds all of them, where nothing else ends it. */
const PAGE_STEPS = 200;

async function renderPage(
  target: string,
  out: string,
  wanted: number,
  { json, camera, ...values }: Parameters<typeof viewTarget>[1] & { readonly json?: boolean; readonly camera?: string },
): Promise<number> {
  await using subject = await viewTarget(target, values);
  const { facts } = subject;
  const names = facts.scene.cameras.map(({ name }) => name);
  const seen = camera === undefined ? {} : { camera: cameraOf(names, camera) };
  const last = Math.min(wanted, facts.kind === "live" ? (wanted === Infinity ? PAGE_STEPS : wanted) : facts.steps);
  const frames: Uint8Array[] = [];
  // a crash is opened where it broke
  if (facts.kind === "crash") await subject.act({ do: "reset" });
  for (let step = 0; step <= last; step++) {
    if (step > 0) await subject.forward();
    const poses = await subject.poses();
    const { time, plots, at, values: of } = subject;
    const more = { ...(at === undefined ? {} : { at }), ...(of === undefined ? {} : { values: of }) };
    const said = { serial: 0, step, time, plots, actor: "", back: step, paused: false, speed: 1, ...more };
    frames.push(encodeFrame({ facts: said, poses }));
  }
  const shown = { ...facts, ...seen, kind: "recording", actors: [], actions: [], keyframes: [], steps: last } as const;
  const bytes = Buffer.from(await standalonePage(shown, frames));
  writeOutput(out, bytes);
  if (json) printJson({ target, out, pictures: frames.length, worlds: facts.worlds, bytes: bytes.length });
  else print(`${out}: ${countOf(frames.length, "picture")} in a page, ${formatBytes(bytes.length)}`);
  return EXIT.done;
}

function sizeOf(given: string | undefined): [number, number] {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(given ?? "640x480") ?? [];
  const [w, h] = [Number(width), Number(height)];
  const { want } = integer(16, 4096);
  if (w >= 16 && h >= 16 && w <= 4096 && h <= 4096) return [w, h];
  throw new UsageError(`--size is '${given}': pass WIDTHxHEIGHT, each ${want}.`);
}
