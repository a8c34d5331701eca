// a stopped update once more, kernel by kernel: what became not finite first, and whether the bits are the recorded ones
import { floatsOf } from "../../core/float32.ts";
import { learnerShape, type LearnerShape } from "./arenas.ts";
import { ppoConfig } from "./config.ts";
import type { LearnerDevice } from "../device/learner-device.ts";
import type { UpdateEvidence } from "./evidence.ts";
import { Learner } from "./learner.ts";
import { SAMPLE, STATE, STATISTICS } from "../tables/device-tables.ts";
import { namedNormalizer, namedParameters, padTo, TILE, type Layer } from "../networks/networks.ts";
import { shuffled } from "./shuffle.ts";
import { minibatchesOf, minibatchParts, setUniforms, trainMinibatch, type Minibatch } from "./update.ts";
import { STATISTICS4, SUM_PARTS } from "../device/arenas.ts";
import {
  type BadQuantity,
  type Place,
  look,
  momentsOf,
  elements,
  stepOf,
  type UpdateReplay,
  outcomeOf,
} from "../device/not-finite.ts";

/** What the update began with, in the order in which it depends on each other. */
function inputs(shape: LearnerShape, evidence: UpdateEvidence): BadQuantity[] {
  const { env, config, arenas, worldIds } = evidence;
  const { rolloutSteps: steps } = config;
  const stage = "what the update began with";
  const sampleAt = (s: number): string => `world ${worldIds[Math.floor(s / steps)]}, step ${s % steps}`;
  const rows =
    (width: number): Place =>
    (i) =>
      `${sampleAt(Math.floor(i / width))} [${i % width}]`;
  const samples = floatsOf(arenas.samples);
  const column = (name: string, member: Parameters<typeof SAMPLE.at>[0]) =>
    look(
      stage,
      name,
      samples.filter((_, i) => i % SAMPLE.size === SAMPLE.at(member)),
      (i) => sampleAt(i),
    );
  const named = (prefix: string, arrays: ReturnType<typeof namedParameters>) =>
    Object.entries(arrays).flatMap(([name, { data, shape: sizes }]) =>
      look(stage, prefix + name, data, (i) =>
        sizes.length === 2 ? `[${Math.floor(i / sizes[1])}, ${i % sizes[1]}]` : `[${i}]`,
      ),
    );
  const state = floatsOf(arenas.state);
  const scalar = (name: string, at: number) => look(stage, name, state.subarray(at, at + 1), () => "");
  const { observations, actions } = env;
  return [
    ...look(stage, "observation", floatsOf(arenas.rollout_obs), rows(observations), observations, 4 * shape.obs4),
    ...named("", namedNormalizer(observations, floatsOf(arenas.norm))),
    ...named("", namedParameters(shape.nets, floatsOf(arenas.params))),
    ...named("Adam's mean of ", namedParameters(shape.nets, momentsOf(arenas.moments, 0))),
    ...named("Adam's variance of ", namedParameters(shape.nets, momentsOf(arenas.moments, 1))),
    ...(env.head === "gaussian"
      ? look(stage, "action", floatsOf(arenas.rollout_actions), rows(actions), actions, 4 * shape.actions4)
      : []),
    ...column("log probability of the action", "log_prob"),
    ...column("value", "value"),
    ...column("reward", "reward"),
    ...scalar("scale of rewards", STATE.reward_scale),
    ...column("advantage", "advantage"),
    ...column("return", "value_target"),
    ...scalar("mean of advantages", STATE.adv_mean),
    ...scalar("scale of advantages", STATE.adv_scale),
  ];
}

/** What the statistics of a sample are called, by their members. */
const SAMPLE_STATISTICS = {
  weight: "weight",
  policy_loss: "policy loss",
  value_loss: "value loss",
  entropy: "entropy",
  kl: "divergence",
} as const;

/** The failing minibatch, kernel by kernel. */
async function lookInside(learner: Learner, evidence: UpdateEvidence, part: Minibatch): Promise<BadQuantity[]> {
  const { shape } = learner;
  const { nets, work, k4, units, cells } = shape;
  const { config, worldIds, env } = evidence;
  const { rows } = part;
  const bad: BadQuantity[] = [];
  let floats = new Float32Array(4 * work.size4);
  const read = async () => {
    floats = await learner.read("work", floats);
  };
  const rowAt = (row: number): string => {
    const unit = part.first + (cells ? row % cells.lanes : row);
    const position = shuffled(Math.min(unit, units - 1), units, part.keys);
    const s = cells ? position * cells.unroll + Math.floor(row / cells.lanes) : position;
    return `world ${worldIds[Math.floor(s / config.rolloutSteps)]}, step ${s % config.rolloutSteps}`;
  };
  const see = (stage: string, name: string, at4: number, width: number, stride: number) => {
    const from = 4 * at4;
    const place: Place = (i) => `${rowAt(Math.floor(i / width))} [${i % width}]`;
    bad.push(...look(stage, name, floats.subarray(from, from + rows * stride), place, width, stride));
  };
  const layers = (network: readonly Layer[], stage: string, name: (layer: Layer) => string) => {
    for (const layer of network) see(stage, name(layer), work.outputs.get(layer)!, layer.outputs, layer.n);
  };

  const run = minibatchParts(learner, part);
  run.forward();
  await read();
  see("forward", "normalised observation", work.x, env.observations, 4 * k4);
  for (const network of [nets.policy, nets.value]) layers(network, "forward", ({ name }) => `output of ${name}`);

  run.loss();
  await read();
  const statistics = floats.subarray(4 * work.statistics, 4 * (work.statistics + rows * STATISTICS4));
  const named = Object.entries(SAMPLE_STATISTICS) as [keyof typeof SAMPLE_STATISTICS, string][];
  const columnOf = (member: Parameters<typeof STATISTICS.at>[0]) =>
    statistics.filter((_, k) => k % STATISTICS.size === STATISTICS.at(member));
  for (const [member, name] of named) bad.push(...look("loss", name, columnOf(member), rowAt));
  const flags = columnOf("not_finite");
  const flagged = flags.findIndex((x) => x !== 0);
  if (flagged >= 0 && bad.length === 0) {
    const count = flags.filter((x) => x !== 0).length;
    bad.push({ stage: "loss", name: "log probability under the policy", value: NaN, at: rowAt(flagged), count });
  }
  layers(
    [...nets.policy.slice(-1), ...nets.value.slice(-1)],
    "loss",
    ({ name }) => `derivative by the output of ${name}`,
  );
  if (nets.logStd.count > 0)
    see("loss", "derivative by log_std", work.slopes, nets.logStd.count, padTo(nets.logStd.count, TILE));

  run.backward();
  await read();
  for (const network of [nets.policy, nets.value]) {
    layers(network.slice(0, -1).toReversed(), "backward", ({ name }) => `derivative by the output of ${name}`);
  }
  const grads = await learner.read("grads", new Float32Array(4 * (nets.params4 + STATISTICS4)));
  for (const [name, { data }] of Object.entries(namedParameters(nets, grads)))
    bad.push(...look("gradient", `gradient of ${name}`, data, elements));
  for (const [member, name] of named) {
    const at = 4 * nets.params4 + STATISTICS.at(member);
    bad.push(...look("gradient", `sum of ${name}`, grads.subarray(at, at + 1), () => ""));
  }
  run.optimize();
  const squares = await learner.read("scratch", new Float32Array(SUM_PARTS));
  const total = Float32Array.of(squares.reduce((sum, x) => Math.fround(sum + x), 0));
  bad.push(...look("gradient", "squared length of the gradient", total, () => ""));
  if (bad.length === 0) {
    const { params, moments } = evidence.arenas;
    const before = { params: floatsOf(params), moments: floatsOf(moments), grads };
    const step = await stepOf(learner, before, 0, { ...config, rate: evidence.learningRate });
    for (const [name, { data }] of Object.entries(namedParameters(nets, step)))
      bad.push(...look("step", `next ${name}`, data, elements));
  }
  return bad;
}

/**
 * Executes a stopped update again, from the minibatch that failed to the end.
 * @throws CorralError bad-option for a config that this version does not know; BudgetExceededError; errors of the device
 */
export async function reexecuteUpdate(device: LearnerDevice, evidence: UpdateEvidence): Promise<UpdateReplay> {
  const config = ppoConfig(evidence.config);
  const shape = learnerShape(evidence.env, config);
  await using learner = await Learner.create(device, shape, config);
  setUniforms(learner, config, evidence.seed);
  learner.uniforms.set({ learning_rate: evidence.learningRate });

  const before = evidence.arenas.state.slice();
  before[STATE.halted] = 0;
  for (const [name, words] of Object.entries({ ...evidence.arenas, state: before })) learner.write(name, words);
  const parts = [...minibatchesOf(shape, config, evidence.seed, evidence.iteration)].slice(evidence.minibatch);
  const bad = inputs(shape, evidence);
  for (const [i, part] of parts.entries()) {
    if (i === 0) bad.push(...(await lookInside(learner, evidence, part)));
    else trainMinibatch(learner, part);
  }
  await learner.done();

  // the learner is closed only once it is read
  return await outcomeOf(learner, evidence, bad);
}
