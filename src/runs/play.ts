// plays a policy in whole episodes, and keeps what happened in them
import { accessSync, constants, existsSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { CorralError } from "../core/errors.ts";
import { badOption, checked } from "../core/options.ts";
import { integer } from "../core/schema.ts";
import type { VectorEnv } from "../env/host/vector-env.ts";
import { AppendFile } from "../io/append-file.ts";
import { writeWhole } from "../io/write-whole.ts";
import { isRecordingPath } from "../render/recording.ts";
import { EpisodeRecorder } from "./episode-recorder.ts";
import { reasonOf, remedyOf } from "../core/write-bytes.ts";
import type { PlayedStep } from "../rl/evaluate.ts";
import { toJson } from "./folder.ts";
import { isPolicyFile, playerOfFile, playerOfRun, type PlayedPolicy } from "./players.ts";

export interface PlayOptions {
  /** Default 32, of seed 0. */
  readonly episodes?: number;
  readonly seed?: number;
  /** Draw actions as in training; by default the most likely ones are taken. */
  readonly sample?: boolean;
  /** A file for the episodes, which must not be there: a recording (.npz), or a line of JSON each (.jsonl, .ndjson). */
  readonly record?: string;
  /** Options of the environments beside those of the run, such as adapter and budget. */
  readonly env?: object;
  /** Called as episodes end, of `MOST_WORLDS` at a time. */
  readonly onProgress?: (ended: number, episodes: number) => void;
}

export interface PlayResult extends PlayedPolicy {
  readonly device: string;
  readonly episodes: number;
  readonly meanReturn: number;
  readonly stdReturn: number;
  readonly meanLength: number;
  readonly returns: readonly number[];
  readonly lengths: readonly number[];
  readonly record: string | undefined;
}

/** Names of files that get a line of JSON for each episode. */
const LINES = /\.(jsonl|ndjson)$/i;

/** Worlds that play at the same time, at most. */
const MOST_WORLDS = 64;
/** Of each episode the return and the length are kept: some 200 MB of these. */
const MOST_EPISODES = 1_000_000;

/** One episode, as a recorded file has it. */
interface Episode {
  readonly env: string;
  readonly seed: number;
  readonly world: number;
  return: number;
  length: number;
  terminated: boolean;
  truncated: boolean;
  /** length + 1 of them, the last one after the last action. */
  readonly observations: number[][];
  readonly actions: (number | number[])[];
  readonly rewards: number[];
}

/** Episodes of some worlds while they are played. */
class Episodes {
  readonly ended: Episode[] = [];
  readonly #open: readonly Episode[];
  readonly #keeps: boolean;

  constructor(env: string, seed: number, worlds: number, keeps: boolean) {
    this.#keeps = keeps;
    const blank = { return: 0, length: 0, terminated: false, truncated: false };
    this.#open = Array.from({ length: worlds }, (_, world) => {
      return { env, seed, world, ...blank, observations: [], actions: [], rewards: [] };
    });
  }

  /** Takes a step of all worlds. */
  step({ observations, actions, result, playing, cuts }: PlayedStep): void {
    const worlds = this.#open.length;
    const row = (all: ArrayLike<number>, world: number): number[] => {
      const width = all.length / worlds;
      return Array.from({ length: width }, (_, i) => all[world * width + i]);
    };
    for (const [world, episode] of this.#open.entries()) {
      if (playing[world] === 0) continue;
      const reward = result.rewards[world];
      episode.return += reward;
      episode.length++;
      episode.terminated = result.terminated[world] !== 0;
      episode.truncated = result.truncated[world] !== 0 || (cuts && !episode.terminated);
      const ends = episode.terminated || episode.truncated;
      if (this.#keeps) {
        episode.observations.push(row(observations, world));
        const action = row(actions, world);
        episode.actions.push(actions instanceof Int32Array && action.length === 1 ? action[0] : action);
        episode.rewards.push(reward);
        if (ends) episode.observations.push(row(result.observations, world));
      }
      if (ends) this.ended.push(episode);
    }
  }
}

/** Opens a new file. Throws `record-exists`, `record-not-written`. */
function openRecord(path: string): AppendFile {
  try {
    return new AppendFile(path, undefined, "ax");
  } catch (cause) {
    throw recordError(path, cause);
  }
}

const recordError = (path: string, cause: unknown): CorralError =>
  reasonOf(cause) === "EEXIST"
    ? new CorralError("record-exists", `${path} is there already. Pass another --record, or remove it.`, { path })
    : new CorralError(
        "record-not-written",
        `the episodes were not written to ${path} (${reasonOf(cause)}). ${remedyOf(cause, "pass another --record")}`,
        { path, reason: reasonOf(cause) },
        { cause },
      );

/**
 * Plays the policy that the last readable checkpoint of a folder holds, or that of a safetensors file. Takes the memory of
 * at most 64 worlds, however many it was trained in.
 * @throws CorralError no-run, no-checkpoint, checkpoint-corrupt, checkpoint-newer, other-run, bad-config, bad-option, record-exists,
 *   record-not-written; bad-safetensors and bad-policy of a file; what makeVec and the learner's create throw
 */
export async function play(source: string, options: PlayOptions = {}): Promise<PlayResult> {
  const { episodes = 32, seed = 0, sample = false, record, env: given = {}, onProgress } = options;
  checked("episodes", integer(1, MOST_EPISODES), episodes);
  if (record !== undefined && !isRecordingPath(record) && !LINES.test(record))
    throw badOption("record", record, "pass a name that ends in .npz (a recording) or .jsonl (a line of JSON each)");
  const worlds = Math.min(episodes, MOST_WORLDS);
  const made = { ...given, numEnvs: worlds, seed, autoreset: "next-step" };
  await using player = await (isPolicyFile(source) ? playerOfFile(source, made, sample) : playerOfRun(source, made));
  const { env, id } = player;

  const recorder = record !== undefined && isRecordingPath(record) ? newRecorder(env, record) : undefined;
  const file = record === undefined || recorder ? undefined : openRecord(record);
  const ended: Episode[] = [];
  try {
    for (let [round, firstDraw] = [0, 0]; ended.length < episodes; round++) {
      const playing = new Episodes(id, seed + round, worlds, file !== undefined);
      let steps = 0;
      const onStep = async (step: PlayedStep) => {
        await recorder?.step(step);
        playing.step(step);
        steps++;
      };
      const onStart = () => recorder?.start(seed + round);
      await player.evaluate({ seed: seed + round, sample, firstDraw, onStart, onStep });
      recorder?.end(episodes - ended.length);
      firstDraw += steps;
      const taken = playing.ended.toSorted((a, b) => a.world - b.world).slice(0, episodes - ended.length);
      for (const episode of taken) {
        if (file) append(file, record!, episode);
        const { observations: _, actions: __, rewards: ___, ...facts } = episode;
        ended.push({ ...facts, observations: [], actions: [], rewards: [] });
      }
      onProgress?.(ended.length, episodes);
    }
    file?.sync();
    if (recorder) write(record!, await recorder.bytes());
  } finally {
    file?.close();
    // a file without an episode stands in the way of the next try
    if (file && ended.length === 0) rmSync(record!, { force: true });
  }

  const returns = ended.map((episode) => episode.return);
  const lengths = ended.map(({ length }) => length);
  const mean = (values: readonly number[]) => values.reduce((sum, x) => sum + x, 0) / values.length;
  const meanReturn = mean(returns);
  return {
    ...player.facts,
    device: env.deviceName,
    episodes,
    meanReturn,
    stdReturn: Math.sqrt(mean(returns.map((x) => (x - meanReturn) ** 2))),
    meanLength: mean(lengths),
    returns,
    lengths,
    record,
  };
}

/** Throws `record-exists`, `record-not-written`. */
function newRecorder(env: VectorEnv, path: string): EpisodeRecorder {
  try {
    if (existsSync(path)) throw Object.assign(new Error("it is there"), { code: "EEXIST" });
    accessSync(dirname(path), constants.W_OK);
  } catch (cause) {
    throw recordError(path, cause);
  }
  return new EpisodeRecorder(env);
}

function write(path: string, bytes: Uint8Array): void {
  try {
    writeWhole(path, bytes);
  } catch (cause) {
    throw recordError(path, cause);
  }
}

function append(file: AppendFile, path: string, episode: Episode): void {
  try {
    file.append(Buffer.from(`${toJson(episode)}\n`));
  } catch (cause) {
    throw recordError(path, cause);
  }
}
