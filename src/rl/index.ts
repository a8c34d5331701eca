// learning on the device
export { Ppo, type PpoSnapshot } from "./ppo.ts";
export { planPpo, type PpoOptions, type PpoPlan } from "./ppo/settle.ts";
export { Sac, planSac, type SacOptions, type SacSnapshot } from "./sac.ts";
export { Dqn, planDqn, type DqnOptions, type DqnPlan, type DqnSnapshot } from "./dqn.ts";
export { planSacDiscrete, SacDiscrete, type SacDiscreteOptions, type SacDiscreteSnapshot } from "./sac-discrete.ts";
export {
  SAC_DISCRETE_OPTIONS,
  sacDiscreteConfig,
  type SacDiscreteConfig,
  type SacDiscreteOption,
} from "./sac-discrete/config.ts";
export { DQN_OPTIONS, dqnConfig, type DqnConfig, type DqnOption } from "./dqn/config.ts";
export { SAC_OPTIONS, sacConfig, type SacConfig, type SacOption } from "./sac/config.ts";
export type { Evaluation, EvaluateOptions } from "./evaluate.ts";
export { joinColumns, mirrorColumns, type Mirrored } from "./ppo/mirror.ts";
export type { Demonstrations, Teacher } from "./ppo/imitation.ts";
export { PPO_OPTIONS, ppoConfig, type PpoConfig, type PpoOption } from "./ppo/config.ts";
export type { Algorithm, AlgorithmSnapshot } from "./algorithm.ts";
export type { AnyMetrics, DqnMetrics, Metrics, SacMetrics, UpdateMetrics } from "./device/metrics.ts";
