// a stopped batch of SAC once more, stage by stage
import type { LearnerDevice } from "../device/learner-device.ts";
import type { UpdateReplay } from "../device/not-finite.ts";
import { namedLayers, type Layer } from "../networks/networks.ts";
import { BatchLook, inputsOf, replayBatch, temperatureOf, type NamesOf } from "../replay/reexecute.ts";
import { NOTE } from "../tables/device-tables.ts";
import { cellLayers, sacShape, type SacNetworks } from "./arenas.ts";
import { halves, setUniforms, type SacEvidence } from "./batch.ts";
import { sacConfig } from "./config.ts";
import { SacLearner } from "./learner.ts";

/** The statistics of a transition in each half, by name. */
const STATISTICS = {
  critics: { weight: "weight", loss: "critic loss", value: "value", target_value: "target value" },
  policy: { weight: "weight", loss: "policy loss", value: "entropy" },
} as const;

/** All that has a name, to look at what a batch began with. */
function namesOf(nets: SacNetworks): NamesOf {
  const { policy, critics, targets } = nets;
  const learning = [...[policy, ...critics].flat(), ...cellLayers(nets)];
  return {
    params: (vector) => namedLayers([...learning, ...targets.flat()], vector),
    learning: (vector) => namedLayers(learning, vector),
  };
}

/** The half that failed, stage by stage. */
async function lookInside(learner: SacLearner, evidence: SacEvidence): Promise<BatchLook["bad"]> {
  const { half, draw } = evidence;
  const { nets, work, learnt: rows } = learner.shape;
  const looking = new BatchLook(learner, rows);
  const critics = (stage: string, what: string, which: (layers: readonly Layer[]) => readonly Layer[]) =>
    nets.critics.forEach((network, i) => looking.layers(stage, what, which(network), work.critics[i]));

  const run = halves(learner, draw)[half];
  run.prepare();
  await looking.read();
  looking.layers("forward", "output", nets.policy, work.policy);
  if (half === "critics") looking.layers("forward", "output at the next observation", nets.policy, work.nextPolicy);

  run.forward();
  await looking.read();
  looking.column("forward", "log probability of the policy's action", work.notes, NOTE.size, NOTE.at("log_prob"));
  if (half === "critics") nets.targets.forEach((net, i) => looking.layers("forward", "output", net, work.targets[i]));
  // the policy's half has gone back through the critics to the actions already
  const below = (network: readonly Layer[]) => network.slice(0, -1).toReversed();
  if (half === "critics") critics("forward", "output", (network) => network);
  else critics("forward", "derivative by the output", below);

  run.loss();
  await looking.read();
  looking.statistics(work.statistics, STATISTICS[half]);
  const last = (network: readonly Layer[]) => network.slice(-1);
  if (half === "critics") critics("loss", "derivative by the output", last);
  else looking.layers("loss", "derivative by the output", last(nets.policy), work.policy);

  run.backward();
  await looking.read();
  if (half === "critics") critics("backward", "derivative by the output", below);
  else looking.layers("backward", "derivative by the output", below(nets.policy), work.policy);
  const cellsOf = cellLayers(nets).filter(({ name }) => name.startsWith("policy") === (half === "policy"));
  const learning = [...(half === "critics" ? nets.critics.flat() : nets.policy), ...cellsOf];
  await looking.gradients(evidence, run.optimize, (vector) => namedLayers(learning, vector));
  return looking.bad;
}

/**
 * Executes the half of a batch that was stopped again.
 * @throws CorralError bad-option for a config that this version does not know; BudgetExceededError; errors of the device
 */
export async function reexecuteSac(device: LearnerDevice, evidence: SacEvidence): Promise<UpdateReplay> {
  // its transitions are there: no room for a replay is needed
  const config = sacConfig({ ...evidence.config, storage: "host" });
  const shape = sacShape(evidence.env, config);
  await using learner = await SacLearner.create(device, shape);
  setUniforms(learner, config, evidence.seed);
  const inputs = [...inputsOf(shape, evidence, namesOf(shape.nets)), ...temperatureOf(evidence)];
  // the learner is closed only once it is read
  return await replayBatch(learner, evidence, inputs, () => lookInside(learner, evidence));
}
