// the learner of SAC over discrete actions: policy, critics, targets and losses on the device, which the phases of the
// algorithm are put together from. Logits and values of all actions are made in blocks and never held.
import { BIAS_ONLY, STATISTICS4, SUMS } from "../device/arenas.ts";
import type { Bound } from "../device/bind-env.ts";
import { hold } from "../device/device-core.ts";
import { limitsOf, type LearnerDevice } from "../device/learner-device.ts";
import type { JobPass } from "../device/kernels.ts";
import type { Bind, JobOf } from "../device/kernel-table.ts";
import { bindNormGradients, bindNorms, type PlacedLayer } from "../device/layer-norms.ts";
import type { LearnerEnv } from "../device/learner-env.ts";
import { lastOf, type QNetwork } from "../dqn/arenas.ts";
import { bindColumns, columnsJob, descendColumns } from "../dqn/columns.ts";
import { ACTIVATIONS } from "../networks/activations.ts";
import { fillHead, fillUniform } from "../networks/initial-parameters.ts";
import { embedding4, jobOfLayer, TILE, type Rows } from "../networks/networks.ts";
import { transitionParts } from "../replay/arenas.ts";
import { ReplayLearner } from "../replay/learner.ts";
import { ADAM_EACH, SAC_STATE } from "../tables/device-tables.ts";
import { planSacDiscreteLearner, type SacDiscreteShape } from "./arenas.ts";

/** A network and one of the places that it runs at. */
type Run = readonly [network: QNetwork, rows: Rows];

/** When all actions are weighed: now, by the critics; or next, by the targets. */
type When = "now" | "next";

/** `mode` of the first and of the last block, when derivatives by the inputs are added up over blocks. */
const FIRST_BLOCK = 1;
const LAST_BLOCK = 2;

export class SacDiscreteLearner extends ReplayLearner<SacDiscreteShape> {
  /** Reserves the learner's memory in the device's budget and compiles its kernels; holds nothing if either fails. */
  static create(device: LearnerDevice, shape: SacDiscreteShape): Promise<SacDiscreteLearner> {
    const plan = planSacDiscreteLearner(shape, limitsOf(device));
    return hold(device, plan, async (backing) => {
      const learner = new SacDiscreteLearner(shape, backing);
      await learner.bindJobs((bind) => learner.#bindAll(bind));
      if (shape.nets.policy.head.embedding) learner.write("features", shape.env.features!.values);
      return learner;
    });
  }

  #bindAll(bind: Bind): void {
    const { nets, work, env, groups, policy4 } = this.shape;
    if (env.groups) {
      const { from: first, size: count } = groups.policy;
      bind("observation groups", "observation_groups", [{ first, count, to: work.policy.x, k4: policy4 }]);
    }
    const acting: Run = [nets.policy, work.policy];
    const after: Run = [nets.policy, work.nextPolicy];
    const learning: Run[] = nets.critics.map((network, i) => [network, work.critics[i]]);
    const following: Run[] = nets.targets.map((network, i) => [network, work.targets[i]]);

    // layer by layer, networks that do not wait for one another side by side
    const jobs = (runs: readonly Run[], i: number) => runs.map(([{ layers }, rows]) => jobOfLayer(layers, i, rows));
    const placed = (runs: readonly Run[], i: number) =>
      runs.map(([{ layers }, { outputs }]): PlacedLayer => [layers[i], outputs.get(layers[i])!]);
    const forward = (name: string, runs: readonly Run[], i: number) => {
      bind(`${name} forward ${i}`, "forward", jobs(runs, i));
      bindNorms(bind, `${name} forward ${i}`, "layer_norm", placed(runs, i));
    };
    const back = (name: string, runs: readonly Run[], i: number) => {
      bind(`${name} gradient ${i}`, "gradient_whole", jobs(runs, i));
      bindNormGradients(bind, `${name} gradient ${i}`, "gradient_whole", placed(runs, i), this.shape.rows);
      if (i === 0) return;
      const { code: activation } = ACTIVATIONS[nets.policy.layers[i - 1].activation];
      const below = jobs(runs, i).map((job) => ({ ...job, activation }));
      bind(`${name} backward ${i}`, "backward", below);
      bindNorms(bind, `${name} backward ${i}`, "layer_norm_back", placed(runs, i - 1));
    };
    nets.policy.layers.forEach((_, i) => {
      forward("policy", [acting, after], i);
      forward("critics", [...learning, ...following], i);
      back("policy", [acting], i);
      back("critics", learning, i);
    });
    this.#bindHead(bind, "now", [acting, ...learning]);
    this.#bindHead(bind, "next", [after, ...following]);
    this.#bindPolicyHead(bind);
    learning.forEach(([network, rows], i) => {
      bindColumns(bind, network, rows, work.kept[i]);
    });

    const job = this.#job();
    bind("load", "soft_load", job);
    bind("critic loss", "soft_critic_loss", job);
    bind("policy loss", "soft_policy_loss", job);

    const { criticsAt: first, criticsStatistics, policyStatistics } = nets;
    const [count, place] = [criticsStatistics - first, SAC_STATE.policy];
    this.#bindOptimizer(bind, "critic", { at: first, count, place: 0, statistics: criticsStatistics });
    this.#bindOptimizer(bind, "policy", { at: 0, count: policyStatistics, place, statistics: policyStatistics });
    bind("polyak update", "polyak_update", { at: first, count, place: 0, other: nets.total4 });
    this.bindShared(bind);
  }

  #bindOptimizer(
    bind: Bind,
    name: "critic" | "policy",
    { statistics, ...range }: Record<"at" | "count" | "place" | "statistics", number>,
  ): void {
    const { work } = this.shape;
    // sums of columns are the gradient of a bias
    const sums = { k4: TILE / 4, w: 0, b: statistics, y: work.statistics, n4: STATISTICS4, activation: 0 };
    bind(`${name} statistics`, "gradient_whole", [{ ...sums, x: work.policy.x, mode: BIAS_ONLY }]);
    bind(`${name} gradient gate`, `gate_${name}`, { ...range, other: statistics });
    bind(`${name} adam`, "adam", { ...range, other: 0 });
  }

  /** Binds what makes logits and values block by block, and what is expected of them. `runs`: policy, then two that value. */
  #bindHead(bind: Bind, when: When, runs: readonly Run[]): void {
    const { work, nets } = this.shape;
    const { blocks, width, embedding, actions } = nets.policy.head;
    const of = embedding ? "_embedded" : "";
    const each4 = embedding ? embedding4(nets.policy.head) : 0;
    const [first_values, second_values] = work.values;
    const into = [work.logits, first_values, second_values];
    const block = { logits: work.logits, first_values, second_values, width: width / 4, kept: work.soft };
    blocks.forEach(({ outputs: count }, i) => {
      const layers = runs.map(([network, rows], r) => {
        const { k, w, b } = network.head.blocks[i];
        const places = { w: w + r * each4, b: b + r * each4, x: lastOf(network, rows), y: into[r] };
        return { ...places, k4: k / 4, n4: width / 4, activation: 0, mode: 0 };
      });
      bind(`${when} block ${i}`, `forward${of}`, layers);
      bind(`${when} fold ${i}`, "soft_fold", { ...block, index: i, count });
      bind(`slope ${i}`, "soft_slope", { ...block, index: i, count });
    });
    if (!embedding) return;
    const facts = { dims: embedding.dims, features: embedding.features, width, blocks: blocks.length, actions };
    runs.forEach(([{ head }], r) => {
      bind(`${when} embed ${r}`, "embed", {
        ...facts,
        map: 4 * head.embedding!.at,
        k: blocks[0].k,
        to: 4 * r * each4,
      });
    });
  }

  /** Binds what draws actions as blocks go by, and what the policy's head learns. */
  #bindPolicyHead(bind: Bind): void {
    const { work, nets } = this.shape;
    const { head, layers } = nets.policy;
    const { blocks, width, embedding } = head;
    const below = layers.at(-1);
    blocks.forEach(({ k, w, b, outputs: count }, i) => {
      const place = { logits: work.logits, width: width / 4, kept: work.acting };
      bind(`draw ${i}`, "head_act", { ...place, index: i, first: i * width, count, action_words: 0 });
      const x = lastOf(nets.policy, work.policy);
      const layer = { x, k4: k / 4, w, b, y: work.logits, n4: width / 4, activation: 0, mode: 0 };
      bind(`head gradient ${i}`, embedding ? "gradient_embedded" : "gradient_whole", [layer]);
      if (!below) return;
      const mode = (i === 0 ? FIRST_BLOCK : 0) | (i === blocks.length - 1 ? LAST_BLOCK : 0);
      const { code: activation } = ACTIVATIONS[below.activation];
      const backward = embedding ? "head_backward_embedded" : "head_backward";
      bind(`head backward ${i}`, backward, [{ ...layer, b: work.slopes, activation, mode }]);
      // with the last block derivatives are whole
      if (mode & LAST_BLOCK)
        bindNorms(bind, `head backward ${i}`, "layer_norm_back", [[below, work.policy.outputs.get(below)!]]);
    });
    if (!embedding) return;
    const { at, dims, features } = embedding;
    const facts = { dims, features, width, blocks: blocks.length, actions: head.actions, k: blocks[0].k };
    bind("embed gradient", "embed_gradient", { ...facts, map: 4 * at, to: 0 });
  }

  /** The numbers of the kernels between runs of the networks. */
  #job(): JobOf<"soft_critic_loss"> {
    const { nets, work, groups, policy4, critic4 } = this.shape;
    const [first, second] = nets.critics.map((network, i) => columnsJob(network, work.critics[i], work.kept[i]));
    return {
      ...first,
      other_x: second.x,
      other_kept: second.kept,
      other_head: second.head,
      policy_count: groups.policy.size,
      critic_first: groups.critic.from,
      critic_count: groups.critic.size,
      obs: 4 * work.policy.x,
      next_obs: 4 * work.nextPolicy.x,
      obs_row: 4 * policy4,
      seen: 4 * work.critics[0].x,
      next_seen: 4 * work.targets[0].x,
      seen_row: 4 * critic4,
      soft: 4 * work.soft,
      statistics: 4 * work.statistics,
      ...transitionParts(this.shape),
    };
  }

  protected bindPolicy(env: LearnerEnv): Promise<Bound> {
    const { work, actions4, env: facts } = this.shape;
    const { singleActionSpace: space } = env;
    return this.bindActing(env, "act_drawn", {
      kept: 4 * work.acting,
      count: facts.outputs,
      start: space.kind === "discrete" ? space.start : 0,
      action_words: 4 * actions4,
    });
  }

  /** Runs the policy's layers over the first rows of its input; `next` too, over next observations. */
  forward(pass: JobPass, rows: number, next = false): void {
    this.shape.nets.policy.layers.forEach(({ n }, i) =>
      this.runRows(pass, `policy forward ${i}`, rows, n, next ? 2 : 1),
    );
  }

  /** Runs the layers of both critics; `next` the targets' too. */
  values(pass: JobPass, rows: number, next: boolean): void {
    this.shape.nets.policy.layers.forEach(({ n }, i) =>
      this.runRows(pass, `critics forward ${i}`, rows, n, next ? 4 : 2),
    );
  }

  /** The policy for worlds that act: it sees its group of their observations. */
  infer(pass: JobPass, rows: number): void {
    const { env, policy4 } = this.shape;
    if (env.groups) this.run(pass, "observation groups", rows * 4 * policy4);
    this.forward(pass, rows);
  }

  /** Embeddings of all actions from the parameters as they are: of the policy, or of what values them too. */
  #embed(pass: JobPass, when: When, networks: number): void {
    const { blocks, width, embedding } = this.shape.nets.policy.head;
    if (!embedding) return;
    for (let r = 0; r < networks; r++) this.run(pass, `${when} embed ${r}`, blocks.length * width);
  }

  /** What comes between the network and an action. */
  choose(pass: JobPass, rows: number): void {
    const { blocks, width } = this.shape.nets.policy.head;
    this.#embed(pass, "now", 1);
    blocks.forEach((_, i) => {
      this.runRows(pass, `now block ${i}`, rows, width);
      this.run(pass, `draw ${i}`, rows);
    });
  }

  /** What the policy expects of all actions of each row. */
  expect(pass: JobPass, when: When, rows: number): void {
    const { blocks, width } = this.shape.nets.policy.head;
    this.#embed(pass, when, 3);
    blocks.forEach((_, i) => {
      this.runRows(pass, `${when} block ${i}`, rows, width, 3);
      this.run(pass, `${when} fold ${i}`, rows);
    });
  }

  /** Gradients of both critics' loss, from derivatives that lie in what is kept of each row. */
  descendCritics(pass: JobPass, rows: number): void {
    const { critics } = this.shape.nets;
    this.runWeights(pass, "critic statistics", 1, [SUMS]);
    for (const critic of critics) descendColumns(this, pass, critic, rows);
    this.#descend(pass, "critics", rows, critics);
  }

  /** Gradients of the policy's loss: each block is made again, and turned into derivatives. */
  descendPolicy(pass: JobPass, rows: number): void {
    const { policy } = this.shape.nets;
    const { blocks, width, embedding } = policy.head;
    this.runWeights(pass, "policy statistics", 1, [SUMS]);
    blocks.forEach(({ k }, i) => {
      // of several blocks another lies there
      if (blocks.length > 1) this.runRows(pass, `now block ${i}`, rows, width, 3);
      this.run(pass, `slope ${i}`, (rows * width) / 4);
      this.runWeights(pass, `head gradient ${i}`, 1, [{ k, n: width }]);
      if (policy.layers.length > 0) this.runRows(pass, `head backward ${i}`, rows, k);
    });
    if (embedding) this.run(pass, "embed gradient", embedding.dims * embedding.features);
    this.#descend(pass, "policy", rows, [policy]);
  }

  /** Gradients of the layers below heads. */
  #descend(pass: JobPass, name: "policy" | "critics", rows: number, networks: readonly QNetwork[]): void {
    for (let i = networks[0].layers.length - 1; i >= 0; i--) {
      const layers = networks.map(({ layers }) => layers[i]);
      this.runWeights(pass, `${name} gradient ${i}`, 1, layers);
      if (i > 0) this.runRows(pass, `${name} backward ${i}`, rows, layers[0].k, layers.length);
    }
  }

  /** Moves the critics, or the policy and the temperature, by their gradients, where the gradient gate lets them. */
  optimize(pass: JobPass, name: "critic" | "policy"): void {
    const { policyStatistics, criticsAt, criticsStatistics } = this.shape.nets;
    const count = name === "policy" ? policyStatistics : criticsStatistics - criticsAt;
    this.run(pass, `${name} gradient gate`, 1);
    this.run(pass, `${name} adam`, Math.ceil(count / ADAM_EACH));
  }

  /** Parameters, optimizers and temperature as at the start of a run; targets are their critics. */
  initialize(env: LearnerEnv, seed: number | bigint, temperature: number): void {
    this.writeFirst(env, initialParameters(this.shape, seed), this.shape.nets.total4, (state) => {
      for (const place of [0, SAC_STATE.policy])
        state[place + SAC_STATE.beta1_power] = state[place + SAC_STATE.beta2_power] = 1;
      state[SAC_STATE.log_alpha] = Math.log(temperature);
    });
  }
}

/** Small values and logits at the start: a policy that is as good as uniform. */
const FIRST_OUTPUTS = 0.01;

/** The parameters at the start: layers as PyTorch starts them. Depends on the seed alone. */
function initialParameters({ nets }: SacDiscreteShape, seed: number | bigint): Float32Array<ArrayBuffer> {
  const params = new Float32Array(4 * nets.params4);
  const networks = [nets.policy, ...nets.critics];
  const layers = networks.flatMap((network) => network.layers);
  fillUniform(params, layers, seed);
  networks.forEach(({ layers: own, head }, i) => {
    if (head.embedding) {
      const { w, b, n } = own.at(-1)!;
      for (let at = 4 * w; at < 4 * b + n; at++) params[at] *= FIRST_OUTPUTS;
    }
    fillHead(params, head, seed, layers.length + i);
  });
  params.copyWithin(4 * nets.total4, 4 * nets.criticsAt, 4 * nets.criticsStatistics);
  return params;
}
