// frames of a reference motion, of npz, CSV or rows, and what MuJoCo makes of them: velocities, places of bodies
import { CorralError } from "../../core/errors.ts";
import { isHeld } from "../../core/float32.ts";
import { show } from "../../core/show.ts";
import { countOf, formatBytes, ratesAgree } from "../../core/units.ts";
import { readNpy } from "../../io/npy.ts";
import { isZip } from "../../model/is-zip.ts";
import { mjtJoint } from "../../model/enums.ts";
import { loadModel, type Model } from "../../model/model.ts";
import { readFile } from "../../model/read-file.ts";
import { withMuJoCo, type Oracle } from "../../model/oracle.ts";
import { listen } from "../../model/mujoco.ts";
import { unpackZip } from "../../model/zip-stream.ts";

/**
 * Rows of qpos: numbers, a CSV file or an npz with an array `qpos`, by its path (a URL or a string of one line) or its bytes, or
 * the text of a CSV.
 */
export type MotionSource = Uint8Array | URL | string | readonly ArrayLike<number>[];

type Order = "wxyz" | "xyzw";

export interface FrameOptions {
  /** The MJCF of the task. */
  readonly model: URL | string;
  /** Frames in a second; an npz may say it itself (`fps` or `dt`). */
  readonly fps?: number;
  /** Whether it goes on from its first frame after its last, which are the same pose, further on where the robot floats. */
  readonly cyclic?: boolean;
  /** The order of the numbers of quaternions of free joints and balls. Default: as columns are named, else "wxyz", MuJoCo's. */
  readonly quaternions?: Order;
}

/** Frames of a motion, row-major. */
export interface Frames {
  readonly count: number;
  /** Seconds between two of them. */
  readonly dt: number;
  readonly cyclic: boolean;
  /** Frames in a second that its file says itself (an npz, by `fps` or `dt`). */
  readonly said?: number;
  readonly nq: number;
  readonly nv: number;
  /** Names of the model's joints and bodies, in their order. */
  readonly joints: readonly string[];
  readonly bodies: readonly string[];
  readonly qpos: Float64Array;
  readonly qvel: Float64Array;
  readonly xpos: Float64Array;
  readonly xquat: Float64Array;
  /** How much further on each cycle ends of what floats (m); no numbers if nothing does. */
  readonly advance: readonly number[];
}

/** How NumPy begins a file of one array. */
const NPY = "\x93NUMPY";
/** Arrays of an npz that are read. */
const READ = ["qpos.npy", "fps.npy", "dt.npy"];
/** Bytes of one of them: the most frames of 335 positions. */
const MOST_BYTES = 2 ** 28;
const MOST_FRAMES = 100_000;
/** More frames a second make all velocities of a motion huge. */
const MOST_FPS = 100_000;
/** How far the pose of a cycle's last frame may be from the first (m, rad). */
const CLOSED = 1e-3;
/** How far the length of a quaternion may be from 1: files write few digits. */
const UNIT = 0.01;

const bad = (text: string, options?: ErrorOptions): CorralError =>
  new CorralError("bad-motion", `the motion: ${text}.`, {}, options);

/** Throws `bad-motion` for frames that are too many, or none to go between. */
function assertFrames(count: number): void {
  if (count < 2 || count > MOST_FRAMES) throw bad(`it has ${countOf(count, "frame")}; it has 2 to ${MOST_FRAMES}`);
}

/** Whether something is a number that kernels hold. */
const isNumeric = (x: unknown): boolean => typeof x === "number" && isHeld(x);

/** Cells of a line that are numbers, or stand for one that is missing. */
const isNumber = (cell: string): boolean => !Number.isNaN(Number(cell)) || /^[+-]?nan$/i.test(cell);

/** A cell without the quotes that some programs write about each. */
const unquoted = (cell: string): string => cell.replace(/^"(.*)"$/, "$1");

/** Rows of a CSV, of which the first line may be names. Throws `bad-motion` for a cell that is no number. */
function rowsOfText(text: string, file: string): Given {
  // a byte order mark is no part of the first line
  const lines = text
    .replace(/^\uFEFF/, "")
    .split(/\r\n?|\n/)
    .flatMap((line, at) => {
      const isData = line.trim() !== "" && !line.startsWith("#");
      return isData
        ? [
            {
              at: at + 1,
              // blanks about a separator are its own; what is between two separators is a cell, an empty one too
              cells: line
                .trim()
                .split(/[,;\t]/.test(line.trim()) ? / *[,;\t] */ : / +/)
                .map(unquoted),
            },
          ]
        : [];
    });
  const names = lines.length > 0 && !lines[0].cells.every(isNumber) ? lines.shift()!.cells : undefined;
  for (const { at, cells } of lines) {
    const wrong = cells.findIndex((cell) => cell === "" || !isNumber(cell));
    if (wrong < 0) continue;
    const column = `column ${wrong + 1}${names?.[wrong] ? ` (${show(names[wrong])})` : ""}`;
    throw bad(`line ${at}, ${column} of ${file} is ${show(cells[wrong])}; it is a number, 0.25 for example`);
  }
  return { rows: lines.map(({ cells }) => cells.map(Number)), fps: undefined, ...(names ? { names } : {}) };
}

interface Given {
  readonly rows: readonly (readonly number[])[];
  readonly fps: number | undefined;
  /** What a CSV calls its columns. */
  readonly names?: readonly string[];
}

/** @throws CorralError bad-motion, bad-npy, and what unpacking throws */
async function rowsOf(source: MotionSource, file = "its text"): Promise<Given> {
  // one line is no motion, so a path
  if (source instanceof URL || (typeof source === "string" && !/[\r\n]/.test(source.trim())))
    return rowsOf(await readFile(source, "the motion"), String(source));
  if (typeof source === "string") return rowsOfText(source, file);
  if (!(source instanceof Uint8Array)) {
    if (!Array.isArray(source))
      throw bad(`it is ${show(source)}; it is rows of qpos, the path of a CSV or npz, its bytes, or the text of a CSV`);
    const isRow = (row: unknown) => Array.isArray(row) || ArrayBuffer.isView(row);
    return { rows: source.map((row) => (isRow(row) ? Array.from(row as ArrayLike<number>) : row)), fps: undefined };
  }
  const start = new TextDecoder("latin1").decode(source.subarray(0, 6));
  if (start === NPY) throw bad(`${file} is one array (npy); an npz has it as qpos: np.savez(FILE, qpos=..., fps=...)`);
  if (/\.npz$/i.test(file) && !isZip(source)) throw bad(`${file} is no npz${source.length > 0 ? "" : ": it is empty"}`);
  if ((source[0] === 0xff && source[1] === 0xfe) || (source[0] === 0xfe && source[1] === 0xff))
    throw bad(`${file} is text in UTF-16; save it in UTF-8`);
  if (!isZip(source)) return rowsOfText(new TextDecoder().decode(source), file);
  const sizes = new Map<string, number>();
  // a small file may unpack to what takes a minute and gigabytes, and may hold much that is not read
  const files = await unpackZip(source, "the npz", ({ path, size }) => {
    sizes.set(path, size);
    return READ.includes(path) && size <= MOST_BYTES;
  }).catch((cause: CorralError) => {
    throw bad(`its npz cannot be read: ${String(cause.details.why)}`, { cause });
  });
  for (const path of READ)
    if (sizes.get(path)! > MOST_BYTES)
      throw bad(`${path} of the npz is ${formatBytes(sizes.get(path)!)}; it is at most ${formatBytes(MOST_BYTES)}`);
  const one = (name: string) => (Object.hasOwn(files, `${name}.npy`) ? readNpy(files[`${name}.npy`], name) : undefined);
  const qpos = one("qpos");
  if (qpos && qpos.shape.length !== 2)
    throw bad(`qpos of the npz is of [${qpos.shape.join(", ")}]; it is of [frames, nq]`);
  if (!qpos) throw bad(`the npz holds ${[...sizes.keys()].map(show).join(", ")}; it has an array qpos of [frames, nq]`);
  const [frames, width] = qpos.shape;
  // a small file may hold so many that rows of them are more than memory
  assertFrames(frames);
  const rows = Array.from({ length: frames }, (_, i) => Array.from(qpos.values.subarray(width * i, width * (i + 1))));
  const [fps, dt] = [one("fps")?.values[0], one("dt")?.values[0]];
  if (fps !== undefined && dt !== undefined && !ratesAgree(fps, dt))
    throw bad(`the npz says fps ${fps} and dt ${dt}, which is fps ${Number((1 / dt).toPrecision(6))}; keep one`);
  return { rows, fps: fps ?? (dt === undefined ? undefined : 1 / dt) };
}

/** First places of quaternions in qpos. */
const quaternionsOf = ({ jnt_type, jnt_qposadr }: Model): number[] =>
  Array.from(jnt_type).flatMap((type, j) => {
    if (type === mjtJoint.FREE) return [jnt_qposadr[j] + 3];
    return type === mjtJoint.BALL ? [jnt_qposadr[j]] : [];
  });

/** The rows, checked: quaternions of unit length in MuJoCo's order, without jumps of sign. */
function positionsOf(model: Model, rows: Given["rows"], order: Order): Float64Array {
  const { nq } = model;
  assertFrames(rows.length);
  const wrong = rows.findIndex((row) => row?.length !== nq || !row.every(isNumeric));
  if (wrong >= 0) {
    const row: readonly number[] | undefined = rows[wrong];
    if (row?.length !== nq) throw bad(`frame ${wrong} has ${row?.length ?? "no"} numbers; qpos of the model has ${nq}`);
    const at = row.findIndex((x) => !isNumeric(x));
    throw bad(`qpos[${at}] of frame ${wrong} is ${show(row[at])}; it is a finite number of float32`);
  }
  const qpos = Float64Array.from(rows.flat());
  for (const at of quaternionsOf(model)) {
    for (let f = 0; f < rows.length; f++) {
      const quat = qpos.subarray(f * nq + at, f * nq + at + 4);
      if (order === "xyzw") quat.set([quat[3], quat[0], quat[1], quat[2]]);
      const norm = Math.hypot(...quat);
      if (!(Math.abs(norm - 1) < UNIT))
        throw bad(
          `qpos[${at}:${at + 4}] of frame ${f} is no quaternion: its length is ${Number(norm.toPrecision(3))}; it is 1, to ${UNIT}`,
        );
      const before = f > 0 ? qpos.subarray((f - 1) * nq + at, (f - 1) * nq + at + 4) : quat;
      const sign = Math.sign(quat.reduce((sum, x, k) => sum + x * before[k], 0)) || 1;
      quat.forEach((x, k) => (quat[k] = (sign * x) / norm));
    }
  }
  return qpos;
}

/** A joint's name as files say it: "L_Knee", "l_knee_joint". */
const spoken = (name: string): string => name.toLowerCase().replace(/[ _-]?joint$/, "");

/**
 * The rows in the order of qpos, where columns are named as all joints of one number are; what floats or is a ball has the other
 * columns, in their order.
 * @throws CorralError bad-motion where one has the name of such a joint, not all have, and it is another's
 */
function inOrder({ names, nq, jnt_type, jnt_qposadr }: Model, given: Given): Given {
  const { rows, names: columns } = given;
  if (!columns) return given;
  const [said, own] = [columns, names.joint].map((all) => all.map(spoken));
  const single = Array.from(jnt_type.keys()).filter((j) => jnt_type[j] >= mjtJoint.SLIDE);
  const columnOf = (j: number): number => {
    const exact = columns.indexOf(names.joint[j]);
    if (exact >= 0) return exact;
    const name = own[j];
    const isAlone = [said, own].every((all) => all.indexOf(name) === all.lastIndexOf(name));
    return name !== "" && isAlone ? said.indexOf(name) : -1;
  };
  const found = new Map(single.map((j) => [columnOf(j), j] as const));
  if (columns.length === nq && found.size === single.length && !found.has(-1)) {
    const others = Array.from({ length: nq }, (_, i) => i).filter((i) => !found.has(i));
    const taken = new Map(Array.from(found, ([column, j]) => [jnt_qposadr[j], column] as const));
    const from = Array.from({ length: nq }, (_, i) => taken.get(i) ?? others.shift()!);
    const arranged = rows.map((row) => (row.length === nq ? from.map((i) => row[i]) : row));
    return { ...given, rows: arranged, names: from.map((i) => columns[i]) };
  }
  for (const [column, j] of found)
    if (column >= 0 && column !== jnt_qposadr[j])
      throw bad(
        `its column ${column} is named ${show(columns[column])}, which is qpos[${jnt_qposadr[j]}] of ${nq}; columns are in the order of qpos, or all joints of one number are named`,
      );
  return given;
}

/** The order that the names of four columns say, which differ in one letter alone ("qx", "root_rot.w", "x of pelvis"). */
function orderOf(columns: readonly string[]): Order | undefined {
  const names = columns.map((name) => name.toLowerCase());
  for (let i = 0; i < (names[0]?.length ?? 0); i++) {
    const letters = names.map((name) => name[i]).join("");
    const rests = new Set(names.map((name) => name.slice(0, i) + name.slice(i + 1)));
    if ((letters === "wxyz" || letters === "xyzw") && rests.size === 1) return letters;
  }
  return undefined;
}

/**
 * The order of the numbers of quaternions that the names of their columns say, if they say one.
 * @throws CorralError bad-motion where it is not the one that was asked for, or of another quaternion, or said of other columns
 */
function orderSaid(model: Model, names: readonly string[] = [], asked?: Order): Order | undefined {
  const sayAt = (at: number) => orderOf(names.slice(at, at + 4));
  const named = (at: number) =>
    `columns ${at} to ${at + 3} are named ${names
      .slice(at, at + 4)
      .map(show)
      .join(", ")}`;
  const places = quaternionsOf(model);
  const said = places.filter(sayAt);
  const elsewhere = names.findIndex((_, at) => sayAt(at));
  if (said.length === 0 && places.length > 0 && elsewhere >= 0)
    throw bad(
      `its ${named(elsewhere)}, and qpos has its quaternion at ${places.join(", ")}; columns are in the order of qpos`,
    );
  const wrong = said.find((at) => sayAt(at) !== (asked ?? sayAt(said[0])));
  if (wrong === undefined) return asked ?? sayAt(said[0]);
  throw bad(
    asked === undefined
      ? `its ${named(wrong)}, and ${named(said[0])}; write all in one order`
      : `its ${named(wrong)}, and quaternions is ${show(asked)}; pass ${show(sayAt(wrong))}, or nothing`,
  );
}

/** How much further on a cycle ends, of the one thing that floats. */
function advanceOf(model: Model, qpos: Float64Array, count: number): number[] {
  const { nq } = model;
  const free = Array.from(model.jnt_type).flatMap((type, j) => (type === mjtJoint.FREE ? [model.jnt_qposadr[j]] : []));
  if (free.length > 1) throw bad("it is cyclic, and several bodies of the model float; only one may");
  // signs go on from frame to frame: a whole turn ends on the other one, which is the same pose
  const signs = new Float64Array(nq).fill(1);
  for (const at of quaternionsOf(model)) {
    const dot = [0, 1, 2, 3].reduce((sum, k) => sum + qpos[at + k] * qpos[(count - 1) * nq + at + k], 0);
    signs.fill(dot < 0 ? -1 : 1, at, at + 4);
  }
  const difference = Array.from({ length: nq }, (_, i) => signs[i] * qpos[(count - 1) * nq + i] - qpos[i]);
  const moved = (i: number) => free.some((at) => i >= at && i < at + 3);
  const open = difference.findIndex((x, i) => !moved(i) && Math.abs(x) > CLOSED);
  if (open >= 0)
    throw bad(
      `it is cyclic, and qpos[${open}] ends ${Number(difference[open].toPrecision(3))} from where it began, ${CLOSED} at most: ` +
        "its last frame has the pose of the first again. Add that frame, or leave cyclic out",
    );
  return free.flatMap((at) => difference.slice(at, at + 3));
}

/** Velocities by differences of the frames about each (mj_differentiatePos). */
function velocitiesOf(
  { mujoco, model: mj }: Oracle,
  model: Model,
  frames: { qpos: Float64Array; count: number; dt: number; cyclic: boolean; advance: readonly number[] },
): Float64Array {
  const { qpos, count, dt, cyclic, advance } = frames;
  const { nq, nv } = model;
  const free = model.jnt_type.indexOf(mjtJoint.FREE);
  const row = (f: number): number[] => {
    const cycle = Math.floor(f / (count - 1));
    const at = cyclic ? f - cycle * (count - 1) : f;
    const pose = Array.from(qpos.subarray(at * nq, (at + 1) * nq));
    if (cyclic && free >= 0) advance.forEach((x, k) => (pose[model.jnt_qposadr[free] + k] += cycle * x));
    return pose;
  };
  const qvel = new Float64Array(count * nv);
  const buffer = new mujoco.DoubleBuffer(Math.max(1, nv));
  try {
    for (let f = 0; f < count; f++) {
      const [from, to] = cyclic ? [f - 1, f + 1] : [Math.max(0, f - 1), Math.min(count - 1, f + 1)];
      mujoco.mj_differentiatePos(mj, buffer, dt * (to - from), row(from), row(to));
      qvel.set((buffer.GetView() as Float64Array).subarray(0, nv), f * nv);
    }
  } finally {
    buffer.delete();
  }
  return qvel;
}

/**
 * Reads a motion, and has MuJoCo find its velocities and the places of bodies.
 * @throws CorralError bad-motion, bad-npy, and what loading a model throws
 */
export async function readFrames(source: MotionSource, options: FrameOptions): Promise<Frames> {
  const { cyclic = false, quaternions } = options;
  if (quaternions !== undefined && quaternions !== "wxyz" && quaternions !== "xyzw")
    throw bad(`quaternions is ${show(quaternions)}; it is "wxyz" or "xyzw"`);
  if (typeof cyclic !== "boolean") throw bad(`cyclic is ${show(cyclic)}; it is true or false`);
  const given = await rowsOf(source);
  const fps = options.fps ?? given.fps;
  if (!(typeof fps === "number" && fps > 0 && fps <= MOST_FPS))
    throw bad(
      `fps is ${show(fps)}; it is the number of frames in a second, at most ${MOST_FPS}, passed here or in the npz (fps, or dt)`,
    );
  const model = await loadModel(options.model);
  const { rows, names } = inOrder(model, given);
  const qpos = positionsOf(model, rows, orderSaid(model, names, quaternions) ?? "wxyz");
  const count = given.rows.length;
  const dt = 1 / fps;
  const advance = cyclic ? advanceOf(model, qpos, count) : [];
  const { nq, nv, nbody } = model;
  return withMuJoCo(model, (oracle) => {
    const { mujoco, model: mj, data, read, write } = oracle;
    const qvel = velocitiesOf(oracle, model, { qpos, count, dt, cyclic, advance });
    const fast = qvel.findIndex((x) => !isHeld(x));
    if (fast >= 0)
      throw bad(
        `qvel[${fast % nv}] of frame ${Math.floor(fast / nv)} is ${qvel[fast]} at fps ${fps}, more than float32 holds; pass fewer frames in a second`,
      );
    const [xpos, xquat] = [new Float64Array(count * 3 * nbody), new Float64Array(count * 4 * nbody)];
    for (let f = 0; f < count; f++) {
      write("qpos", qpos.subarray(f * nq, (f + 1) * nq));
      listen(() => mujoco.mj_kinematics(mj, data));
      xpos.set(read("xpos"), f * 3 * nbody);
      const quats = read("xquat");
      for (let b = 0; b < (f > 0 ? nbody : 0); b++) {
        const before = xquat.subarray((f - 1) * 4 * nbody + 4 * b, (f - 1) * 4 * nbody + 4 * b + 4);
        const now = quats.subarray(4 * b, 4 * b + 4);
        if (now.reduce((sum, x, k) => sum + x * before[k], 0) < 0) now.forEach((x, k) => (now[k] = -x));
      }
      xquat.set(quats, f * 4 * nbody);
    }
    const { joint: joints, body: bodies } = model.names;
    const said = given.fps === undefined ? {} : { said: given.fps };
    return { count, dt, cyclic, ...said, nq, nv, joints, bodies, qpos, qvel, xpos, xquat, advance };
  });
}
