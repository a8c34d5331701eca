// the learner of SAC: policy, critics, targets and losses on the device, which the phases of the algorithm are put together from
import { BIAS_ONLY, STATISTICS4, SUMS } from "../device/arenas.ts";
import type { Bound } from "../device/bind-env.ts";
import { hold } from "../device/device-core.ts";
import { limitsOf, type LearnerDevice } from "../device/learner-device.ts";
import type { JobPass } from "../device/kernels.ts";
import type { Bind, JobOf } from "../device/kernel-table.ts";
import type { CellSet } from "../device/cell-places.ts";
import { actCells, backCells, bindActing, bindCells, forget, runCells } from "../device/cells.ts";
import { bindNormGradients, bindNorms, type PlacedLayer } from "../device/layer-norms.ts";
import type { LearnerEnv } from "../device/learner-env.ts";
import { ACTIVATIONS } from "../networks/activations.ts";
import { fillUniform } from "../networks/initial-parameters.ts";
import { jobOfLayer, padTo, TILE, type Layer, type Rows } from "../networks/networks.ts";
import { transitionParts } from "../replay/arenas.ts";
import { ReplayLearner } from "../replay/learner.ts";
import { ADAM_EACH, Flag, SAC_STATE } from "../tables/device-tables.ts";
import { cellLayers, planSacLearner, type SacCells, type SacShape } from "./arenas.ts";

/** A network and one of the places that it runs at. */
type Run = readonly [layers: readonly Layer[], rows: Rows];

export class SacLearner extends ReplayLearner<SacShape> {
  /** Reserves the learner's memory in the device's budget and compiles its kernels; holds nothing if either fails. */
  static create(device: LearnerDevice, shape: SacShape): Promise<SacLearner> {
    const plan = planSacLearner(shape, limitsOf(device));
    return hold(device, plan, async (backing) => {
      const learner = new SacLearner(shape, backing, shape.cells ? ["hidden"] : []);
      await learner.bindJobs((bind) => learner.#bindAll(bind));
      return learner;
    });
  }

  #bindAll(bind: Bind): void {
    const { nets, work, chunks, cells } = this.shape;

    // layer by layer, networks that do not wait for one another side by side
    const jobs = (runs: readonly Run[], i: number) => runs.map(([layers, rows]) => jobOfLayer(layers, i, rows));
    const placed = (runs: readonly Run[], i: number) =>
      runs.map(([layers, { outputs }]): PlacedLayer => [layers[i], outputs.get(layers[i])!]);
    const forward = (name: string, runs: readonly Run[]) =>
      runs[0][0].forEach((_, i) => {
        bind(`${name} forward ${i}`, "forward", jobs(runs, i));
        bindNorms(bind, `${name} forward ${i}`, "layer_norm", placed(runs, i));
      });
    const backward = (name: string, runs: readonly Run[], to: number) => {
      for (let i = runs[0][0].length - 1; i >= to; i--) {
        const activation = i === 0 ? 0 : ACTIVATIONS[runs[0][0][i - 1].activation].code;
        const below = jobs(runs, i).map((job) => ({ ...job, activation }));
        bind(`${name} backward ${i}`, "backward", below);
        if (i > 0) bindNorms(bind, `${name} backward ${i}`, "layer_norm_back", placed(runs, i - 1));
      }
    };
    const gradient = (name: string, runs: readonly Run[], statistics: number) =>
      runs[0][0].forEach((_, i) => {
        const all = jobs(runs, i);
        // sums of columns are the gradient of a bias
        const sums = {
          k4: TILE / 4,
          w: 0,
          b: statistics,
          y: work.statistics,
          n4: STATISTICS4,
          activation: 0,
          mode: BIAS_ONLY,
        };
        if (i === runs[0][0].length - 1) all.push({ ...sums, x: runs[0][1].x });
        const kernel = chunks > 1 ? "gradient" : "gradient_whole";
        bind(`${name} gradient ${i}`, kernel, all);
        bindNormGradients(bind, `${name} gradient ${i}`, kernel, placed(runs, i), this.shape.rows);
      });
    const runs = (layers: readonly (readonly Layer[])[], rows: readonly Rows[]): Run[] =>
      layers.map((one, i) => [one, rows[i]]);

    const { env, groups: seen, policy4 } = this.shape;
    if (env.groups) {
      const { from: first, size: count } = seen.policy;
      bind("observation groups", "observation_groups", [{ first, count, to: work.policy.x, k4: policy4 }]);
    }
    const acting: Run = [nets.policy, work.policy];
    const learning = runs(nets.critics, work.together);
    const judging = runs(nets.critics, work.critics);
    // of sequences the next step's rows are what comes next
    forward("policy", cells ? [acting] : [acting, [nets.policy, work.nextPolicy]]);
    forward("critics", [...learning, ...runs(nets.targets, work.targets)]);
    forward("judging", judging);
    backward("critics", learning, 1);
    backward("judging", judging, 0);
    backward("policy", [acting], 1);
    gradient("critics", learning, nets.criticsStatistics);
    gradient("policy", [acting], nets.policyStatistics);

    const job = this.#job();
    const steps = ["load", "next_actions", "critic_loss", "new_actions", "lower_value", "policy_loss"] as const;
    for (const name of steps) bind(name, name, job);

    if (cells) this.#bindMemory(bind, cells, chunks > 1 ? "gradient" : "gradient_whole");
    const first = nets.criticsAt;
    const count = nets.criticsStatistics - first;
    const groups = [
      { name: "critic", at: first, count, statistics: nets.criticsStatistics, place: 0 },
      {
        name: "policy",
        at: 0,
        count: nets.policyStatistics,
        statistics: nets.policyStatistics,
        place: SAC_STATE.policy,
      },
    ] as const;
    for (const { name, at, count, statistics, place } of groups) {
      if (chunks > 1) bind(`${name} reduce`, "reduce", { at, count: count + STATISTICS4, place, other: 0 });
      bind(`${name} adam`, "adam", { at, count, place, other: 0 });
      bind(`${name} gradient gate`, `gate_${name}`, { at, count, place, other: statistics });
    }
    bind("polyak update", "polyak_update", { at: first, count, place: 0, other: nets.total4 });
    this.bindShared(bind);
  }

  /** Cells along sequences; what critics and targets remember, in their inputs and back. */
  #bindMemory(bind: Bind, cells: SacCells, gradient: "gradient" | "gradient_whole"): void {
    const { nets, work, env, groups, row4, actions4, pair4 } = this.shape;
    bindCells(bind, cells.policy, "replay", gradient);
    bindActing(bind, cells.policy, "replay");
    bindCells(bind, cells.critics, "replay", gradient);
    bindCells(bind, cells.targets, "replay");
    const [critics, targets] = (["critics", "targets"] as const).map((name) =>
      jobOfLayer([nets.cells![name].ih], 0, work.memory![name]),
    );
    bind("memory forward", "forward", [critics]);
    bind("slow memory forward", "forward", [targets]);
    bind("memory gradient", gradient, [critics]);
    const [pair, other] = work.critics;
    const job = {
      batch_row: 4 * row4,
      critic_first: groups.critic.from,
      critic_count: groups.critic.size,
      seen: 4 * work.memory!.critics.x,
      seen_row: 4 * cells.seen4,
      state: 4 * cells.critics.cells[0].at.state,
      target_state: 4 * cells.targets.cells[0].at.state,
      size: nets.cells!.size,
      pair: 4 * pair.x,
      other_pair: 4 * other.x,
      pair_row: 4 * pair4,
      column: env.actions + groups.critic.size,
    };
    for (const name of ["see", "remember", "remember_back"] as const) bind(`memory ${name}`, `sac_${name}`, job);
    bind("sample sequences", "sample_sequences", { row4, actions4, burn_in: cells.burnIn });
  }

  /** The numbers of the kernels between runs of the networks. */
  #job(): JobOf<"load"> {
    const { nets, work, env, groups, policy4, pair4 } = this.shape;
    const out = (layers: readonly Layer[], rows: Rows) => 4 * rows.outputs.get(layers.at(-1)!)!;
    return {
      actions: env.actions,
      policy_count: groups.policy.size,
      critic_first: groups.critic.from,
      critic_count: groups.critic.size,
      memory: nets.cells?.size ?? 0,
      obs: 4 * work.policy.x,
      next_obs: 4 * work.nextPolicy.x,
      obs_row: 4 * policy4,
      pair: 4 * work.critics[0].x,
      other_pair: 4 * work.critics[1].x,
      pair_row: 4 * pair4,
      policy: out(nets.policy, work.policy),
      next_policy: out(nets.policy, work.nextPolicy),
      policy_row: nets.policy.at(-1)!.n,
      q1: out(nets.critics[0], work.together[0]),
      q2: out(nets.critics[1], work.together[1]),
      target1: out(nets.targets[0], work.targets[0]),
      target2: out(nets.targets[1], work.targets[1]),
      value_row: nets.critics[0].at(-1)!.n,
      statistics: 4 * work.statistics,
      notes: 4 * work.notes,
      ...transitionParts(this.shape),
    };
  }

  protected bindPolicy(env: LearnerEnv): Promise<Bound> {
    const { nets, work, k4, actions4, env: facts } = this.shape;
    const last = nets.policy.at(-1)!;
    return this.bindActing(env, "act_squashed", {
      out: 4 * work.policy.outputs.get(last)!,
      out_row: last.n,
      actions: facts.actions,
      action_row: 4 * actions4,
      bounds: 16 * k4,
    });
  }

  #forward(pass: JobPass, name: string, layers: readonly Layer[], rows: number, parts: number): void {
    layers.forEach(({ n }, i) => this.runRows(pass, `${name} forward ${i}`, rows, n, parts));
  }

  /** The policy; `remember` runs its cell. */
  #policy(pass: JobPass, rows: number, parts: number, remember: (set: CellSet) => void): void {
    const { nets, cells } = this.shape;
    nets.policy.forEach((layer, i) => {
      this.runRows(pass, `policy forward ${i}`, rows, layer.n, parts);
      if (cells && layer === nets.cells!.policy.ih) remember(cells.policy);
    });
  }

  /** Runs the policy over the first rows of its input; `next` too, over next observations. */
  forward(pass: JobPass, rows: number, next = false): void {
    this.#policy(pass, rows, next && !this.shape.cells ? 2 : 1, (set) => runCells(this, pass, set));
  }

  /** The policy for worlds that act: it sees its group of their observations. */
  infer(pass: JobPass, rows: number, flags: number): void {
    const { env, policy4 } = this.shape;
    if (env.groups) this.run(pass, "observation groups", rows * 4 * policy4);
    const who = (flags & Flag.keep) === 0 ? "evaluate" : "act";
    this.#policy(pass, rows, 1, (set) => actCells(this, pass, set, { rows, who }));
  }

  /** Worlds that took a new start state forget what they remembered. */
  stored(pass: JobPass, rows: number): void {
    const { cells } = this.shape;
    if (cells) forget(this, pass, cells.policy, rows);
  }

  /** Worlds that are evaluated remember nothing. */
  forgetEvaluated(): void {
    if (this.shape.cells) this.write("eval_hidden", new Float32Array(this.words("eval_hidden")));
  }

  /** What the critics' memory, or the slow one, makes of so many steps of sequences. */
  #recall(pass: JobPass, name: "critics" | "targets", steps: number): void {
    const { cells, nets } = this.shape;
    const job = name === "critics" ? "memory forward" : "slow memory forward";
    this.runRows(pass, job, steps * cells!.lanes, nets.cells![name].ih.n);
    runCells(this, pass, cells![name], steps);
  }

  /** What both memories make of whole sequences, the steps that only say what is next among them. */
  recall(pass: JobPass): void {
    const { cells, batch } = this.shape;
    if (!cells) return;
    this.run(pass, "memory see", batch * 4 * cells.seen4);
    for (const name of ["critics", "targets"] as const) this.#recall(pass, name, cells.unroll);
  }

  /** Puts what is remembered into the inputs of critics and targets; `again`: by the memory as it has become. */
  remember(pass: JobPass, again = false): void {
    const { cells, learnt, nets } = this.shape;
    if (!cells) return;
    if (again) this.#recall(pass, "critics", cells.unroll - 1);
    this.run(pass, "memory remember", learnt * nets.cells!.size);
  }

  /** From derivatives by what critics saw of the memory back through it. */
  rememberBack(pass: JobPass): void {
    const { cells, learnt, nets, chunks, env, groups } = this.shape;
    if (!cells) return;
    const width = padTo(env.actions + groups.critic.size + nets.cells!.size, TILE);
    this.runRows(pass, "judging backward 0", learnt, width, 2);
    this.run(pass, "memory remember_back", learnt * nets.cells!.size);
    backCells(this, pass, cells.critics, chunks, cells.unroll - 1);
    this.runWeights(pass, "memory gradient", chunks, [nets.cells!.critics.ih]);
  }

  /** Both critics, each at its own input; or both at one, and the targets at the other. */
  values(pass: JobPass, rows: number, name: "judging" | "critics"): void {
    this.#forward(pass, name, this.shape.nets.critics[0], rows, name === "critics" ? 4 : 2);
  }

  /**
   * Runs networks backward from the derivatives in their outputs, gradients into the partial sums if they are wanted,
   * and the derivatives by the first `inputs` numbers of the input.
   */
  backward(
    pass: JobPass,
    name: "critics" | "judging" | "policy",
    rows: number,
    { chunks = 0, inputs = 0 }: { readonly chunks?: number; readonly inputs?: number },
  ): void {
    const { nets, cells } = this.shape;
    const layers = name === "policy" ? nets.policy : nets.critics[0];
    const parts = name === "policy" ? 1 : 2;
    for (let i = layers.length - 1; i >= 0; i--) {
      const { k } = layers[i];
      if (cells && layers[i] === nets.cells?.policy.ih) backCells(this, pass, cells.policy, chunks, cells.unroll - 1);
      const sums = i === layers.length - 1 ? [SUMS] : [];
      const learned = Array.from({ length: parts }, () => layers[i]);
      if (chunks > 0) this.runWeights(pass, `${name} gradient ${i}`, chunks, [...learned, ...sums]);
      const width = i > 0 ? k : padTo(inputs, TILE);
      if (width > 0) this.runRows(pass, `${name} backward ${i}`, rows, width, parts);
    }
  }

  /** vec4s that have gradients. */
  #countOf(name: "critic" | "policy"): number {
    const { policyStatistics, criticsAt, criticsStatistics } = this.shape.nets;
    return name === "policy" ? policyStatistics : criticsStatistics - criticsAt;
  }

  /** Sums the chunks of gradients of the critics or the policy, if there are several. */
  sum(pass: JobPass, name: "critic" | "policy"): void {
    if (this.shape.chunks > 1) this.run(pass, `${name} reduce`, this.#countOf(name) + STATISTICS4);
  }

  /** Moves the critics, or the policy and the temperature, by their gradients, where the gradient gate lets them. */
  optimize(pass: JobPass, name: "critic" | "policy"): void {
    this.run(pass, `${name} gradient gate`, 1);
    this.run(pass, `${name} adam`, Math.ceil(this.#countOf(name) / ADAM_EACH));
  }

  /** Parameters, optimizers and temperature as at the start of a run; targets are their critics. */
  initialize(env: LearnerEnv, seed: number | bigint, temperature: number): void {
    const { nets } = this.shape;
    const params = new Float32Array(4 * nets.params4);
    fillUniform(params, [...nets.policy, ...nets.critics.flat(), ...cellLayers(nets)], seed);
    params.copyWithin(4 * nets.total4, 4 * nets.criticsAt, 4 * nets.criticsStatistics);
    if (this.shape.cells) this.write("hidden", new Float32Array(this.words("hidden")));
    this.writeFirst(env, params, nets.total4, (state) => {
      for (const place of [0, SAC_STATE.policy])
        state[place + SAC_STATE.beta1_power] = state[place + SAC_STATE.beta2_power] = 1;
      state[SAC_STATE.log_alpha] = Math.log(temperature);
    });
  }
}
