// learners of every kind of head and network, small enough for references in plain numbers
import { combinations, evenly } from "../../src/env/index.ts";
import { actionFeatures } from "../../src/rl/networks/action-features.ts";
import type { LearnerCase } from "./learner-case.ts";

const gaussian = { head: "gaussian", observations: 11, actions: 3, alternatives: [] } as const;
const categorical = { head: "categorical", observations: 4, actions: 1, alternatives: [5] } as const;
const several = { head: "categorical", observations: 9, actions: 3, alternatives: [3, 2, 7] } as const;

const groups = { policy: { from: 0, size: 3 }, critic: { from: 5, size: 6 } } as const;

const many = { ...categorical, alternatives: [37] } as const;
/** Actions that stand for two controls each. */
const known = { ...many, features: actionFeatures(combinations([[-1, 0, 0.5], evenly(-2, 1, 12)]).concat([[0, 3]])) };

export const LEARNER_CASES: readonly LearnerCase[] = [
  {
    name: "recurrent",
    env: gaussian,
    config: { hidden: [6], entropyCoef: 0.02, recurrent: "gru", recurrentSize: 8, recurrentSteps: 4 },
  },
  {
    name: "recurrent, whole rollouts, nothing below",
    env: categorical,
    config: {
      hidden: [],
      entropyCoef: 0.02,
      recurrent: "gru",
      recurrentSize: 8,
      recurrentSteps: 12,
      activation: "relu",
    },
  },
  {
    name: "LSTM",
    env: gaussian,
    config: { hidden: [6], entropyCoef: 0.02, recurrent: "lstm", recurrentSize: 8, recurrentSteps: 4 },
  },
  {
    name: "LSTM, groups, whole rollouts, nothing below",
    env: { ...gaussian, groups },
    config: { hidden: [], recurrent: "lstm", recurrentSize: 16, recurrentSteps: 12, activation: "silu" },
  },
  {
    name: "recurrent, in blocks",
    env: many,
    config: { hidden: [5], recurrent: "gru", recurrentSize: 8, recurrentSteps: 3, actionBlock: 16 },
  },
  { name: "streamed", env: many, config: { hidden: [12, 9], entropyCoef: 0.05, actionBlock: 8 } },
  { name: "streamed, linear", env: many, config: { hidden: [], entropyCoef: 0.05, actionBlock: 16 } },
  {
    name: "embedded, in blocks",
    env: known,
    config: { hidden: [9], entropyCoef: 0.05, actionBlock: 8, actionEmbedding: 5 },
  },
  { name: "embedded, at once", env: known, config: { hidden: [], activation: "relu", actionEmbedding: 9 } },
  { name: "Gaussian, tanh", env: gaussian, config: { hidden: [13, 7], entropyCoef: 0.02 } },
  { name: "Gaussian, relu", env: gaussian, config: { hidden: [16], activation: "relu", valueClip: Infinity } },
  { name: "Gaussian, linear", env: { ...gaussian, actions: 9 }, config: { hidden: [], valueCoef: 1 } },
  { name: "categorical, tanh", env: categorical, config: { hidden: [8, 8], entropyCoef: 0.05 } },
  { name: "categorical, relu", env: categorical, config: { hidden: [5, 9, 6], activation: "relu", clip: 0.05 } },
  { name: "Gaussian, ELU", env: gaussian, config: { hidden: [13, 7], activation: "elu", entropyCoef: 0.02 } },
  { name: "Gaussian, SiLU", env: gaussian, config: { hidden: [13, 7], activation: "silu", entropyCoef: 0.02 } },
  { name: "streamed, SiLU", env: many, config: { hidden: [12, 9], activation: "silu", actionBlock: 8 } },
  {
    name: "recurrent, SiLU",
    env: gaussian,
    config: { hidden: [6], recurrent: "gru", recurrentSize: 8, recurrentSteps: 4, activation: "silu" },
  },
  {
    name: "layer norm, in blocks, SiLU",
    env: many,
    config: { hidden: [12, 9], activation: "silu", actionBlock: 8, layerNorm: true },
  },
  {
    name: "layer norm, recurrent",
    env: gaussian,
    config: { hidden: [6], recurrent: "gru", recurrentSize: 8, recurrentSteps: 4, layerNorm: true },
  },
  { name: "groups", env: { ...gaussian, groups }, config: { hidden: [13, 7], entropyCoef: 0.02 } },
  { name: "groups, linear", env: { ...gaussian, groups }, config: { hidden: [], entropyCoef: 0.02 } },
  {
    name: "groups, streamed, linear",
    env: { ...many, observations: 11, groups },
    config: { hidden: [], actionBlock: 16 },
  },
  {
    name: "groups, recurrent",
    env: { ...gaussian, groups },
    config: { hidden: [], recurrent: "gru", recurrentSize: 8, recurrentSteps: 4 },
  },
  { name: "summed in chunks", env: categorical, config: { hidden: [5], entropyCoef: 0.02, rolloutSteps: 101 } },
  { name: "several choices", env: several, config: { hidden: [10], entropyCoef: 0.03 } },
];
