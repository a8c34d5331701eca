// arenas that learners of every algorithm have, and their plan
import type { ArenaRequest, FieldRequest, PlanLimits } from "../../memory/request.ts";
import { planBatch, type Plan } from "../../memory/plan.ts";
import { padTo, TILE } from "../networks/networks.ts";
import { REPLAY_STEP, STATE_SIZE, STATISTICS, WORLD } from "../tables/device-tables.ts";
import { KERNELS } from "./kernel-table.ts";

/** Parts that sums over all worlds, samples or parameters are cut into. */
export const SUM_PARTS = 128;
/** Statistics of a minibatch ride behind the gradients: their sums are the bias of a layer of this size. */
export const STATISTICS4 = STATISTICS.size / 4;
/** `mode` of a layer whose only gradient is that of its bias. */
export const BIAS_ONLY = 1;
export const SUMS = { k: TILE, n: 4 * STATISTICS4 } as const;

/** Rows of a minibatch that is summed at once; of larger ones, rows that a chunk sums at least, and most chunks. */
const WHOLE_ROWS = 512;
const CHUNK_ROWS = 128;
const MAX_CHUNKS = 32;
/** Worlds that act in one run of the network, if minibatches are smaller: at most this many, in at most this many bytes. */
const ACT_ROWS = 8192;
const ACT_BYTES = 2 ** 26;

/** Rows that a network whose rows are so wide has room for, when it learns and when it acts. */
export function rowsOf(minibatch: number, numEnvs: number, width4: number): number {
  const fits = Math.max(TILE, Math.floor(ACT_BYTES / (16 * width4)));
  return padTo(Math.max(minibatch, Math.min(numEnvs, ACT_ROWS, fits)), TILE);
}

export const chunkRowsOf = (minibatch: number): number =>
  minibatch <= WHOLE_ROWS ? WHOLE_ROWS : Math.max(CHUNK_ROWS, Math.ceil(minibatch / MAX_CHUNKS));

export const sharedArena = (name: string, vec4s: number, remedy?: string): ArenaRequest => ({
  name,
  access: "read_write",
  scope: "batch",
  fields: [{ name, group: "learner", type: "f32", shared: 4 * vec4s, ...(remedy ? { remedy } : {}) }],
});

/** Numbers of jobs or of passes: a kernel binds those of one. */
export const slotsArena = (name: string, words: number): ArenaRequest => ({
  name,
  access: "slots",
  scope: "batch",
  fields: [{ name, group: "learner", type: "u32", shared: words }],
});

/** Rings of transitions: observations and actions (vec4s), rewards and flags. */
export function replayArenas(rows: number, obs4: number, actions4: number): ArenaRequest[] {
  const ring = (name: string, floats: number): ArenaRequest => {
    const remedy = 'a smaller bufferSize, or storage: "host"';
    const field: FieldRequest = { name, group: "replay", type: "f32", shared: rows * floats, remedy };
    return { name, access: "read_write", scope: "batch", fields: [field] };
  };
  return [ring("replay_obs", 4 * obs4), ring("replay_actions", 4 * actions4), ring("replay_steps", REPLAY_STEP.size)];
}

/** What is kept of each world. */
export const worldsArena = (): ArenaRequest => ({
  name: "worlds",
  access: "read_write",
  scope: "batch",
  layout: "rows",
  fields: [{ name: "worlds", group: "learner", type: "f32", perWorld: WORLD.size }],
});

/** The planned arenas that each kernel binds. */
function stagesOf(arenas: readonly ArenaRequest[]): { name: string; arenas: string[] }[] {
  const names = arenas.map(({ name }) => name);
  return Object.entries(KERNELS).map(([name, { buffers }]) => ({
    name,
    arenas: Object.values<string>(buffers).filter((arena) => names.includes(arena)),
  }));
}

/** What the host reads through: the state, or so many floats of parameters. */
export const stagingArena = (params: number): ArenaRequest => ({
  name: "staging",
  access: "staging",
  scope: "batch",
  copies: 2,
  fields: [{ name: "staging", group: "staging", type: "f32", shared: Math.max(STATE_SIZE, params) }],
});

/** The plan of a learner's arenas, all of them in one piece. */
export function planArenas(
  name: string,
  numEnvs: number,
  arenas: readonly ArenaRequest[],
  limits: PlanLimits | undefined,
): Plan {
  const limited = limits ? { limits } : {};
  return planBatch({ name, numEnvs, arenas, stages: stagesOf(arenas), maxShards: 1, ...limited });
}
