// a stopped batch of a replay once more, stage by stage: what became not finite first, and whether the bits are the recorded ones
import { floatsOf } from "../../core/float32.ts";
import { STATISTICS4, SUM_PARTS } from "../device/arenas.ts";
import {
  elements,
  look,
  momentsOf,
  outcomeOf,
  stepOf,
  type BadQuantity,
  type Place,
  type UpdateReplay,
} from "../device/not-finite.ts";
import { namedNormalizer, type Layer, type NamedArray, type Rows } from "../networks/networks.ts";
import { NOTE, SAC_STATE, SAC_STATISTICS } from "../tables/device-tables.ts";
import type { ReplayLearnerShape } from "./arenas.ts";
import type { BatchEvidence } from "./evidence.ts";
import type { ReplayLearner } from "./learner.ts";

type Named = Readonly<Record<string, NamedArray>>;

const transition: Place = (row) => `transition ${row}`;
const inRows =
  (width: number): Place =>
  (i) =>
    `transition ${Math.floor(i / width)} [${i % width}]`;

/** Which of a learner's numbers have names. */
export interface NamesOf {
  /** All parameters, and what learns of a vector that is as long as the gradients. */
  readonly params: (vector: Float32Array) => Named;
  readonly learning: (vector: Float32Array) => Named;
}

/** What the batch began with, in the order in which it depends on each other. */
export function inputsOf(
  { env, obs4, actions4, row4, batch }: ReplayLearnerShape,
  { arenas }: BatchEvidence,
  { params, learning }: NamesOf,
): BadQuantity[] {
  const stage = "what the batch began with";
  const rows = floatsOf(arenas.batch).subarray(0, batch * 4 * row4);
  const part = (name: string, at: number, width: number) =>
    look(stage, name, rows.subarray(at), width === 1 ? transition : inRows(width), width, 4 * row4);
  const named = (prefix: string, arrays: Named) =>
    Object.entries(arrays).flatMap(([name, { data }]) => look(stage, prefix + name, data, elements));
  const { observations, actions } = env;
  const notes = 8 * obs4 + 4 * actions4;
  return [
    ...part("observation", 0, observations),
    ...part("next observation", 4 * obs4, observations),
    ...part("action", 8 * obs4, actions),
    ...named("", namedNormalizer(observations, floatsOf(arenas.norm))),
    ...part("return", notes + NOTE.at("n_step_return"), 1),
    ...part("discount", notes + NOTE.at("discount"), 1),
    ...named("", params(floatsOf(arenas.params))),
    ...named("Adam's mean of ", learning(momentsOf(arenas.moments, 0))),
    ...named("Adam's variance of ", learning(momentsOf(arenas.moments, 1))),
  ];
}

/** The temperature that a batch of a soft actor-critic began with. */
export const temperatureOf = ({ arenas }: BatchEvidence): BadQuantity[] =>
  look(
    "what the batch began with",
    "log temperature",
    floatsOf(arenas.state).subarray(SAC_STATE.log_alpha, SAC_STATE.log_alpha + 1),
    () => "",
  );

type Statistic = Parameters<typeof SAC_STATISTICS.at>[0];

/** What is not finite in a batch, while its stages are executed. */
export class BatchLook {
  readonly bad: BadQuantity[] = [];
  readonly #learner: ReplayLearner;
  readonly #rows: number;
  #floats: Float32Array<ArrayBuffer>;

  /** `rows`: those of the batch that are learnt from. */
  constructor(learner: ReplayLearner, rows: number) {
    this.#learner = learner;
    this.#rows = rows;
    this.#floats = new Float32Array(4 * learner.shape.work.size4);
  }

  /** Reads what the stages so far have made. */
  async read(): Promise<void> {
    this.#floats = await this.#learner.read("work", this.#floats);
  }

  /** The first `width` numbers of each row, from a vec4 of `work` on. */
  see(stage: string, name: string, at4: number, width: number, stride: number): void {
    const from = 4 * at4;
    const floats = this.#floats.subarray(from, from + this.#rows * stride);
    this.bad.push(...look(stage, name, floats, inRows(width), width, stride));
  }

  /** One number of each row. */
  column(stage: string, name: string, at4: number, stride: number, at: number): void {
    this.bad.push(...look(stage, name, this.#columnOf(at4, stride, at), transition));
  }

  #columnOf(at4: number, stride: number, at: number): Float32Array {
    const floats = this.#floats.subarray(4 * at4, 4 * at4 + this.#rows * stride);
    return floats.filter((_, i) => i % stride === at);
  }

  /** What lies in the outputs of layers. */
  layers(stage: string, what: string, network: readonly Layer[], { outputs }: Rows): void {
    for (const layer of network)
      this.see(stage, `${what} of ${layer.name}`, outputs.get(layer)!, layer.outputs, layer.n);
  }

  /** The loss of each transition and what else is summed, by name; they lie from a vec4 of `work` on. */
  statistics(at4: number, names: Readonly<Partial<Record<Statistic, string>>>): void {
    const each = 4 * STATISTICS4;
    for (const [member, name] of Object.entries(names))
      this.column("loss", name, at4, each, SAC_STATISTICS.at(member as Statistic));
    const flagged = this.#columnOf(at4, each, SAC_STATISTICS.at("not_finite")).findIndex((x) => x !== 0);
    if (flagged >= 0 && this.bad.length === 0)
      this.bad.push({ stage: "loss", name: "loss", value: NaN, at: transition(flagged), count: 1 });
  }

  /** The gradients that were made; then those that `optimize` measures, and where it would go by them. */
  async gradients(evidence: BatchEvidence, optimize: () => void, learning: NamesOf["learning"]): Promise<void> {
    const { bad } = this;
    const learner = this.#learner;
    const grads = await learner.read("grads", new Float32Array(4 * learner.shape.nets.total4));
    for (const [name, { data }] of Object.entries(learning(grads)))
      bad.push(...look("gradient", `gradient of ${name}`, data, elements));
    optimize();
    const squares = await learner.read("scratch", new Float32Array(SUM_PARTS));
    const total = Float32Array.of(squares.reduce((sum, x) => Math.fround(sum + x), 0));
    bad.push(...look("gradient", "squared length of the gradient", total, () => ""));
    if (bad.length > 0) return;
    const { arenas, half, config, learningRate, criticLearningRate } = evidence;
    const before = {
      params: floatsOf(arenas.params).subarray(0, grads.length),
      moments: floatsOf(arenas.moments),
      grads,
    };
    const [rate, place] = half === "critics" ? [criticLearningRate, 0] : [learningRate, SAC_STATE.policy];
    const step = await stepOf(learner, before, place, { ...config, rate });
    for (const [name, { data }] of Object.entries(learning(step)))
      bad.push(...look("step", `next ${name}`, data, elements));
  }
}

/**
 * Executes a half of a batch that was stopped again: `inside` makes its stages and looks at them. Returns what was not finite
 * of `inputs` and in them, and whether it ended as recorded.
 */
export async function replayBatch(
  learner: ReplayLearner,
  evidence: BatchEvidence,
  inputs: readonly BadQuantity[],
  inside: () => Promise<readonly BadQuantity[]>,
): Promise<UpdateReplay> {
  learner.uniforms.set({ learning_rate: evidence.learningRate, critic_rate: evidence.criticLearningRate });
  const before = evidence.arenas.state.slice();
  before[SAC_STATE.halted] = 0;
  for (const [name, words] of Object.entries({ ...evidence.arenas, state: before })) learner.write(name, words);
  const bad = [...inputs, ...(await inside())];
  await learner.done();
  // the learner is closed only once it is read
  return await outcomeOf(learner, evidence, bad);
}
