// what every algorithm keeps beside its mathematics: counts, one call at a time, snapshots, evaluation, and its end
import { floatsOf } from "../core/float32.ts";
import { printLearner } from "./printed.ts";
import { onlyOptions } from "../core/options.ts";
import { CallMutex } from "../core/call-mutex.ts";
import { CorralError } from "../core/errors.ts";
import { INSPECT, type Inspect } from "../core/inspect.ts";
import { seedKey } from "../core/rng.ts";
import { show } from "../core/show.ts";
import type { JsVec } from "../env/js-env.ts";
import type { Plan } from "../memory/plan.ts";
import { drawSeed, nonFiniteUpdate, type Algorithm, type AlgorithmSnapshot, type AnyEvidence } from "./algorithm.ts";
import type { Actor } from "./device/act.ts";
import type { Bound } from "./device/bind-env.ts";
import { learnerEnvOf } from "./device/js-vec.ts";
import type { LearnerCore } from "./device/learner-core.ts";
import type { LearnerEnv } from "./device/learner-env.ts";
import type { UpdateMetrics } from "./device/metrics.ts";
import type { EvaluateOptions, Evaluation } from "./evaluate.ts";
import type { NamedArray } from "./networks/networks.ts";
import type { Policy } from "./networks/policy.ts";

/** Throws `bad-snapshot` for what `snapshot()` of a learner did not return. */
function assertSnapshot(snapshot: unknown): asserts snapshot is AlgorithmSnapshot {
  const given = Object(snapshot) as Partial<AlgorithmSnapshot>;
  const { learner, env, rateScale = 0 } = given;
  const whole = typeof learner === "object" && typeof env === "object" && learner !== null && env !== null;
  // what is no number here would be noticed in an update, with the learner's own numbers gone
  const count = (["iteration", "envSteps"] as const).find((name) => !Number.isSafeInteger(given[name]));
  if (whole && count === undefined && rateScale > 0 && rateScale <= 1) return;
  const wrong = whole ? (count ?? "rateScale") : undefined;
  const what =
    wrong === undefined ? `the snapshot is ${show(snapshot)}` : `${wrong} of the snapshot is ${show(given[wrong])}`;
  throw new CorralError("bad-snapshot", `${what}; pass what snapshot() of a learner returned.`);
}

/** Options of a learner with their defaults. */
export interface Settled<C> {
  readonly config: C;
  readonly seed: number | bigint;
}

const EVALUATE_OPTIONS = [
  "sample",
  "seed",
  "firstDraw",
  "onStart",
  "onStep",
] as const satisfies readonly (keyof EvaluateOptions)[];

export abstract class AlgorithmBase<
  C extends object,
  L extends LearnerCore & Actor,
  M extends UpdateMetrics,
> implements Algorithm<M> {
  abstract readonly algo: Algorithm["algo"];
  readonly env: LearnerEnv;
  readonly config: C;
  readonly seed: number | bigint;
  /** Updates and env steps so far. */
  iteration = 0;
  envSteps = 0;
  /** Below 1 if an update that was not finite has lowered the learning rates; see `lowered`. */
  rateScale = 1;
  protected readonly learner: L;
  protected readonly bound: Bound;
  protected readonly mutex: CallMutex;
  #started = false;
  #halted: CorralError | undefined;

  protected constructor(env: LearnerEnv, { config, seed }: Settled<C>, learner: L, bound: Bound) {
    this.env = env;
    this.config = config;
    this.seed = seed;
    this.learner = learner;
    this.bound = bound;
    this.mutex = new CallMutex(`the learner of ${env.id}`);
  }

  /** Every byte that the learner holds on its device. */
  get plan(): Plan {
    return this.learner.plan;
  }

  [INSPECT](_depth: number, options: object, inspect: Inspect): string {
    return printLearner(this.constructor.name, this, options, inspect);
  }

  abstract iterate(): Promise<M>;
  abstract evidence(): Promise<AnyEvidence | undefined>;
  abstract named(snapshot: AlgorithmSnapshot): Record<string, NamedArray>;
  abstract shapes(): Readonly<Record<string, readonly number[]>>;
  abstract policy(): Promise<Policy>;

  /** Throws the error that stopped the learner, if one has. */
  protected assertGoing(): void {
    if (this.#halted) throw this.#halted;
  }

  protected get halted(): boolean {
    return this.#halted !== undefined;
  }

  /** Stops the learner after an update in which something was not finite. */
  protected halt(what: string, remedy: string): never {
    throw (this.#halted = nonFiniteUpdate(this.iteration, what, remedy));
  }

  /** Resets the environments before the first control step. */
  protected async startEpisodes(): Promise<void> {
    if (!this.#started) await this.env.reset();
    this.#started = true;
  }

  /**
   * Where worlds failed in what an update was just made of, has the environment's recorder look at them while it reaches back;
   * also where the update was stopped, of which they may be the cause.
   */
  protected async lookAtFailures(update: Promise<M>): Promise<M> {
    try {
      const metrics = await update;
      if (metrics.badSteps > 0) await this.env.read?.();
      return metrics;
    } catch (error) {
      if (error === this.#halted) await this.env.read?.();
      throw error;
    }
  }

  /** The seed of what is drawn now; see `drawSeed`. */
  protected get drawSeed(): number | bigint {
    return drawSeed(this.seed, this.rateScale);
  }

  /**
   * Plays whole episodes in other worlds of the same environment, at most as many as the learner's, and returns the mean
   * of the first episode of each. By default with the best or most likely actions. Does not change the learner.
   * @throws CorralError bad-peer for other environments
   */
  evaluate(env: LearnerEnv | JsVec, options: EvaluateOptions = {}): Promise<Evaluation> {
    onlyOptions("an evaluation", options, EVALUATE_OPTIONS);
    return this.mutex.exclusive("evaluate", () => this.play(learnerEnvOf(env), options));
  }

  /** Takes what the first evaluation in an environment would take, on WebAssembly alone. Throws `budget-exceeded`. */
  async prepareEvaluation(env: LearnerEnv): Promise<void> {
    if (env.wasm) await this.mutex.exclusive("prepare an evaluation", () => this.learner.bindEnv(env));
  }

  protected async play(env: LearnerEnv, options: EvaluateOptions): Promise<Evaluation> {
    const { evaluatePolicy } = await import("./evaluate.ts"); // a page that evaluates nothing loads none
    return evaluatePolicy(this.learner, env, this.env, options);
  }

  /** Copies all that the run resumes from, environments and any replay included, between two updates. */
  snapshot(): Promise<AlgorithmSnapshot> {
    const { iteration, envSteps, rateScale } = this;
    return this.mutex.exclusive("snapshot", async () => ({
      iteration,
      envSteps,
      rateScale,
      learner: await this.copyLearner(),
      env: await this.env.snapshot(),
    }));
  }

  protected copyLearner(): Promise<AlgorithmSnapshot["learner"]> {
    return this.learner.copy();
  }

  /**
   * Puts a snapshot back, of this run or of one with the same environment and options: it goes on with the same bits, but
   * where rows of a replay in a file are gone: then it says how many.
   * @throws CorralError bad-snapshot if it does not fit; bad-replay
   */
  restore(snapshot: AlgorithmSnapshot): Promise<string | undefined> {
    return this.mutex.exclusive("restore", async () => {
      assertSnapshot(snapshot);
      const { iteration, envSteps, rateScale } = snapshot;
      // environments of another kind refuse theirs: nothing has changed then
      this.assertKept(snapshot.learner);
      await this.env.restore(snapshot.env);
      const gone = this.putLearner(snapshot);
      await this.learner.done();
      this.iteration = iteration;
      this.envSteps = envSteps;
      this.rateScale = rateScale;
      this.learner.uniforms.set({ seed: seedKey(this.drawSeed) });
      this.#started = iteration > 0;
      this.#halted = undefined;
      return gone;
    });
  }

  /** Throws `bad-snapshot` unless this learner can go on with what another kept. */
  protected assertKept(kept: AlgorithmSnapshot["learner"]): void {
    this.learner.check(kept);
  }

  protected putLearner({ learner }: AlgorithmSnapshot): string | undefined {
    this.learner.put(learner);
    return undefined;
  }

  /**
   * Takes what a snapshot has learnt, parameters and what `adoptMore` names, from as many worlds as may be; worlds, counts
   * and Adam's means stay. Throws `bad-snapshot`.
   */
  adopt({ learner }: AlgorithmSnapshot): Promise<void> {
    return this.mutex.exclusive("adopt", async () => {
      this.assertLearnt(learner);
      const state = (await this.learner.readState()).slice();
      this.adoptMore(learner, state);
      const params = floatsOf(learner.params).slice();
      this.adoptParams(params);
      this.learner.write("params", params);
      this.learner.write("state", state);
      await this.learner.done();
    });
  }

  /** Throws `bad-snapshot` unless what was learnt fits this learner. */
  protected assertLearnt(learnt: AlgorithmSnapshot["learner"]): void {
    this.learner.check(learnt, ["params", "state"]);
  }

  /** Brings parameters of another run within what this one's settings allow. */
  protected adoptParams(_params: Float32Array): void {}

  protected adoptMore(_learnt: AlgorithmSnapshot["learner"], _state: Float32Array<ArrayBuffer>): void {}

  /** The parameters as they are now: networks, targets, log standard deviations; `named` says which. */
  parameters(): Promise<Float32Array> {
    const into = new Float32Array(4 * this.learner.shape.nets.params4);
    return this.mutex.exclusive("read parameters", () => this.learner.read("params", into));
  }

  /** Gives all memory back, after the call in flight. The environments stay open. */
  close(): Promise<void> {
    return this.mutex.close(() => this.release());
  }

  protected release(): Promise<void> {
    return this.learner.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
