// proximal policy optimization (Schulman et al. 2017), all of it on the device of its environments: no observation, action
// or gradient passes through the host, which reads 64 numbers per update. The mathematics, in the order of an update:
//
//   shaders/rl/act_*.wgsl      a ~ pi(. | s), log pi(a | s), V(s)
//   shaders/rl/gae.wgsl        delta_t = r_t + gamma (1 - terminated) V(s_t+1) - V(s_t);  A_t = delta_t + gamma lambda (1 - done) A_t+1;
//                              R_t = A_t + V(s_t)
//   shaders/rl/ppo_loss.wgsl   L = max(-A r, -A clip(r, 1 - c, 1 + c)),  r = pi(a | s) / pi_old(a | s), and the value loss
//   shaders/rl/loss_*.wgsl     log pi and entropy of a distribution, and derivatives of L by what the networks put out
//   shaders/rl/optimize.wgsl   the gradient gate, the norm's clipping, Adam
//
// Unlike CleanRL's: advantages are normalised over the rollout, not the minibatch; the observation normaliser moves after an
// update, not with each step; targetKl stops within an epoch, before the minibatch that passes 1.5 times it is applied.
// The loss in plain float64: test/support/ppo-reference.ts.
import { floatsOf } from "../core/float32.ts";
import { CorralError } from "../core/errors.ts";
import type { JsVec } from "../env/js-env.ts";
import { learnerEnvOf } from "./device/js-vec.ts";
import type { LearnerEnv } from "./device/learner-env.ts";
import { collect } from "./device/act.ts";
import { noEvidence, type AlgorithmSnapshot } from "./algorithm.ts";
import { AlgorithmBase } from "./algorithm-base.ts";
import { Flag } from "./tables/device-tables.ts";
import type { PpoConfig } from "./ppo/config.ts";
import { evidenceOf, type UpdateEvidence } from "./ppo/evidence.ts";
import type { EvaluateOptions, Evaluation } from "./evaluate.ts";
import type { Bound } from "./device/bind-env.ts";
import { learnerDeviceOf } from "./device/learner-device.ts";
import type { Demonstrations, Teacher } from "./ppo/imitation.ts";
import { Teaching } from "./ppo/teaching.ts";
import { RolloutUpload, ppoCollecting, type CollectedRollout } from "./ppo/rollout-upload.ts";
import type { Learner } from "./ppo/learner.ts";
import { episodeMeans, metricsOf, type Metrics } from "./device/metrics.ts";
import { namedNormalizer, namedParameters, type NamedArray } from "./networks/networks.ts";
import { boundLogStds, putNormalizer, putParameters, takeRewardScale, type Named } from "./networks/put-parameters.ts";
import { namedPpo, ppoShapes } from "./ppo/named-parameters.ts";
import { policyOf, withoutEmbedding, type Policy } from "./networks/policy.ts";
import { settlePpo, type PpoOptions } from "./ppo/settle.ts";
import {
  countClipped,
  estimateAdvantages,
  minibatchesOf,
  mirrorRollout,
  observeMoments,
  setUniforms,
  trainMinibatch,
} from "./ppo/update.ts";

export type PpoSnapshot = AlgorithmSnapshot;

/** A learner beside its environments, which it steps. Close it before them. */
export class Ppo extends AlgorithmBase<PpoConfig, Learner, Metrics> {
  readonly algo = "ppo";
  readonly totalSteps: number;
  #upload: RolloutUpload | undefined;
  readonly #teaching: Teaching;
  #imitated = false;

  private constructor(env: LearnerEnv, settled: ReturnType<typeof settlePpo>, learner: Learner, bound: Bound) {
    super(env, settled, learner, bound);
    this.totalSteps = settled.totalSteps;
    this.#teaching = new Teaching(learner, env.singleActionSpace, this.config.squash);
  }

  /**
   * Reserves the learner's memory in the budget of the environments and compiles its kernels. The environments are left
   * as they are if this fails.
   * @throws CorralError bad-option, unknown-option, bad-seed, bad-env, gpu-required, needs-next-step, unsupported-space;
   *   BudgetExceededError naming the learner's fields; errors of the device
   */
  static async create(given: LearnerEnv | JsVec, options: PpoOptions = {}): Promise<Ppo> {
    const env = learnerEnvOf(given);
    const device = learnerDeviceOf(env);
    const settled = settlePpo(env, options);
    const { config, seed, shape } = settled;
    const { Learner } = await import("./ppo/learner.ts"); // a page that learns otherwise loads none
    const learner = await Learner.create(device, shape, config);
    try {
      const bound = await learner.bindEnv(env);
      learner.initialize(env, seed, Math.min(config.maxLogStd, Math.max(config.minLogStd, config.initialLogStd)));
      const ppo = new Ppo(env, settled, learner, bound);
      setUniforms(learner, config, seed);
      await learner.done();
      return ppo;
    } catch (error) {
      await learner.close();
      throw error;
    }
  }

  get #squash(): number {
    return this.config.squash ? Flag.squash : 0;
  }

  /** The learning rate that the schedule gives this update, times `rateScale`; adaptive ones start from it. */
  get learningRate(): number {
    const { schedule, learningRate } = this.config;
    return this.rateScale * (learningRate * (schedule === "linear" ? this.#left : 1));
  }

  /** The part of all steps that is left. */
  get #left(): number {
    return Math.max(0, 1 - this.envSteps / this.totalSteps);
  }

  /** The upper bound of log standard deviations in this update. */
  get #mostLogStd(): number {
    const { maxLogStd, initialLogStd, finalLogStd } = this.config;
    return finalLogStd < Infinity
      ? Math.min(maxLogStd, finalLogStd + this.#left * Math.max(0, initialLogStd - finalLogStd))
      : maxLogStd;
  }

  /**
   * One rollout and one update.
   * @throws CorralError closed, call-in-flight; non-finite-update if a loss, a gradient or a log standard deviation was not finite: the
   *   parameters are the last good ones; what the environments throw
   */
  iterate(): Promise<Metrics> {
    return this.mutex.exclusive("iterate", () => this.lookAtFailures(this.#iterate()));
  }

  /**
   * As `iterate`, with a rollout that a `Collector` made instead of the environments, by the parameters of some update
   * before: its recorded log-probs and values are the baseline for ratios and advantages.
   * @throws CorralError bad-peer if it is of other worlds or steps; what `iterate` throws
   */
  iterateFrom(rows: CollectedRollout): Promise<Metrics> {
    return this.mutex.exclusive("iterate", async () => {
      this.assertGoing();
      const { steps, numEnvs } = this.collecting;
      const given = Object(rows) as Partial<CollectedRollout>;
      if (given.numEnvs !== numEnvs || given.steps !== steps) {
        throw new CorralError(
          "bad-peer",
          `the learner takes ${steps} steps of ${numEnvs} worlds; these are ${given.steps} of ${given.numEnvs}. Pass what a collector with its numbers gives: ppo.collecting.`,
        );
      }
      this.#upload ??= new RolloutUpload(this.learner);
      this.#upload.send(rows);
      const { badSteps = 0 } = rows.episodes;
      return { ...(await this.#learn(Flag.collected)), badSteps, ...episodeMeans(rows.episodes) };
    });
  }

  /**
   * One rollout by the policy itself, and one update towards what a teacher would have done in it (DAgger, Ross, Gordon and
   * Bagnell 2011): the negative log likelihood of its actions. The value function learns as in `iterate`. A policy with a memory
   * that teaches remembers what it has seen since its first update here, of `iterate` and snapshots too.
   * @throws CorralError bad-peer for a teacher that sees or does something else; bad-demonstration for actions that are none;
   *   bad-teacher for one that threw; what `iterate` throws
   */
  imitate(teacher: Teacher): Promise<Metrics> {
    return this.mutex.exclusive("imitate", async () => {
      const labels = await this.#teaching.by(teacher);
      await this.#collect();
      await labels.write();
      return this.lookAtFailures(this.#learn(Flag.imitate));
    });
  }

  /**
   * One update towards recorded actions (behaviour cloning): as many of the steps as a rollout has, drawn by the seed. The
   * environments are not stepped, and the value function stays.
   * @throws CorralError bad-demonstration; unsupported-imitation for policies with a memory, whose sequences these are not;
   *   non-finite-update
   */
  clone(demonstrations: Demonstrations): Promise<Metrics> {
    return this.mutex.exclusive("clone", async () => {
      this.assertGoing();
      const { config, iteration, drawSeed: seed } = this;
      const { shape } = this.learner;
      if (shape.cells) {
        throw new CorralError(
          "unsupported-imitation",
          `the policy has a ${config.recurrent}, and steps of demonstrations are drawn one by one. Train it with recurrent: "none", or by a teacher (imitate).`,
        );
      }
      const { drawDemonstrations } = await import("./ppo/imitation.ts");
      const rows = drawDemonstrations(shape, this.env.singleActionSpace, config.squash, demonstrations, {
        seed,
        iteration,
      });
      this.#upload ??= new RolloutUpload(this.learner);
      this.#upload.send(rows);
      this.learner.uniforms.set({ value_coef: 0 });
      try {
        return { ...(await this.#learn(Flag.imitate | Flag.collected)), badSteps: 0, ...episodeMeans(rows.episodes) };
      } finally {
        this.learner.uniforms.set({ value_coef: config.valueCoef });
      }
    });
  }

  /** What a `Collector` must know to collect for this learner. Throws `unsupported-collector`. */
  get collecting() {
    const { env, config, seed } = this;
    return { ...ppoCollecting(this.learner.shape, config, env.singleActionSpace), seed };
  }

  /** What its threads act by, as it is now: the parameters, then the normaliser. */
  actingParameters(): Promise<Float32Array> {
    return this.mutex.exclusive("read parameters", async () => {
      const { normAt, normRow } = this.collecting.actor;
      const all = new Float32Array(normAt + 2 * normRow);
      await this.learner.read("params", all.subarray(0, normAt));
      await this.learner.read("norm", all.subarray(normAt));
      return all;
    });
  }

  protected override async copyLearner(): Promise<AlgorithmSnapshot["learner"]> {
    const teacher = this.#teaching.memory;
    return { ...(await super.copyLearner()), ...(teacher && { teacher }) };
  }

  protected override putLearner(snapshot: PpoSnapshot): string | undefined {
    this.#teaching.recall(snapshot.learner.teacher);
    return super.putLearner(snapshot);
  }

  async #iterate(): Promise<Metrics> {
    await this.#collect();
    await this.#teaching.follow();
    return this.#learn();
  }

  async #learn(flags = 0): Promise<Metrics> {
    if (this.learner.shape.mirrors) mirrorRollout(this.learner, this.iteration);
    if (this.config.normalizeObservations) countClipped(this.learner);
    this.learner.uniforms.set({ log_std_max: this.#mostLogStd });
    const imitates = flags & Flag.imitate;
    this.#imitated = imitates !== 0;
    // demonstrations have no rewards
    if (!(imitates && flags & Flag.collected)) this.#estimateAdvantages(flags & ~Flag.imitate);
    await this.#update(imitates);

    const told = metricsOf(await this.learner.readState());
    // at a bound that falls they are as they are to be
    const metrics = this.config.finalLogStd < Infinity ? { ...told, stdAtBound: 0 } : told;
    // what a stopped update was made of is left as it was
    if (this.config.normalizeObservations && !metrics.halted) observeMoments(this.learner);
    this.iteration++;
    this.envSteps += this.learner.shape.samples;
    if (metrics.halted) {
      this.halt(
        metrics.halted,
        "The parameters are the last good ones, from before the minibatch that failed. " +
          "Lower learningRate or maxGradNorm, or look at the environment's rewards and observations.",
      );
    }
    return metrics;
  }

  /**
   * Phase 1: the policy acts in all worlds, and the results go into the rollout. By itself it steps them without
   * learning, with the same draws each time.
   */
  collect(): Promise<void> {
    return this.mutex.exclusive("collect", async () => {
      await this.#collect();
      await this.#teaching.follow();
    });
  }

  async #collect(): Promise<void> {
    const { config } = this;
    this.assertGoing();
    await this.startEpisodes();
    const first = this.iteration * config.rolloutSteps;
    const flags = Flag.keep | this.#squash;
    const steps = Array.from({ length: config.rolloutSteps }, (_, t) => ({
      t,
      draw: first + t,
      flags: t === 0 ? flags | Flag.firstStep : flags,
    }));
    await collect(this.learner, this.bound, steps, { flags: Flag.bootstrap });
  }

  /** Phase 2: the scale of rewards, then advantages and returns backwards in time. */
  #estimateAdvantages(more: number): void {
    const { normalizeRewards, normalizeAdvantages } = this.config;
    const flags =
      more | (normalizeRewards ? Flag.scaleReward : 0) | (normalizeAdvantages ? Flag.normalizeAdvantage : 0);
    estimateAdvantages(this.learner, flags);
  }

  /** Phase 3: epochs of minibatches in shuffled order. */
  async #update(imitates: number): Promise<void> {
    const { config, iteration, drawSeed: seed } = this;
    this.learner.uniforms.set({ learning_rate: this.learningRate });
    // Adam's means of a policy that stayed are 0, which it would take for small gradients
    if (iteration > 0 && iteration === config.valueWarmup) await this.learner.forgetGradients();
    for (const part of minibatchesOf(this.learner.shape, config, seed, iteration)) {
      // KL from the acting policy means nothing for a teacher's actions: no stop, no adaptive rate
      const flags = imitates ? (part.flags & Flag.firstMinibatch) | imitates : part.flags;
      trainMinibatch(this.learner, { ...part, flags });
      await this.learner.turn();
    }
  }

  protected override async play(env: LearnerEnv, options: EvaluateOptions): Promise<Evaluation> {
    const { evaluatePolicy } = await import("./evaluate.ts");
    this.learner.forgetEvaluated();
    return evaluatePolicy(this.learner, env, this.env, options, this.#squash);
  }

  /**
   * All that it takes to execute an update again that was stopped because something was not finite: the learner as it
   * was before the minibatch that failed, and the rollout. Nothing is kept of one that imitated.
   * @throws CorralError no-evidence if none was stopped
   */
  async evidence(): Promise<UpdateEvidence | undefined> {
    const { config, env, drawSeed: seed } = this;
    if (!this.halted) throw noEvidence(env);
    if (this.#imitated) return undefined;
    const iteration = this.iteration - 1;
    return this.mutex.exclusive("keep evidence", () =>
      evidenceOf(this.learner, { env: this.learner.shape.env, config, seed, iteration, worldIds: [...env.worldIds] }),
    );
  }

  /** The policy, the value function and the normaliser of a snapshot by name; see `namedParameters`. Throws `bad-snapshot`. */
  named({ learner }: PpoSnapshot): Record<string, NamedArray> {
    this.learner.check(learner, ["params", "norm"]);
    return namedPpo(this.learner.shape, (arena) => floatsOf(learner[arena]));
  }

  shapes(): Readonly<Record<string, readonly number[]>> {
    return ppoShapes(this.learner.shape);
  }

  protected override assertLearnt(learnt: AlgorithmSnapshot["learner"]): void {
    super.assertLearnt(learnt);
    this.learner.check(learnt, ["norm"]);
  }

  /** The normalisers: of observations, and of rewards. */
  protected override adoptMore(learnt: AlgorithmSnapshot["learner"], state: Float32Array<ArrayBuffer>): void {
    // behind the columns of observations lie the bounds of actions, which are the environment's own
    this.learner.write("norm", floatsOf(learnt.norm).subarray(0, 16 * this.learner.shape.k4));
    takeRewardScale(learnt, state);
  }

  protected override adoptParams(params: Float32Array): void {
    boundLogStds(this.learner.shape.nets, params, this.config);
  }

  /**
   * Takes what is named: a policy and its normaliser, and a value function where there is one, whose observations may be
   * fewer; `columns` says of each, counted from 0, which it is here. Others begin with weights of 0 and a normaliser that
   * has seen nothing. `state` is that of a snapshot whose scale of rewards is taken too.
   */
  adoptNamed(named: Named, columns: readonly number[], learnt?: AlgorithmSnapshot["learner"]): Promise<void> {
    return this.mutex.exclusive("adopt", async () => {
      const { nets, env } = this.learner.shape;
      const params = await this.learner.read("params", new Float32Array(4 * nets.params4));
      const norm = await this.learner.read("norm", new Float32Array(this.learner.words("norm")));
      putParameters(nets, params, named, columns);
      boundLogStds(nets, params, this.config);
      putNormalizer(env.observations, norm, named, columns);
      this.learner.write("params", params);
      this.learner.write("norm", norm);
      if (learnt) {
        const state = (await this.learner.readState()).slice();
        takeRewardScale(learnt, state);
        this.learner.write("state", state);
      }
      await this.learner.done();
    });
  }

  /** The deterministic policy as it is now, as plain numbers: what `exportPolicy` writes. */
  policy(): Promise<Policy> {
    const { config, env } = this;
    const { nets, env: facts } = this.learner.shape;
    const { activation, squash, normalizeObservations, clipObservations } = config;
    return this.mutex.exclusive("read the policy", async () => {
      const params = await this.learner.read("params", new Float32Array(4 * nets.params4));
      const norm = await this.learner.read("norm", new Float32Array(this.learner.words("norm")));
      const parameters = withoutEmbedding(namedParameters(nets, params), facts.features);
      const named = { ...parameters, ...namedNormalizer(facts.observations, norm) };
      return policyOf(named, {
        id: env.id,
        algo: "ppo",
        space: env.singleActionSpace,
        activation,
        squash,
        clipObservations: normalizeObservations ? clipObservations : Infinity,
      });
    });
  }
}
