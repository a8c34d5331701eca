/** Learning on the device. */
export { Ppo, planPpo, type Evaluation, type EvaluateOptions, type PpoOptions } from "./ppo.ts";
export { PPO_OPTIONS, ppoConfig, type PpoConfig, type PpoOption } from "./config.ts";
export type { Metrics } from "./metrics.ts";
