// soft actor-critic (Haarnoja et al. 2018, "Soft Actor-Critic Algorithms and Applications"), all of it on the device of its
// environments: squashed Gaussian policy, two critics and their slow targets, a temperature that steers the entropy, and a
// replay of everything seen.
import { CorralError } from "../core/errors.ts";
import { badOption, optionsOf } from "../core/options.ts";
import type { JsVec } from "../env/js-env.ts";
import type { Box, Space } from "../env/space/spaces.ts";
import type { Plan } from "../memory/plan.ts";
import type { AlgorithmSnapshot } from "./algorithm.ts";
import type { EvaluateOptions, Evaluation } from "./evaluate.ts";
import { heldOn, learnerDeviceOf, limitsOf } from "./device/learner-device.ts";
import { assertBounded, envShape } from "./device/env-shape.ts";
import { learnerEnvOf } from "./device/js-vec.ts";
import type { LearnerEnv, PlannedEnv } from "./device/learner-env.ts";
import { episodeMeans, type SacMetrics } from "./device/metrics.ts";
import type { SquashedSpec } from "./networks/host-actor.ts";
import type { NamedArray } from "./networks/networks.ts";
import type { Policy } from "./networks/policy.ts";
import { settleOffPolicy, withReplay, type OffPolicyOptions } from "./off-policy.ts";
import { SoftActorCritic } from "./soft-actor-critic.ts";
import type { Batch, BatchStages, Half } from "./replay/learner.ts";
import type { CollectedSteps } from "./replay/row-store.ts";
import { planSacLearner, sacShape, type SacShape } from "./sac/arenas.ts";
import { halves, learnBatch, sampleBatch, setUniforms, type SacEvidence } from "./sac/batch.ts";
import { rowsOfSample, sacConfig, type SacConfig } from "./sac/config.ts";
import type { SacLearner } from "./sac/learner.ts";
import { assertFormat, FORMAT, namedSac, sacPolicyOf } from "./sac/policy.ts";

export interface SacOptions extends Partial<SacConfig>, OffPolicyOptions {}

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
  const { seed, replayFile, reuseReplay, ...given } = optionsOf(options);
  const config = sacConfig(given);
  const head = envShape(env);
  const others = env.singleActionSpace.kind === "discrete" ? "SacDiscrete (--algo sac-discrete), DQN or PPO" : "PPO";
  assertBounded(env, "SAC squashes actions", `Train it with ${others}.`);
  if (config.recurrent !== "none" && config.storage !== "gpu")
    throw badOption("storage", config.storage, 'sequences for a memory are drawn on the device: pass "gpu"');
  return { ...settleOffPolicy(config, { seed, replayFile, reuseReplay }), shape: sacShape(head, config) };
}

/** Throws `unsupported-collector` for policies that threads of the CPU do not have. */
function assertCollects({ env, nets, normalizes }: SacShape): void {
  const what = nets.cells ? `has a memory (${nets.cells.kind})` : normalizes && "sees normalised observations";
  if (!what) return;
  throw new CorralError(
    "unsupported-collector",
    `the policy of ${env.id} ${what}; threads of the CPU collect for policies without. Collect on the device.`,
  );
}

/** What a `Collector` must know to collect for a learner. */
export function sacCollecting(shape: SacShape, { minLogStd, maxLogStd }: SacConfig, space: Space) {
  const { env, nets } = shape;
  assertCollects(shape);
  const { low, high } = space as Box;
  const bounds = { low: [...low], high: [...high] };
  const actor: SquashedSpec = { layers: nets.policy, actions: env.actions, ...bounds, minLogStd, maxLogStd };
  return { numEnvs: env.numEnvs, observations: env.observations, actor };
}

/** A learner beside its environments, which it steps. Close it before them. */
export class Sac extends SoftActorCritic<SacConfig, SacLearner> {
  readonly algo = "sac";

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
    const { config, seed, shape } = settled;
    const { SacLearner } = await import("./sac/learner.ts"); // a page that learns otherwise loads none
    const learner = await SacLearner.create(device, shape);
    // starts of samples keep away from the newest rows
    const drawn = { ...settled, config: { ...config, nSteps: rowsOfSample(config) } };
    return withReplay(learner, env, drawn, (bound, replay) => {
      learner.initialize(env, seed, config.initialTemperature);
      setUniforms(learner, config, seed);
      return new Sac(env, settled, learner, bound, replay);
    });
  }

  /**
   * As `iterate`, with control steps of as many worlds that a `Collector` made instead of the environments.
   * @throws CorralError needs-host-replay, unsupported-collector, bad-peer if they are of other worlds; what `iterate` throws
   */
  iterateFrom(rows: CollectedSteps): Promise<SacMetrics> {
    return this.mutex.exclusive("iterate", async () => {
      this.assertGoing();
      assertCollects(this.learner.shape);
      const { numEnvs } = this.env;
      const given = Object(rows) as Partial<CollectedSteps>;
      if (given.numEnvs !== numEnvs || !(given.steps! < this.learner.shape.capacity)) {
        throw new CorralError(
          "bad-peer",
          `the learner takes less than ${this.learner.shape.capacity} steps of ${numEnvs} worlds; these are ${given.steps} of ${given.numEnvs}. Pass what a collector with its numbers gives: sac.collecting.`,
        );
      }
      this.replay.take(rows);
      return { ...(await this.learnFrom(rows.steps * numEnvs)), ...episodeMeans(rows.episodes) };
    });
  }

  /** What a `Collector` must know to collect for this learner. */
  get collecting(): {
    readonly numEnvs: number;
    readonly observations: number;
    readonly seed: number | bigint;
    readonly actor: SquashedSpec;
  } {
    return { ...sacCollecting(this.learner.shape, this.config, this.env.singleActionSpace), seed: this.seed };
  }

  protected override play(env: LearnerEnv, options: EvaluateOptions): Promise<Evaluation> {
    this.learner.forgetEvaluated();
    return super.play(env, options);
  }

  protected learnBatch(batch: Batch): void {
    learnBatch(this.learner, { ...batch, movesPolicy: batch.draw % this.config.policyEvery === 0 });
  }

  protected sampleBatch(draw: number): void {
    sampleBatch(this.learner, draw);
  }

  protected stagesOf(half: Half, draw: number): BatchStages {
    return halves(this.learner, draw)[half];
  }

  protected override get keptToo(): readonly string[] {
    return this.learner.shape.cells ? ["resets"] : [];
  }

  /**
   * All that it takes to execute the batch again in which an update was stopped because something was not finite.
   * @throws CorralError no-evidence if none was stopped
   */
  evidence(): Promise<SacEvidence> {
    return this.keepEvidence({ algo: this.algo, config: this.config, ...this.ratesNow });
  }

  protected override async copyLearner(): Promise<AlgorithmSnapshot["learner"]> {
    return { format: Uint32Array.of(FORMAT), ...(await super.copyLearner()) };
  }

  protected override assertKept(kept: AlgorithmSnapshot["learner"]): void {
    assertFormat(kept);
    super.assertKept(kept);
  }

  protected override assertLearnt(learnt: AlgorithmSnapshot["learner"]): void {
    assertFormat(learnt);
    super.assertLearnt(learnt);
  }

  protected namedOf(params: Float32Array, norm?: Float32Array): Record<string, NamedArray> {
    return namedSac(this.learner.shape, params, norm);
  }

  protected policyOf(named: Readonly<Record<string, NamedArray>>): Policy {
    return sacPolicyOf(named, this.env.id, this.env.singleActionSpace, this.config);
  }
}
