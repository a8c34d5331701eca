// how a policy holds up where worlds are not as it was trained in: whole episodes on a grid of what they differ by, all
// points of the grid side by side
import { CorralError } from "../core/errors.ts";
import { checked, optionsOf } from "../core/options.ts";
import { integer } from "../core/schema.ts";
import { taskOf } from "../env/registry.ts";
import { sharedIds } from "../env/host/options.ts";
import { loadTaskModel } from "../env/task/load.ts";
import type { Randomisation } from "../env/task/task.ts";
import type { Policy } from "../rl/networks/policy.ts";
import type { PlayedStep } from "../rl/evaluate.ts";
import { isPolicyFile, playerOfFile, playerOfRun, type Adapt, type Player, type PlayedPolicy } from "./players.ts";
import { assertAxis, DELAY, sweptTask, type SweepAxis } from "./swept-task.ts";
import { meanOf, stderrOf } from "./means.ts";
import {
  assertInstalled,
  failedIn,
  joinPlayed,
  mostWorlds,
  openUnder,
  policyFrom,
  type Played as PlayedUnder,
  type PlayedSoFar,
  type Under,
} from "./under-worlds.ts";

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
  /** The same points again, from the same starts, on MuJoCo's own physics, or with the exported ONNX. Default: none. */
  readonly under?: readonly Exclude<Under, "corral">[];
  /** The bytes of a policy as ONNX, for `under`. */
  readonly encode?: (policy: Policy) => Uint8Array;
  /** Is told how many of the points are done, under which of `under`, and with each control step how far others are. */
  readonly onProgress?: (done: number, points: number, under: Under, playing?: PlayedSoFar) => void;
}

/** What came of the episodes of one point. */
export interface SweepPoint {
  /** A value for each axis. */
  readonly values: readonly number[];
  readonly meanReturn: number;
  /** Of the mean: the deviation of returns, over one less than their count, by the root of their count. */
  readonly stderrReturn: number;
  readonly meanLength: number;
  /** Share of the episodes that ended before their limit of steps: falls, where falling ends them. */
  readonly terminated: number;
  /** Share of which a step failed: something was not finite, or contacts had no places. By default such a step ends it. */
  readonly failed: number;
  /** Share whose last `info` called "success" was not zero, where the task reports one. */
  readonly success: number | undefined;
}

/** What came of the same episodes under another. */
export interface SweepPointUnder extends SweepPoint {
  /** Of the mean of returns, episode by episode: how much more than in corral's worlds, and its standard error. */
  readonly gap: { readonly mean: number; readonly stderr: number };
}

export interface SweepUnder {
  readonly under: Under;
  readonly device: string;
  readonly points: readonly SweepPointUnder[];
}

export interface Sweep extends PlayedPolicy {
  readonly device: string;
  readonly axes: readonly SweepAxis[];
  /** Of each point. */
  readonly episodes: number;
  readonly seed: number;
  /** In order of the axes, the last one fastest. */
  readonly points: readonly SweepPoint[];
  /** The points again, under each of `under`. */
  readonly under: readonly SweepUnder[];
}

/** Points of a sweep at most: a grid of more is a mistake. */
const MOST_POINTS = 65_536;

/** All combinations of values, the last axis fastest. */
const gridOf = (axes: readonly SweepAxis[]): number[][] =>
  axes.reduce<number[][]>((rows, { values }) => rows.flatMap((row) => values.map((v) => [...row, v])), [[]]);

/** First episodes of the worlds of a batch. */
class FirstEpisodes {
  readonly terminated: Uint8Array;
  readonly failed: Uint8Array;
  readonly lengths: Uint32Array;
  readonly success: Float64Array | undefined;

  /** `reports`: whether the task reports a success. */
  constructor(worlds: number, reports: boolean) {
    this.terminated = new Uint8Array(worlds);
    this.failed = new Uint8Array(worlds);
    this.lengths = new Uint32Array(worlds);
    this.success = reports ? new Float64Array(worlds) : undefined;
  }

  step({ result, playing }: PlayedStep): void {
    const told = this.success && result.infos.get("success")?.values;
    for (let world = 0; world < playing.length; world++) {
      if (playing[world] === 0) continue;
      this.lengths[world]++;
      this.terminated[world] = result.terminated[world];
      this.failed[world] |= failedIn(result.infos, world);
      if (told) this.success[world] = told[world];
    }
  }
}

/** Episodes of all worlds of a batch. */
interface Played {
  readonly returns: ArrayLike<number>;
  readonly lengths: ArrayLike<number>;
  readonly terminated: ArrayLike<number>;
  readonly failed: ArrayLike<number>;
  readonly success: ArrayLike<number> | undefined;
}

/** A batch of worlds that differ by their parameters. */
interface Batch extends AsyncDisposable {
  /** Known once it has played. */
  readonly device: string;
  /** Numbers by name, one for each world. */
  setParams(values: Readonly<Record<string, readonly number[]>>): void | Promise<unknown>;
  play(tell: Tell): Promise<Played>;
}

type Tell = (playing: PlayedSoFar) => void;

/** Makes the batch of some options and a task that is made of another. */
type MakeBatch = (made: object, adapt: Adapt, reports: () => boolean) => Promise<Batch>;

/** What is known of a point beside its means. */
type PlayedPoint = SweepPoint & { readonly returns: readonly number[] };

/**
 * Plays a policy on every point of a grid, in worlds side by side: what is swept is a number of each world. Values of
 * `delay` take a batch each, since they are part of the kernels. Episodes of all points have the same starts and draws.
 * @throws CorralError bad-sweep; unsupported-feature where the model's kernels are rolled; not-under-mujoco; no-onnxruntime;
 *   what `play` throws
 */
export async function sweep(source: string, options: SweepOptions): Promise<Sweep> {
  const { axes, episodes = 16, seed = 0, worlds = 4096, sample = false, env = {}, under = [] } = optionsOf(options);
  checked("episodes", integer(1), episodes);
  checked("worlds", integer(1), worlds);
  if (!Array.isArray(axes) || axes.length === 0)
    throw new CorralError("bad-sweep", "there is nothing to sweep; pass axes of names and values.");
  axes.forEach(assertAxis);
  const count = axes.reduce((n, { values }) => n * values.length, 1);
  if (count > MOST_POINTS)
    throw new CorralError(
      "bad-sweep",
      `the grid has ${count} points; ${MOST_POINTS} are the most. Pass fewer values.`,
      {
        points: count,
      },
    );
  if (sample && under.length > 0)
    throw new CorralError("bad-option", "draws as in training are made on the device; leave sample or under away.");
  await assertInstalled(under);
  const size = { axes, episodes, seed, worlds, env };
  const told = (one: Under) => (done: number, playing?: PlayedSoFar) => options.onProgress?.(done, count, one, playing);
  let facts: PlayedPolicy | undefined;
  const learner: MakeBatch = async (made, adapt, reports) => {
    const player = await (isPolicyFile(source)
      ? playerOfFile(source, made, sample, adapt)
      : playerOfRun(source, made, adapt));
    facts = player.facts;
    return {
      ...batchOf(player, { seed, sample, reports }),
      [Symbol.asyncDispose]: () => player[Symbol.asyncDispose](),
    };
  };
  const own = await playGrid({ ...size, make: learner, told: told("corral") });
  const others: SweepUnder[] = [];
  for (const one of under) {
    const make = batchUnder(source, one, options, Math.min(worlds, await mostWorlds(one, facts!.id)));
    const { device, points } = await playGrid({ ...size, make, told: told(one) });
    others.push({ under: one, device, points: points.map((point, i) => withGap(point, own.points[i])) });
  }
  return { ...facts!, device: own.device, axes, episodes, seed, points: own.points.map(bare), under: others };
}

const bare = (point: PlayedPoint): SweepPoint => {
  const { values, meanReturn, stderrReturn, meanLength, terminated, failed, success } = point;
  return { values, meanReturn, stderrReturn, meanLength, terminated, failed, success };
};

function withGap(point: PlayedPoint, of: PlayedPoint): SweepPointUnder {
  const gaps = point.returns.map((x, i) => x - of.returns[i]);
  return { ...bare(point), gap: { mean: meanOf(gaps), stderr: stderrOf(gaps) } };
}

/** Worlds of corral in which a learner or a policy plays. */
function batchOf(
  player: Player,
  { seed, sample, reports }: { readonly seed: number; readonly sample: boolean; readonly reports: () => boolean },
): Omit<Batch, keyof AsyncDisposable> {
  const { env } = player;
  return {
    device: env.deviceName,
    setParams: (values: Readonly<Record<string, readonly number[]>>) => env.setParams(values),
    async play(tell): Promise<Played> {
      const first = new FirstEpisodes(env.numEnvs, reports());
      let steps = 0;
      const onStep = (step: PlayedStep) => {
        first.step(step);
        const over = step.playing.reduce((sum, x) => sum - x, env.numEnvs);
        tell({ steps: ++steps, most: env.maxEpisodeSteps, over });
      };
      const { returns } = await player.evaluate({ seed, sample, onStep });
      const { lengths, terminated, failed, success } = first;
      return { returns, lengths, terminated, failed, success };
    },
  };
}

/** The policy in worlds of another kind, `most` at a time: the same worlds as side by side. */
const batchUnder =
  (source: string, under: Under, { seed = 0, encode = noOnnx }: SweepOptions, most: number): MakeBatch =>
  async (made, adapt) => {
    const { policy, id, options } = await policyFrom(source, made);
    const { task, options: own } = await adapt(id, options);
    const { numEnvs, worldIds: all } = own as { readonly numEnvs: number; readonly worldIds: readonly number[] };
    let params: Readonly<Record<string, readonly number[]>> = {};
    let device = "";
    return {
      get device() {
        return device;
      },
      setParams: (values) => void (params = values),
      async play(tell) {
        const parts: PlayedUnder[] = [];
        for (let first = 0; first < numEnvs; first += most) {
          const count = Math.min(most, numEnvs - first);
          const worldIds = sharedIds(all.slice(first, first + count));
          await using worlds = await openUnder(under, task, { ...own, numEnvs: count, worldIds }, { policy, encode });
          const ours = Object.entries(params).map(([name, values]) => [name, values.slice(first, first + count)]);
          await worlds.env.setParams(Object.fromEntries(ours) as Record<string, number[]>);
          device = worlds.device;
          parts.push(await worlds.play(seed, (so) => tell({ ...so, over: first + so.over })));
        }
        return joinPlayed(parts);
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  };

const noOnnx = (): never => {
  throw new CorralError("bad-option", "encode is missing: pass what makes a policy ONNX, encodePolicyOnnx.");
};

/** All points of a grid, as many at a time as worlds are allowed. */
async function playGrid({
  axes,
  episodes,
  seed,
  worlds,
  env,
  make,
  told,
}: Required<Pick<SweepOptions, "axes" | "episodes" | "seed" | "worlds" | "env">> & {
  readonly make: MakeBatch;
  readonly told: (done: number, playing?: PlayedSoFar) => void;
}): Promise<{ readonly device: string; readonly points: readonly PlayedPoint[] }> {
  const grid = gridOf(axes);
  const at = axes.findIndex(({ name }) => name === DELAY);
  const delays = at < 0 ? [undefined] : axes[at].values;
  const points: (PlayedPoint | undefined)[] = grid.map(() => undefined);
  let device = "";
  let done = 0;
  for (const delay of delays) {
    const own = grid.flatMap((values, i) => (delay === undefined || values[at] === delay ? [i] : []));
    const perBatch = Math.max(1, Math.min(own.length, Math.floor(worlds / episodes)));
    const numEnvs = perBatch * episodes;
    // every point has the same starts and draws, so that points differ by what is swept alone
    const worldIds = sharedIds(Array.from({ length: numEnvs }, (_, i) => i % episodes));
    const made = { ...env, numEnvs, worldIds, seed, autoreset: "next-step" };
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
    await using batch = await make(made, adapt, () => reports);
    for (let first = 0; first < own.length; first += perBatch) {
      const chunk = Array.from({ length: perBatch }, (_, i) => own[Math.min(first + i, own.length - 1)]);
      const rows = chunk.map((i) => grid[i]);
      const results = await playPoints(batch, rows, { axes, params: params!, episodes, tell: (so) => told(done, so) });
      device = batch.device;
      results.forEach((result, i) => (points[chunk[i]] = result));
      done += Math.min(perBatch, own.length - first);
      told(done);
    }
  }
  return { device, points: points as PlayedPoint[] };
}

/** Episodes of some points, as many worlds for each. */
async function playPoints(
  batch: Batch,
  points: readonly (readonly number[])[],
  {
    axes,
    params,
    episodes,
    tell,
  }: {
    readonly axes: readonly SweepAxis[];
    readonly params: ReadonlyMap<string, string>;
    readonly episodes: number;
    readonly tell: Tell;
  },
): Promise<PlayedPoint[]> {
  const values = axes.flatMap(({ name }, k) => {
    const perWorld = points.flatMap((row) => Array<number>(episodes).fill(row[k]));
    return name === DELAY ? [] : [[params.get(name)!, perWorld] as const];
  });
  await batch.setParams(Object.fromEntries(values));
  const played = await batch.play(tell);
  return points.map((row, p): PlayedPoint => {
    const part = (of: ArrayLike<number>) => Array.from(of).slice(p * episodes, (p + 1) * episodes);
    const returns = part(played.returns);
    return {
      values: row,
      returns,
      meanReturn: meanOf(returns),
      stderrReturn: stderrOf(returns),
      meanLength: meanOf(part(played.lengths)),
      terminated: meanOf(part(played.terminated)),
      failed: meanOf(part(played.failed)),
      success: played.success && meanOf(part(played.success).map((x) => (x > 0 ? 1 : 0))),
    };
  });
}
