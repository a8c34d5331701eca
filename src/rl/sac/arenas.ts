// the memory of SAC's learner, planned beside that of its environments: networks, a batch, and the replay
import type { LearnerPlan } from "../device/wasm-plan.ts";
import type { ArenaRequest, PlanLimits } from "../../memory/request.ts";
import { chunkRowsOf, rowsOf, sharedArena, STATISTICS4 } from "../device/arenas.ts";
import { jobsOfLayers } from "../device/layer-norms.ts";
import type { EnvShape } from "../device/env-shape.ts";
import {
  endOf,
  layOutNetwork,
  layOutWhole,
  padTo,
  row4Of,
  TILE,
  type Cell,
  type CellKind,
  type Layer,
  type Rows,
} from "../networks/networks.ts";
import { cellJobs, cellSizes, placeCell, type CellSet } from "../device/cell-places.ts";
import { NARROWER, planReplayLearner, transitionSizes, type ReplayLearnerShape } from "../replay/arenas.ts";
import { NOTE } from "../tables/device-tables.ts";
import { rowsOfSample, type SacConfig } from "./config.ts";

/** The parameter vector: policy, critics, then targets, with room for statistics behind what has gradients. vec4s. */
export interface SacNetworks {
  readonly policy: readonly Layer[];
  readonly critics: readonly (readonly Layer[])[];
  readonly targets: readonly (readonly Layer[])[];
  /** Recurrent cells of the policy, of what all critics remember, and of what targets do. */
  readonly cells?: Record<"policy" | "critics" | "targets", Cell> & { readonly kind: CellKind; readonly size: number };
  readonly policyStatistics: number;
  /** Where what the critics learn begins, and ends. */
  readonly criticsAt: number;
  readonly criticsStatistics: number;
  /** All that has gradients, and all. */
  readonly total4: number;
  readonly params4: number;
}

/** Where rows of the networks lie in `work`: vec4s. */
export interface SacWork {
  /** Whole observations of worlds that act; the policy's own input unless observations come in groups. */
  readonly x: number;
  readonly policy: Rows;
  readonly nextPolicy: Rows;
  /** Of critics at their own inputs; `together` at the one pair that both learn from. */
  readonly critics: readonly Rows[];
  readonly together: readonly Rows[];
  readonly targets: readonly Rows[];
  readonly statistics: number;
  readonly notes: number;
  /** What the critics' memory sees, and rows of both of its layers' outputs. */
  readonly memory?: { readonly critics: Rows; readonly targets: Rows };
  readonly size4: number;
}

/** Sequences of a batch, and the cells that go along them. Sequences have a step that only says what is next. */
export interface SacCells extends Record<"policy" | "critics" | "targets", CellSet> {
  readonly unroll: number;
  readonly lanes: number;
  readonly burnIn: number;
  /** vec4s of what the memory sees. */
  readonly seen4: number;
}

export interface SacShape extends ReplayLearnerShape {
  readonly cells?: SacCells;
  /** Rows of a batch that are learnt from. */
  readonly learnt: number;
  readonly nets: SacNetworks;
  readonly work: SacWork;
  readonly chunkRows: number;
  /** Chunks of a batch; of one, sums are the gradient itself. */
  readonly chunks: number;
  /** What policy and critics see of an observation. */
  readonly groups: NonNullable<EnvShape["groups"]>;
  /** vec4s of what the policy sees in `work`, and of a pair in the critics. */
  readonly policy4: number;
  readonly pair4: number;
}

function layOut({ policy: seen, critic }: SacShape["groups"], actions: number, config: SacConfig): SacNetworks {
  const make = (name: string, inputs: number, outputs: number, gain: number, at: number) =>
    layOutNetwork(name, [inputs, ...config.hidden, outputs], config, gain, at);
  const recurrent = config.recurrent === "none" ? undefined : { kind: config.recurrent, size: config.recurrentSize };
  const pair = critic.size + actions + (recurrent?.size ?? 0);
  const whole = { observations: seen.size, hidden: config.hidden, form: config, recurrent };
  const { layers: policy, end: policyStatistics, cell } = layOutWhole("policy", whole, 2 * actions, 0.01, 0);
  const criticsAt = policyStatistics + STATISTICS4;
  // a memory of its own, which both critics see
  const remember = (name: string, at: number) =>
    recurrent
      ? layOutWhole(name, { ...whole, observations: critic.size, hidden: [] }, undefined, 1, at)
      : { end: at, cell: undefined };
  const memory = remember("memory", criticsAt);
  const q1 = make("q1", pair, 1, 1, memory.end);
  const q2 = make("q2", pair, 1, 1, endOf(q1));
  const criticsStatistics = endOf(q2);
  const total4 = criticsStatistics + STATISTICS4;
  const slow = remember("target_memory", total4);
  const target1 = make("target1", pair, 1, 1, slow.end);
  const target2 = make("target2", pair, 1, 1, endOf(target1));
  const params4 = endOf(target2);
  return {
    policy,
    critics: [q1, q2],
    targets: [target1, target2],
    ...(recurrent && { cells: { ...recurrent, policy: cell!, critics: memory.cell!, targets: slow.cell! } }),
    policyStatistics,
    criticsAt,
    criticsStatistics,
    total4,
    params4,
  };
}

/** Layers of cells that learn and are in no list of layers: the policy's own, and the critics' memory. */
export const cellLayers = ({ cells }: SacNetworks): Layer[] =>
  cells ? [cells.policy.hh, cells.critics.ih, cells.critics.hh] : [];

export function sacShape(env: EnvShape, config: SacConfig): SacShape {
  const all = { from: 0, size: env.observations };
  const groups = env.groups ?? { policy: all, critic: all };
  const nets = layOut(groups, env.actions, config);
  const lanes = config.batchSize / config.recurrentSteps;
  const unroll = rowsOfSample(config) + 1;
  const batchSize = nets.cells ? lanes * unroll : config.batchSize;
  const learnt = nets.cells ? batchSize - lanes : batchSize;
  const sizes = transitionSizes(env, { ...config, batchSize, nSteps: rowsOfSample(config) });
  const { k4 } = sizes;
  const policy4 = padTo(groups.policy.size, TILE) / 4;
  const seen4 = padTo(groups.critic.size, TILE) / 4;
  const pair4 = padTo(groups.critic.size + env.actions + (nets.cells?.size ?? 0), TILE) / 4;
  const width4 = nets.policy.reduce((sum, layer) => sum + row4Of(layer), k4);
  const rows = rowsOf(batchSize, env.numEnvs, width4);

  let at = 0;
  const takeAll = (vec4s: number): number => (at += vec4s) - vec4s;
  const take = (vec4s: number): number => takeAll(rows * vec4s);
  const outputs = (layers: readonly Layer[]) => new Map(layers.map((layer) => [layer, take(row4Of(layer))]));
  const x = take(k4);
  const own = { x: env.groups ? take(policy4) : x, outputs: outputs(nets.policy) };
  const cells = nets.cells && layOutCells(nets, { unroll, lanes }, rows, own.outputs, takeAll, outputs);
  const policy: Rows = { ...own, ...(cells && { cell: cells.sets.policy.cells[0].at }) };
  // of a sequence, what comes next are the rows of the next step
  const nextPolicy = cells
    ? { x: policy.x, outputs: new Map(nets.policy.map((one) => [one, own.outputs.get(one)! + (lanes * one.n) / 4])) }
    : { x: take(policy4), outputs: outputs(nets.policy) };
  const pairs = [take(pair4), take(pair4)];
  const critics = nets.critics.map((layers, i) => ({ x: pairs[i], outputs: outputs(layers) }));
  const together = critics.map(({ outputs }) => ({ x: pairs[0], outputs }));
  const targets = nets.targets.map((layers) => ({ x: pairs[1], outputs: outputs(layers) }));
  const seen = cells && take(seen4);
  const memory = cells && {
    critics: { x: seen!, outputs: cells.outputs.critics },
    targets: { x: seen!, outputs: cells.outputs.targets },
  };
  const work = {
    x,
    policy,
    nextPolicy,
    critics,
    together,
    targets,
    statistics: take(STATISTICS4),
    notes: take(NOTE.size / 4),
    ...(memory && { memory }),
  };

  return {
    ...sizes,
    ...(cells && { cells: { ...cells.sets, unroll, lanes, burnIn: config.recurrentBurnIn, seen4 } }),
    learnt,
    groups,
    nets,
    work: { ...work, size4: at },
    rows,
    chunkRows: chunkRowsOf(learnt),
    chunks: Math.ceil(learnt / chunkRowsOf(learnt)),
    policy4,
    pair4,
    jobs: jobsOfLayers(8, nets.policy) + (cells ? 3 * cellJobs({ unroll }) + 16 : 0) + 16,
  };
}

/** Places of all cells, and of what their gates get from below. */
function layOutCells(
  { cells }: SacNetworks,
  sizes: Pick<SacCells, "unroll" | "lanes">,
  rows: number,
  policy: ReadonlyMap<Layer, number>,
  take: (vec4s: number) => number,
  outputsOf: (layers: readonly Layer[]) => Map<Layer, number>,
) {
  const own = { ...sizes, ...cellSizes(cells!) };
  const set = (name: "policy" | "critics" | "targets", outputs: ReadonlyMap<Layer, number>): CellSet => {
    const { ih, hh } = cells![name];
    const at = placeCell(own, rows, outputs.get(ih)!, take);
    return { ...own, name: `${name} cell`, cells: [{ hh, at }] };
  };
  const outputs = { policy, critics: outputsOf([cells!.critics.ih]), targets: outputsOf([cells!.targets.ih]) };
  const sets = {
    policy: set("policy", outputs.policy),
    critics: set("critics", outputs.critics),
    targets: set("targets", outputs.targets),
  };
  return { outputs, sets };
}

/** States of worlds that act and of those that are evaluated; where worlds of a batch took new start states. */
function cellArenas({ cells, batch }: SacShape): ArenaRequest[] {
  if (!cells) return [];
  const perWorld = 4 * cells.policy.state4;
  const states = (name: string): ArenaRequest => ({
    name,
    access: "read_write",
    scope: "batch",
    layout: "rows",
    fields: [{ name, group: "recurrent", type: "f32", perWorld, remedy: "a smaller recurrentSize" }],
  });
  return [states("hidden"), states("eval_hidden"), sharedArena("resets", batch / 4)];
}

/** Plans every buffer of SAC's learner. Needs no device. */
export function planSacLearner(shape: SacShape, limits?: PlanLimits): LearnerPlan {
  const { chunks, nets } = shape;
  const partials = chunks > 1 ? [sharedArena("partials", chunks * nets.total4, NARROWER)] : [];
  return planReplayLearner("sac", shape, [...partials, ...cellArenas(shape)], limits);
}
