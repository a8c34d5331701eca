// soft actor-critic (Haarnoja et al. 2018, "Soft Actor-Critic Algorithms and Applications"), all of it on the device of its
// environments: squashed Gaussian policy, two critics and their slow targets, a temperature that steers the entropy, and a
// replay of everything seen.
import { printLearner } from "./printed.ts";
import { INSPECT, type Inspect } from "../core/inspect.ts";
import { CorralError } from "../core/errors.ts";
import { CallMutex } from "../core/call-mutex.ts";
import { seedKey } from "../core/rng.ts";
import type { Box, Space } from "../env/space/spaces.ts";
import type { JsVec } from "../env/js-env.ts";
import { learnerEnvOf } from "./device/js-vec.ts";
import type { LearnerEnv, PlannedEnv } from "./device/learner-env.ts";
import type { Plan } from "../memory/plan.ts";
import { collect } from "./device/act.ts";
import {
  adoptLearnt,
  drawSeed,
  noEvidence,
  nonFiniteUpdate,
  type Algorithm,
  type AlgorithmSnapshot,
} from "./algorithm.ts";
import { learnerDeviceOf, type Bound } from "./device/bind-env.ts";
import { heldOn, limitsOf } from "./device/device-core.ts";
import { Flag, SAC_STATE } from "./tables/device-tables.ts";
import { evaluatePolicy, type EvaluateOptions, type Evaluation } from "./evaluate.ts";
import type { SquashedSpec } from "./networks/host-actor.ts";
import { episodeMeans, sacMetricsOf, type SacMetrics } from "./device/metrics.ts";
import { openReplay } from "./replay/open-replay.ts";
import type { Replay } from "./replay/replay.ts";
import type { CollectedSteps } from "./replay/row-store.ts";
import { shapesOf, type NamedArray } from "./networks/networks.ts";
import type { Policy } from "./networks/policy.ts";
import { assertFormat, FORMAT, namedSac, sacPolicyOf } from "./sac/policy.ts";
import { planSacLearner, sacShape, type SacShape } from "./sac/arenas.ts";
import { badOption, optionsOf } from "../core/options.ts";
import { sacConfig, type SacConfig } from "./sac/config.ts";
import { learnBatch, sampleBatch, setUniforms } from "./sac/batch.ts";
import { batchEvidence, KEPT_AT, stoppedAt, type BatchEvidence } from "./sac/evidence.ts";
import { SacLearner } from "./sac/learner.ts";
import { SUM_PARTS } from "./device/arenas.ts";
import { assertBounded, envShape } from "./device/env-shape.ts";

export interface SacOptions extends Partial<SacConfig> {
  /** Of the first parameters, of actions and of the samples that are replayed. Default 0. */
  readonly seed?: number | bigint;
  /** Where the replay lies with `storage: "file"`; the file must not be there, or `reuseReplay` says to go on with it. */
  readonly replayFile?: string;
  readonly reuseReplay?: boolean;
}

export type SacSnapshot = AlgorithmSnapshot;

/** The plan of the learner of an environment: every byte, before any is held. */
export function planSac(given: LearnerEnv | JsVec, options: SacOptions = {}): Plan {
  const env = learnerEnvOf(given);
  const device = learnerDeviceOf(env);
  return heldOn(device, planSacLearner(settleSac(env, options).shape, limitsOf(device)));
}

/**
 * A learner before any device: its options with their defaults, and all sizes.
 * @throws CorralError bad-option, unknown-option, bad-seed, needs-next-step, unsupported-space
 */
export function settleSac(env: PlannedEnv, options: SacOptions = {}) {
  const { seed = 0, replayFile, reuseReplay = false, ...given } = optionsOf(options);
  seedKey(seed);
  const config = sacConfig(given);
  const head = envShape(env);
  const others = env.singleActionSpace.kind === "discrete" ? "PPO or DQN" : "PPO";
  assertBounded(env, "SAC squashes actions", `Train it with ${others}.`);
  if (config.storage === "file" && !replayFile) throw badOption("replayFile", replayFile, "pass the path of a file");
  return { config, seed, shape: sacShape(head, config), file: { path: replayFile ?? "", reuse: reuseReplay } };
}

/** What a `Collector` must know to collect for a learner. */
export function sacCollecting({ env, nets }: SacShape, { minLogStd, maxLogStd }: SacConfig, space: Space) {
  const { low, high } = space as Box;
  const bounds = { low: [...low], high: [...high] };
  const actor: SquashedSpec = { layers: nets.policy, actions: env.actions, ...bounds, minLogStd, maxLogStd };
  return { numEnvs: env.numEnvs, observations: env.observations, actor };
}

/** A learner beside its environments, which it steps. Close it before them. */
export class Sac implements Algorithm<SacMetrics> {
  readonly algo = "sac";
  readonly env: LearnerEnv;
  readonly config: SacConfig;
  readonly seed: number | bigint;
  /** Every byte that the learner holds on the device. */
  readonly plan: Plan;
  /** Updates and env steps so far. */
  iteration = 0;
  envSteps = 0;
  /** Below 1 if an update that was not finite has lowered the learning rates; see `lowered`. */
  rateScale = 1;
  readonly #learner: SacLearner;
  readonly #bound: Bound;
  readonly #replay: Replay;
  readonly #shape: SacShape;
  readonly #mutex: CallMutex;
  #started = false;
  #halted: CorralError | undefined;
  #stopped: ReturnType<typeof stoppedAt> | undefined;

  private constructor(
    env: LearnerEnv,
    settled: ReturnType<typeof settleSac>,
    learner: SacLearner,
    bound: Bound,
    replay: Replay,
  ) {
    this.env = env;
    this.config = settled.config;
    this.seed = settled.seed;
    this.plan = learner.plan;
    this.#learner = learner;
    this.#bound = bound;
    this.#replay = replay;
    this.#shape = learner.shape;
    this.#mutex = new CallMutex(`the learner of ${env.id}`);
  }

  [INSPECT](_depth: number, options: object, inspect: Inspect): string {
    return printLearner("Sac", this, options, inspect);
  }

  /**
   * Reserves the learner's memory, the replay with it, in the budget of the environments and compiles its kernels. The
   * environments are left as they are if this fails.
   * @throws CorralError bad-option, unknown-option, bad-seed, bad-env, gpu-required, needs-next-step, unsupported-space;
   *   BudgetExceededError naming the learner's fields; replay-exists, replay-not-written, disk-full, bad-replay; errors of the device
   */
  static async create(given: LearnerEnv | JsVec, options: SacOptions = {}): Promise<Sac> {
    const env = learnerEnvOf(given);
    const device = learnerDeviceOf(env);
    const settled = settleSac(env, options);
    const learner = await SacLearner.create(device, settled.shape);
    let replay: Replay | undefined;
    try {
      replay = await openReplay(learner, settled.config, settled.seed, settled.file);
      const bound = await learner.bindEnv(env);
      learner.initialize(env, settled.seed, settled.config.initialTemperature);
      const sac = new Sac(env, settled, learner, bound, replay);
      setUniforms(learner, settled.config, settled.seed);
      await learner.done();
      return sac;
    } catch (error) {
      replay?.close();
      await learner.close();
      throw error;
    }
  }

  /**
   * Some control steps of every world, and some batches of the replay.
   * @throws CorralError closed, call-in-flight; non-finite-update if a loss or a gradient was not finite: the parameters
   *   are the last good ones; what the environments throw
   */
  iterate(): Promise<SacMetrics> {
    return this.#mutex.exclusive("iterate", () => this.#iterate());
  }

  /**
   * As `iterate`, with control steps of as many worlds that a `Collector` made instead of the environments.
   * @throws CorralError needs-host-replay, bad-peer if they are of other worlds; what `iterate` throws
   */
  iterateFrom(rows: CollectedSteps): Promise<SacMetrics> {
    return this.#mutex.exclusive("iterate", async () => {
      if (this.#halted) throw this.#halted;
      const { numEnvs } = this.env;
      if (rows.numEnvs !== numEnvs || rows.steps >= this.#shape.capacity) {
        throw new CorralError(
          "bad-peer",
          `the learner takes less than ${this.#shape.capacity} steps of ${numEnvs} worlds; these are ${rows.steps} of ${rows.numEnvs}. Make the collector with its numbers: sac.collecting.`,
        );
      }
      this.#replay.take(rows);
      return { ...(await this.#learn(rows.steps * numEnvs)), ...episodeMeans(rows.episodes) };
    });
  }

  /** What a `Collector` must know to collect for this learner. */
  get collecting(): {
    readonly numEnvs: number;
    readonly observations: number;
    readonly seed: number | bigint;
    readonly actor: SquashedSpec;
  } {
    return { ...sacCollecting(this.#shape, this.config, this.env.singleActionSpace), seed: this.seed };
  }

  /** Whether actions are still uniform. */
  get explores(): boolean {
    return this.envSteps < this.config.learningStarts;
  }

  async #iterate(): Promise<SacMetrics> {
    if (this.#halted) throw this.#halted;
    await this.#collect();
    await this.#replay.append(this.config.collectSteps);
    return this.#learn(this.env.numEnvs * this.config.collectSteps);
  }

  async #learn(envSteps: number): Promise<SacMetrics> {
    this.envSteps += envSteps;
    await this.#update();
    const state = await this.#learner.readState();
    const metrics = sacMetricsOf(state);
    this.iteration++;
    if (metrics.halted) {
      const { gradientSteps, policyEvery } = this.config;
      this.#stopped = stoppedAt(state, (this.iteration - 1) * gradientSteps, policyEvery);
      throw (this.#halted = nonFiniteUpdate(
        this.iteration,
        metrics.halted,
        `${KEPT_AT[this.#stopped.half]} Lower the learning rates, set maxGradNorm, or look at the environment's rewards and observations.`,
      ));
    }
    return metrics;
  }

  /** Phase 1: the policy acts in all worlds, and the results go into the replay. */
  async #collect(): Promise<void> {
    const { env, config, iteration } = this;
    if (!this.#started) await env.reset();
    this.#started = true;
    const learner = this.#learner;
    const flags = Flag.keep | (this.explores ? Flag.random : 0);
    const steps = Array.from({ length: config.collectSteps }, (_, i) => {
      const draw = iteration * config.collectSteps + i;
      return { t: draw % this.#shape.window, draw, flags: i === 0 ? flags | Flag.firstStep : flags };
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
    if (count < 1 || this.explores) return;
    const { learningRate, criticLearningRate, rateScale } = { ...config, rateScale: this.rateScale };
    this.#learner.uniforms.set({
      learning_rate: rateScale * learningRate,
      critic_rate: rateScale * criticLearningRate,
    });
    this.#learner.uniforms.set({ ring_first: first % this.#shape.capacity, ring_starts: count });
    for (let i = 0; i < config.gradientSteps; i++) {
      const draw = iteration * config.gradientSteps + i;
      const flags = i === 0 ? Flag.firstMinibatch : 0;
      const samples = this.#replay.prepare(draw);
      learnBatch(this.#learner, { draw, flags, samples, movesPolicy: draw % config.policyEvery === 0 });
      await this.#learner.turn();
    }
  }

  /**
   * Plays whole episodes in other worlds of the same environment, at most as many as the learner's, and returns the mean
   * of the first episode of each. By default with the most likely actions. Does not change the learner.
   * @throws CorralError bad-peer for other environments
   */
  evaluate(env: LearnerEnv | JsVec, options: EvaluateOptions = {}): Promise<Evaluation> {
    return this.#mutex.exclusive("evaluate", () => evaluatePolicy(this.#learner, learnerEnvOf(env), this.env, options));
  }

  /**
   * All that it takes to execute the batch again in which an update was stopped because something was not finite.
   * @throws CorralError no-evidence if none was stopped
   */
  evidence(): Promise<BatchEvidence> {
    const { config, env, rateScale } = this;
    const seed = drawSeed(this.seed, rateScale);
    const [stopped, shape] = [this.#stopped, this.#shape];
    if (!this.#halted || !stopped) throw noEvidence(env);
    const iteration = this.iteration - 1;
    const draw = iteration * config.gradientSteps + stopped.minibatch;
    return this.#mutex.exclusive("keep evidence", () => {
      if (this.#replay.prepare(draw)) sampleBatch(this.#learner, draw);
      return batchEvidence(this.#learner, {
        algo: "sac",
        env: shape.env,
        config,
        seed,
        iteration,
        worldIds: [...env.worldIds],
        ...stopped,
        draw,
        minibatches: config.gradientSteps,
        learningRate: rateScale * config.learningRate,
        criticLearningRate: rateScale * config.criticLearningRate,
      });
    });
  }

  /** Copies all that the run resumes from, replay and environments included, between two updates. */
  snapshot(): Promise<SacSnapshot> {
    const { iteration, envSteps, rateScale } = this;
    return this.#mutex.exclusive("snapshot", async () => ({
      iteration,
      envSteps,
      rateScale,
      learner: { format: Uint32Array.of(FORMAT), ...(await this.#learner.copy()), ...this.#replay.copy() },
      env: await this.env.snapshot(),
    }));
  }

  /**
   * Puts a snapshot back, of this run or of one with the same environment and options: it goes on with the same bits, but
   * where rows of a replay in a file are gone: then it says how many.
   * @throws CorralError bad-snapshot if it does not fit; bad-replay
   */
  restore({ iteration, envSteps, rateScale, learner, env }: SacSnapshot): Promise<string | undefined> {
    return this.#mutex.exclusive("restore", async () => {
      assertFormat(learner);
      this.#learner.check(learner);
      const gone = this.#replay.put(learner, iteration * this.config.collectSteps);
      this.#learner.put(learner);
      await this.env.restore(env);
      await this.#learner.done();
      this.iteration = iteration;
      this.envSteps = envSteps;
      this.rateScale = rateScale;
      const key = seedKey(drawSeed(this.seed, rateScale));
      this.#learner.uniforms.set({ seed: key });
      this.#replay.drawBy(key);
      this.#started = iteration > 0;
      this.#halted = this.#stopped = undefined;
      return gone;
    });
  }

  /** Policy, critics and targets of a snapshot by name; see `namedSac`. */
  named({ learner }: SacSnapshot): Record<string, NamedArray> {
    this.#learner.check(learner, ["params"]);
    return namedSac(this.#shape, new Float32Array(learner.params.buffer));
  }

  shapes(): Readonly<Record<string, readonly number[]>> {
    return shapesOf(namedSac(this.#shape, new Float32Array(4 * this.#shape.nets.params4)));
  }

  /** The policy as plain numbers, to leave with: its most likely actions. See `exportPolicy`. */
  async policy(): Promise<Policy> {
    const named = namedSac(this.#shape, new Float32Array(await this.parameters()));
    return sacPolicyOf(named, this.env.id, this.env.singleActionSpace, this.config);
  }

  /** Takes what a snapshot has learnt, policy, critics and temperature, from as many worlds as may be; worlds, counts and Adam's means stay. Throws `bad-snapshot`. */
  adopt({ learner }: AlgorithmSnapshot): Promise<void> {
    return this.#mutex.exclusive("adopt", async () => {
      assertFormat(learner);
      this.#learner.check(learner, ["params", "state"]);
      await adoptLearnt(this.#learner, learner, (state, from) => {
        state[SAC_STATE.log_alpha] = from[SAC_STATE.log_alpha];
      });
    });
  }

  /** The parameters as they are now: policy, critics, targets. */
  parameters(): Promise<Float32Array> {
    const into = new Float32Array(4 * this.#shape.nets.params4);
    return this.#mutex.exclusive("read parameters", () => this.#learner.read("params", into));
  }

  /** Bytes of the replay: on the device, in memory or on disk. */
  get replayBytes(): number {
    return this.#replay.bytes;
  }

  /** Gives the learner's memory back, the file's handle too, after the call in flight. */
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
