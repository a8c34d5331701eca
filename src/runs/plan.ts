// a training run planned as one: environments, evaluation and learner on the device, what lies on the host beside them
import { emitterReady } from "../batch/wasm/kernel-cache.ts";
import { CorralError } from "../core/errors.ts";
import { formatApart } from "../core/units.ts";
import { planArenas, planOf, type PlanContext, type PlannedBatch } from "../batch/batch.ts";
import { hostPlan, onCpu, planContext, threadsOf } from "../batch/device.ts";
import { namedHostDevice } from "../batch/devices.ts";
import { defineVec } from "../env/make.ts";
import { largestFit, type Bound } from "../memory/cost.ts";
import { plannedBudget } from "../memory/device-budget.ts";
import { inWasm, THREAD_BYTES } from "../memory/host-budget.ts";
import type { Plan } from "../memory/plan.ts";
import { defaultLimits, wasmLimits, type BudgetView, type HostBytes, type PlanLimits } from "../memory/request.ts";
import { planLearner } from "../rl/ppo/arenas.ts";
import { fileBytes } from "../rl/replay/file-rows.ts";
import type { ReplayShape } from "../rl/replay/replay.ts";
import { planHostRows, type RowsShape } from "../rl/replay/host-rows.ts";
import { ppoCollecting } from "../rl/ppo/rollout-upload.ts";
import { shapesOf } from "../rl/networks/networks.ts";
import { ppoShapes } from "../rl/ppo/named-parameters.ts";
import { namedSac } from "../rl/sac/policy.ts";
import { replayShapes } from "../rl/replay/named.ts";
import { settlePpo } from "../rl/ppo/settle.ts";
import { insteadOfDqn, settleDqn } from "../rl/dqn.ts";
import { insteadOfSacDiscrete, settleSacDiscrete } from "../rl/sac-discrete.ts";
import type { Instead } from "../rl/networks/policy.ts";
import { insteadOf } from "../rl/ppo/streamed-head.ts";
import { planSacDiscreteLearner } from "../rl/sac-discrete/arenas.ts";
import { namedSacDiscrete } from "../rl/sac-discrete/policy.ts";
import { planDqnLearner } from "../rl/dqn/arenas.ts";
import { namedDqn } from "../rl/dqn/policy.ts";
import { planSacLearner } from "../rl/sac/arenas.ts";
import { sacCollecting, settleSac } from "../rl/sac.ts";
import { learnerInWasm, type LearnerPlan } from "../rl/device/wasm-plan.ts";
import { collectorPlanner } from "./collector-plan.ts";
import type { Algo } from "../rl/algorithm.ts";
import type { Seen } from "./columns.ts";
import { readStart, startingFrom } from "./start.ts";
import { collectorEnv, evalEnvsOf, hyperparameters, settle, trainingEnv, type Settings } from "./settings.ts";
import { runOptionsOf, type TrainOptions } from "./options.ts";
import type { PlannedEnv } from "../rl/device/learner-env.ts";

/** Who holds bytes of the device; on wasm a replay in memory and worlds that collect are of the same budget. */
export interface RunPart {
  readonly name: "environments" | "evaluation" | "learner" | "replay" | "collector";
  readonly plan: Plan;
}

/** The plan of a run: `numEnvs` train, `fields` and bytes are of all parts, `largestNumEnvs` is the most that can train. */
export interface RunPlan extends Plan {
  readonly algo: Algo;
  readonly evalEnvs: number;
  readonly parts: readonly RunPart[];
  /** What other ways of holding discrete actions would have taken; empty for continuous ones. */
  readonly instead: readonly Instead[];
}

/** What a run is planned with. */
export interface RunContext {
  /** Default: what every WebGPU device has. */
  readonly limits?: PlanLimits;
  /** Default: the budget of the options, or none. */
  readonly budget?: BudgetView;
}

type Defined = Awaited<ReturnType<typeof defineVec>>;

/** Plans a run for any count of worlds; the model is loaded and the kernels are traced once. */
export class RunPlanner {
  readonly id: string;
  readonly #options: TrainOptions;
  readonly #limits: PlanLimits;
  readonly #settings: Settings;
  readonly #defined: Defined;
  #known: PlannedBatch | undefined;
  /** Plans worlds that collect; undefined where none do. */
  #collectors: Awaited<ReturnType<typeof collectorPlanner>> | undefined;

  private constructor(id: string, options: TrainOptions, limits: PlanLimits, defined: Defined) {
    this.id = id;
    this.#options = options;
    this.#limits = limits;
    this.#settings = settle(id, options);
    this.#defined = defined;
  }

  /** @throws what makeVec throws for its arguments */
  static async create(id: string, options: TrainOptions, limits = defaultLimits): Promise<RunPlanner> {
    const { numEnvs, seed } = settle(id, options);
    await emitterReady();
    const { budget: _, ...env } = trainingEnv(id, options) as Record<string, unknown>;
    const defined = await defineVec(id, { ...env, autoreset: "next-step", numEnvs, seed });
    const planner = new RunPlanner(id, options, limits, defined);
    const { collect, collectThreads = 1 } = planner.#settings;
    if (collect === "async") {
      const ofThread = Math.ceil(numEnvs / collectThreads);
      planner.#collectors = await collectorPlanner(id, collectorEnv(trainingEnv(id, options)), ofThread);
    }
    return planner;
  }

  /** The parts with so many worlds. Not `exact`: without the constants of kernels, which are traced for them. */
  parts(numEnvs: number, exact = true): RunPart[] {
    const evalEnvs = evalEnvsOf(this.#options, numEnvs);
    const [environments, evaluation] = [this.#batch(numEnvs, exact), this.#batch(evalEnvs, exact)];
    return [
      { name: "environments", plan: environments },
      { name: "evaluation", plan: evaluation },
      { name: "learner", plan: this.#learner(numEnvs, [environments, evaluation]) },
      ...(this.#onWasm ? this.#hostParts(numEnvs) : []),
    ];
  }

  #batch(numEnvs: number, exact: boolean): Plan {
    const { settings, definition } = this.#defined;
    const given: PlanContext = planContext(withShards(settings.vec, numEnvs), numEnvs, { limits: this.#limits });
    const context = this.#onWasm ? onCpu(given) : given;
    const spec = definition.batch(numEnvs);
    if (!exact) return this.#held(planArenas(spec, context));
    const planned = planOf(spec, context, this.#known ? { known: this.#known } : {});
    this.#known ??= planned;
    return this.#onWasm ? hostPlan(planned, "wasm", threadsOf(settings.vec)) : planned.plan;
  }

  /** What a batch holds, before its kernels are known. */
  #held(plan: Plan): Plan {
    if (!this.#onWasm) return plan;
    return inWasm(plan, { memory: plan.totalBytes, threads: threadsOf(this.#defined.settings.vec) * THREAD_BYTES });
  }

  get #onWasm(): boolean {
    return namedHostDevice(this.#options.env ?? {}) === "wasm";
  }

  #env(numEnvs: number): PlannedEnv {
    const { spec } = this.#defined.definition;
    const spaces = { singleActionSpace: spec.action, singleObservationSpace: { size: spec.shape.nobs } };
    const observationGroups = spec.shape.groups;
    return { id: spec.task.id, numEnvs, autoreset: spec.autoreset, observationGroups, ...spaces };
  }

  #config(): object {
    return hyperparameters(this.id, this.#options);
  }

  #learner(numEnvs: number, envs: readonly Plan[]): Plan {
    const env = this.#env(numEnvs);
    const limits = this.#onWasm ? wasmLimits : this.#limits;
    const threads = threadsOf(this.#defined.settings.vec);
    const held = (plan: LearnerPlan) => (this.#onWasm ? learnerInWasm(plan, threads, envs) : plan);
    const { algo } = this.#options;
    if (algo === "sac") return held(planSacLearner(settleSac(env, this.#replayConfig()).shape, limits));
    if (algo === "sac-discrete")
      return held(planSacDiscreteLearner(settleSacDiscrete(env, this.#replayConfig()).shape, limits));
    if (algo === "dqn") return held(planDqnLearner(settleDqn(env, this.#replayConfig()).shape, limits));
    const { shape, config } = settlePpo(env, this.#config());
    return held(planLearner(shape, config, limits));
  }

  #instead(numEnvs: number): readonly Instead[] {
    const env = this.#env(numEnvs);
    const { algo } = this.#options;
    if (algo === "sac") return [];
    if (algo === "ppo" || algo === undefined) return insteadOf(settlePpo(env, this.#config()).shape);
    if (algo === "dqn") {
      const { shape, config } = settleDqn(env, this.#replayConfig());
      return insteadOfDqn(shape, config);
    }
    const { shape, config } = settleSacDiscrete(env, this.#replayConfig());
    return insteadOfSacDiscrete(shape, config);
  }

  /** What the learner sees. */
  get seen(): Seen {
    return this.#defined.definition.spec.shape;
  }

  /** Settings of the learner with their defaults, and the shapes of what it learns. */
  networks(): { readonly config: object; readonly shapes: ReturnType<typeof shapesOf> } {
    const env = this.#env(this.#settings.numEnvs);
    const { algo } = this.#options;
    if (algo === "sac") {
      const { config, shape } = settleSac(env, this.#replayConfig());
      return { config, shapes: replayShapes(shape, namedSac) };
    }
    if (algo === "sac-discrete") {
      const { config, shape } = settleSacDiscrete(env, this.#replayConfig());
      return { config, shapes: replayShapes(shape, namedSacDiscrete) };
    }
    if (algo === "dqn") {
      const { config, shape } = settleDqn(env, this.#replayConfig());
      return { config, shapes: replayShapes(shape, namedDqn) };
    }
    const { config, shape } = settlePpo(env, this.#config());
    return { config, shapes: ppoShapes(shape) };
  }

  /** What lies on the host beside the device and its budget. */
  host(numEnvs: number): HostBytes[] {
    const rows = this.#rows(numEnvs);
    const file = rows?.storage === "file" ? [{ name: "the replay, on the disk", bytes: fileBytes(rows) }] : [];
    if (this.#onWasm) return file;
    const memory = rows?.storage === "host" ? [{ name: "the replay", bytes: planHostRows(rows).totalBytes }] : [];
    const collector = this.#collector(numEnvs);
    const worlds = collector ? [{ name: "worlds that collect", bytes: collector.totalBytes }] : [];
    return [...file, ...memory, ...worlds];
  }

  /** The same where the device's budget is that of the host. */
  #hostParts(numEnvs: number): RunPart[] {
    const rows = this.#rows(numEnvs);
    const collector = this.#collector(numEnvs);
    return [
      ...(rows?.storage === "host" ? [{ name: "replay", plan: planHostRows(rows) } as const] : []),
      ...(collector ? [{ name: "collector", plan: collector } as const] : []),
    ];
  }

  #replayConfig(): object {
    const config: { readonly storage?: unknown } = this.#config();
    return config.storage === "file" ? { ...config, replayFile: "planned" } : config;
  }

  /** The rows of a replay, and where they lie; undefined of PPO. */
  #rows(numEnvs: number): (RowsShape & { readonly storage: "gpu" | "host" | "file" }) | undefined {
    const { algo = "ppo" } = this.#options;
    if (algo === "ppo") return undefined;
    const settle = { sac: settleSac, "sac-discrete": settleSacDiscrete, dqn: settleDqn }[algo];
    const { shape, config } = settle(this.#env(numEnvs), this.#replayConfig());
    const { env, capacity } = shape as Pick<ReplayShape, "env" | "capacity">;
    const { numEnvs: worlds, observations, actions } = env;
    return { id: this.id, worlds, capacity, observations, actions, storage: config.storage };
  }

  /** What worlds that collect take; undefined where none do. */
  #collector(numEnvs: number): Plan | undefined {
    if (!this.#collectors) return undefined;
    const { collectThreads: threads = 1 } = this.#settings;
    const env = this.#env(numEnvs);
    if (this.#options.algo !== "sac") {
      const { shape, config } = settlePpo(env, this.#config());
      return this.#collectors({ ...ppoCollecting(shape, config, env.singleActionSpace), threads });
    }
    const { shape, config } = settleSac(env, this.#replayConfig());
    const steps = config.collectSteps;
    return this.#collectors({ ...sacCollecting(shape, config, env.singleActionSpace), steps, threads });
  }

  /** The most worlds that train within a budget, or within the limits alone, and what ends it there. */
  largest(budget: BudgetView | undefined): Pick<Plan, "largestNumEnvs" | "bound"> {
    const free = budget ? budget.limit - budget.live : Infinity;
    const byBudget = { limit: "budget", value: budget?.limit ?? 0, arena: null } as const;
    const [{ plan }] = this.parts(1);
    const alone = largestFit(plan.cost, free);
    let [fits, above] = [0, alone.tiles * plan.tileWidth + 1];
    let end = alone.bound ?? byBudget;
    while (fits + 1 < above) {
      const middle = Math.floor((fits + above) / 2);
      const bound = this.#boundOf(middle, free);
      if (bound === undefined) fits = middle;
      else [above, end] = [middle, bound === "budget" ? byBudget : bound];
    }
    return { largestNumEnvs: fits, bound: end };
  }

  /** What so many worlds are too many for; undefined if they fit. */
  #boundOf(numEnvs: number, free: number): Bound | "budget" | undefined {
    try {
      const parts = this.parts(numEnvs);
      const over = parts.find(({ plan }) => plan.problems.length > 0);
      if (over) return over.plan.bound;
      return bytesOf(parts) > free ? "budget" : undefined;
    } catch (error) {
      // a replay of this many worlds has too few rows of each
      if (!(error instanceof CorralError) || error.details.name !== "bufferSize") throw error;
      return { limit: "bufferSize", value: Number(error.details.value), arena: null };
    }
  }

  /** The plan of a run with so many worlds, against a budget. */
  plan(numEnvs: number, budget?: BudgetView, host: readonly HostBytes[] = []): RunPlan {
    const parts = this.parts(numEnvs);
    const [{ plan: env }, , { plan: learner }] = parts;
    const { algo = "ppo" } = this.#options;
    const sum = (of: (plan: Plan) => number) => parts.reduce((total, { plan }) => total + of(plan), 0);
    const totalBytes = bytesOf(parts);
    const end = this.largest(budget);
    return {
      ...env,
      ...end,
      name: `training ${this.id} with ${algo.toUpperCase()}`,
      numEnvs,
      algo,
      evalEnvs: evalEnvsOf(this.#options, numEnvs),
      parts,
      instead: this.#instead(numEnvs),
      fields: parts.flatMap(({ name, plan }) => plan.fields.map((f) => ({ ...f, arena: `${name}.${f.arena}` }))),
      buffers: parts.flatMap(({ plan }) => plan.buffers),
      bytesPerWorld: env.bytesPerWorld + learner.bytesPerWorld,
      sharedBytes: sum((plan) => plan.sharedBytes),
      sharedBytesPerShard: sum((plan) => plan.sharedBytesPerShard),
      stagingBytes: sum((plan) => plan.stagingBytes),
      totalBytes,
      host: [...env.host, ...host],
      budget: budget ?? null,
      problems: problemsOf(parts, totalBytes, budget, end.largestNumEnvs),
    };
  }
}

/** Bytes of all parts on the device. */
export const bytesOf = (parts: readonly RunPart[]): number => parts.reduce((sum, { plan }) => sum + plan.totalBytes, 0);

/** The shards of the options, as many as so many worlds can have. */
export function withShards<O extends { readonly shards?: number }>(options: O, numEnvs: number): O {
  const { shards } = options;
  return shards === undefined ? options : { ...options, shards: Math.min(shards, Math.ceil(numEnvs / TILE)) };
}
/** Worlds of the smallest shard. */
const TILE = 8;

function problemsOf(
  parts: readonly RunPart[],
  totalBytes: number,
  budget: BudgetView | undefined,
  largest: number,
): Plan["problems"] {
  // a part alone would fit with other counts than the run does
  const remedy = largest > 0 ? `Pass numEnvs: ${largest}.` : "No count of worlds fits.";
  const limits = parts.flatMap(({ plan }) => plan.problems);
  const problems = limits.map(({ code, text }) => ({
    code,
    text: text.replace(
      /(Pass numEnvs: \d+|Fewer worlds, or fewer steps kept of each, make it smaller|What helps: .*)\.$/,
      (end) => (largest === 0 && end.startsWith("What helps") ? `${remedy} ${end}` : remedy),
    ),
  }));
  if (!budget || totalBytes <= budget.limit - budget.live) return problems;
  const [needed, free] = formatApart(totalBytes, budget.limit - budget.live);
  const text = `${needed} needed, ${free} free`;
  return [...problems, { code: "budget-exceeded", text }];
}

/**
 * Every byte of a training run and the most worlds that can train, without a device.
 * @throws CorralError what makeVec and the learner's create throw for their arguments; bad-bytes
 */
export async function planRun(id: string, given: TrainOptions = {}, context: RunContext = {}): Promise<RunPlan> {
  runOptionsOf(given);
  const options = given.from === undefined ? given : startingFrom(readStart(given.from), given);
  const planner = await RunPlanner.create(id, options, context.limits);
  const { numEnvs } = settle(id, options);
  const { budget } = (options.env ?? {}) as { readonly budget?: string | number };
  const view = context.budget ?? (budget === undefined ? undefined : plannedBudget(budget));
  return planner.plan(numEnvs, view, planner.host(numEnvs));
}
