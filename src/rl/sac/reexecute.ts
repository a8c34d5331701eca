// a stopped batch of SAC once more, stage by stage: what became not finite first, and whether the bits are the recorded ones
import { floatsOf } from "../../core/float32.ts";
import type { LearnerDevice } from "../device/learner-device.ts";
import { NOTE, SAC_STATE, SAC_STATISTICS } from "../tables/device-tables.ts";
import { namedLayers, namedNormalizer, type Layer, type NamedArray, type Rows } from "../networks/networks.ts";
import { halves, setUniforms } from "./batch.ts";
import { cellLayers, sacShape, type SacShape } from "./arenas.ts";
import { sacConfig } from "./config.ts";
import type { BatchEvidence } from "./evidence.ts";
import { SacLearner } from "./learner.ts";
import { STATISTICS4, SUM_PARTS } from "../device/arenas.ts";
import {
  type UpdateReplay,
  elements,
  look,
  momentsOf,
  outcomeOf,
  stepOf,
  type BadQuantity,
  type Place,
} from "../device/not-finite.ts";

const transition: Place = (row) => `transition ${row}`;
const inRows =
  (width: number): Place =>
  (i) =>
    `transition ${Math.floor(i / width)} [${i % width}]`;

/** What the batch began with, in the order in which it depends on each other. */
function inputs({ nets, env, obs4, actions4, row4, batch }: SacShape, { arenas }: BatchEvidence): BadQuantity[] {
  const stage = "what the batch began with";
  const rows = floatsOf(arenas.batch).subarray(0, batch * 4 * row4);
  const part = (name: string, at: number, width: number) =>
    look(stage, name, rows.subarray(at), width === 1 ? transition : inRows(width), width, 4 * row4);
  const named = (prefix: string, arrays: Record<string, NamedArray>) =>
    Object.entries(arrays).flatMap(([name, { data }]) => look(stage, prefix + name, data, elements));
  const { observations, actions } = env;
  const notes = 8 * obs4 + 4 * actions4;
  const { policy, critics, targets } = nets;
  const learning = [...[policy, ...critics].flat(), ...cellLayers(nets)];
  return [
    ...part("observation", 0, observations),
    ...part("next observation", 4 * obs4, observations),
    ...part("action", 8 * obs4, actions),
    ...named("", namedNormalizer(observations, floatsOf(arenas.norm))),
    ...part("return", notes + NOTE.at("n_step_return"), 1),
    ...part("discount", notes + NOTE.at("discount"), 1),
    ...named("", namedLayers([...learning, ...targets.flat()], floatsOf(arenas.params))),
    ...named("Adam's mean of ", namedLayers(learning, momentsOf(arenas.moments, 0))),
    ...named("Adam's variance of ", namedLayers(learning, momentsOf(arenas.moments, 1))),
    ...look(
      stage,
      "log temperature",
      floatsOf(arenas.state).subarray(SAC_STATE.log_alpha, SAC_STATE.log_alpha + 1),
      () => "",
    ),
  ];
}

/** The statistics of a transition in each half, by name. */
const STATISTICS = {
  critics: { weight: "weight", loss: "critic loss", value: "value", target_value: "target value" },
  policy: { weight: "weight", loss: "policy loss", value: "entropy" },
} as const;
const columnOf = (member: string): number => SAC_STATISTICS.at(member as Parameters<typeof SAC_STATISTICS.at>[0]);

/** The half that failed, stage by stage. */
async function lookInside(learner: SacLearner, evidence: BatchEvidence): Promise<BadQuantity[]> {
  const { half, draw } = evidence;
  const { nets, work, learnt: rows } = learner.shape;
  const bad: BadQuantity[] = [];
  let floats = new Float32Array(4 * work.size4);
  const read = async () => {
    floats = await learner.read("work", floats);
  };
  const see = (stage: string, name: string, at: number, width: number, stride: number) =>
    bad.push(...look(stage, name, floats.subarray(at, at + rows * stride), inRows(width), width, stride));
  const layers = (stage: string, what: string, network: readonly Layer[], { outputs }: Rows) => {
    for (const layer of network)
      see(stage, `${what} of ${layer.name}`, 4 * outputs.get(layer)!, layer.outputs, layer.n);
  };
  const critics = (stage: string, what: string, which: (layers: readonly Layer[]) => readonly Layer[]) =>
    nets.critics.forEach((network, i) => layers(stage, what, which(network), work.critics[i]));

  const run = halves(learner, draw)[half];
  run.prepare();
  await read();
  layers("forward", "output", nets.policy, work.policy);
  if (half === "critics") layers("forward", "output at the next observation", nets.policy, work.nextPolicy);

  run.forward();
  await read();
  const logProbs = floats
    .subarray(4 * work.notes, 4 * (work.notes + (rows * NOTE.size) / 4))
    .filter((_, i) => i % NOTE.size === NOTE.at("log_prob"));
  bad.push(...look("forward", "log probability of the policy's action", logProbs, transition));
  if (half === "critics") nets.targets.forEach((net, i) => layers("forward", "output", net, work.targets[i]));
  // the policy's half has gone back through the critics to the actions already
  const below = (network: readonly Layer[]) => network.slice(0, -1).toReversed();
  if (half === "critics") critics("forward", "output", (network) => network);
  else critics("forward", "derivative by the output", below);

  run.loss();
  await read();
  const statistics = floats.subarray(4 * work.statistics, 4 * (work.statistics + rows * STATISTICS4));
  const column = (at: number) => statistics.filter((_, k) => k % (4 * STATISTICS4) === at);
  for (const [member, name] of Object.entries(STATISTICS[half]))
    bad.push(...look("loss", name, column(columnOf(member)), transition));
  const flagged = column(SAC_STATISTICS.at("not_finite")).findIndex((x) => x !== 0);
  if (flagged >= 0 && bad.length === 0)
    bad.push({ stage: "loss", name: "loss", value: NaN, at: transition(flagged), count: 1 });
  const last = (network: readonly Layer[]) => network.slice(-1);
  if (half === "critics") critics("loss", "derivative by the output", last);
  else layers("loss", "derivative by the output", last(nets.policy), work.policy);

  run.backward();
  await read();
  if (half === "critics") critics("backward", "derivative by the output", below);
  else layers("backward", "derivative by the output", below(nets.policy), work.policy);
  const grads = await learner.read("grads", new Float32Array(4 * nets.total4));
  const cellsOf = cellLayers(nets).filter(({ name }) => name.startsWith("policy") === (half === "policy"));
  const learning = [...(half === "critics" ? nets.critics.flat() : nets.policy), ...cellsOf];
  for (const [name, { data }] of Object.entries(namedLayers(learning, grads)))
    bad.push(...look("gradient", `gradient of ${name}`, data, elements));
  run.optimize();
  const squares = await learner.read("scratch", new Float32Array(SUM_PARTS));
  const total = Float32Array.of(squares.reduce((sum, x) => Math.fround(sum + x), 0));
  bad.push(...look("gradient", "squared length of the gradient", total, () => ""));
  if (bad.length === 0) {
    const { params, moments } = evidence.arenas;
    const before = { params: floatsOf(params).subarray(0, grads.length), moments: floatsOf(moments), grads };
    const rate = half === "critics" ? evidence.criticLearningRate : evidence.learningRate;
    const step = await stepOf(learner, before, half === "critics" ? 0 : SAC_STATE.policy, { ...evidence.config, rate });
    for (const [name, { data }] of Object.entries(namedLayers(learning, step)))
      bad.push(...look("step", `next ${name}`, data, elements));
  }
  return bad;
}

/**
 * Executes the half of a batch that was stopped again.
 * @throws CorralError bad-option for a config that this version does not know; BudgetExceededError; errors of the device
 */
export async function reexecuteBatch(device: LearnerDevice, evidence: BatchEvidence): Promise<UpdateReplay> {
  // its transitions are there: no room for a replay is needed
  const config = sacConfig({ ...evidence.config, storage: "host" });
  const shape = sacShape(evidence.env, config);
  await using learner = await SacLearner.create(device, shape);
  setUniforms(learner, config, evidence.seed);
  learner.uniforms.set({ learning_rate: evidence.learningRate, critic_rate: evidence.criticLearningRate });

  const before = evidence.arenas.state.slice();
  before[SAC_STATE.halted] = 0;
  for (const [name, words] of Object.entries({ ...evidence.arenas, state: before })) learner.write(name, words);
  const bad = [...inputs(shape, evidence), ...(await lookInside(learner, evidence))];
  await learner.done();

  // the learner is closed only once it is read
  return await outcomeOf(learner, evidence, bad);
}
