/** Learning on the device. */
export { Ppo, planPpo, type PpoOptions, type PpoSnapshot } from "./ppo.ts";
export type { Evaluation, EvaluateOptions } from "./evaluate.ts";
export { PPO_OPTIONS, ppoConfig, type PpoConfig, type PpoOption } from "./config.ts";
export type { Algorithm, AlgorithmSnapshot } from "./algorithm.ts";
export type { Metrics, UpdateMetrics } from "./metrics.ts";
