// `corral new-task`: writes a task that runs, to be changed into your own
import { existsSync, rmSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { whyThrown } from "../core/returned.ts";
import { inLine } from "../core/show.ts";
import { readsTypeScript } from "../core/typescript.ts";
import { describe, loadModel, type Model } from "../model/model.ts";
import { isUrdf, namesakes } from "../model/urdf.ts";
import { checkSupported } from "../model/supported.ts";
import { firstTask } from "../scaffold/first-task.ts";
import { gaitOf } from "../scaffold/gait.ts";
import { lackOf, told, type Lack } from "../scaffold/mjcf-scene.ts";
import { readFrames } from "../env/task/motion-frames.ts";
import { groundNotes } from "../scaffold/motion-ground.ts";
import { motionNotes } from "../scaffold/motion-notes.ts";
import { drivenBase, drivenBases, type SlidingBase } from "../scaffold/feet.ts";
import { walksOnSlides, whatHolds } from "../scaffold/free-base.ts";
import { planarRoot } from "../scaffold/planar.ts";
import { planarTask } from "../scaffold/planar-task.ts";
import { baseOf, robotOf, type Robot } from "../scaffold/robot.ts";
import { meetsGround } from "../scaffold/stance.ts";
import { drivenIn } from "../scaffold/scene-servos.ts";
import { stiffServos } from "../scaffold/stiff-servos.ts";
import { goalsOf } from "../scaffold/goals.ts";
import { reachTask } from "../scaffold/reach-task.ts";
import { velocityTask, type Places } from "../scaffold/robot-tasks.ts";
import { csvOf, SWAY_FPS, swayOf, trackTask } from "../scaffold/track-task.ts";
import { EXIT, parse, print, printJson, UsageError } from "./io.ts";
import { loadUrdf, strongerUrdf } from "./load-urdf.ts";
import { onlyArgument } from "./target.ts";
import { writeFreeBase } from "./write-free-base.ts";
import { kindOf, KINDS, writeMjcfScene, writeServoScene, type Kind } from "./write-mjcf-scene.ts";
import { writeUrdfScene } from "./write-urdf-scene.ts";
import { writeOutput } from "./write-output.ts";

export const summary = "writes a task that runs, to start your own from; for a robot of your own too";

const OF_MOTION = ["motion", "fps", "quaternions", "cyclic"] as const;

export const help = `
Usage: corral new-task NAME [--robot FILE.xml --kind velocity|reach|track [--motion FILE]] [--json]

Writes NAME.mts into the current folder: a small model, what is observed, rewarded and ends an
episode, each in a line. Change it into your own. It does not overwrite a file. Where TypeScript
cannot be read (Node older than 22.18 without tsx) it writes NAME.mjs.

  --robot  the MJCF of your robot: the task is for it, from its keyframe of standing (or the default
           pose); of a URDF a scene NAME.xml is written too, with a floor and actuators; so it is of
           an MJCF without a floor or actuators, or whose legs start straight or lying, or, where it
           has no keyframe, joints outside their ranges; of one whose base floats by slides a copy
           NAME-free.xml has a free joint in their place
  --kind   velocity: what floats walks, drives or flies as it is commanded (default where actuators
           move something that floats, or walks in a plane); reach: the end of an arm goes where it
           is commanded; track: it follows a motion
  --motion the motion to follow: rows of qpos as CSV, or an npz with qpos and fps or dt. Without it
           a cycle is written too, in which the joints sway
  --fps    frames in a second of the motion, where its file does not say it
  --quaternions  wxyz or xyzw: how the motion has quaternions of what floats, and of balls (default:
                 as its columns are named, else wxyz, MuJoCo's order)
  --cyclic the motion goes on from its first frame after its last
  --json   one JSON document on stdout

Exit codes: 0 written, 2 bad usage or a robot that does not fit, 3 what corral does not simulate.
`;

export async function run(args: string[]): Promise<number> {
  const options = {
    robot: { type: "string" },
    kind: { type: "string" },
    motion: { type: "string" },
    fps: { type: "string" },
    quaternions: { type: "string" },
    cyclic: { type: "boolean" },
  } as const;
  const { values, positionals } = parse(args, options, 1);
  const name = onlyArgument(positionals, "NAME");
  if (!/^[A-Za-z][\w-]{0,63}$/.test(name))
    throw new UsageError(`'${name}' is no name of a task: use letters, digits, - and _, a letter first.`);
  const typed = readsTypeScript(resolve(`${name}.mts`));
  const file = resolve(`${name}.${typed ? "mts" : "mjs"}`);
  if (existsSync(file)) throw new UsageError(`${file} is there already. Choose another name, or move it.`);
  const { text, notes, beside, made = [] } = await written(name, dirname(file), values);
  try {
    if (beside) writeOutput(beside.file, beside.text);
    writeOutput(file, text);
  } catch (error) {
    // what belongs to a task that is not there would be in the way of another try
    for (const one of [beside?.file, ...made]) if (one !== undefined) rmSync(one, { recursive: true, force: true });
    throw error;
  }
  if (values.json) printJson({ file, notes });
  else {
    print(`Wrote ${file}`);
    for (const note of notes) print(note);
    if (!typed) {
      print(
        `JavaScript, since Node ${process.versions.node} reads no TypeScript: with npm install --save-dev tsx, or Node ` +
          `22.18 or newer, you can name it ${name}.mts.`,
      );
    }
    print(`Next: corral check-env ./${basename(file)}, then corral train ./${basename(file)} --view`);
  }
  return EXIT.done;
}

interface Given {
  readonly robot?: string | undefined;
  readonly kind?: string | undefined;
  readonly motion?: string | undefined;
  readonly fps?: string | undefined;
  readonly quaternions?: string | undefined;
  readonly cyclic?: boolean | undefined;
  /** The model of `robot`, taken as it is: a scene that was written for it, which has what it lacked. */
  readonly scene?: Model;
}

/** A task, what is to be said of it, and a file that goes with it. */
interface Written {
  readonly text: string;
  readonly notes: readonly string[];
  readonly beside?: { readonly file: string; readonly text: string };
  /** What is written already: the scene of a URDF, or of an MJCF that lacks a floor or a pose, and what it attaches. */
  readonly made?: readonly string[];
}

async function written(name: string, folder: string, given: Given): Promise<Written> {
  const { robot: path, kind } = given;
  if (path === undefined) {
    const ofRobot = (["kind", ...OF_MOTION] as const).find((flag) => given[flag] !== undefined);
    if (ofRobot !== undefined) throw new UsageError(`--${ofRobot} is for a robot: pass --robot FILE.xml too.`);
    return { text: firstTask(name, library(folder)), notes: [] };
  }
  if (kind !== undefined && !(KINDS as readonly string[]).includes(kind))
    throw new UsageError(`--kind is '${kind}': pass ${KINDS.join(" or ")}.`);
  const forMotion = OF_MOTION.find((flag) => given[flag] !== undefined);
  if (forMotion !== undefined && kind !== "track") throw new UsageError(`--${forMotion} is of --kind track.`);
  if (/\.urdf$/i.test(path)) return ofUrdf(name, folder, given as Given & { readonly robot: string });
  const model = given.scene ?? (await loadModel(path));
  if (isUrdf(model.source.xml)) return ofUrdf(name, folder, given as Given & { readonly robot: string });
  checkSupported(model);
  const isAttachable = existsSync(path) && /\.xml$/i.test(path);
  const slides = kind === "reach" || given.motion !== undefined || !isAttachable ? undefined : walksOnSlides(model);
  if (slides && whatHolds(model, slides) === undefined)
    return ofSliding(name, folder, { ...given, robot: path }, { model, slides });
  if (model.nu === 0 && isAttachable && drivenIn(model).length > 0)
    return ofBare(name, folder, { ...given, robot: path }, model);
  const robot = await robotOf(model);
  const planar = drivenBase(model) === undefined ? planarRoot(model) : undefined;
  const chosen = (kind ?? kindOf(model)) as Kind;
  const lack = given.scene ? undefined : await lackOf(robot, chosen);
  if (lack && isAttachable) return ofMjcf(name, folder, { ...given, robot: path, kind: chosen }, { robot, lack });
  const free = chosen === "reach" ? drivenBase(model) : undefined;
  const places = { library: library(folder), model: besides(folder, resolve(path)) };
  if (chosen === "track") return tracked(name, folder, robot, { ...given, places });
  const gait = chosen === "velocity" && !planar ? await gaitOf(robot) : undefined;
  const walks = () => (planar ? planarTask(name, robot, planar, places) : velocityTask(name, robot, places, gait));
  const text = chosen === "velocity" ? walks() : reachTask(name, robot, places, await goalsOf(robot));
  const { key, lift, passed } = robot;
  const unnamed = passed.length > 0 ? "" : ": the model names no keyframe";
  return {
    text,
    notes: [
      ...passedOver(robot),
      ...(chosen === "velocity" && !planar ? [...otherRobots(robot), ...throughGround(robot)] : []),
      ...(chosen === "velocity" && planar
        ? [
            `${describe(model, "body", planar.body)} goes in a plane: it is commanded to go ahead at a speed, or to stand.`,
          ]
        : []),
      ...stiffServos(model),
      `Starts from ${key === undefined ? `the default pose${unnamed}` : `keyframe "${key}"`}.`,
      ...(gait ? ["Its legs step about a gait that follows what is commanded; a policy learns the rest."] : []),
      ...(free === undefined
        ? []
        : [
            `It floats (joint "${inLine(model.names.joint[free] || String(free))}"), and nothing in this task keeps it from falling: reward and end the episode by ` +
              "its height too, or take the free joint out where it is mounted.",
          ]),
      ...(lift !== 0 && chosen === "velocity"
        ? [
            `What floats starts ${Math.abs(1000 * lift).toFixed(0)} mm ${lift > 0 ? "higher" : "lower"} than there: ${lift > 0 ? (!planar && baseOf(robot).flies ? "to hover over the floor" : "it lay in the floor") : "it hung over the floor"}.`,
          ]
        : []),
    ],
  };
}

/** Keyframes that a robot does not start from, in words. */
const passedOver = ({ passed }: Robot): string[] =>
  passed.map(
    ({ key, foot, over }) =>
      `In keyframe "${inLine(key)}" it does not stand on its feet: ${inLine(foot)} is ${over.toFixed(2)} m over what is lowest.`,
  );

/** What else floats and is moved, in words: a task commands one robot. */
function otherRobots({ model }: Robot): string[] {
  const [own, ...others] = drivenBases(model).map((joint) => describe(model, "body", model.jnt_bodyid[joint]));
  if (others.length === 0) return [];
  return [
    `The task is for ${own}: it neither observes nor commands ${others.join(", ")}, which ${others.length > 1 ? "float and have" : "floats and has"} actuators too. Actions are for all of them: write terms for the others, or take them out of the model.`,
  ];
}

/** Feet that the ground does not hold, in words. */
const throughGround = (robot: Robot): string[] =>
  baseOf(robot)
    .feet.filter((foot) => !meetsGround(robot.model, foot))
    .map((foot) => {
      const name = inLine(robot.model.names.body[foot] || String(foot));
      return robot.model.body_geomnum[foot] === 0
        ? `Its foot ${name} goes through the ground: it has no shape that collides. Give it one.`
        : `Its foot ${name} goes through the ground: contype and conaffinity of the two have no bit in common. Change them in the model.`;
    });

/** A task for an MJCF that lacks a floor, or a pose to start from: a scene with both is written, and a task for that. */
async function ofMjcf(
  name: string,
  folder: string,
  given: Given & { readonly robot: string },
  { robot, lack }: { readonly robot: Robot; readonly lack: Lack },
): Promise<Written> {
  const { model } = robot;
  const { scene, file } = sceneFor(name, folder, given.robot);
  try {
    const made = await writeMjcfScene(name, scene, { model, file }, lack);
    const { notes, ...task } = await written(name, folder, { ...given, robot: scene, scene: made });
    const said = [...(lack.bent ? passedOver(robot) : []), ...told(model, lack)];
    return { ...task, made: [scene], notes: [`Wrote ${scene}, which attaches it.`, ...said, ...notes] };
  } catch (error) {
    rmSync(scene, { force: true });
    // what stands on straight legs in a keyframe of its own can start there
    if (lack.floor || lack.from === undefined) throw error;
    const { notes, ...task } = await written(name, folder, { ...given, scene: model });
    return { ...task, notes: [`No scene on bent legs: ${inLine(whyThrown(error).split("\n")[0])}`, ...notes] };
  }
}

/** Where the scene of an MJCF is to be, and the path of that from there. */
function sceneFor(name: string, folder: string, path: string): { readonly scene: string; readonly file: string } {
  const scene = join(folder, `${name}.xml`);
  if (existsSync(scene)) throw new UsageError(`${scene} is there already. Choose another name, or move it.`);
  return { scene, file: besides(folder, resolve(path)).replace(/^\.\//, "") };
}

/** A task for an MJCF whose base floats by slides: a copy with a free joint is written, and a task for that. */
async function ofSliding(
  name: string,
  folder: string,
  given: Given & { readonly robot: string },
  { model, slides }: { readonly model: Model; readonly slides: SlidingBase },
): Promise<Written> {
  const copy = join(folder, `${name}-free.xml`);
  const told = await writeFreeBase(given.robot, copy, model, slides);
  try {
    const { notes, made = [], ...task } = await written(name, folder, { ...given, robot: copy });
    return { ...task, made: [copy, ...made], notes: [`Wrote ${copy}, a copy of the MJCF.`, ...told, ...notes] };
  } catch (error) {
    rmSync(copy, { force: true });
    throw error;
  }
}

/** A task for an MJCF without actuators: a scene with servos, and what else it lacks, is written, and a task for that. */
async function ofBare(
  name: string,
  folder: string,
  given: Given & { readonly robot: string },
  model: Model,
): Promise<Written> {
  const { scene, file } = sceneFor(name, folder, given.robot);
  try {
    const { model: made, lack, notes: held } = await writeServoScene(name, scene, { model, file }, given.kind as Kind);
    const { notes, ...task } = await written(name, folder, { ...given, robot: scene, scene: made });
    return {
      ...task,
      made: [scene],
      notes: [`Wrote ${scene}, which attaches it.`, ...told(model, lack), ...held, ...notes],
    };
  } catch (error) {
    rmSync(scene, { force: true });
    throw error;
  }
}

/** A task for a URDF: a scene with actuators and a floor is written, and a task for that. */
async function ofUrdf(name: string, folder: string, given: Given & { readonly robot: string }): Promise<Written> {
  const { robot: path, kind } = given;
  if (kind === undefined)
    throw new UsageError(
      "a URDF does not say whether it floats: pass --kind velocity where it walks or drives, --kind reach where it is mounted.",
    );
  const scene = join(folder, `${name}.xml`);
  if (existsSync(scene)) throw new UsageError(`${scene} is there already. Choose another name, or move it.`);
  const copy = join(folder, `${name}.urdf`);
  let urdf = await loadUrdf(path, copy, kind !== "reach");
  let made = [scene, ...urdf.made];
  const isFree = kind !== "reach" && !urdf.model.jnt_type.includes(0);
  const write = () => {
    const file = besides(folder, resolve(urdf.file)).replace(/^\.\//, "");
    return writeUrdfScene(name, scene, { model: urdf.model, file }, isFree);
  };
  try {
    if (!existsSync(path) || !/\.(urdf|xml)$/i.test(path))
      throw new UsageError(`${path} is a URDF in a zip, which no scene can attach. Unpack the zip, and pass the URDF.`);
    let { model: whole, notes: told, isTooWeak } = await write();
    if (isTooWeak) {
      urdf = await strongerUrdf(urdf, copy);
      made = [scene, ...urdf.made];
      ({ model: whole, notes: told } = await write());
    }
    const { mends, model } = urdf;
    const { notes, ...task } = await written(name, folder, { ...given, robot: scene, scene: whole });
    return {
      ...task,
      made,
      notes: [
        ...(mends.length > 0 ? [`Wrote ${urdf.file}, a copy that MuJoCo compiles: ${mends.join("; ")}.`] : []),
        `Wrote ${scene}: a floor, and actuators, which a URDF has none of. Change their gains there.`,
        ...(isFree && kind === "track"
          ? ["It floats. Where it is mounted, have its scene written by --kind reach, and pass that scene to --robot."]
          : []),
        ...namesakes(model.source.xml).map(
          ([first, second]) =>
            `MuJoCo knows meshes by the names of their files: it reads ${inLine(first)}, and takes it for ${inLine(second)} too. Give files names of their own.`,
        ),
        ...told,
        ...notes,
      ],
    };
  } catch (error) {
    for (const one of made) rmSync(one, { recursive: true, force: true });
    throw error;
  }
}

/** A task that follows a motion that is given, or one that is written beside it. */
async function tracked(
  name: string,
  folder: string,
  robot: Robot,
  { motion, fps, quaternions, cyclic = false, places }: Given & { readonly places: Places },
): Promise<Written> {
  const rate = fps === undefined ? undefined : Number(fps);
  if (rate !== undefined && !(rate > 0)) throw new UsageError(`--fps is '${fps}': pass the frames in a second.`);
  if (quaternions !== undefined && quaternions !== "wxyz" && quaternions !== "xyzw")
    throw new UsageError(`--quaternions is '${quaternions}': pass wxyz or xyzw.`);
  if (motion === undefined) {
    if (fps !== undefined || quaternions !== undefined || cyclic)
      throw new UsageError("--fps, --quaternions and --cyclic are of a motion: pass --motion FILE too.");
    const file = join(folder, `${name}-motion.csv`);
    if (existsSync(file)) throw new UsageError(`${file} is there already. Pass it by --motion, or move it.`);
    const sways = { file: `./${basename(file)}`, fps: SWAY_FPS, cyclic: true };
    return {
      text: trackTask(name, robot, { ...places, motion: sways }),
      notes: [`Wrote ${file}: joints sway about the start. Put your own motion there, or pass --motion FILE.`],
      beside: { file, text: csvOf(robot.model, await swayOf(robot)) },
    };
  }
  if (!existsSync(motion)) throw new UsageError(`${motion} is not there.`);
  if (rate === undefined && !motion.endsWith(".npz"))
    throw new UsageError(`${motion} does not say how many frames a second it has. Pass --fps, as in --fps 30.`);
  const read = { file: besides(folder, resolve(motion)), fps: rate, cyclic, quaternions } as const;
  const frames = await readFrames(motion, {
    model: pathToFileURL(resolve(folder, places.model)),
    cyclic,
    ...(rate === undefined ? {} : { fps: rate }),
    ...(quaternions === undefined ? {} : { quaternions }),
  });
  const text = trackTask(name, robot, { ...places, motion: read });
  return { text, notes: [...motionNotes(robot.model, frames), ...(await groundNotes(robot.model, frames))] };
}

/** A path relative to a folder, as an import or a URL has it. */
function besides(folder: string, path: string): string {
  const found = relative(folder, path).split("\\").join("/");
  return found.startsWith(".") ? found : `./${join(found)}`;
}

/** What a task imports: the package, or in a clone the sources. */
function library(folder: string): string {
  const source = fileURLToPath(new URL("../index.ts", import.meta.url));
  return existsSync(source) ? besides(folder, source) : "corral";
}
