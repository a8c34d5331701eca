// the learner of SAC: policy, critics, targets and losses on the device, which the phases of the algorithm are put together from
import type { GpuDevice } from "../gpu/device.ts";
import type { Reservation } from "../memory/reserve.ts";
import type { VectorEnv } from "../env/host/vector-env.ts";
import { ADAM_EACH, STATE, STATISTICS4, SUMS } from "./arenas.ts";
import { bindEnv, initialNorm, initialWorlds, type Bound } from "./bind-env.ts";
import { DeviceCore, hold } from "./device-core.ts";
import type { KernelName } from "./kernels.ts";
import { ACTIVATION, fillUniform, layerWords, padTo, TILE, type Layer, type Rows } from "./networks.ts";
import { planSacLearner, STEP, type SacShape } from "./sac-arenas.ts";

/** What a run goes on from between two updates. */
const KEPT = ["params", "moments", "state", "worlds"] as const;
const RING = ["replay_obs", "replay_actions", "replay_steps"] as const;
/** Where the policy's optimizer and the temperature lie in the state: twins of shaders/rl/sac.wgsl. */
export const POLICY_PLACE = 8;
export const LOG_ALPHA = 13;

/** A network and one of the places that it runs at. */
type Run = readonly [layers: readonly Layer[], rows: Rows];

export class SacLearner extends DeviceCore {
  readonly shape: SacShape;
  readonly #bound = new WeakMap<VectorEnv, Promise<Bound>>();

  private constructor(gpu: GpuDevice, shape: SacShape, reservation: Reservation) {
    super(gpu, reservation, shape.window === shape.capacity ? [...KEPT, ...RING] : KEPT);
    this.shape = shape;
  }

  /** Reserves the learner's memory in the device's budget and compiles its kernels; holds nothing if either fails. */
  static create(gpu: GpuDevice, shape: SacShape): Promise<SacLearner> {
    return hold(gpu, planSacLearner(shape, gpu.limits), async (reservation) => {
      const learner = new SacLearner(gpu, shape, reservation);
      await learner.#bindAll();
      return learner;
    });
  }

  async #bindAll(): Promise<void> {
    const { nets, work, actions4, row4, chunks } = this.shape;
    const binds: Promise<void>[] = [];
    const bind = (name: string, kernel: KernelName, words?: readonly number[]) =>
      binds.push(this.bind(name, kernel, words));

    // layer by layer, networks that do not wait for one another side by side
    const forward = (name: string, runs: readonly Run[]) =>
      runs[0][0].forEach(({ activation }, i) => {
        const words = runs.flatMap(([layers, rows]) => [...layerWords(layers, i, rows), ACTIVATION[activation], 0]);
        bind(`${name} forward ${i}`, "forward", words);
      });
    const backward = (name: string, runs: readonly Run[], to: number) => {
      for (let i = runs[0][0].length - 1; i >= to; i--) {
        const below = i === 0 ? 0 : ACTIVATION[runs[0][0][i - 1].activation];
        const words = runs.flatMap(([layers, rows]) => [...layerWords(layers, i, rows), below, 0]);
        bind(`${name} backward ${i}`, "backward", words);
      }
    };
    const gradient = (name: string, runs: readonly Run[], told: number) =>
      runs[0][0].forEach((_, i) => {
        const words = runs.map(([layers, rows]) => [...layerWords(layers, i, rows), 0, 0]);
        // sums of columns are the gradient of a bias
        if (i === runs[0][0].length - 1) words.push([runs[0][1].x, 2, 0, told, work.statistics, STATISTICS4, 0, 1]);
        bind(`${name} gradient ${i}`, chunks > 1 ? "gradient" : "gradient_whole", words.flat());
      });
    const runs = (layers: readonly (readonly Layer[])[], rows: readonly Rows[]): Run[] =>
      layers.map((one, i) => [one, rows[i]]);

    const acting: Run = [nets.policy, work.policy];
    const learning = runs(nets.critics, work.together);
    const judging = runs(nets.critics, work.critics);
    forward("policy", [acting, [nets.policy, work.nextPolicy]]);
    forward("critics", [...learning, ...runs(nets.targets, work.targets)]);
    forward("judging", judging);
    backward("critics", learning, 1);
    backward("judging", judging, 0);
    backward("policy", [acting], 1);
    gradient("critics", learning, nets.criticsTold);
    gradient("policy", [acting], nets.policyTold);

    bind("sample", "sample", [row4, actions4]);
    const job = this.#jobWords();
    const steps = ["load", "next_actions", "critic_loss", "new_actions", "lower_value", "policy_loss"] as const;
    for (const name of steps) bind(name, name, job);

    const first = nets.critics[0][0].w;
    const count = nets.criticsTold - first;
    const groups = [
      { name: "critic", at: first, count, told: nets.criticsTold, place: 0 },
      { name: "policy", at: 0, count: nets.policyTold, told: nets.policyTold, place: POLICY_PLACE },
    ] as const;
    for (const { name, at, count, told, place } of groups) {
      if (chunks > 1) bind(`${name} reduce`, "reduce", [at, count + STATISTICS4, place]);
      bind(`${name} adam`, "adam", [at, count, place]);
      bind(`${name} judge`, `judge_${name}`, [at, count, place, told]);
    }
    bind("follow", "follow", [first, count, 0, nets.targets[0][0].w]);
    bind("sum_worlds", "sum_worlds");
    bind("episodes", "episodes");
    const ends = await Promise.allSettled(binds);
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  }

  /** Twin of `Job` in shaders/rl/sac.wgsl. */
  #jobWords(): number[] {
    const { nets, work, env, obs4, k4, pair4, actions4, row4 } = this.shape;
    const out = (layers: readonly Layer[], rows: Rows) => 4 * rows.outputs.get(layers.at(-1)!)!;
    const values = [...nets.critics, ...nets.targets];
    return [
      env.actions,
      env.observations,
      4 * work.policy.x,
      4 * work.nextPolicy.x,
      4 * k4,
      4 * work.critics[0].x,
      4 * work.critics[1].x,
      4 * pair4,
      out(nets.policy, work.policy),
      out(nets.policy, work.nextPolicy),
      nets.policy.at(-1)!.n,
      ...[...work.together, ...work.targets].map((rows, i) => out(values[i], rows)),
      nets.critics[0].at(-1)!.n,
      4 * work.statistics,
      4 * work.notes,
      4 * row4,
      4 * obs4,
      8 * obs4,
      8 * obs4 + 4 * actions4,
    ];
  }

  /** The kernels that read and write an environment of the learner's shape, bound at the first call. */
  bindEnv(env: VectorEnv): Promise<Bound> {
    let bound = this.#bound.get(env);
    if (!bound) {
      const { nets, work, k4, actions4, env: shape } = this.shape;
      const last = nets.policy.at(-1)!;
      const job = [4 * work.policy.outputs.get(last)!, last.n, shape.actions, 4 * actions4, 16 * k4];
      const [rollout_obs, rollout_actions, samples] = RING;
      bound = bindEnv(this, env, {
        act: "act_squashed",
        job,
        row: [STEP, 0],
        arenas: { rollout_obs, rollout_actions, samples },
      });
      this.#bound.set(env, bound);
    }
    return bound;
  }

  #forward(pass: GPUComputePassEncoder, name: string, layers: readonly Layer[], rows: number, parts: number): void {
    layers.forEach(({ n }, i) => this.runRows(pass, `${name} forward ${i}`, rows, n, parts));
  }

  /** Runs the policy over the first rows of its input; `next` too, over next observations. */
  forward(pass: GPUComputePassEncoder, rows: number, next = false): void {
    this.#forward(pass, "policy", this.shape.nets.policy, rows, next ? 2 : 1);
  }

  /** Both critics, each at its own input; or both at one, and the targets at the other. */
  values(pass: GPUComputePassEncoder, rows: number, name: "judging" | "critics"): void {
    this.#forward(pass, name, this.shape.nets.critics[0], rows, name === "critics" ? 4 : 2);
  }

  /**
   * Runs networks backward from the derivatives in their outputs, gradients into the partial sums if they are wanted,
   * and the derivatives by the first `inputs` numbers of the input.
   */
  backward(
    pass: GPUComputePassEncoder,
    name: "critics" | "judging" | "policy",
    rows: number,
    { chunks = 0, inputs = 0 }: { readonly chunks?: number; readonly inputs?: number },
  ): void {
    const { nets } = this.shape;
    const layers = name === "policy" ? nets.policy : nets.critics[0];
    const parts = name === "policy" ? 1 : 2;
    for (let i = layers.length - 1; i >= 0; i--) {
      const { k } = layers[i];
      const sums = i === layers.length - 1 ? [SUMS] : [];
      const learned = Array.from({ length: parts }, () => layers[i]);
      if (chunks > 0) this.runWeights(pass, `${name} gradient ${i}`, chunks, [...learned, ...sums]);
      const width = i > 0 ? k : padTo(inputs, TILE);
      if (width > 0) this.runRows(pass, `${name} backward ${i}`, rows, width, parts);
    }
  }

  /** vec4s that have gradients. */
  #countOf(name: "critic" | "policy"): number {
    const { policyTold, criticsTold, critics } = this.shape.nets;
    return name === "policy" ? policyTold : criticsTold - critics[0][0].w;
  }

  /** Sums the chunks of gradients of the critics or the policy, if there are several. */
  sum(pass: GPUComputePassEncoder, name: "critic" | "policy"): void {
    if (this.shape.chunks > 1) this.run(pass, `${name} reduce`, this.#countOf(name) + STATISTICS4);
  }

  /** Moves the critics, or the policy and the temperature, by their gradients, where the judge lets them. */
  optimize(pass: GPUComputePassEncoder, name: "critic" | "policy"): void {
    this.run(pass, `${name} judge`, 1);
    this.run(pass, `${name} adam`, Math.ceil(this.#countOf(name) / ADAM_EACH));
  }

  /** Parameters, optimizers and temperature as at the start of a run; targets are their critics. */
  initialize(env: VectorEnv, seed: number | bigint, temperature: number): void {
    const { nets, k4, actions4 } = this.shape;
    const params = new Float32Array(4 * nets.params4);
    fillUniform(params, [...nets.policy, ...nets.critics.flat()], seed);
    params.copyWithin(4 * nets.total4, 4 * nets.critics[0][0].w, 4 * nets.criticsTold);
    this.write("params", params);
    this.write("moments", new Float32Array(8 * nets.total4));
    this.write("norm", initialNorm(env, 4 * k4, 4 * actions4));
    this.write("worlds", initialWorlds(env));
    // powers of Adam's decays 1
    const state = new Float32Array(STATE);
    for (const place of [0, POLICY_PLACE]) state[place] = state[place + 1] = 1;
    state[LOG_ALPHA] = Math.log(temperature);
    this.write("state", state);
  }
}
