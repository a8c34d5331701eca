// the learner of DQN: network, targets and loss on the device, which the phases of the algorithm are put together from
import { BIAS_ONLY, STATISTICS4, SUMS } from "../device/arenas.ts";
import type { Backing } from "../device/backing.ts";
import type { Bound } from "../device/bind-env.ts";
import { hold } from "../device/device-core.ts";
import { limitsOf, type LearnerDevice } from "../device/learner-device.ts";
import type { JobPass } from "../device/kernels.ts";
import type { Bind, JobOf } from "../device/kernel-table.ts";
import { bindNormGradients, bindNorms } from "../device/layer-norms.ts";
import type { LearnerEnv } from "../device/learner-env.ts";
import { ACTIVATIONS } from "../networks/activations.ts";
import { fillHead, fillUniform } from "../networks/initial-parameters.ts";
import { jobOfLayer, TILE } from "../networks/networks.ts";
import { transitionParts } from "../replay/arenas.ts";
import { ReplayLearner } from "../replay/learner.ts";
import { ADAM_EACH, SAC_STATE } from "../tables/device-tables.ts";
import { bindColumns, columnsJob, descendColumns, headAt } from "./columns.ts";
import { lastOf, planDqnLearner, type DqnShape, type QNetwork } from "./arenas.ts";

/** Who looks for the best action: worlds that act, or a batch for its targets. */
export type Seeker = "act" | "next";

export class DqnLearner extends ReplayLearner<DqnShape> {
  readonly #doubleQ: boolean;

  private constructor(shape: DqnShape, doubleQ: boolean, backing: Backing) {
    super(shape, backing);
    this.#doubleQ = doubleQ;
  }

  /** Reserves the learner's memory in the device's budget and compiles its kernels; holds nothing if either fails. */
  static create(device: LearnerDevice, shape: DqnShape, doubleQ: boolean): Promise<DqnLearner> {
    const plan = planDqnLearner(shape, limitsOf(device));
    return hold(device, plan, async (backing) => {
      const learner = new DqnLearner(shape, doubleQ, backing);
      await learner.bindJobs((bind) => learner.#bindAll(bind));
      if (shape.nets.online.head.embedding) learner.write("features", shape.env.features!.values);
      return learner;
    });
  }

  #bindAll(bind: Bind): void {
    const { nets, work, env, seen4 } = this.shape;
    const { online, target, statistics } = nets;

    if (env.groups) {
      const { from: first, size: count } = env.groups.policy;
      bind("observation groups", "observation_groups", [{ first, count, to: work.online.x, k4: seen4 }]);
    }
    online.layers.forEach((_, i) => {
      const own = jobOfLayer(online.layers, i, work.online);
      const next = jobOfLayer(online.layers, i, work.next);
      const following = jobOfLayer(target.layers, i, work.target);
      const all = this.#doubleQ ? [own, following, next] : [own, following];
      bind(`forward ${i}`, "forward", all);
      const layers = [online.layers[i], target.layers[i], online.layers[i]];
      bindNorms(
        bind,
        `forward ${i}`,
        "layer_norm",
        all.map(({ y }, part) => [layers[part], y]),
      );
      bind(`gradient ${i}`, "gradient_whole", [own]);
      bindNormGradients(bind, `gradient ${i}`, "gradient_whole", [[online.layers[i], own.y]], this.shape.rows);
      if (i === 0) return;
      const activation = ACTIVATIONS[online.layers[i - 1].activation].code;
      bind(`backward ${i}`, "backward", [{ ...own, activation }]);
      bindNorms(bind, `backward ${i}`, "layer_norm_back", [[online.layers[i - 1], own.x]]);
    });
    // sums of columns are the gradient of a bias
    const sums = { k4: TILE / 4, w: 0, b: statistics, y: work.statistics, n4: STATISTICS4, activation: 0 };
    bind("statistics", "gradient_whole", [{ ...sums, x: work.online.x, mode: BIAS_ONLY }]);

    this.#bindSeeker(bind, "act", online, lastOf(online, work.online));
    if (this.#doubleQ) this.#bindSeeker(bind, "next", online, lastOf(online, work.next));
    else this.#bindSeeker(bind, "next", target, lastOf(target, work.target));

    const job = this.#job();
    bind("load", "dqn_load", job);
    bind("loss", "dqn_loss", job);
    bindColumns(bind, online, work.online, work.kept);
    bind("gradient gate", "gate_critic", { at: 0, count: statistics, place: 0, other: statistics });
    bind("adam", "adam", { at: 0, count: statistics, place: 0, other: 0 });
    bind("polyak update", "polyak_update", { at: 0, count: statistics, place: 0, other: nets.total4 });
    this.bindShared(bind);
  }

  /** Binds what makes the values of all actions by a network, block by block. `x`: vec4 of what its head multiplies. */
  #bindSeeker(bind: Bind, who: Seeker, { head }: QNetwork, x: number): void {
    const { work } = this.shape;
    const { blocks, width, embedding, actions } = head;
    const of = embedding ? "_embedded" : "";
    blocks.forEach(({ k, w, b, outputs: count }, i) => {
      const layer = { x, k4: k / 4, w, b, y: work.values, n4: width / 4, activation: 0, mode: 0 };
      bind(`${who} block ${i}`, `forward${of}`, [layer]);
      const block = { logits: work.values, width: width / 4, kept: work.kept, index: i, first: i * width, count };
      bind(`best ${i}`, "best_block", { ...block, action_words: 0 });
    });
    if (!embedding) return;
    const { at, dims, features } = embedding;
    bind(`${who} embed`, "embed", {
      map: 4 * at,
      dims,
      features,
      width,
      blocks: blocks.length,
      actions,
      k: blocks[0].k,
      to: 0,
    });
  }

  /** The numbers of the kernels between runs of the networks. */
  #job(): JobOf<"dqn_loss"> {
    const { nets, work, seen, seen4 } = this.shape;
    const { online, target } = nets;
    return {
      ...columnsJob(online, work.online, work.kept),
      observations: seen,
      obs: 4 * work.online.x,
      next_obs: 4 * work.next.x,
      obs_row: 4 * seen4,
      next_x: 4 * lastOf(target, work.target),
      target_head: headAt(target).at,
      statistics: 4 * work.statistics,
      ...transitionParts(this.shape),
    };
  }

  protected bindPolicy(env: LearnerEnv): Promise<Bound> {
    const { work, actions4, env: facts } = this.shape;
    const { singleActionSpace: space } = env;
    return this.bindActing(env, "act_greedy", {
      kept: 4 * work.kept,
      count: facts.outputs,
      start: space.kind === "discrete" ? space.start : 0,
      action_words: 4 * actions4,
    });
  }

  /** Runs the network over the first rows of its input; and both over next observations. */
  forward(pass: JobPass, rows: number, next = false): void {
    const parts = next ? (this.#doubleQ ? 3 : 2) : 1;
    this.shape.nets.online.layers.forEach(({ n }, i) => this.runRows(pass, `forward ${i}`, rows, n, parts));
  }

  /** The network for worlds that act: it sees its group of their observations. */
  infer(pass: JobPass, rows: number): void {
    const { env, seen4 } = this.shape;
    if (env.groups) this.run(pass, "observation groups", rows * 4 * seen4);
    this.forward(pass, rows);
  }

  /** What comes between the network and an action. */
  choose(pass: JobPass, rows: number): void {
    this.seek(pass, "act", rows);
  }

  /** Finds the best action of each row. */
  seek(pass: JobPass, who: Seeker, rows: number): void {
    const { blocks, width, embedding } = this.shape.nets.online.head;
    if (embedding) this.run(pass, `${who} embed`, blocks.length * width);
    blocks.forEach((_, i) => {
      this.runRows(pass, `${who} block ${i}`, rows, width);
      this.run(pass, `best ${i}`, rows);
    });
  }

  /** Gradients of the loss of each row, from derivatives that lie in what is kept of it. */
  backward(pass: JobPass, rows: number): void {
    const { online } = this.shape.nets;
    const { layers } = online;
    this.runWeights(pass, "statistics", 1, [SUMS]);
    descendColumns(this, pass, online, rows);
    for (let i = layers.length - 1; i >= 0; i--) {
      this.runWeights(pass, `gradient ${i}`, 1, [layers[i]]);
      if (i > 0) this.runRows(pass, `backward ${i}`, rows, layers[i].k);
    }
  }

  /** Moves the parameters by their gradients, where the gradient gate lets them. */
  optimize(pass: JobPass): void {
    this.run(pass, "gradient gate", 1);
    this.run(pass, "adam", Math.ceil(this.shape.nets.statistics / ADAM_EACH));
  }

  /** Parameters and optimizer as at the start of a run; targets are the network. */
  initialize(env: LearnerEnv, seed: number | bigint): void {
    this.writeFirst(env, initialDqn(this.shape, seed), this.shape.nets.total4, (state) => {
      state[SAC_STATE.beta1_power] = state[SAC_STATE.beta2_power] = 1;
    });
  }
}

/** Values near 0 at the start, where the best of thousands is else what chance made large. */
const FIRST_VALUES = 0.01;

/** The parameters at the start: layers as PyTorch starts them, small values. Depends on the seed alone. */
function initialDqn({ nets }: DqnShape, seed: number | bigint): Float32Array<ArrayBuffer> {
  const params = new Float32Array(4 * nets.params4);
  const { layers, head } = nets.online;
  fillUniform(params, layers, seed);
  if (head.embedding) {
    const { w, b, n } = layers.at(-1)!;
    for (let i = 4 * w; i < 4 * b + n; i++) params[i] *= FIRST_VALUES;
  }
  fillHead(params, head, seed, layers.length);
  params.copyWithin(4 * nets.total4, 0, 4 * nets.statistics);
  return params;
}
