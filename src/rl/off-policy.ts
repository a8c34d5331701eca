// what algorithms that learn from a replay share: the phases of their updates
import { CorralError } from "../core/errors.ts";
import { floatsOf } from "../core/float32.ts";
import { badOption } from "../core/options.ts";
import { seedKey } from "../core/rng.ts";
import { drawSeed, noEvidence, type AlgorithmSnapshot } from "./algorithm.ts";
import { AlgorithmBase, type Settled } from "./algorithm-base.ts";
import { collect, type Actor } from "./device/act.ts";
import type { Bound } from "./device/bind-env.ts";
import { envShape } from "./device/env-shape.ts";
import type { LearnerEnv } from "./device/learner-env.ts";
import type { UpdateMetrics } from "./device/metrics.ts";
import type { ReplayConfig } from "./device/shared-options.ts";
import type { UniformValues } from "./device/uniforms.ts";
import type { NamedArray } from "./networks/networks.ts";
import type { Policy } from "./networks/policy.ts";
import {
  batchEvidence,
  KEPT_AT,
  stoppedAt,
  type BatchConfig,
  type BatchEvidence,
  type BatchFacts,
  type ReplayAlgo,
  type Stopped,
} from "./replay/evidence.ts";
import type { Batch, BatchStages, Half, ReplayLearner } from "./replay/learner.ts";
import { replayShapes } from "./replay/named.ts";
import { openReplay, type ReplayFile } from "./replay/open-replay.ts";
import type { Replay } from "./replay/replay.ts";
import { Flag } from "./tables/device-tables.ts";

/** Options of a learner with a replay that are no hyperparameters. */
export interface OffPolicyOptions {
  /** Of the first parameters, of actions and of the samples that are replayed. Default 0. */
  readonly seed?: number | bigint;
  /** Where the replay lies with `storage: "file"`; the file must not be there, or `reuseReplay` says to go on with it. */
  readonly replayFile?: string;
  readonly reuseReplay?: boolean;
}

/** Those options apart from the hyperparameters, checked. Throws `bad-seed`, `bad-option`. */
export function settleOffPolicy<C extends ReplayConfig>(
  config: C,
  { seed = 0, replayFile, reuseReplay = false }: OffPolicyOptions,
): Settled<C> & { readonly file: ReplayFile } {
  seedKey(seed);
  if (config.storage === "file" && !replayFile) throw badOption("replayFile", replayFile, "pass the path of a file");
  if (config.storage !== "file" && replayFile !== undefined)
    throw badOption("replayFile", replayFile, `storage is "${config.storage}": leave it out, or pass storage: "file"`);
  return { config, seed, file: { path: replayFile ?? "", reuse: reuseReplay } };
}

/** Opens the replay of a learner and binds its environments for `make`; both are closed if anything fails. */
export async function withReplay<T>(
  learner: ReplayLearner,
  env: LearnerEnv,
  { config, seed, file }: Settled<ReplayConfig> & { readonly file: ReplayFile },
  make: (bound: Bound, replay: Replay) => T,
): Promise<T> {
  let replay: Replay | undefined;
  try {
    replay = await openReplay(learner, config, seed, file);
    const made = make(await learner.bindEnv(env), replay);
    await learner.done();
    return made;
  } catch (error) {
    replay?.close();
    await learner.close();
    throw error;
  }
}

export abstract class OffPolicy<
  C extends BatchConfig,
  L extends ReplayLearner & Actor,
  M extends UpdateMetrics,
> extends AlgorithmBase<C, L, M> {
  protected readonly replay: Replay;
  #stopped: Stopped | undefined;

  protected constructor(env: LearnerEnv, settled: Settled<C>, learner: L, bound: Bound, replay: Replay) {
    super(env, settled, learner, bound);
    this.replay = replay;
  }

  /**
   * Some control steps of every world, and some batches of the replay.
   * @throws CorralError closed, call-in-flight; non-finite-update if a loss or a gradient was not finite: the parameters
   *   are the last good ones; what the environments throw
   */
  iterate(): Promise<M> {
    return this.mutex.exclusive("iterate", async () => {
      this.assertGoing();
      await this.#collect();
      await this.replay.append(this.config.collectSteps);
      return this.lookAtFailures(this.learnFrom(this.env.numEnvs * this.config.collectSteps));
    });
  }

  /** Phase 1: the policy acts in all worlds, and the results go into the replay. */
  async #collect(): Promise<void> {
    const { config, iteration, learner } = this;
    await this.startEpisodes();
    const flags = Flag.keep | this.explore();
    const steps = Array.from({ length: config.collectSteps }, (_, i) => {
      const draw = iteration * config.collectSteps + i;
      return { t: draw % learner.shape.window, draw, flags: i === 0 ? flags | Flag.firstStep : flags };
    });
    await collect(learner, this.bound, steps);
    learner.countEpisodes();
    if (config.normalizeObservations) learner.observeMoments(steps[0].t, config.collectSteps);
  }

  /** Phase 2, once so many env steps are in the replay: batches of it. */
  protected async learnFrom(envSteps: number): Promise<M> {
    const { first, count } = this.replay.starts();
    if (count > 0 && this.learns(this.envSteps, this.envSteps + envSteps)) await this.#update(first, count);
    const state = await this.learner.readState();
    const metrics = this.metricsOf(state);
    this.envSteps += envSteps;
    this.iteration++;
    if (metrics.halted !== undefined) {
      this.#stopped = stoppedAt(state, (this.iteration - 1) * this.config.gradientSteps, this.policyEvery);
      const { half } = this.#stopped;
      this.halt(
        metrics.halted,
        `${KEPT_AT[half]} ${this.remedy}, or look at the environment's rewards and observations.`,
      );
    }
    return metrics;
  }

  /** Keeps what it takes to execute the batch again in which an update was stopped. Throws `no-evidence` if none was. */
  protected async keepEvidence<A extends ReplayAlgo>(
    of: Pick<BatchFacts<A, C>, "algo" | "config" | "learningRate" | "criticLearningRate">,
  ): Promise<BatchEvidence<A, C>> {
    const { env, drawSeed: seed, learner } = this;
    const stopped = this.#stopped;
    if (!this.halted || !stopped) throw noEvidence(env);
    const { gradientSteps: minibatches } = this.config;
    const iteration = this.iteration - 1;
    const draw = iteration * minibatches + stopped.minibatch;
    // the environment as it is: the learner's own sizes follow of it
    const facts = { ...of, env: envShape(env), seed, iteration, worldIds: [...env.worldIds], ...stopped, draw };
    return this.mutex.exclusive("keep evidence", () => {
      if (this.replay.prepare(draw)) this.sampleBatch(draw);
      return batchEvidence(learner, { ...facts, minibatches }, this.stagesOf(stopped.half, draw), this.keptToo);
    });
  }

  async #update(first: number, count: number): Promise<void> {
    const { config, iteration, learner } = this;
    const ring = { ring_first: first % learner.shape.capacity, ring_starts: count };
    learner.uniforms.set({ ...this.learningRates(), ...ring });
    for (let i = 0; i < config.gradientSteps; i++) {
      const draw = iteration * config.gradientSteps + i;
      const samples = this.replay.prepare(draw);
      this.learnBatch({ draw, flags: i === 0 ? Flag.firstMinibatch : 0, samples });
      await learner.turn();
    }
  }

  /** Sets what exploration needs; returns flags of the control steps. */
  protected abstract explore(): number;
  /** Whether an update learns that takes the env steps from one count to another. */
  protected abstract learns(before: number, after: number): boolean;
  protected abstract learningRates(): UniformValues;
  protected abstract learnBatch(batch: Batch): void;
  protected abstract metricsOf(state: Float32Array): M;
  /** What to do about an update that was not finite, for a start. */
  protected readonly remedy: string = "Lower the learning rates, set maxGradNorm";
  /** Every how many batches a policy moves that is a network of its own; undefined without one. */
  protected abstract readonly policyEvery: number | undefined;
  /** Draws the transitions of a batch from the ring on the device once more. */
  protected abstract sampleBatch(draw: number): void;
  /** The stages of a batch that is there already. */
  protected abstract stagesOf(half: Half, draw: number): BatchStages;
  /** Arenas of its own that it takes to execute a batch again. */
  protected get keptToo(): readonly string[] {
    return [];
  }

  /** Parameters, and what observations are normalised by, by name. */
  protected abstract namedOf(params: Float32Array, norm?: Float32Array): Record<string, NamedArray>;
  /** A policy made of them. */
  protected abstract policyOf(named: Readonly<Record<string, NamedArray>>): Policy;

  /** Networks, targets and any normaliser of a snapshot by name. */
  named({ learner }: AlgorithmSnapshot): Record<string, NamedArray> {
    const { normalizes } = this.learner.shape;
    this.learner.check(learner, normalizes ? ["params", "norm"] : ["params"]);
    return this.namedOf(floatsOf(learner.params), normalizes ? floatsOf(learner.norm) : undefined);
  }

  shapes(): ReturnType<typeof replayShapes> {
    return replayShapes(this.learner.shape, (_, params, norm) => this.namedOf(params, norm));
  }

  /** The policy as plain numbers, to leave with: its most likely, or best, actions. See `exportPolicy`. */
  policy(): Promise<Policy> {
    const { learner } = this;
    return this.mutex.exclusive("read the policy", async () => {
      const params = await learner.read("params", new Float32Array(4 * learner.shape.nets.params4));
      const norm = await learner.read("norm", new Float32Array(learner.words("norm")));
      return this.policyOf(this.namedOf(params, norm));
    });
  }

  protected override async copyLearner(): Promise<AlgorithmSnapshot["learner"]> {
    return { ...(await this.learner.copy()), ...this.replay.copy() };
  }

  protected override assertKept(kept: AlgorithmSnapshot["learner"]): void {
    this.#assertNormaliser(kept);
    super.assertKept(kept);
  }

  protected override assertLearnt(learnt: AlgorithmSnapshot["learner"]): void {
    super.assertLearnt(learnt);
    this.#assertNormaliser(learnt);
    if (this.learner.shape.normalizes) this.learner.check(learnt, ["norm"]);
  }

  /** Throws `bad-snapshot` if observations were normalised there and are not here, or the other way round. */
  #assertNormaliser({ norm }: AlgorithmSnapshot["learner"]): void {
    const there = norm !== undefined;
    if (there === this.learner.shape.normalizes) return;
    throw new CorralError(
      "bad-snapshot",
      `the snapshot is of a learner with normalizeObservations: ${there}. Create this one with the same, or train anew.`,
      { there },
    );
  }

  protected override adoptMore(learnt: AlgorithmSnapshot["learner"], _state: Float32Array<ArrayBuffer>): void {
    // behind the columns of observations lie the bounds of actions, which are the environment's own
    if (this.learner.shape.normalizes)
      this.learner.write("norm", floatsOf(learnt.norm).subarray(0, 16 * this.learner.shape.k4));
  }

  protected override putLearner({ learner, iteration, rateScale }: AlgorithmSnapshot): string | undefined {
    this.learner.check(learner);
    const gone = this.replay.put(learner, iteration * this.config.collectSteps);
    this.learner.put(learner);
    this.replay.drawBy(seedKey(drawSeed(this.seed, rateScale)));
    return gone;
  }

  /** Bytes of the replay: on the device, in memory or on disk. */
  get replayBytes(): number {
    return this.replay.bytes;
  }

  protected override async release(): Promise<void> {
    try {
      this.replay.close();
    } finally {
      await super.release();
    }
  }
}
