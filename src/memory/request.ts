// what a plan is made of: arenas of fields, a count of worlds, limits, a budget. Plain data, no device.
import { CorralError } from "../core/errors.ts";

export type ElementType = "f32" | "i32" | "u32";

/** Bytes of one element. */
export const elementBytes: Readonly<Record<ElementType, number>> = { f32: 4, i32: 4, u32: 4 };

/**
 * How a buffer is used: storage that kernels read, storage that they write, a uniform, slots (a uniform of which
 * a kernel binds a small piece), a buffer mapped for reading (what the host reads back), a buffer mapped for writing (what
 * the host sends).
 */
export type Access = "read" | "read_write" | "uniform" | "slots" | "staging" | "upload";

/**
 * `tiles`: `[world / W][field / 4][W]` of vec4, each field of a world padded to vec4; `rows`: each field as a row-major
 * `[worlds, elements]` block.
 */
export type Layout = "tiles" | "rows";

/** One field of an arena. Counts are elements: `perWorld` for every world, `shared` once a buffer. */
export interface FieldRequest {
  readonly name: string;
  readonly group: string;
  readonly type: ElementType;
  readonly perWorld?: number;
  readonly shared?: number;
  /** What makes it smaller, for the error of a plan that does not fit: "a smaller nconmax". */
  readonly remedy?: string;
}

/** Fields that share a buffer. */
export interface ArenaRequest {
  readonly name: string;
  readonly access: Access;
  readonly fields: readonly FieldRequest[];
  readonly layout?: Layout;
  /** One buffer a shard, or one for the whole batch. Default: `shard` if a field has elements per world. */
  readonly scope?: "shard" | "batch";
  /** Buffers of the same layout, as in a ring of staging buffers. Default 1. */
  readonly copies?: number;
  /**
   * Most bytes of one buffer, a multiple of 16: what is larger moves through it in pieces. For `staging` and `upload`
   * arenas of the whole batch, with one field. Default: none.
   */
  readonly window?: number | null;
}

/** The limits that a plan respects, by WebGPU's names; `GpuDevice.limits` fits. Sizes in bytes. */
export interface PlanLimits {
  readonly maxBufferSize: number;
  readonly maxStorageBufferBindingSize: number;
  readonly maxUniformBufferBindingSize: number;
  readonly maxStorageBuffersPerShaderStage: number;
  readonly maxUniformBuffersPerShaderStage: number;
}

/** What a memory of WebAssembly holds: one arena takes all of it at most, and kernels are bound to any number. */
export const wasmLimits: PlanLimits = {
  maxBufferSize: 2 ** 32,
  maxStorageBufferBindingSize: 2 ** 32,
  maxUniformBufferBindingSize: 2 ** 32,
  maxStorageBuffersPerShaderStage: 1000,
  maxUniformBuffersPerShaderStage: 1000,
};

/** What every WebGPU device has: the limits to plan with when no adapter is at hand. */
export const defaultLimits: PlanLimits = {
  maxBufferSize: 2 ** 28,
  maxStorageBufferBindingSize: 2 ** 27,
  maxUniformBufferBindingSize: 2 ** 16,
  maxStorageBuffersPerShaderStage: 8,
  maxUniformBuffersPerShaderStage: 12,
};

/** Bytes of the process that a batch takes beside what its device holds, and what for. */
export interface HostBytes {
  readonly name: string;
  readonly bytes: number;
}

/** What may be used and what is in use, in bytes. A `Budget` is one. */
export interface BudgetView {
  readonly limit: number;
  readonly live: number;
  readonly source: string;
}

export interface PlanRequest {
  /** Who asks; the first part of every buffer's label. */
  readonly name: string;
  readonly numEnvs: number;
  readonly arenas: readonly ArenaRequest[];
  /** Worlds a tile, W: a power of two from 4 to 256. Default 8. */
  readonly tileWidth?: number;
  /** Default: `defaultLimits`. */
  readonly limits?: PlanLimits;
  /** Without one only the limits bind. */
  readonly budget?: BudgetView;
  /** The arenas that one kernel binds, for each kernel. Default: one kernel binds them all. */
  readonly stages?: readonly { readonly name: string; readonly arenas: readonly string[] }[];
  /** At least this many shards. Default 1. */
  readonly minShards?: number;
  /** At most this many shards. Default 1,024. */
  readonly maxShards?: number;
  /** What one dispatch or one index reaches, in worlds. Default: no bound. */
  readonly maxWorldsPerShard?: number;
  /** What the process takes beside the plan's bytes. Default: nothing. */
  readonly host?: readonly HostBytes[];
}

/** World ids are u32. */
export const MAX_WORLDS = 2 ** 32;

const DEFAULT_TILE_WIDTH = 8;
const DEFAULT_MAX_SHARDS = 1024;

/** A request with its defaults filled in. */
export type CheckedRequest = Required<Omit<PlanRequest, "budget" | "arenas">> & {
  readonly budget: BudgetView | null;
  readonly arenas: readonly Required<ArenaRequest>[];
};

/** Fills in defaults. Throws `bad-num-envs` or `bad-plan` for what no plan can be made of. */
export function checkRequest(request: PlanRequest): CheckedRequest {
  const { numEnvs, tileWidth = DEFAULT_TILE_WIDTH, minShards = 1, maxShards = DEFAULT_MAX_SHARDS } = request;
  const { maxWorldsPerShard = MAX_WORLDS } = request;

  if (!isCount(numEnvs) || numEnvs < 1 || numEnvs > MAX_WORLDS) {
    throw new CorralError(
      "bad-num-envs",
      `numEnvs is ${String(numEnvs)}; it is an integer from 1 to ${MAX_WORLDS} (world ids are 32 bits). Pass such a count.`,
      { numEnvs },
    );
  }

  // a multiple of 4 keeps every block of every layout on 16 bytes, with nothing lost between blocks
  if (!isCount(tileWidth) || tileWidth < 4 || tileWidth > 256 || (tileWidth & (tileWidth - 1)) !== 0) {
    throw badPlan(`tileWidth is ${tileWidth}; it is a power of two from 4 to 256`);
  }

  if (!isCount(minShards) || minShards < 1) throw badPlan(`minShards is ${minShards}; it is at least 1`);
  if (!isCount(maxShards) || maxShards < minShards)
    throw badPlan(`maxShards is ${maxShards}; it is at least ${minShards}`);

  if (!isCount(maxWorldsPerShard) || maxWorldsPerShard < tileWidth) {
    throw badPlan(`maxWorldsPerShard is ${maxWorldsPerShard}; it is at least one tile, ${tileWidth}`);
  }

  const tiles = Math.ceil(numEnvs / tileWidth);
  if (minShards > tiles) {
    throw badPlan(
      `minShards is ${minShards}, but ${numEnvs} worlds are ${tiles} tiles of ${tileWidth}; a shard has at least one`,
    );
  }

  const limits = request.limits ?? defaultLimits;
  for (const name of Object.keys(defaultLimits) as (keyof PlanLimits)[]) {
    if (!(limits[name] >= 0)) throw badPlan(`limits.${name} is ${String(limits[name])}; it is a count or bytes`);
  }

  const { budget } = request;
  if (budget && (!isCount(budget.limit) || !isCount(budget.live))) {
    throw badPlan(`budget has limit ${budget.limit} and live ${budget.live}; both are bytes`);
  }

  const arenas = request.arenas.map(checkArena);
  checkUnique(
    "arena",
    arenas.map((arena) => arena.name),
  );
  const stages = request.stages ?? [{ name: "all", arenas: arenas.map((arena) => arena.name) }];

  for (const stage of stages) {
    for (const name of stage.arenas) {
      if (!arenas.some((arena) => arena.name === name)) {
        throw badPlan(`stage ${stage.name} binds ${name}, which is no arena of the plan`);
      }
    }
  }

  return {
    name: request.name,
    numEnvs,
    arenas,
    tileWidth,
    limits,
    budget: budget ? { limit: budget.limit, live: budget.live, source: budget.source } : null,
    stages,
    minShards,
    maxShards,
    maxWorldsPerShard,
    host: request.host ?? [],
  };
}

function checkArena(arena: ArenaRequest): Required<ArenaRequest> {
  const { name, access, fields, layout = "tiles", copies = 1, window = null } = arena;
  checkUnique(
    `field of arena ${name}`,
    fields.map((field) => field.name),
  );

  for (const field of fields) {
    for (const part of ["perWorld", "shared"] as const) {
      const elements = field[part] ?? 0;
      if (!isCount(elements)) throw badPlan(`${part} of ${name}.${field.name} is ${elements}; it counts elements`);
    }

    if (!Object.hasOwn(elementBytes, field.type)) {
      throw badPlan(`type of ${name}.${field.name} is ${field.type}; it is f32, i32 or u32`);
    }
  }

  const perWorld = fields.some((field) => (field.perWorld ?? 0) > 0);
  const scope = arena.scope ?? (perWorld ? "shard" : "batch");
  if ((access === "uniform" || access === "slots") && perWorld)
    throw badPlan(`${access} arena ${name} has elements per world; put them in storage`);
  if (!isCount(copies) || copies < 1) throw badPlan(`copies of arena ${name} is ${copies}; it is at least 1`);

  if (window !== null) {
    if (!isCount(window) || window < 16 || window % 16 !== 0)
      throw badPlan(`window of arena ${name} is ${window}; it is bytes, a multiple of 16`);
    const moves = access === "staging" || access === "upload";
    if (!moves || scope !== "batch" || fields.length !== 1)
      throw badPlan(`arena ${name} has a window; only a staging or upload arena of the batch with one field may`);
  }
  return { name, access, fields, layout, scope, copies, window };
}

function checkUnique(what: string, names: readonly string[]): void {
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw badPlan(`${what} ${twice} is given twice`);
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function badPlan(text: string): CorralError {
  return new CorralError("bad-plan", `${text}. Correct the plan's request.`);
}
