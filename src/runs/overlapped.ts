// collecting and learning at once: threads of the CPU collect rollout k + 1 by the parameters of update k - 1 while the
// device learns from rollout k. Every batch from the second on is exactly one update behind, whatever the speed of either,
// so the same seed gives the same bits.
import { CallMutex } from "../core/call-mutex.ts";
import { CorralError } from "../core/errors.ts";
import { badOption } from "../core/options.ts";
import type { JsVec } from "../env/js-env.ts";
import type { LearnerEnv } from "../rl/device/learner-env.ts";
import type { Plan } from "../memory/plan.ts";
import type { AnyEvidence, Algorithm, AlgorithmSnapshot } from "../rl/algorithm.ts";
import type { EvaluateOptions, Evaluation } from "../rl/evaluate.ts";
import type { AnyMetrics } from "../rl/device/metrics.ts";
import type { NamedArray } from "../rl/networks/networks.ts";
import type { Policy } from "../rl/networks/policy.ts";
import type { Ppo } from "../rl/ppo.ts";
import { needsHostReplay } from "../rl/replay/replay.ts";
import type { Sac } from "../rl/sac.ts";
import { Collector, type CollectorOptions, type CollectorSnapshot } from "./collector.ts";

interface OverlappedSnapshot extends AlgorithmSnapshot {
  readonly collector: CollectorSnapshot;
}

export type OverlappedOptions = Pick<CollectorOptions, "threads" | "modules" | "env">;

/** A learner and its collector. Closes both. */
export class Overlapped implements Algorithm<AnyMetrics> {
  readonly learner: Ppo | Sac;
  readonly collector: Collector;
  /** What acts in the batch after the one under way. */
  #params: Float32Array | undefined;
  #flies = false;
  readonly #mutex: CallMutex;

  private constructor(learner: Ppo | Sac, collector: Collector) {
    this.#mutex = new CallMutex(`the learner of ${learner.env.id}`);
    this.learner = learner;
    this.collector = collector;
  }

  /**
   * Starts the threads. The learner is closed with the result, and left as it is if this fails.
   * @throws CorralError unsupported-collector, needs-host-replay, closed, call-in-flight; what Collector.create throws
   */
  static async create(learner: Ppo | Sac, options: OverlappedOptions = {}): Promise<Overlapped> {
    if (!["ppo", "sac"].includes((Object(learner) as Partial<Ppo>).algo!))
      throw badOption("learner", learner, "pass what Ppo.create or Sac.create returns");
    if (learner.algo === "sac" && learner.config.storage === "gpu") throw needsHostReplay();
    // one that was closed has none
    await actingParametersOf(learner);
    const steps = learner.algo === "sac" ? { steps: learner.config.collectSteps } : {};
    const collecting = { ...learner.collecting, ...steps } as CollectorOptions;
    return new Overlapped(learner, await Collector.create(learner.env.id, { ...collecting, ...options }));
  }

  get algo(): "ppo" | "sac" {
    return this.learner.algo;
  }
  get env(): LearnerEnv {
    return this.learner.env;
  }
  get config(): object {
    return this.learner.config;
  }
  get seed(): number | bigint {
    return this.learner.seed;
  }
  get plan(): Plan {
    return this.learner.plan;
  }
  get iteration(): number {
    return this.learner.iteration;
  }
  get envSteps(): number {
    return this.learner.envSteps;
  }

  /** Starts the next batch with the current parameters, which were read after the last update. */
  async #start(): Promise<void> {
    const { learner } = this;
    this.#params ??= await actingParametersOf(learner);
    this.collector.start(this.#params, { random: learner.algo === "sac" && learner.explores });
    this.#flies = true;
  }

  /** @throws CorralError closed, call-in-flight, collector-failed; what `iterateFrom` throws */
  async iterate(): Promise<AnyMetrics> {
    return this.#mutex.exclusive("iterate", () => this.#iterate());
  }

  async #iterate(): Promise<AnyMetrics> {
    const { learner, collector } = this;
    if (!this.#flies) await this.#start();
    const batch = await collector.take();
    await this.#start();
    const metrics = await learner.iterateFrom(batch);
    this.#params = undefined;
    return metrics;
  }

  evaluate(env: LearnerEnv | JsVec, options?: EvaluateOptions): Promise<Evaluation> {
    return this.learner.evaluate(env, options);
  }

  /** Waits for the batch under way, which is part of it. */
  async snapshot(): Promise<OverlappedSnapshot> {
    return { ...(await this.learner.snapshot()), collector: await this.collector.snapshot() };
  }

  async restore(snapshot: AlgorithmSnapshot): Promise<string | undefined> {
    const { collector } = Object(snapshot) as Partial<OverlappedSnapshot>;
    if (typeof collector !== "object")
      throw new CorralError(
        "bad-snapshot",
        "the snapshot has nothing of threads that collect; pass what snapshot() of an Overlapped returned. That of a learner alone goes into the learner, before Overlapped.create.",
      );
    await this.collector.restore(collector);
    const gone = await this.learner.restore(snapshot);
    this.#params = undefined;
    this.#flies = collector.batch !== null;
    return gone;
  }

  adopt(snapshot: AlgorithmSnapshot): Promise<void> {
    return this.learner.adopt(snapshot);
  }
  named(snapshot: AlgorithmSnapshot): Record<string, NamedArray> {
    return this.learner.named(snapshot);
  }
  shapes(): Readonly<Record<string, readonly number[]>> {
    return this.learner.shapes();
  }
  evidence(): Promise<AnyEvidence | undefined> {
    return this.learner.evidence();
  }
  policy(): Promise<Policy> {
    return this.learner.policy();
  }
  parameters(): Promise<Float32Array> {
    return this.learner.parameters();
  }

  /** Ends the threads and gives all memory back, after the update in flight. */
  close(): Promise<void> {
    return this.#mutex.close(async () => {
      await this.collector.close();
      await this.learner.close();
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** What threads act by. */
const actingParametersOf = (learner: Ppo | Sac): Promise<Float32Array> =>
  learner.algo === "ppo" ? learner.actingParameters() : learner.parameters();
