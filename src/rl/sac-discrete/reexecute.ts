// a stopped batch of SAC over discrete actions once more, stage by stage
import type { LearnerDevice } from "../device/learner-device.ts";
import type { UpdateReplay } from "../device/not-finite.ts";
import { namedNetwork } from "../dqn/policy.ts";
import type { NamedArray } from "../networks/networks.ts";
import { BatchLook, inputsOf, replayBatch, temperatureOf, type NamesOf } from "../replay/reexecute.ts";
import { Q_ROW, SOFT_ROW } from "../tables/device-tables.ts";
import { sacDiscreteShape, type SacDiscreteNetworks } from "./arenas.ts";
import { halves, setUniforms, type SacDiscreteEvidence } from "./batch.ts";
import { sacDiscreteConfig } from "./config.ts";
import { SacDiscreteLearner } from "./learner.ts";

/** The statistics of a transition in each half, by name. */
const STATISTICS = {
  critics: { weight: "weight", loss: "critic loss", value: "value", target_value: "target value" },
  policy: { weight: "weight", loss: "policy loss", value: "entropy" },
} as const;

/** What is kept of all actions of a transition, by name. */
const EXPECTED = {
  top: "largest logit",
  total: "sum of exponentials of logits",
  weighted: "sum of those times their exponents",
  valued: "sum of those times values",
} as const;

type Names = Record<string, NamedArray>;

const criticsOf = ({ critics }: SacDiscreteNetworks, vector: Float32Array): Names => ({
  ...namedNetwork("q1", critics[0], vector),
  ...namedNetwork("q2", critics[1], vector),
});

function namesOf(nets: SacDiscreteNetworks): NamesOf {
  const { policy, targets } = nets;
  const learning = (vector: Float32Array): Names => ({
    ...namedNetwork("policy", policy, vector),
    ...criticsOf(nets, vector),
  });
  const slow = (vector: Float32Array): Names => ({
    ...namedNetwork("target1", targets[0], vector),
    ...namedNetwork("target2", targets[1], vector),
  });
  return { params: (vector) => ({ ...learning(vector), ...slow(vector) }), learning };
}

/** The half that failed, stage by stage. */
async function lookInside(learner: SacDiscreteLearner, evidence: SacDiscreteEvidence): Promise<BatchLook["bad"]> {
  const { half, draw } = evidence;
  const { nets, work, batch: rows } = learner.shape;
  const looking = new BatchLook(learner, rows);
  const { policy, critics, targets } = nets;

  const run = halves(learner, draw)[half];
  run.prepare();
  await looking.read();
  looking.layers("forward", "output", policy.layers, work.policy);
  if (half === "critics") looking.layers("forward", "output at the next observation", policy.layers, work.nextPolicy);

  run.forward();
  await looking.read();
  critics.forEach(({ layers }, i) => looking.layers("forward", "output", layers, work.critics[i]));
  if (half === "critics")
    targets.forEach(({ layers }, i) => looking.layers("forward", "output", layers, work.targets[i]));
  const when = half === "critics" ? " at the next observation" : "";
  for (const [member, name] of Object.entries(EXPECTED) as [keyof typeof EXPECTED, string][])
    looking.column("forward", name + when, work.soft, SOFT_ROW.size, SOFT_ROW.at(member));

  run.loss();
  await looking.read();
  looking.statistics(work.statistics, STATISTICS[half]);
  if (half === "critics")
    work.kept.forEach((kept, i) =>
      looking.column("loss", `derivative by the value of q${i + 1}`, kept, Q_ROW.size, Q_ROW.at("by_value")),
    );

  run.backward();
  await looking.read();
  const back = (layers: typeof policy.layers, rowsOf: typeof work.policy) =>
    looking.layers("backward", "derivative by the output", layers.toReversed(), rowsOf);
  if (half === "critics") critics.forEach(({ layers }, i) => back(layers, work.critics[i]));
  else back(policy.layers, work.policy);
  await looking.gradients(evidence, run.optimize, (vector) =>
    half === "critics" ? criticsOf(nets, vector) : namedNetwork("policy", policy, vector),
  );
  return looking.bad;
}

/**
 * Executes the half of a batch that was stopped again.
 * @throws CorralError bad-option for a config that this version does not know; BudgetExceededError; errors of the device
 */
export async function reexecuteSacDiscrete(
  device: LearnerDevice,
  evidence: SacDiscreteEvidence,
): Promise<UpdateReplay> {
  // its transitions are there: no room for a replay is needed
  const config = sacDiscreteConfig({ ...evidence.config, storage: "host" });
  const shape = sacDiscreteShape(evidence.env, config);
  await using learner = await SacDiscreteLearner.create(device, shape);
  setUniforms(learner, config, evidence.seed);
  const inputs = [...inputsOf(shape, evidence, namesOf(shape.nets)), ...temperatureOf(evidence)];
  // the learner is closed only once it is read
  return await replayBatch(learner, evidence, inputs, () => lookInside(learner, evidence));
}
