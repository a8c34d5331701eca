// how a policy holds up where worlds are not as it was trained in: whole episodes on a grid of what they differ by, all
// points of the grid side by side
import { CorralError } from "../core/errors.ts";
import { checked } from "../core/options.ts";
import { integer } from "../core/schema.ts";
import { taskOf } from "../env/registry.ts";
import { loadTaskModel } from "../env/task/load.ts";
import type { Randomisation } from "../env/task/task.ts";
import type { PlayedStep } from "../rl/evaluate.ts";
import { isPolicyFile, playerOfFile, playerOfRun, type Adapt, type Player, type PlayedPolicy } from "./players.ts";
import { DELAY, sweptTask, type SweepAxis } from "./swept-task.ts";

export type { SweepAxis } from "./swept-task.ts";

export interface SweepOptions {
  readonly axes: readonly SweepAxis[];
  /** Of each point. Default 16. */
  readonly episodes?: number;
  /** Of start states and draws. Default 0. */
  readonly seed?: number;
  /** Worlds that play at the same time, at most. Default 4,096. */
  readonly worlds?: number;
  /** Draw actions as in training; by default the most likely ones are taken. */
  readonly sample?: boolean;
  /** Options of the environments beside those of the run, such as device and budget. */
  readonly env?: object;
  /** Is told how many of the points are done. */
  readonly onProgress?: (done: number, points: number) => void;
}

/** What came of the episodes of one point. */
export interface SweepPoint {
  /** A value for each axis. */
  readonly values: readonly number[];
  readonly meanReturn: number;
  /** Of the mean: the deviation of returns over the root of their count. */
  readonly stderrReturn: number;
  readonly meanLength: number;
  /** Share of the episodes that ended before their limit of steps: falls, where falling ends them. */
  readonly terminated: number;
  /** Share whose last `info` called "success" was not zero, where the task reports one. */
  readonly success: number | undefined;
}

export interface Sweep extends PlayedPolicy {
  readonly device: string;
  readonly axes: readonly SweepAxis[];
  /** Of each point. */
  readonly episodes: number;
  readonly seed: number;
  /** In order of the axes, the last one fastest. */
  readonly points: readonly SweepPoint[];
}

/** Points of a sweep at most: a grid of more is a mistake. */
const MOST_POINTS = 65_536;

/** All combinations of values, the last axis fastest. */
const gridOf = (axes: readonly SweepAxis[]): number[][] =>
  axes.reduce<number[][]>((rows, { values }) => rows.flatMap((row) => values.map((v) => [...row, v])), [[]]);

/** First episodes of the worlds of a batch. */
class FirstEpisodes {
  readonly terminated: Uint8Array;
  readonly lengths: Uint32Array;
  readonly success: Float64Array | undefined;

  /** `reports`: whether the task reports a success. */
  constructor(worlds: number, reports: boolean) {
    this.terminated = new Uint8Array(worlds);
    this.lengths = new Uint32Array(worlds);
    this.success = reports ? new Float64Array(worlds) : undefined;
  }

  step({ result, playing }: PlayedStep): void {
    const told = this.success && result.infos.get("success")?.values;
    for (let world = 0; world < playing.length; world++) {
      if (playing[world] === 0) continue;
      this.lengths[world]++;
      this.terminated[world] = result.terminated[world];
      if (told) this.success[world] = told[world];
    }
  }
}

const meanOf = (values: ArrayLike<number>): number => Array.from(values).reduce((sum, x) => sum + x, 0) / values.length;

/**
 * Plays a policy on every point of a grid, in worlds side by side: what is swept is a number of each world. Values of
 * `delay` take a batch each, since they are part of the kernels.
 * @throws CorralError bad-sweep; unsupported-feature where the model's kernels are rolled; what `play` throws
 */
export async function sweep(source: string, options: SweepOptions): Promise<Sweep> {
  const { axes, episodes = 16, seed = 0, worlds = 4096, sample = false, env = {}, onProgress } = options;
  checked("episodes", integer(1), episodes);
  checked("worlds", integer(1), worlds);
  if (!Array.isArray(axes) || axes.length === 0)
    throw new CorralError("bad-sweep", "there is nothing to sweep; pass axes of names and values.");
  const count = axes.reduce((n, { values }) => n * values.length, 1);
  if (count > MOST_POINTS)
    throw new CorralError(
      "bad-sweep",
      `the grid has ${count} points; ${MOST_POINTS} are the most. Pass fewer values.`,
      {
        points: count,
      },
    );
  const grid = gridOf(axes);
  const at = axes.findIndex(({ name }) => name === DELAY);
  const delays = at < 0 ? [undefined] : axes[at].values;
  const points: (SweepPoint | undefined)[] = grid.map(() => undefined);
  let facts: Pick<Sweep, "device" | keyof PlayedPolicy> | undefined;
  let done = 0;
  for (const delay of delays) {
    const own = grid.flatMap((values, i) => (delay === undefined || values[at] === delay ? [i] : []));
    const perBatch = Math.max(1, Math.min(own.length, Math.floor(worlds / episodes)));
    const made = { ...env, numEnvs: perBatch * episodes, seed, autoreset: "next-step" };
    let params: ReadonlyMap<string, string> | undefined;
    let reports = false;
    const adapt: Adapt = async (id, all) => {
      const {
        randomise: given,
        action,
        ...others
      } = all as {
        readonly randomise?: Readonly<Record<string, Randomisation>>;
        readonly action?: object;
      };
      const task = taskOf(id);
      const swept = sweptTask(task, await loadTaskModel(task), axes, given);
      params = swept.params;
      reports = Object.hasOwn(task.info ?? {}, "success");
      const acting = delay === undefined ? action : { ...action, delay };
      return { task: swept.task, options: { ...others, ...swept.options, ...(acting && { action: acting }) } };
    };
    await using player = await (isPolicyFile(source)
      ? playerOfFile(source, made, sample, adapt)
      : playerOfRun(source, made, adapt));
    facts = { ...player.facts, device: player.env.deviceName };
    for (let first = 0; first < own.length; first += perBatch) {
      const chunk = Array.from({ length: perBatch }, (_, i) => own[Math.min(first + i, own.length - 1)]);
      const rows = chunk.map((i) => grid[i]);
      const results = await playPoints(player, rows, axes, params!, { episodes, seed, sample, reports });
      results.forEach((result, i) => (points[chunk[i]] = result));
      done += Math.min(perBatch, own.length - first);
      onProgress?.(done, count);
    }
  }
  return { ...facts!, axes, episodes, seed, points: points as SweepPoint[] };
}

/** Episodes of some points, as many worlds for each. */
async function playPoints(
  player: Player,
  points: readonly (readonly number[])[],
  axes: readonly SweepAxis[],
  params: ReadonlyMap<string, string>,
  {
    episodes,
    seed,
    sample,
    reports,
  }: Required<Pick<SweepOptions, "episodes" | "seed" | "sample">> & { reports: boolean },
): Promise<SweepPoint[]> {
  const { env } = player;
  const values = axes.flatMap(({ name }, k) => {
    const perWorld = points.flatMap((row) => Array<number>(episodes).fill(row[k]));
    return name === DELAY ? [] : [[params.get(name)!, perWorld] as const];
  });
  await env.setParams(Object.fromEntries(values));
  const first = new FirstEpisodes(env.numEnvs, reports);
  const { returns } = await player.evaluate({ seed, sample, onStep: (step) => first.step(step) });
  return points.map((row, p): SweepPoint => {
    const part = (of: Float64Array | Uint32Array | Uint8Array) => of.slice(p * episodes, (p + 1) * episodes);
    const own = part(returns);
    const meanReturn = meanOf(own);
    const deviation = Math.sqrt(meanOf(Array.from(own, (x) => (x - meanReturn) ** 2)));
    return {
      values: row,
      meanReturn,
      stderrReturn: deviation / Math.sqrt(episodes),
      meanLength: meanOf(part(first.lengths)),
      terminated: meanOf(part(first.terminated)),
      success: first.success && meanOf(Array.from(part(first.success), (x) => (x > 0 ? 1 : 0))),
    };
  });
}
