// the learner of PPO: networks, loss and rollout on the device, which the phases of the algorithm are put together from
import type { LearnerEnv } from "../device/learner-env.ts";
import { groupJobs, inputAt, inputOf, planLearner, type LearnerShape } from "./arenas.ts";
import type { Backing } from "../device/backing.ts";
import type { PpoConfig } from "./config.ts";
import { bindEnv, type Bound } from "../device/bind-env.ts";
import { hold } from "../device/device-core.ts";
import { limitsOf, type LearnerDevice } from "../device/learner-device.ts";
import type { JobPass } from "../device/kernels.ts";
import type { Bind, JobOf, KernelName } from "../device/kernel-table.ts";
import { bindNormGradients, bindNorms, type PlacedLayer } from "../device/layer-norms.ts";
import { LearnerCore } from "../device/learner-core.ts";
import { actCells, backCells, bindActing, bindCells, forget, runCells, type ActingRows } from "../device/cells.ts";
import { bindHead, descendBlocks, embedActions, foldBlocks } from "./streamed-head.ts";
import { Flag, SAMPLE, STATE } from "../tables/device-tables.ts";
import { ACTIVATIONS } from "../networks/activations.ts";
import { initialParameters } from "../networks/initial-parameters.ts";
import { layerJob, padTo, TILE, type Layer } from "../networks/networks.ts";
import { BIAS_ONLY, STATISTICS4, SUMS } from "../device/arenas.ts";

/** What a snapshot holds, between two updates. */
const SNAPSHOT_ARENAS = ["params", "moments", "norm", "state", "worlds"] as const;

export class Learner extends LearnerCore<LearnerShape> {
  private constructor(shape: LearnerShape, backing: Backing) {
    super(shape, backing, shape.cells ? [...SNAPSHOT_ARENAS, "hidden"] : SNAPSHOT_ARENAS);
  }

  /** Reserves the learner's memory in the device's budget and compiles its kernels; holds nothing if either fails. */
  static create(device: LearnerDevice, shape: LearnerShape, config: PpoConfig): Promise<Learner> {
    const plan = planLearner(shape, config, limitsOf(device));
    return hold(device, plan, async (backing) => {
      const learner = new Learner(shape, backing);
      await learner.bindJobs((bind) => learner.#bindNetworks(bind));
      if (shape.nets.head?.embedding) learner.write("features", shape.env.features!.values);
      if (shape.mirrors) {
        const { mirrorObservations, mirrorActions } = config;
        learner.write("mirror", Float32Array.from([...mirrorObservations, ...mirrorActions]));
      }
      return learner;
    });
  }

  #bindNetworks(bind: Bind): void {
    const { shape } = this;
    const { nets, work, env, chunks } = shape;

    // sums of columns are the gradient of a bias; statistics ride behind all gradients
    const [gradient, statisticsAt] =
      chunks > 1 ? (["gradient", nets.core4] as const) : (["gradient_whole", nets.params4] as const);
    const sum = (y: number, n4: number, b: number) =>
      ({ x: work.x, k4: TILE / 4, w: 0, b, y, n4, activation: 0, mode: BIAS_ONLY }) as const;
    const { policy, value, logStd } = nets;
    if (work.groups) bind("observation groups", "observation_groups", groupJobs(shape));
    // policy and value network run side by side, layer by layer; a streamed head may leave the last to the value alone
    value.forEach((_, i) => {
      const both = [policy, value].filter((layers) => i < layers.length);
      const jobs = both.map((layers) => this.#layerJob(layers, i));
      const placed = (at: number) => both.map((layers): PlacedLayer => [layers[at], work.outputs.get(layers[at])!]);
      bind(`forward ${i}`, "forward", jobs);
      bindNorms(bind, `forward ${i}`, "layer_norm", placed(i));
      const gradients = [...jobs];
      if (i === value.length - 1) {
        gradients.push(sum(work.statistics, STATISTICS4, statisticsAt));
        if (logStd.count > 0) gradients.push(sum(work.slopes, padTo(logStd.count, TILE) / 4, logStd.at));
      }
      bind(`gradient ${i}`, gradient, gradients);
      bindNormGradients(bind, `gradient ${i}`, gradient, placed(i), shape.rows);
      if (i === 0) return;
      const below = both.map((layers, n) => ({ ...jobs[n], activation: ACTIVATIONS[layers[i - 1].activation].code }));
      bind(`backward ${i}`, "backward", below);
      bindNorms(bind, `backward ${i}`, "layer_norm_back", placed(i - 1));
    });
    if (shape.cells) {
      bindCells(bind, shape.cells, "rollout", gradient);
      bindActing(bind, shape.cells, "rollout");
    }
    bind("gather", "gather");
    if (shape.mirrors) {
      const [observation_row, action_row] = [4 * shape.obs4, 4 * shape.actions4];
      bind("mirror", "mirror", { observations: env.observations, actions: env.actions, observation_row, action_row });
    }
    const at = this.#outputs();
    if (nets.head) {
      bindHead(bind, shape, at);
    } else if (env.head === "gaussian") {
      bind("loss", "loss_gaussian", {
        ...this.#means(),
        slopes: work.slopes,
        slopes4: padTo(nets.logStd.count, TILE) / 4,
        statistics: work.statistics,
      });
    } else {
      bind("loss", "loss_categorical", { ...this.#logits(), statistics: 4 * work.statistics, spare: 0 });
    }
    for (const name of ["returns", "advantages", "sum_worlds", "scale_rewards", "scale_advantages"] as const) {
      bind(name, name);
    }
    for (const name of ["sum_obs", "merge_obs", "count_clipped", "tally_clipped"] as const) bind(name, name);
    const all = { at: 0, count: nets.params4, place: 0, other: 0 };
    if (chunks > 1) {
      // of a streamed head the gradient is whole already
      bind("reduce", "reduce", { ...all, count: nets.core4 });
      const other = nets.params4 - nets.core4;
      bind("reduce statistics", "reduce", { ...all, at: nets.core4, count: STATISTICS4, other });
    }
    for (const name of ["gradient_gate", "adam"] as const) bind(name, name, all);
  }

  protected bindPolicy(env: LearnerEnv): Promise<Bound> {
    const { k4, actions4, env: facts, head } = this.shape;
    const start = startOf(env);
    const row = { row: SAMPLE.size, row_reward: SAMPLE.at("reward"), row_flags: SAMPLE.at("flags") };
    const make = <K extends KernelName>(act: K, job: JobOf<K>) => bindEnv(this, env, { act, job, row });
    if (head) {
      const { value, value4 } = this.#outputs();
      const streamed = { kept: 4 * head.kept, value: 4 * value, value_row: 4 * value4, action_words: 4 * actions4 };
      return make("act_streamed", { ...streamed, start });
    }
    return facts.head === "gaussian"
      ? make("act_gaussian", { ...this.#means(), bounds: 4 * k4 })
      : make("act_categorical", { ...this.#logits(), start, spare: 0 });
  }

  #layerJob(layers: readonly Layer[], i: number) {
    const { work, cells, nets } = this.shape;
    const x =
      i > 0 ? inputAt(work.outputs, cells, layers, i) : inputOf(work, layers === nets.policy ? "policy" : "critic");
    return layerJob(layers[i], x, work.outputs.get(layers[i])!);
  }

  /** Where the last layers put what they make, and vec4s of their rows. */
  #outputs() {
    const { nets, work } = this.shape;
    const value = nets.value.at(-1)!;
    const policy = nets.policy.at(-1);
    return {
      policy: policy ? work.outputs.get(policy)! : inputOf(work, "policy"),
      policy4: (policy?.n ?? 0) / 4,
      value: work.outputs.get(value)!,
      value4: value.n / 4,
    };
  }

  /** The numbers of the kernels of a Gaussian policy. */
  #means() {
    const { env, actions4, nets } = this.shape;
    const { policy: mean, policy4: mean4, value, value4 } = this.#outputs();
    return { mean, mean4, value, value4, actions: env.actions, actions4, log_std: nets.logStd.at };
  }

  /** The numbers of the kernels of a categorical policy. */
  #logits() {
    const { env, actions4 } = this.shape;
    const { policy, policy4, value, value4 } = this.#outputs();
    return {
      logits: 4 * policy,
      logits_row: 4 * policy4,
      value: 4 * value,
      value_row: 4 * value4,
      choices: env.alternatives.length,
      action_words: 4 * actions4,
      alternatives: env.alternatives,
    };
  }

  /** Runs both networks forward over the first rows of the input, those of a minibatch. */
  forward(pass: JobPass, rows: number): void {
    this.#forward(pass, rows);
  }

  /** Runs them for worlds that act; those of no rollout have states of their own. */
  infer(pass: JobPass, rows: number, flags: number): void {
    this.#forward(pass, rows, { rows, who: (flags & (Flag.keep | Flag.bootstrap)) === 0 ? "evaluate" : "act" });
  }

  #forward(pass: JobPass, rows: number, acting?: ActingRows): void {
    const { nets, cells, work } = this.shape;
    const { policy, value } = nets;
    if (work.groups) this.run(pass, "observation groups", rows * 4 * work.groups.k4, 2);
    value.forEach((layer, i) => {
      const parts = i < policy.length ? 2 : 1;
      this.runRows(pass, `forward ${i}`, rows, Math.max(layer.n, policy[i]?.n ?? 0), parts);
      if (!cells || layer !== nets.cells!.value.ih) return;
      if (acting) actCells(this, pass, cells, acting);
      else runCells(this, pass, cells);
    });
  }

  /** Worlds that took a new start state forget what they remembered. */
  stored(pass: JobPass, rows: number): void {
    const { cells } = this.shape;
    if (cells) forget(this, pass, cells, rows);
  }

  /** Worlds that are evaluated remember nothing. */
  forgetEvaluated(): void {
    if (this.shape.cells) this.write("eval_hidden", new Float32Array(this.words("eval_hidden")));
  }

  /** What comes between the networks and an action: the logits that are not held. */
  choose(pass: JobPass, rows: number): void {
    if (!this.shape.head) return;
    embedActions(this, pass);
    foldBlocks(this, pass, rows, "act");
  }

  /** Derivatives of the loss of each row, in the place of what the networks put out. */
  loss(pass: JobPass, rows: number): void {
    const { head } = this.shape;
    if (head) {
      embedActions(this, pass);
      foldBlocks(this, pass, rows, "loss");
    }
    this.run(pass, "loss", rows);
    if (head) descendBlocks(this, pass, rows);
  }

  /**
   * Runs both networks backward from the derivatives that lie in their outputs. Gradients go to the partial sums, with
   * the statistics of the rows and what the log standard deviations add.
   */
  backward(pass: JobPass, rows: number, chunks: number): void {
    const { policy, value, logStd } = this.shape.nets;
    const { cells } = this.shape;
    for (let i = value.length - 1; i >= 0; i--) {
      if (cells && value[i] === this.shape.nets.cells!.value.ih) backCells(this, pass, cells, chunks);
      const networks = [policy, value].filter((layers) => i < layers.length).map((layers) => layers[i]);
      const deviations = logStd.count > 0 ? [{ k: TILE, n: padTo(logStd.count, TILE) }] : [];
      const sums = i === value.length - 1 ? [SUMS, ...deviations] : [];
      this.runWeights(pass, `gradient ${i}`, chunks, [...networks, ...sums]);
      if (i > 0) this.runRows(pass, `backward ${i}`, rows, value[i].k, networks.length);
    }
  }

  /** Sums the chunks of gradients, if there are several. */
  sum(pass: JobPass): void {
    const { chunks, nets } = this.shape;
    if (chunks === 1) return;
    this.run(pass, "reduce", nets.core4);
    this.run(pass, "reduce statistics", STATISTICS4);
  }

  /** Parameters, optimizer and statistics as at the start of a run. */
  initialize(env: LearnerEnv, seed: number | bigint, initialLogStd: number): void {
    const { nets } = this.shape;
    this.writeFirst(env, initialParameters(nets, seed, initialLogStd), nets.params4, (state) => {
      for (const name of ["beta1_power", "beta2_power", "reward_scale", "adv_scale"] as const) state[STATE[name]] = 1;
    });
  }

  /** The optimizer as at the start of a run. */
  async forgetGradients(): Promise<void> {
    const state = (await this.readState()).slice();
    state[STATE.beta1_power] = state[STATE.beta2_power] = 1;
    this.write("moments", new Float32Array(8 * this.shape.nets.params4));
    this.write("state", state);
  }
}

const startOf = (env: LearnerEnv): number =>
  env.singleActionSpace.kind === "discrete" ? env.singleActionSpace.start : 0;
