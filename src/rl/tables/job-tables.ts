// the numbers of each job: what a kernel is bound with. Places and widths are vec4s of `work` or of the
// parameters if the name ends in 4 or the table says so, else floats.
import { struct, type DeviceStruct } from "./device-struct.ts";

/** Bytes of a job's numbers, as WebGPU aligns them. */
export const JOB_BYTES = 256;

/** Layers that one dispatch may run side by side. */
const MAX_PARTS = 4;

/** A dense layer. All vec4s. */
const LINEAR = struct("Linear", {
  x: ["u32", "Inputs [rows, k4] and outputs [rows, n4] in the network's memory, weights [k, n4] and biases."],
  k4: "u32",
  w: "u32",
  b: "u32",
  y: "u32",
  n4: "u32",
  activation: ["u32", "Its code: of the outputs; backwards, of the inputs."],
  mode: ["u32", "Gradients: 1 for the bias alone. Backwards through blocks: 1 for the first block, 2 for the last."],
});

/** The norm of a dense layer. All vec4s. */
const LAYER_NORM = struct("LayerNorm", {
  y: ["u32", "Outputs [rows, n4] in the network's memory, numbers of a row that are no padding, gains, shifts."],
  n4: "u32",
  count: "u32",
  gain: "u32",
  shift: "u32",
  activation: ["u32", "Its code: of the outputs."],
  spare_0: "u32",
  spare_1: "u32",
});

/** A recurrent cell. All vec4s. */
const CELL = struct("Cell", {
  below: ["u32", "What the gates get from below and from the state, s4 for each gate a row."],
  gates: "u32",
  before: ["u32", "The state before, the state after, s4 a row; derivatives that go back in time, s4 a lane."],
  state: "u32",
  carry: "u32",
  s4: "u32",
  step: ["u32", "Which step of its sequence."],
  parts: ["u32", "What a state is made of: 1, or 2 with a memory that the cell does not put out."],
  memory: ["u32", "That memory before, s4 a row; derivatives by it that go back in time, s4 a lane."],
  memory_carry: "u32",
  networks: ["u32", "Cells whose states of a world lie side by side."],
  spare: "u32",
});

/** Logits and value of a categorical policy: floats. */
const LOGITS = {
  logits: ["u32", "Where logits and value lie in the network's memory, and floats of their rows."],
  logits_row: "u32",
  value: "u32",
  value_row: "u32",
  choices: "u32",
  action_words: ["u32", "Words of an action in the environment and in the rollout."],
} as const;
const ALTERNATIVES = { alternatives: ["array<vec4<u32>, 8>", "Of each choice."] } as const;

/** Means and value of a Gaussian policy: vec4s. */
const MEANS = {
  mean: ["u32", "Where the means and the value lie in the network's memory, and vec4s of their rows."],
  mean4: "u32",
  value: "u32",
  value4: "u32",
  actions: "u32",
  actions4: "u32",
  log_std: "u32",
} as const;

const STREAMED = { kept: "u32", value: "u32", value_row: "u32" } as const;

/** Columns of a head over many actions, one a sample: floats. */
const COLUMNS = {
  x: ["u32", "What the head multiplies, how many numbers of a row, and with padding."],
  inputs: "u32",
  k: "u32",
  activation: ["u32", "The code of what made them."],
  kept: ["u32", "Where rows keep the action and the derivative by its value."],
  head: ["u32", "Parameters of the head: blocks of columns, or the map of embeddings."],
  head_size: "u32",
  width: ["u32", "Columns of a block; features of an action, 0 without embeddings."],
  features: "u32",
} as const;

const SAMPLE = {
  batch_row: ["u32", "A sample: its floats, and where its parts start."],
  batch_next: "u32",
  batch_action: "u32",
  batch_notes: "u32",
} as const;

const single = <N extends string>(table: DeviceStruct<N>) => ({ table, variable: "J", most: 1 }) as const;

/** Tables of jobs; those of several parts are arrays in the kernel. */
export const JOBS = {
  linear: { table: LINEAR, variable: "layers", most: MAX_PARTS },
  layerNorm: { table: LAYER_NORM, variable: "norms", most: MAX_PARTS },
  cell: { table: CELL, variable: "cells", most: 2 },
  actGaussian: single(struct("GaussianJob", { ...MEANS, bounds: ["u32", "Of actions, in norm: low and high."] })),
  lossGaussian: single(
    struct("GaussianLoss", {
      ...MEANS,
      slopes: ["u32", "Rows for derivatives by log standard deviations, and for statistics (2 vec4s a row)."],
      slopes4: "u32",
      statistics: "u32",
    }),
  ),
  actCategorical: single(
    struct("CategoricalJob", { ...LOGITS, start: ["u32", "The smallest action."], spare: "u32", ...ALTERNATIVES }),
  ),
  lossCategorical: single(struct("CategoricalLoss", { ...LOGITS, statistics: "u32", spare: "u32", ...ALTERNATIVES })),
  actSquashed: single(
    struct("SquashedJob", {
      out: [
        "u32",
        "Where the network's outputs lie in its memory, and floats of their rows: means, then raw deviations.",
      ],
      out_row: "u32",
      actions: "u32",
      action_row: "u32",
      bounds: "u32",
    }),
  ),
  actStreamed: single(struct("StreamedJob", { ...STREAMED, action_words: "u32", start: "u32" })),
  lossStreamed: single(
    struct("StreamedLoss", { kept: ["u32", "All vec4s."], value: "u32", value4: "u32", statistics: "u32" }),
  ),
  block: single(
    struct("Block", {
      logits: ["u32", "Where logits of the block and what is kept of rows lie, and a row of logits: vec4s."],
      width: "u32",
      kept: "u32",
      index: ["u32", "Which block, its first action, how many it has."],
      first: "u32",
      count: "u32",
      action_words: "u32",
    }),
  ),
  embed: single(
    struct("Embedding", {
      map: ["u32", "Where the map lies in the parameters (floats): a row for each feature."],
      dims: "u32",
      features: "u32",
      width: "u32",
      blocks: "u32",
      actions: "u32",
      k: ["u32", "Rows of a block with padding."],
      to: ["u32", "Where embeddings go to: floats."],
    }),
  ),
  groups: {
    table: struct("Group", {
      first: ["u32", "The first column and how many there are; where rows go to and their width: vec4s."],
      count: "u32",
      to: "u32",
      k4: "u32",
    }),
    variable: "groups",
    most: 2,
  },
  store: single(
    struct("StoreJob", {
      stride: ["u32", "Words of a world's result, and where its numbers lie."],
      reward: "u32",
      terminated: "u32",
      truncated: "u32",
      reset: "u32",
      status: "u32",
      length: "u32",
      total: "u32",
      row: ["u32", "Floats of a row that is kept, and where reward and flags lie in it."],
      row_reward: "u32",
      row_flags: "u32",
    }),
  ),
  range: single(
    struct("Range", {
      at: ["u32", "Parameters that are moved together: vec4s."],
      count: "u32",
      place: ["u32", "Where the numbers of their optimizer lie in the state."],
      other: ["u32", "How much further on sums go, where statistics or what follows lies."],
    }),
  ),
  mirror: single(
    struct("MirrorJob", {
      observations: ["u32", "Columns of observations and of actions, and floats of their rows in the rollout."],
      actions: "u32",
      observation_row: "u32",
      action_row: "u32",
    }),
  ),
  sequences: single(
    struct("SequencesJob", {
      row4: ["u32", "vec4s of a sample, and of an action."],
      actions4: "u32",
      burn_in: ["u32", "Steps that only fill a memory."],
    }),
  ),
  sample: single(struct("SampleJob", { row4: ["u32", "vec4s of a sample, and of an action."], actions4: "u32" })),
  actGreedy: single(
    struct("GreedyJob", {
      kept: ["u32", "Where rows of the network's memory keep what is known of them: floats."],
      count: ["u32", "Of the actions, and the smallest."],
      start: "u32",
      action_words: "u32",
    }),
  ),
  columns: single(struct("Columns", COLUMNS)),
  dqn: single(
    struct("DqnJob", {
      ...COLUMNS,
      observations: "u32",
      obs: ["u32", "Inputs: observations, next observations. All places are floats, each with those of a row."],
      next_obs: "u32",
      obs_row: "u32",
      next_x: ["u32", "What the targets' head multiplies: of the next observation."],
      target_head: "u32",
      statistics: "u32",
      ...SAMPLE,
    }),
  ),
  softBlock: single(
    struct("SoftBlock", {
      logits: ["u32", "Where logits of the block and values by both critics lie, and a row of each: vec4s."],
      first_values: "u32",
      second_values: "u32",
      width: "u32",
      kept: ["u32", "Where rows keep what went by: vec4s."],
      index: ["u32", "Which block, and how many actions it has."],
      count: "u32",
    }),
  ),
  softColumns: single(
    struct("SoftColumns", {
      ...COLUMNS,
      other_x: ["u32", "The same of the second critic."],
      other_kept: "u32",
      other_head: "u32",
      policy_count: ["u32", "What the policy sees of an observation, from its start; and what critics see."],
      critic_first: "u32",
      critic_count: "u32",
      obs: [
        "u32",
        "Inputs of the policy, then of critics and targets. All places are floats, each with those of a row.",
      ],
      next_obs: "u32",
      obs_row: "u32",
      seen: "u32",
      next_seen: "u32",
      seen_row: "u32",
      soft: ["u32", "What is kept of a row's expectations; statistics."],
      statistics: "u32",
      ...SAMPLE,
    }),
  ),
  sacMemory: single(
    struct("SacMemoryJob", {
      batch_row: ["u32", "Floats of a sample; what critics see of its observation."],
      critic_first: "u32",
      critic_count: "u32",
      seen: ["u32", "Inputs of the memory. All places are floats, each with those of a row."],
      seen_row: "u32",
      state: ["u32", "States of the memory and of the slow one, and numbers of a state."],
      target_state: "u32",
      size: "u32",
      pair: ["u32", "Inputs of critics and of targets, and where states begin in them."],
      other_pair: "u32",
      pair_row: "u32",
      column: "u32",
    }),
  ),
  sac: single(
    struct("SacJob", {
      actions: "u32",
      policy_count: ["u32", "What the policy sees of an observation, from its start; and what critics see."],
      critic_first: "u32",
      critic_count: "u32",
      memory: ["u32", "Numbers of a memory that critics see behind the observation."],
      obs: [
        "u32",
        "Inputs of the policy: observations, next observations. All places are floats, each with those of a row.",
      ],
      next_obs: "u32",
      obs_row: "u32",
      pair: ["u32", "Of the critics: action and observation, twice."],
      other_pair: "u32",
      pair_row: "u32",
      policy: ["u32", "Outputs of the policy for both observations; of both critics, then of both targets."],
      next_policy: "u32",
      policy_row: "u32",
      q1: "u32",
      q2: "u32",
      target1: "u32",
      target2: "u32",
      value_row: "u32",
      statistics: ["u32", "Statistics, and notes."],
      notes: "u32",
      ...SAMPLE,
    }),
  ),
} as const;

export type JobTable = (typeof JOBS)[keyof typeof JOBS];
