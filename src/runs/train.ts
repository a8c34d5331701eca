// a training run: environments, a learner, evaluations on worlds of their own, and the state it is resumed from
import { setImmediate } from "node:timers/promises";
import { CorralError, DeviceLostError } from "../core/errors.ts";
import { badOption } from "../core/options.ts";
import { makeVec, type NamedOptions } from "../env/make.ts";
import type { VectorEnv } from "../env/host/vector-env.ts";
import { lowered, type Algorithm } from "../rl/algorithm.ts";
import type { PpoConfig } from "../rl/ppo/config.ts";
import type { Evaluation } from "../rl/evaluate.ts";
import { Dqn } from "../rl/dqn.ts";
import { SacDiscrete } from "../rl/sac-discrete.ts";
import type { SacDiscreteConfig } from "../rl/sac-discrete/config.ts";
import type { DqnConfig } from "../rl/dqn/config.ts";
import { Ppo } from "../rl/ppo.ts";
import type { SacConfig } from "../rl/sac/config.ts";
import { Sac } from "../rl/sac.ts";
import { GrowthWatch, growthText } from "./growth.ts";
import { MemoryWatch } from "./memory-watch.ts";
import { makeFitting } from "./fit.ts";
import { updateOf, type Update } from "./imitation.ts";
import type { RunEvent, RunState, TrainListener, TrainResult } from "./progress.ts";
import { withShards } from "./plan.ts";
import { Overlapped } from "./overlapped.ts";
import { adoptStart, readStart, startingFrom, type Start } from "./start.ts";
import { collectorEnv, hyperparameters, settle, trainingEnv, type Learning, type Settings } from "./settings.ts";
import { runOptionsOf, type TrainOptions } from "./options.ts";

const LOWER = 0.5;
/** Start states of evaluations: none of a training seed's. */
const EVAL_SEED = 2 ** 40;

/** What is held on the device. */
interface Held {
  readonly env: VectorEnv;
  readonly evalEnv: VectorEnv;
  readonly algorithm: Algorithm;
  readonly update: Update;
}

/** What the learner is made with, and what it starts from. */
type Made = Learning & { readonly start?: Start | undefined };

/** Makes environments and learner; holds nothing if one of them fails. */
async function make(id: string, settings: Settings, learning: Made, env: object): Promise<Held> {
  const { numEnvs, evalEnvs, seed, steps } = settings;
  const made: AsyncDisposable[] = [];
  const hold = async <T extends AsyncDisposable>(making: Promise<T>): Promise<T> => {
    const one = await making;
    made.unshift(one);
    return one;
  };
  const training = trainingEnv(id, { ...learning, env });
  if ((learning.algo ?? "ppo") === "ppo" && learning.replayFile !== undefined)
    throw badOption("replayFile", learning.replayFile, 'ppo keeps no replay: leave it out, or pass algo: "sac"');
  const envOf = (worlds: number, options: object) =>
    hold(
      makeVec(id, {
        ...withShards(options, worlds),
        autoreset: "next-step",
        numEnvs: worlds,
        seed,
      } as NamedOptions),
    );
  try {
    const held = { env: await envOf(numEnvs, training), evalEnv: await envOf(evalEnvs, env) };
    const { algo, config, replayFile, reuseReplay, modules = [] } = learning;
    const replay = { ...(replayFile === undefined ? {} : { replayFile }), reuseReplay: reuseReplay ?? false };
    const algorithm =
      algo === "sac"
        ? await hold(Sac.create(held.env, { ...(config as Partial<SacConfig>), ...replay, seed }))
        : algo === "sac-discrete"
          ? await hold(SacDiscrete.create(held.env, { ...(config as Partial<SacDiscreteConfig>), ...replay, seed }))
          : algo === "dqn"
            ? await hold(Dqn.create(held.env, { ...(config as Partial<DqnConfig>), ...replay, seed }))
            : await hold(Ppo.create(held.env, { ...(config as Partial<PpoConfig>), seed, totalSteps: steps }));
    await algorithm.prepareEvaluation(held.evalEnv);
    if (learning.start) await adoptStart(algorithm, learning.start, held.env.spec.shape);
    const whole = async (algorithm: Algorithm): Promise<Held> => {
      return { ...held, algorithm, update: await updateOf(algorithm, held.env, settings) };
    };
    if (settings.collect !== "async" || !(algorithm instanceof Ppo || algorithm instanceof Sac))
      return await whole(algorithm);
    const options = { env: collectorEnv(training), modules, threads: settings.collectThreads! };
    return await whole(await hold(Overlapped.create(algorithm, options)));
  } catch (error) {
    for (const one of made) await one[Symbol.asyncDispose]();
    throw error;
  }
}

async function release({ algorithm, evalEnv, env }: Held): Promise<void> {
  await algorithm.close();
  await evalEnv.close();
  await env.close();
}

/** Everything of a run, ready: memory reserved, kernels compiled. Close it. */
export class TrainingRun implements AsyncDisposable {
  readonly id: string;
  readonly settings: Settings;
  /** Options of the environments that were given. */
  readonly envOptions: object;
  readonly #learning: Made;
  #held: Held;
  #evaluation: Evaluation | undefined;
  /** Seconds and env steps before this process. */
  #before = { seconds: 0, envSteps: 0 };
  /** The last update that was reported, and the last that was saved. */
  #reported = 0;
  #saved = 0;
  /** What goes on if the device is lost. */
  #last: RunState | undefined;
  #losses = 0;
  #lowered = 0;
  readonly #growth = new GrowthWatch();
  readonly #memory: MemoryWatch;
  readonly #warnings: string[] = [];
  #stopping = false;

  private constructor(held: Held, settings: Settings, learning: Made, envOptions: object, memory: MemoryWatch) {
    this.id = held.env.id;
    this.settings = settings;
    this.envOptions = envOptions;
    this.#learning = learning;
    this.#held = held;
    this.#memory = memory;
  }

  /**
   * Makes environments, evaluation and learner, planned as one in the device's budget; with `onOverBudget: "shrink"` of
   * the most worlds that fit. With `from` it starts from what another run has learnt.
   * @throws BudgetExceededError, LimitExceededError with the plan of the whole run, before anything is allocated; what
   *   makeVec, Ppo.create and Sac.create throw; no-run, no-checkpoint, checkpoint-corrupt, does-not-fit for `from`; then
   *   nothing is held
   */
  static async create(id: string, given: TrainOptions = {}, memory = new MemoryWatch()): Promise<TrainingRun> {
    runOptionsOf(given);
    const start = given.from === undefined || given.resumes ? undefined : readStart(given.from);
    const options = start ? startingFrom(start, given) : given;
    return await makeFitting(id, options, async (fitting) => {
      const settings = settle(id, fitting);
      const { algo = "ppo", env = {}, replayFile, reuseReplay, modules = [] } = fitting;
      const config = hyperparameters(id, fitting);
      const replay = { ...(replayFile === undefined ? {} : { replayFile }), reuseReplay: reuseReplay ?? false };
      const learning = { algo, config, ...replay, modules, start };
      return new TrainingRun(await make(id, settings, learning, env), settings, learning, env, memory);
    });
  }

  get algorithm(): Algorithm {
    return this.#held.algorithm;
  }

  get env(): VectorEnv {
    return this.#held.env;
  }

  /** Bytes that the run holds in the budget of its device, by who holds them. */
  get memory(): readonly (readonly [name: string, bytes: number])[] {
    const { env, evalEnv, algorithm } = this.#held;
    const learner = algorithm instanceof Overlapped ? algorithm.learner : algorithm;
    // without an adapter all of it is of one budget
    const rows = env.wasm && (learner.config as { readonly storage?: string }).storage === "host";
    return [
      ["environments", env.plan.totalBytes],
      ["evaluation", evalEnv.plan.totalBytes],
      ["learner", algorithm.plan.totalBytes],
      ...(rows ? ([["replay", (learner as Sac).replayBytes]] as const) : []),
      ...(env.wasm && algorithm instanceof Overlapped ? ([["collector", algorithm.collector.bytes]] as const) : []),
    ];
  }

  /** All of them. */
  get bytes(): number {
    return this.memory.reduce((sum, [, bytes]) => sum + bytes, 0);
  }

  /**
   * Goes on from a state of this run or of an equal one. Returns what there is to say of it.
   * @throws CorralError bad-snapshot if it does not fit; bad-replay
   */
  async resume(state: RunState): Promise<readonly string[]> {
    const gone = await this.#restore(state);
    const { iteration, envSteps } = state.snapshot;
    this.#before = { seconds: state.seconds, envSteps };
    this.#reported = this.#saved = iteration;
    return gone === undefined ? [] : [`${gone}. It goes on to other bits`];
  }

  async #restore(state: RunState): Promise<string | undefined> {
    const gone = await this.algorithm.restore(state.snapshot);
    this.#evaluation = state.evaluation;
    this.#lowered = state.lowered;
    this.#growth.put(state.growth);
    this.#last = state;
    return gone;
  }

  /** Ends the run after the update under way, with a checkpoint. `train` throws `stopped`. */
  stop(): void {
    this.#stopping = true;
  }

  /**
   * Trains to the end and reports every update once. When the device is lost for the first time, the run continues by
   * itself on a new one, from the last copy on the host, to the same bits.
   * @throws CorralError stopped; non-finite-update; DeviceLostError if the device is lost again; what `iterate` throws
   */
  async train(listener: TrainListener = {}): Promise<TrainResult> {
    const begin = performance.now();
    const seconds = () => this.#before.seconds + (performance.now() - begin) / 1000;
    if (this.settings.onNonFiniteUpdate === "lower") this.#last ??= await this.#copy(0);
    for (;;) {
      try {
        return await this.#updates(listener, seconds);
      } catch (error) {
        if (error instanceof CorralError && error.code === "non-finite-update") {
          await this.#lower(error, listener);
          continue;
        }
        if (!(error instanceof DeviceLostError) || this.settings.snapshotEvery === 0 || this.#losses > 0) throw error;
        await this.#recover(error, listener);
      }
    }
  }

  async #updates(listener: TrainListener, seconds: () => number): Promise<TrainResult> {
    const { steps, evalEvery, until, checkpointEvery, snapshotEvery } = this.settings;
    const { algorithm } = this;
    const isDue = (every: number) => every > 0 && algorithm.iteration % every === 0;
    const isSolved = () => until !== undefined && (this.#evaluation?.meanReturn ?? -Infinity) >= until;
    const atEnd = () => algorithm.envSteps >= steps || isSolved();

    // a resumed run that had ended has nothing left to do
    for (let ended = algorithm.iteration > 0 && atEnd(); !ended;) {
      const [before, envSteps] = [seconds(), algorithm.envSteps];
      const metrics = await this.#held.update();
      // without a device nothing of an update waits for events: signals and timers get their turn here
      await setImmediate();
      const grown = this.#growth.look(metrics);
      const envStepsPerSec = (algorithm.envSteps - envSteps) / (seconds() - before);
      const evaluated = algorithm.envSteps >= steps || isDue(evalEvery);
      if (evaluated) this.#evaluation = await this.evaluate();
      ended = algorithm.envSteps >= steps || (evaluated && isSolved());

      if (algorithm.iteration > this.#reported) {
        this.#reported = algorithm.iteration;
        const done = algorithm.envSteps - this.#before.envSteps;
        const secondsLeft = (Math.max(0, steps - algorithm.envSteps) / done) * (seconds() - this.#before.seconds);
        const where = { envSteps: algorithm.envSteps, steps, iteration: algorithm.iteration, seconds: seconds() };
        listener.onProgress?.({
          ...where,
          envStepsPerSec,
          secondsLeft,
          metrics,
          evaluation: this.#evaluation,
          evaluated,
        });
        for (const one of grown) this.#warn("growing", growthText(one, algorithm.iteration), listener);
      }
      await listener.onBetween?.();
      const short = this.#memory.look();
      if (short !== undefined) this.#warn("low-memory", short, listener);

      const saves = (ended || this.#stopping || isDue(checkpointEvery)) && algorithm.iteration > this.#saved;
      if (saves || (isDue(snapshotEvery) && !this.#memory.isLow)) {
        this.#last = await this.#copy(seconds());
        if (saves) listener.onCheckpoint?.(this.#last);
        if (saves) this.#saved = algorithm.iteration;
      }
      if (this.#stopping && !ended) {
        throw new CorralError("stopped", `the run was stopped after update ${algorithm.iteration}.`, {
          iteration: algorithm.iteration,
        });
      }
    }

    const evaluation = (this.#evaluation ??= await this.evaluate());
    const reached = until === undefined ? undefined : evaluation.meanReturn >= until;
    const warnings = [...this.#warnings];
    return {
      envSteps: algorithm.envSteps,
      seconds: seconds(),
      iterations: algorithm.iteration,
      evaluation,
      reached,
      warnings,
    };
  }

  #warn(event: RunEvent["event"], message: string, { onEvent }: TrainListener): void {
    this.#warnings.push(message);
    const { iteration, envSteps } = this.algorithm;
    onEvent?.({ event, iteration, envSteps, message });
  }

  async #copy(seconds: number): Promise<RunState> {
    const snapshot = await this.algorithm.snapshot();
    const growth = this.#growth.copy();
    return { snapshot, seconds, evaluation: this.#evaluation, lowered: this.#lowered, growth };
  }

  /** Keeps the evidence of a stopped update, then continues from the last copy with a lower learning rate, or throws. */
  async #lower(error: CorralError, { onEvent, onNonFinite }: TrainListener): Promise<void> {
    const evidence = onNonFinite && (await this.algorithm.evidence());
    const bundle = evidence && onNonFinite?.(evidence, error);
    const text = error.message.replace("[non-finite-update] ", "");
    const kept = bundle === undefined ? "" : ` corral replay ${bundle} says what became so first.`;
    const { onNonFiniteUpdate, mostLowered } = this.settings;
    const last = this.#last;
    if (onNonFiniteUpdate === "throw" || last === undefined || this.#lowered >= mostLowered) {
      const often = this.#lowered > 0 ? ` The learning rate was lowered ${this.#lowered} times before.` : "";
      throw new CorralError(error.code, `${text}${often}${kept}`, { ...error.details, bundle });
    }
    const state = { ...last, snapshot: lowered(last.snapshot, LOWER), lowered: this.#lowered + 1 };
    await this.#restore(state);
    const { iteration, rateScale } = state.snapshot;
    this.#reported = this.#saved = iteration;
    const message = `${text}${kept} The run goes on from update ${iteration} with ${rateScale} x the learning rate and other draws.`;
    onEvent?.({ event: "rate-lowered", iteration, envSteps: state.snapshot.envSteps, message });
  }

  /** The same run on a new device, where the last copy on the host left it. */
  async #recover(loss: DeviceLostError, { onEvent }: TrainListener): Promise<void> {
    this.#losses++;
    await release(this.#held).catch(() => {});
    // a device that was handed in is gone
    const { device, ...others } = this.envOptions as { device?: unknown };
    const env = typeof device === "string" ? { ...others, device } : others;
    this.#held = await make(this.id, this.settings, { ...this.#learning, reuseReplay: true }, env);
    const gone = this.#last && (await this.#restore(this.#last));
    if (!this.#last) this.#evaluation = undefined;
    const lost = gone === undefined ? "" : `; ${gone}: its bits are others`;
    const { iteration } = this.algorithm;
    const message = `the device was lost after update ${this.#reported} (${loss.message}); the run goes on from update ${iteration} on ${this.env.deviceName}${lost}`;
    onEvent?.({ event: "device-lost", iteration: this.#reported, envSteps: this.algorithm.envSteps, message });
  }

  /** One episode of each evaluation world, with the most likely actions. */
  evaluate(): Promise<Evaluation> {
    return this.algorithm.evaluate(this.#held.evalEnv, { seed: EVAL_SEED + this.settings.seed });
  }

  close(): Promise<void> {
    return release(this.#held);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
