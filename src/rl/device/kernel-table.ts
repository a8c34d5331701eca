// the learner's kernels: which source, which entry point, which buffers
import { ACTIVATED_WGSL, SLOPE_WGSL } from "../networks/activations.ts";
import type { Sharing } from "../networks/linear-groups.ts";
import { linearText } from "../networks/linear-text.ts";
import type { LinearKernel } from "../networks/linear-wgsl.ts";
import type { DeviceStruct, ValuesOf } from "../tables/device-struct.ts";
import { JOBS, type JobTable } from "../tables/job-tables.ts";

/** A kernel: files of `shaders/`, then text; the entry point; arenas by binding. Binding 0 holds the uniforms. */
export interface KernelSource {
  readonly files: readonly string[];
  readonly code?: (sharing: Sharing) => string;
  readonly entry?: string;
  /** What binding 1 holds, if the kernel has numbers of its own. */
  readonly job?: JobTable;
  readonly buffers: Readonly<Record<number, string>>;
}

const MATH = "lib/math.wgsl";
const RANDOM = ["lib/philox.wgsl", MATH, "rl/random.wgsl"];
const linear =
  (name: LinearKernel) =>
  (sharing: Sharing): string =>
    linearText(name, sharing);
const only = (holds: boolean, buffers: Record<number, string>): Record<number, string> => (holds ? buffers : {});
const act = <J extends JobTable>(head: "gaussian" | "categorical", job: J) => ({
  files: [...RANDOM, `rl/act_${head}.wgsl`],
  job,
  buffers: {
    ...only(head === "gaussian", { 2: "params", 4: "norm" }),
    3: "work",
    5: "worlds",
    6: "env.action",
    7: "rollout_actions",
    8: "samples",
  },
});
const loss = <J extends JobTable>(head: "gaussian" | "categorical", job: J) => ({
  files: [MATH, "rl/shuffle.wgsl", "rl/ppo_loss.wgsl", `rl/loss_${head}.wgsl`],
  job,
  buffers: {
    ...only(head === "gaussian", { 2: "params" }),
    3: "work",
    4: "rollout_actions",
    5: "samples",
    6: "state",
  },
});
const head = (entry: string, files: readonly string[], buffers: Record<number, string>) => ({
  files: [...files, "rl/block.wgsl", "rl/streamed_head.wgsl"],
  entry,
  job: JOBS.block,
  buffers: { 3: "work", ...buffers },
});
/** Kernels of a file with numbers of one kind. */
const family =
  <J extends JobTable>(files: readonly string[], job: J) =>
  (entry: string, buffers: Record<number, string>) => ({ files, entry, job, buffers });
const CELL = [MATH, "rl/cell_state.wgsl"];
const ROLLOUT = ["rl/shuffle.wgsl", "rl/cell_rollout.wgsl"];
const cell = family([...CELL, ...ROLLOUT, "rl/cell_recall.wgsl", "rl/cell_enter.wgsl"], JOBS.cell);
const recall = family([...CELL, "rl/cell_recall.wgsl"], JOBS.cell);
const begin = family([...CELL, "rl/cell_begin.wgsl"], JOBS.cell);
const steps = (kind: "gru" | "lstm", source: readonly string[]) =>
  family([...CELL, ...source, `rl/${kind}.wgsl`, "rl/cell_step.wgsl"], JOBS.cell);
const [gru, lstm] = [steps("gru", ROLLOUT), steps("lstm", ROLLOUT)];
const REPLAYED = ["rl/cell_replay.wgsl"];
const [gruReplay, lstmReplay] = [steps("gru", REPLAYED), steps("lstm", REPLAYED)];
const optimize = family([MATH, "rl/optimize.wgsl"], JOBS.range);
const optimizeSac = family([MATH, "rl/optimize.wgsl", "rl/sac_optimize.wgsl"], JOBS.range);
const normaliser = (entry: string, buffers: Record<number, string>) => ({
  files: [MATH, "rl/observation_normaliser.wgsl"],
  entry,
  buffers,
});
const gae = (entry: string) => ({
  files: [MATH, "rl/gae.wgsl"],
  entry,
  buffers: { 1: "samples", 2: "worlds", 3: "state" },
});

const NORMALISED = "rl/normalised.wgsl";
const SQUASHED = [...RANDOM, "rl/squashed.wgsl"];
const sac = (entry: string) => ({
  files: [...SQUASHED, NORMALISED, "rl/sac_loss.wgsl"],
  entry,
  job: JOBS.sac,
  buffers: {
    ...only(entry === "load", { 2: "batch", 8: "norm" }),
    3: "work",
    ...only(entry.endsWith("_loss"), { 4: "state" }),
  },
});
const sacMemory = family([NORMALISED, "rl/sac_memory.wgsl"], JOBS.sacMemory);
const layerNorm = (entry: string) => ({
  files: [MATH, "rl/layer_norm.wgsl"],
  code: () => ACTIVATED_WGSL,
  entry,
  job: JOBS.layerNorm,
  buffers: { 2: "params", 3: "work" },
});
const COLUMNS = [MATH, "rl/columns.wgsl"];
const withSlopes = <K extends KernelSource>(kernel: K) => ({ ...kernel, code: () => SLOPE_WGSL });
const column = (entry: string, buffers: Record<number, string>) =>
  withSlopes({ files: COLUMNS, entry, job: JOBS.columns, buffers });
const dqn = (entry: string, buffers: Record<number, string>) =>
  withSlopes({
    files: [...COLUMNS, NORMALISED, "rl/dqn.wgsl"],
    entry,
    job: JOBS.dqn,
    buffers: { 3: "work", ...buffers },
  });
const softColumns = (entry: string, buffers: Record<number, string>) =>
  withSlopes({
    files: [...COLUMNS, NORMALISED, "rl/soft_columns.wgsl"],
    entry,
    job: JOBS.softColumns,
    buffers: { 2: "batch", 3: "work", ...buffers },
  });
const softHead = family([MATH, "rl/block.wgsl", "rl/soft_head.wgsl"], JOBS.softBlock);

export const KERNELS = {
  observe: {
    files: ["rl/observe.wgsl"],
    buffers: { 2: "env.obs", 3: "norm", 4: "rollout_obs", 5: "work" },
  },
  observation_groups: { files: ["rl/observation_groups.wgsl"], job: JOBS.groups, buffers: { 3: "work" } },
  forward: { files: [MATH], code: linear("forward"), job: JOBS.linear, buffers: { 2: "params", 3: "work" } },
  backward: { files: [MATH], code: linear("backward"), job: JOBS.linear, buffers: { 2: "params", 3: "work" } },
  gradient: { files: [], code: linear("gradient"), job: JOBS.linear, buffers: { 3: "work", 4: "partials" } },
  gradient_whole: { files: [], code: linear("wholeGradient"), job: JOBS.linear, buffers: { 3: "work", 4: "grads" } },
  layer_norm: layerNorm("normalise"),
  layer_norm_back: layerNorm("back"),
  act_gaussian: act("gaussian", JOBS.actGaussian),
  act_categorical: act("categorical", JOBS.actCategorical),
  act_squashed: {
    files: [...SQUASHED, "rl/act_squashed.wgsl"],
    job: JOBS.actSquashed,
    buffers: { 3: "work", 4: "norm", 5: "worlds", 6: "env.action", 7: "rollout_actions" },
  },
  act_streamed: {
    files: [MATH, "rl/act_streamed.wgsl"],
    job: JOBS.actStreamed,
    buffers: { 3: "work", 5: "worlds", 6: "env.action", 7: "rollout_actions", 8: "samples" },
  },
  forward_embedded: {
    files: [MATH],
    code: linear("forward"),
    job: JOBS.linear,
    buffers: { 2: "embedding", 3: "work" },
  },
  head_act: head("act", [...RANDOM, "rl/shuffle.wgsl"], { 5: "worlds" }),
  head_loss: head("loss", [...RANDOM, "rl/shuffle.wgsl"], { 4: "rollout_actions" }),
  head_slope: head("slope", [...RANDOM, "rl/shuffle.wgsl"], {}),
  gradient_embedded: {
    files: [],
    code: linear("wholeGradient"),
    job: JOBS.linear,
    buffers: { 3: "work", 4: "embedding_grads" },
  },
  head_backward: { files: [MATH], code: linear("headBackward"), job: JOBS.linear, buffers: { 2: "params", 3: "work" } },
  head_backward_embedded: {
    files: [MATH],
    code: linear("headBackward"),
    job: JOBS.linear,
    buffers: { 2: "embedding", 3: "work" },
  },
  loss_streamed: {
    files: [MATH, "rl/shuffle.wgsl", "rl/ppo_loss.wgsl", "rl/loss_streamed.wgsl"],
    job: JOBS.lossStreamed,
    buffers: { 3: "work", 5: "samples", 6: "state" },
  },
  forward_lanes: { files: [MATH], code: linear("lanesForward"), job: JOBS.linear, buffers: { 2: "params", 3: "work" } },
  backward_lanes: {
    files: [MATH],
    code: linear("lanesBackward"),
    job: JOBS.linear,
    buffers: { 2: "params", 3: "work" },
  },
  cell_enter: cell("enter", { 3: "work", 5: "rollout_hidden" }),
  cell_enter_act: cell("enter_acting", { 3: "work", 4: "hidden", 5: "rollout_hidden" }),
  cell_forget: cell("forget", { 4: "hidden", 6: "samples" }),
  cell_recall: recall("recall", { 3: "work", 4: "hidden" }),
  cell_recall_evaluated: recall("recall", { 3: "work", 4: "eval_hidden" }),
  cell_begin: begin("begin", { 3: "work" }),
  cell_forget_replay: begin("forget", { 4: "hidden", 5: "replay_steps" }),
  gru_step: gru("step", { 3: "work", 6: "samples" }),
  gru_back: gru("back", { 3: "work", 6: "samples" }),
  gru_step_act: gru("step_acting", { 3: "work", 4: "hidden" }),
  gru_step_evaluate: gru("step_acting", { 3: "work", 4: "eval_hidden" }),
  gru_step_replay: gruReplay("step", { 3: "work", 6: "resets" }),
  gru_back_replay: gruReplay("back", { 3: "work", 6: "resets" }),
  lstm_step_replay: lstmReplay("step", { 3: "work", 6: "resets" }),
  lstm_back_replay: lstmReplay("back", { 3: "work", 6: "resets" }),
  lstm_step: lstm("step", { 3: "work", 6: "samples" }),
  lstm_back: lstm("back", { 3: "work", 6: "samples" }),
  lstm_step_act: lstm("step_acting", { 3: "work", 4: "hidden" }),
  lstm_step_evaluate: lstm("step_acting", { 3: "work", 4: "eval_hidden" }),
  embed: {
    files: ["rl/embed.wgsl"],
    job: JOBS.embed,
    buffers: { 2: "params", 3: "features", 4: "embedding" },
  },
  embed_gradient: {
    files: ["rl/embed.wgsl"],
    entry: "gradient",
    job: JOBS.embed,
    buffers: { 3: "features", 5: "embedding_grads", 6: "grads" },
  },
  store: { files: ["rl/store.wgsl"], job: JOBS.store, buffers: { 2: "env.result", 3: "samples", 4: "worlds" } },
  returns: gae("returns"),
  advantages: gae("advantages"),
  sum_worlds: { files: [MATH, "rl/summary.wgsl"], entry: "parts", buffers: { 1: "worlds", 2: "scratch" } },
  scale_rewards: {
    files: [MATH, "rl/summary.wgsl"],
    entry: "scale_rewards",
    buffers: { 2: "scratch", 3: "state" },
  },
  episodes: { files: [MATH, "rl/summary.wgsl"], entry: "episodes", buffers: { 2: "scratch", 3: "state" } },
  scale_advantages: {
    files: [MATH, "rl/summary.wgsl"],
    entry: "scale_advantages",
    buffers: { 2: "scratch", 3: "state" },
  },
  gather: {
    files: ["rl/shuffle.wgsl", "rl/gather.wgsl"],
    buffers: { 2: "rollout_obs", 3: "norm", 4: "work" },
  },
  loss_gaussian: loss("gaussian", JOBS.lossGaussian),
  loss_categorical: loss("categorical", JOBS.lossCategorical),
  mirror: {
    files: [...RANDOM, "rl/mirror.wgsl"],
    job: JOBS.mirror,
    buffers: { 2: "mirror", 3: "worlds", 4: "rollout_obs", 5: "rollout_actions" },
  },
  reduce: optimize("reduce", { 2: "grads", 7: "partials" }),
  gradient_gate: optimize("gradient_gate", { 2: "grads", 3: "scratch", 4: "state", 5: "moments", 6: "params" }),
  adam: optimize("adam", { 2: "grads", 4: "state", 5: "moments", 6: "params" }),
  sum_obs: normaliser("parts", { 2: "rollout_obs", 3: "scratch", 4: "norm" }),
  sum_ring_obs: normaliser("ring_parts", { 2: "replay_obs", 3: "scratch", 4: "norm" }),
  merge_ring_obs: normaliser("merge", { 2: "replay_obs", 3: "scratch", 4: "norm" }),
  merge_obs: normaliser("merge", { 2: "rollout_obs", 3: "scratch", 4: "norm" }),
  count_clipped: normaliser("clipped", { 2: "rollout_obs", 3: "scratch", 4: "norm" }),
  tally_clipped: normaliser("tally", { 3: "scratch", 5: "state" }),
  sample_sequences: {
    files: [...RANDOM, "rl/sequences.wgsl"],
    entry: "sample_sequences",
    job: JOBS.sequences,
    buffers: { 2: "replay_obs", 3: "replay_actions", 4: "replay_steps", 5: "batch", 6: "resets" },
  },
  sample: {
    files: [...RANDOM, "rl/replay.wgsl"],
    entry: "sample",
    job: JOBS.sample,
    buffers: { 2: "replay_obs", 3: "replay_actions", 4: "replay_steps", 5: "batch" },
  },
  load: sac("load"),
  next_actions: sac("next_actions"),
  critic_loss: sac("critic_loss"),
  new_actions: sac("new_actions"),
  lower_value: sac("lower_value"),
  policy_loss: sac("policy_loss"),
  best_block: { files: ["rl/block.wgsl", "rl/best_block.wgsl"], job: JOBS.block, buffers: { 3: "work" } },
  act_greedy: {
    files: [...RANDOM, "rl/act_greedy.wgsl"],
    job: JOBS.actGreedy,
    buffers: { 3: "work", 5: "worlds", 6: "env.action", 7: "rollout_actions" },
  },
  dqn_load: dqn("load", { 2: "batch", 8: "norm" }),
  dqn_loss: dqn("loss", { 2: "batch", 4: "params", 5: "features" }),
  column_clear: column("clear_head", { 6: "grads" }),
  column_gradient: column("head_gradient", { 3: "work", 6: "grads" }),
  column_map_gradient: column("map_gradient", { 3: "work", 5: "features", 6: "grads" }),
  column_slope: column("head_slope", { 3: "work", 4: "params", 5: "features" }),
  act_drawn: {
    files: [...RANDOM, "rl/act_drawn.wgsl"],
    job: JOBS.actGreedy,
    buffers: { 3: "work", 5: "worlds", 6: "env.action", 7: "rollout_actions" },
  },
  soft_load: softColumns("load", { 8: "norm" }),
  soft_critic_loss: softColumns("critic_loss", { 4: "params", 5: "features", 7: "state" }),
  soft_policy_loss: softColumns("policy_loss", { 7: "state" }),
  soft_fold: softHead("fold", { 3: "work" }),
  soft_slope: softHead("slope", { 3: "work" }),
  sac_see: sacMemory("see", { 2: "batch", 3: "work", 8: "norm" }),
  sac_remember: sacMemory("remember", { 3: "work" }),
  sac_remember_back: sacMemory("remember_back", { 3: "work" }),
  gate_critic: optimizeSac("gate_critic", { 2: "grads", 3: "scratch", 4: "state", 5: "moments", 6: "params" }),
  gate_policy: optimizeSac("gate_policy", { 2: "grads", 3: "scratch", 4: "state", 5: "moments", 6: "params" }),
  polyak_update: optimizeSac("polyak_update", { 4: "state", 6: "params" }),
} as const satisfies Record<string, KernelSource>;

export type KernelName = keyof typeof KERNELS;

type TableOf<K extends KernelName> = (typeof KERNELS)[K] extends { readonly job: infer J extends JobTable } ? J : never;
type NamesOf<J extends JobTable> = J["table"]["members"][number];

/** The numbers that a kernel is bound with, by name: one record, or a list of those that run side by side. */
export type JobOf<K extends KernelName> =
  TableOf<K> extends { readonly most: 1 } ? ValuesOf<NamesOf<TableOf<K>>> : readonly ValuesOf<NamesOf<TableOf<K>>>[];

/** Binds a kernel under a name. */
export type Bind = <K extends KernelName>(name: string, kernel: K, job?: JobOf<K>) => void;

/** The words of a job. */
export function jobWords<K extends KernelName>(name: K, job: JobOf<K>): Uint32Array<ArrayBuffer> {
  const { job: tables }: KernelSource = KERNELS[name];
  const records = (Array.isArray(job) ? job : [job]) as ValuesOf<string>[];
  return (tables!.table as DeviceStruct).words(...records);
}
