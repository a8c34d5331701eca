// every hyperparameter of SAC over discrete actions: flat, with its default, its bounds and what it means. The command line's
// flags are these.
import { fillIn, type ConfigOf, type OptionTable } from "../../core/options.ts";
import { ACTION_BLOCK, ACTION_EMBEDDING, assertBatchFits, assertNoMemory } from "../device/shared-options.ts";
import { SAC_OPTIONS } from "../sac/config.ts";

const {
  minLogStd: _low,
  maxLogStd: _high,
  recurrent: _cell,
  recurrentSize: _size,
  recurrentSteps: _steps,
  recurrentBurnIn: _burnIn,
  ...SHARED
} = SAC_OPTIONS;

export const SAC_DISCRETE_OPTIONS = {
  ...SHARED,
  batchSize: { ...SAC_OPTIONS.batchSize, default: 128, max: 4096 },
  learningStarts: { ...SAC_OPTIONS.learningStarts, default: 1000 },
  learningRate: { ...SAC_OPTIONS.learningRate, default: 1e-3 },
  initialTemperature: { ...SAC_OPTIONS.initialTemperature, default: 0.2 },
  targetEntropy: {
    default: 0.3,
    min: 0,
    max: 1,
    doc: "what the temperature steers entropy to: this share of log(actions), which is the entropy of uniform ones",
  },
  hidden: { ...SAC_OPTIONS.hidden, default: [64, 64] },
  actionBlock: ACTION_BLOCK,
  actionEmbedding: ACTION_EMBEDDING,
} as const satisfies OptionTable;

export type SacDiscreteOption = keyof typeof SAC_DISCRETE_OPTIONS;

/** Hyperparameters by name; `SAC_DISCRETE_OPTIONS` says what each means. */
export type SacDiscreteConfig = ConfigOf<typeof SAC_DISCRETE_OPTIONS>;

/**
 * Fills in defaults.
 * @throws CorralError unknown-option with the nearest names, bad-option, unsupported-recurrent
 */
export function sacDiscreteConfig(given: Partial<SacDiscreteConfig> = {}): SacDiscreteConfig {
  assertNoMemory(given, "SAC of discrete actions");
  const made = fillIn(SAC_DISCRETE_OPTIONS, given, { of: "SAC of discrete actions" });
  assertBatchFits(made);
  return made;
}
