// reads recordings, which may come from anyone: only what the format defines is accepted
import { CorralError } from "../core/errors.ts";
import { readBytes } from "../core/read-bytes.ts";
import { Mismatch } from "../core/schema.ts";
import { reasonOf } from "../core/write-bytes.ts";
import { readNpy, type NpyArray } from "../io/npy.ts";
import { isZip } from "../model/is-zip.ts";
import { unpackZip } from "../model/zip.ts";
import { loadSource, type Model, type ModelSource } from "../model/model.ts";
import type { WorldPose } from "./poses.ts";
import { ABOUT, aboutKind, MODEL, RECORDING_VERSION, type RecordingAbout } from "./recording-bytes.ts";

const MOST_BYTES = 2 ** 30;
/** Numbers of a row of the arrays; what is not named here is not shown and not checked further. */
const WIDTHS = {
  time: () => 1,
  qpos: (model: Model) => model.nq,
  qvel: (model: Model) => model.nv,
  act: (model: Model) => model.na,
  mocap_pos: (model: Model) => 3 * model.nmocap,
  mocap_quat: (model: Model) => 4 * model.nmocap,
} as const;

export interface EpisodeRecording {
  readonly about: RecordingAbout;
  readonly source: ModelSource;
  /** Rows of time: the first is the start state, row t what control step t left and what came of it. */
  readonly frames: number;
  readonly episodes: number;
  /** Rows of each episode; those behind repeat the last. */
  readonly lengths: readonly number[];
  /** [frames, episodes, ...] */
  readonly arrays: ReadonlyMap<string, NpyArray>;
}

/** Whether a target of commands is a recording. */
export const isRecordingPath = (path: string): boolean => path.toLowerCase().endsWith(".npz");

const corrupt = (path: string, why: string): CorralError =>
  new CorralError("recording-corrupt", `${path} is no recording that can be shown: ${why}. Record it again.`, { path });

/**
 * Reads a recording.
 * @throws CorralError no-recording, recording-newer, recording-corrupt
 */
export function readRecording(path: string): EpisodeRecording {
  let bytes: Uint8Array;
  try {
    bytes = readBytes(path, MOST_BYTES);
  } catch (cause) {
    throw new CorralError(
      "no-recording",
      `the recording ${path} cannot be read (${reasonOf(cause)}). Pass a file that \`corral play --record FILE.npz\` wrote.`,
      { path },
      { cause },
    );
  }
  try {
    return parsed(bytes, path);
  } catch (error) {
    if (error instanceof Mismatch) throw corrupt(path, error.message);
    if (error instanceof CorralError && (error.code === "bad-npy" || error.code === "bad-archive"))
      throw corrupt(path, error.message.replace(/^\[[a-z-]+\] /, "").replace(/\.( Unpack it.*)?$/, ""));
    throw error;
  }
}

function parsed(bytes: Uint8Array, path: string): EpisodeRecording {
  if (!isZip(bytes)) throw corrupt(path, "it is no archive");
  const files = unpackZip(bytes, path);
  const file = (name: string): Uint8Array => {
    if (Object.hasOwn(files, name)) return files[name];
    throw corrupt(path, `there is no ${name} in it`);
  };
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(file(ABOUT)));
  } catch (error) {
    if (error instanceof CorralError) throw error;
    throw corrupt(path, `its ${ABOUT} is no JSON`);
  }
  const version = (json as { version?: unknown } | null)?.version;
  if (typeof version === "number" && version > RECORDING_VERSION)
    throw new CorralError(
      "recording-newer",
      `${path} is of format ${version}; this corral reads up to ${RECORDING_VERSION}. Update corral.`,
      { path, version },
    );
  const about = aboutKind.read(json, []);
  if (!about.model.startsWith(MODEL)) throw corrupt(path, "its model lies elsewhere than in mjcf");

  const arrays = new Map<string, NpyArray>();
  for (const [name, content] of Object.entries(files)) {
    if (name.endsWith(".npy") && !name.includes("/")) arrays.set(name.slice(0, -4), readNpy(content, name));
  }
  const lengths = arrays.get("lengths");
  const [frames, episodes] = arrays.get("time")?.shape ?? [];
  if (lengths === undefined || frames === undefined || episodes === undefined || !(frames * episodes > 0))
    throw corrupt(path, "it has no time and lengths of episodes");
  arrays.delete("lengths");
  const isLength = (n: number) => Number.isInteger(n) && n >= 1 && n <= frames;
  if (lengths.shape.length !== 1 || lengths.values.length !== episodes || ![...lengths.values].every(isLength))
    throw corrupt(path, `the lengths of its ${episodes} episodes are not between 1 and ${frames}`);
  for (const [name, { shape }] of arrays) {
    if (shape[0] !== frames || shape[1] !== episodes || shape.length > 3)
      throw corrupt(path, `${name} is of shape (${shape.join(", ")}), and not (${frames}, ${episodes}, ...)`);
  }
  const assets: Record<string, Uint8Array> = {};
  for (const [name, content] of Object.entries(files))
    if (name.startsWith(MODEL) && name !== about.model) assets[name.slice(MODEL.length)] = content;
  let xml: string;
  try {
    xml = new TextDecoder("utf-8", { fatal: true }).decode(file(about.model));
  } catch (error) {
    if (error instanceof CorralError) throw error;
    throw corrupt(path, `${about.model} is no text`);
  }
  const source: ModelSource = { xml, file: about.model.slice(MODEL.length), assets, visuals: true };
  return { about, source, frames, episodes, lengths: [...lengths.values], arrays };
}

/**
 * The model of a recording, whose numbers must be of that model.
 * @throws CorralError recording-corrupt, and what `loadModel` throws
 */
export async function recordedModel(recording: EpisodeRecording, path: string): Promise<Model> {
  const model = await loadSource(recording.source);
  for (const [name, widthOf] of Object.entries(WIDTHS)) {
    const found = recording.arrays.get(name);
    const width = found && found.values.length / (recording.frames * recording.episodes);
    const wanted = widthOf(model);
    if (found === undefined ? wanted > 0 && name === "qpos" : width !== wanted)
      throw corrupt(path, `${name} has ${width ?? "no"} numbers for each time, its model ${wanted}`);
  }
  return model;
}

/** Row `t` of an array for an episode: the last of its own where it has ended. */
export function rowOf(recording: EpisodeRecording, name: string, t: number, episode: number): ArrayLike<number> {
  const found = recording.arrays.get(name);
  if (found === undefined) return [];
  const { frames, episodes, lengths } = recording;
  const width = found.values.length / (frames * episodes);
  const at = (Math.min(t, lengths[episode] - 1) * episodes + episode) * width;
  return found.values.subarray(at, at + width);
}

/** What is drawn of the first `worlds` episodes at time `t`. */
export function recordedPoses(recording: EpisodeRecording, t: number, worlds: number): WorldPose[] {
  return Array.from({ length: worlds }, (_, e) => ({
    qpos: rowOf(recording, "qpos", t, e),
    mocap_pos: rowOf(recording, "mocap_pos", t, e),
    mocap_quat: rowOf(recording, "mocap_quat", t, e),
    ground: rowOf(recording, "ground", t, e),
  }));
}
