// deep Q-learning (Mnih et al. 2015, "Human-level control through deep reinforcement learning"), all of it on the device of
// its environments: values of each of many actions, targets that follow them slowly, double Q-learning (van Hasselt et al.
// 2016), and a replay of everything seen. Values of all actions are made in blocks where the best is sought and never held.
import { printLearner } from "./printed.ts";
import { INSPECT, type Inspect } from "../core/inspect.ts";
import { CallMutex } from "../core/call-mutex.ts";
import { CorralError } from "../core/errors.ts";
import { optionsOf, badOption } from "../core/options.ts";
import { seedKey } from "../core/rng.ts";
import type { JsVec } from "../env/js-env.ts";
import type { Plan } from "../memory/plan.ts";
import { adoptLearnt, drawSeed, nonFiniteUpdate, type Algorithm, type AlgorithmSnapshot } from "./algorithm.ts";
import { collect } from "./device/act.ts";
import { SUM_PARTS } from "./device/arenas.ts";
import { learnerDeviceOf, type Bound } from "./device/bind-env.ts";
import { heldOn, limitsOf } from "./device/device-core.ts";
import { envShape } from "./device/env-shape.ts";
import { learnerEnvOf } from "./device/js-vec.ts";
import type { LearnerEnv, PlannedEnv } from "./device/learner-env.ts";
import { dqnMetricsOf, type DqnMetrics } from "./device/metrics.ts";
import { dqnShape, planDqnLearner, type DqnShape } from "./dqn/arenas.ts";
import { learnBatch, setUniforms } from "./dqn/batch.ts";
import { dqnConfig, epsilonAt, type DqnConfig } from "./dqn/config.ts";
import { DqnLearner } from "./dqn/learner.ts";
import { dqnPolicyOf, namedDqn } from "./dqn/policy.ts";
import { evaluatePolicy, type EvaluateOptions, type Evaluation } from "./evaluate.ts";
import { shapesOf, type NamedArray } from "./networks/networks.ts";
import type { Instead, Policy } from "./networks/policy.ts";
import { openReplay } from "./replay/open-replay.ts";
import type { Replay } from "./replay/replay.ts";
import { Flag } from "./tables/device-tables.ts";

export interface DqnOptions extends Partial<DqnConfig> {
  /** Of the first parameters, of actions and of the samples that are replayed. Default 0. */
  readonly seed?: number | bigint;
  /** Where the replay lies with `storage: "file"`; the file must not be there, or `reuseReplay` says to go on with it. */
  readonly replayFile?: string;
  readonly reuseReplay?: boolean;
}

export type DqnSnapshot = AlgorithmSnapshot;

/** A plan, and what other ways of holding discrete actions would have taken. */
export interface DqnPlan extends Plan {
  readonly instead: readonly Instead[];
}

/** The plan of the learner of an environment: every byte, before any is held. */
export function planDqn(given: LearnerEnv | JsVec, options: DqnOptions = {}): DqnPlan {
  const env = learnerEnvOf(given);
  const device = learnerDeviceOf(env);
  const { shape, config } = settleDqn(env, options);
  const { outputs } = shape.env;
  const instead = [
    { what: "one-hot actions of the replay, in float32", bytes: 4 * outputs * config.bufferSize },
    { what: "values of all actions of a batch", bytes: 4 * outputs * config.batchSize },
  ];
  return { ...heldOn(device, planDqnLearner(shape, limitsOf(device))), instead };
}

/**
 * A learner before any device: its options with their defaults, and all sizes.
 * @throws CorralError bad-option, unknown-option, bad-seed, needs-next-step, unsupported-space
 */
export function settleDqn(env: PlannedEnv, options: DqnOptions = {}) {
  const { seed = 0, replayFile, reuseReplay = false, ...given } = optionsOf(options);
  seedKey(seed);
  const config = dqnConfig(given);
  if (config.storage === "file" && !replayFile) throw badOption("replayFile", replayFile, "pass the path of a file");
  const file = { path: replayFile ?? "", reuse: reuseReplay };
  return { config, seed, shape: dqnShape(envShape(env), config), file };
}

/** A learner beside its environments, which it steps. Close it before them. */
export class Dqn implements Algorithm<DqnMetrics> {
  readonly algo = "dqn";
  readonly env: LearnerEnv;
  readonly config: DqnConfig;
  readonly seed: number | bigint;
  /** Every byte that the learner holds on the device. */
  readonly plan: Plan;
  /** Updates and env steps so far. */
  iteration = 0;
  envSteps = 0;
  /** Below 1 if an update that was not finite has lowered the learning rate; see `lowered`. */
  rateScale = 1;
  readonly #learner: DqnLearner;
  readonly #bound: Bound;
  readonly #replay: Replay;
  readonly #shape: DqnShape;
  readonly #mutex: CallMutex;
  #started = false;
  #halted: CorralError | undefined;

  private constructor(
    env: LearnerEnv,
    { config, seed }: ReturnType<typeof settleDqn>,
    learner: DqnLearner,
    bound: Bound,
    replay: Replay,
  ) {
    this.env = env;
    this.config = config;
    this.seed = seed;
    this.plan = learner.plan;
    this.#learner = learner;
    this.#bound = bound;
    this.#replay = replay;
    this.#shape = learner.shape;
    this.#mutex = new CallMutex(`the learner of ${env.id}`);
  }

  [INSPECT](_depth: number, options: object, inspect: Inspect): string {
    return printLearner("Dqn", this, options, inspect);
  }

  /**
   * Reserves the learner's memory, the replay with it, in the budget of the environments and compiles its kernels. The
   * environments are left as they are if this fails.
   * @throws CorralError bad-option, unknown-option, bad-seed, bad-env, gpu-required, needs-next-step, unsupported-space;
   *   BudgetExceededError naming the learner's fields; replay-exists, replay-not-written, disk-full, bad-replay; errors of the device
   */
  static async create(given: LearnerEnv | JsVec, options: DqnOptions = {}): Promise<Dqn> {
    const env = learnerEnvOf(given);
    const device = learnerDeviceOf(env);
    const settled = settleDqn(env, options);
    const { config, seed, file } = settled;
    const learner = await DqnLearner.create(device, settled.shape, config.doubleQ);
    let replay: Replay | undefined;
    try {
      replay = await openReplay(learner, config, seed, file);
      const bound = await learner.bindEnv(env);
      learner.initialize(env, seed);
      setUniforms(learner, config, seed);
      await learner.done();
      return new Dqn(env, settled, learner, bound, replay);
    } catch (error) {
      replay?.close();
      await learner.close();
      throw error;
    }
  }

  /** How often actions are random in the next update's control steps. */
  get epsilon(): number {
    return epsilonAt(this.envSteps, this.config);
  }

  /**
   * Some control steps of every world, and some batches of the replay.
   * @throws CorralError closed, call-in-flight; non-finite-update if a loss or a gradient was not finite: the parameters
   *   are the last good ones; what the environments throw
   */
  iterate(): Promise<DqnMetrics> {
    return this.#mutex.exclusive("iterate", async () => {
      if (this.#halted) throw this.#halted;
      const { epsilon } = this;
      await this.#collect(epsilon);
      await this.#replay.append(this.config.collectSteps);
      await this.#update();
      this.envSteps += this.env.numEnvs * this.config.collectSteps;
      this.iteration++;
      const metrics = { ...dqnMetricsOf(await this.#learner.readState()), epsilon };
      if (metrics.halted === undefined) return metrics;
      throw (this.#halted = nonFiniteUpdate(
        this.iteration,
        metrics.halted,
        "The parameters are the last good ones, from before the batch that failed. Lower the learning rate or maxGradNorm, or look at the environment's rewards and observations.",
      ));
    });
  }

  /** Phase 1: the best actions, or any, in all worlds, and the results go into the replay. */
  async #collect(epsilon: number): Promise<void> {
    const { env, config, iteration } = this;
    if (!this.#started) await env.reset();
    this.#started = true;
    const learner = this.#learner;
    learner.uniforms.set({ epsilon });
    const steps = Array.from({ length: config.collectSteps }, (_, i) => {
      const draw = iteration * config.collectSteps + i;
      return { t: draw % this.#shape.window, draw, flags: i === 0 ? Flag.keep | Flag.firstStep : Flag.keep };
    });
    await collect(learner, this.#bound, steps);
    learner.submit("episodes", {}, (pass) => {
      learner.run(pass, "sum_worlds", SUM_PARTS);
      learner.run(pass, "episodes", 1);
    });
  }

  /** Phase 2: batches of the replay, once there is enough in it. */
  async #update(): Promise<void> {
    const { config, iteration } = this;
    const { first, count } = this.#replay.starts();
    if (count < 1 || this.envSteps < config.learningStarts) return;
    this.#learner.uniforms.set({
      critic_rate: this.rateScale * config.learningRate,
      ring_first: first % this.#shape.capacity,
      ring_starts: count,
    });
    for (let i = 0; i < config.gradientSteps; i++) {
      const draw = iteration * config.gradientSteps + i;
      const samples = this.#replay.prepare(draw);
      const movesTargets = (draw + 1) % config.targetEvery === 0;
      learnBatch(this.#learner, { draw, flags: i === 0 ? Flag.firstMinibatch : 0, samples, movesTargets });
      await this.#learner.turn();
    }
  }

  /**
   * Plays whole episodes in other worlds of the same environment, at most as many as the learner's, and returns the mean
   * of the first episode of each. By default with the best actions. Does not change the learner.
   * @throws CorralError bad-peer for other environments
   */
  evaluate(env: LearnerEnv | JsVec, options: EvaluateOptions = {}): Promise<Evaluation> {
    return this.#mutex.exclusive("evaluate", () => evaluatePolicy(this.#learner, learnerEnvOf(env), this.env, options));
  }

  /** Nothing is kept of a stopped batch yet. */
  evidence(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  /** Copies all that the run resumes from, replay and environments included, between two updates. */
  snapshot(): Promise<DqnSnapshot> {
    const { iteration, envSteps, rateScale } = this;
    return this.#mutex.exclusive("snapshot", async () => ({
      iteration,
      envSteps,
      rateScale,
      learner: { ...(await this.#learner.copy()), ...this.#replay.copy() },
      env: await this.env.snapshot(),
    }));
  }

  /**
   * Puts a snapshot back, of this run or of one with the same environment and options: it goes on with the same bits, but
   * where rows of a replay in a file are gone: then it says how many.
   * @throws CorralError bad-snapshot if it does not fit; bad-replay
   */
  restore({ iteration, envSteps, rateScale, learner, env }: DqnSnapshot): Promise<string | undefined> {
    return this.#mutex.exclusive("restore", async () => {
      this.#learner.check(learner);
      const gone = this.#replay.put(learner, iteration * this.config.collectSteps);
      this.#learner.put(learner);
      await this.env.restore(env);
      await this.#learner.done();
      Object.assign(this, { iteration, envSteps, rateScale });
      const key = seedKey(drawSeed(this.seed, rateScale));
      this.#learner.uniforms.set({ seed: key });
      this.#replay.drawBy(key);
      this.#started = iteration > 0;
      this.#halted = undefined;
      return gone;
    });
  }

  /** Network and targets of a snapshot by name; see `namedDqn`. */
  named({ learner }: DqnSnapshot): Record<string, NamedArray> {
    this.#learner.check(learner, ["params"]);
    return namedDqn(this.#shape, new Float32Array(learner.params.buffer));
  }

  shapes(): Readonly<Record<string, readonly number[]>> {
    return shapesOf(namedDqn(this.#shape, new Float32Array(4 * this.#shape.nets.params4)));
  }

  /** The policy as plain numbers, to leave with: its best actions. See `exportPolicy`. */
  async policy(): Promise<Policy> {
    const named = namedDqn(this.#shape, new Float32Array(await this.parameters()));
    return dqnPolicyOf(named, this.env.id, this.env.singleActionSpace, this.config, this.#shape.env.features?.values);
  }

  /** Takes what a snapshot has learnt, from as many worlds as may be; worlds, counts and Adam's means stay. Throws `bad-snapshot`. */
  adopt({ learner }: AlgorithmSnapshot): Promise<void> {
    return this.#mutex.exclusive("adopt", async () => {
      this.#learner.check(learner, ["params", "state"]);
      await adoptLearnt(this.#learner, learner, () => {});
    });
  }

  /** The parameters as they are now. */
  parameters(): Promise<Float32Array> {
    const params = new Float32Array(4 * this.#shape.nets.params4);
    return this.#mutex.exclusive("read parameters", () => this.#learner.read("params", params));
  }

  /** Bytes of the replay: on the device, in memory or on disk. */
  get replayBytes(): number {
    return this.#replay.bytes;
  }

  /** Gives all memory back, after the update in flight. The environments stay open. */
  close(): Promise<void> {
    return this.#mutex.close(async () => {
      try {
        this.#replay.close();
      } finally {
        await this.#learner.close();
      }
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
