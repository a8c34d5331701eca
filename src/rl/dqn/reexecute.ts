// a stopped batch of DQN once more, stage by stage
import type { LearnerDevice } from "../device/learner-device.ts";
import type { UpdateReplay } from "../device/not-finite.ts";
import { BatchLook, inputsOf, replayBatch, type NamesOf } from "../replay/reexecute.ts";
import { Q_ROW } from "../tables/device-tables.ts";
import { dqnShape, type DqnNetworks } from "./arenas.ts";
import { setUniforms, stagesOfBatch, type DqnEvidence } from "./batch.ts";
import { dqnConfig } from "./config.ts";
import { DqnLearner } from "./learner.ts";
import { namedNetwork } from "./policy.ts";

const STATISTICS = { weight: "weight", loss: "loss", value: "value", target_value: "target value" } as const;

const namesOf = ({ online, target }: DqnNetworks): NamesOf => ({
  params: (vector) => ({ ...namedNetwork("policy", online, vector), ...namedNetwork("target", target, vector) }),
  learning: (vector) => namedNetwork("policy", online, vector),
});

async function lookInside(learner: DqnLearner, evidence: DqnEvidence): Promise<BatchLook["bad"]> {
  const { nets, work, batch: rows } = learner.shape;
  const { online, target } = nets;
  const looking = new BatchLook(learner, rows);
  const run = stagesOfBatch(learner, evidence.draw);

  run.prepare();
  await looking.read();
  looking.layers("forward", "output", online.layers, work.online);
  if (evidence.config.doubleQ) looking.layers("forward", "output at the next observation", online.layers, work.next);
  looking.layers("forward", "output", target.layers, work.target);

  run.forward();
  await looking.read();
  looking.column("forward", "best value at the next observation", work.kept, Q_ROW.size, Q_ROW.at("top"));

  run.loss();
  await looking.read();
  looking.statistics(work.statistics, STATISTICS);
  looking.column("loss", "derivative by the value", work.kept, Q_ROW.size, Q_ROW.at("by_value"));

  run.backward();
  await looking.read();
  looking.layers("backward", "derivative by the output", online.layers.toReversed(), work.online);
  await looking.gradients(evidence, run.optimize, namesOf(nets).learning);
  return looking.bad;
}

/**
 * Executes a batch that was stopped again.
 * @throws CorralError bad-option for a config that this version does not know; BudgetExceededError; errors of the device
 */
export async function reexecuteDqn(device: LearnerDevice, evidence: DqnEvidence): Promise<UpdateReplay> {
  // its transitions are there: no room for a replay is needed
  const config = dqnConfig({ ...evidence.config, storage: "host" });
  const shape = dqnShape(evidence.env, config);
  await using learner = await DqnLearner.create(device, shape, config.doubleQ);
  setUniforms(learner, config, evidence.seed);
  const inputs = inputsOf(shape, evidence, namesOf(shape.nets));
  // the learner is closed only once it is read
  return await replayBatch(learner, evidence, inputs, () => lookInside(learner, evidence));
}
