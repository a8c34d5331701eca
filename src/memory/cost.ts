// the bytes of a batch as a function of its tiles: `once + shards(tiles) * perShard + tiles * perTile`, and windows that
// grow until they are full. No term shrinks as the tiles grow, so the largest count that fits is exact, and costs nothing
// to find.
import type { ArenaLayout } from "./layout.ts";
import type { CheckedRequest, PlanLimits } from "./request.ts";
import { MAX_WORLDS } from "./request.ts";
import { wasmBytes, type WasmCost } from "./wasm-cost.ts";

/** Which limit, or the size of a replay, ends the growth, its value, and the arena that meets it. */
export interface Bound {
  readonly limit: "budget" | "maxShards" | "maxWorldsPerShard" | "worldIds" | "bufferSize" | keyof PlanLimits;
  readonly value: number;
  readonly arena: string | null;
}

/** An arena that stops growing: `copies * min(most, shared + tiles * perTile)` bytes. */
export interface Window {
  readonly copies: number;
  readonly most: number;
  readonly shared: number;
  readonly perTile: number;
}

export interface Cost {
  readonly tileWidth: number;
  /** Bytes of the batch, of every shard, of every tile. */
  readonly once: number;
  readonly perShard: number;
  readonly perTile: number;
  readonly windows: readonly Window[];
  readonly minShards: number;
  readonly maxShards: number;
  /** Most tiles of one shard, and what says so. */
  readonly shardTiles: number;
  readonly shardBound: Bound;
  /** Most tiles of the batch by limits alone, and what says so. */
  readonly batchTiles: number;
  readonly batchBound: Bound;
  /** Of a batch in memories of WebAssembly: the bytes are those of `wasmBytes`. */
  readonly wasm?: WasmCost;
}

/** Collects the cost of laid-out arenas under the request's limits. */
export function costOf(request: CheckedRequest, arenas: readonly ArenaLayout[]): Cost {
  const { tileWidth, limits, minShards, maxShards, maxWorldsPerShard } = request;
  let once = 0;
  let perShard = 0;
  let perTile = 0;
  const windows: Window[] = [];
  let shard = least(null, maxWorldsPerShard / tileWidth, "maxWorldsPerShard", maxWorldsPerShard, null);
  let batch = least(null, MAX_WORLDS / tileWidth, "worldIds", MAX_WORLDS, null);

  for (const arena of arenas) {
    const tileBytes = arena.bytesPerWorld * tileWidth;
    if (arena.window === null) perTile += tileBytes * arena.copies;

    if (arena.window !== null) {
      const { window: most, copies, sharedBytes: shared } = arena;
      windows.push({ copies, most, shared, perTile: tileBytes });
    } else if (arena.scope === "shard") perShard += arena.sharedBytes * arena.copies;
    else once += arena.sharedBytes * arena.copies;

    for (const limit of bindingLimits(arena)) {
      if (arena.window !== null && arena.window <= limits[limit]) continue;
      const room = limits[limit] - arena.sharedBytes;
      const tiles = room < 0 ? 0 : tileBytes === 0 ? Infinity : room / tileBytes;
      if (arena.scope === "shard") shard = least(shard, tiles, limit, limits[limit], arena.name);
      else batch = least(batch, tiles, limit, limits[limit], arena.name);
    }
  }

  // shards beyond the last one that may be made are out of reach
  if (shard.tiles === 0) batch = shard;
  else batch = least(batch, shard.tiles * maxShards, "maxShards", maxShards, shard.bound.arena);

  return {
    tileWidth,
    once,
    perShard,
    perTile,
    windows,
    minShards,
    maxShards,
    shardTiles: shard.tiles,
    shardBound: shard.bound,
    batchTiles: batch.tiles,
    batchBound: batch.bound,
  };
}

/** Shards of a batch of `tiles` tiles. */
export function shardsOf(cost: Cost, tiles: number): number {
  return Math.min(tiles, Math.max(cost.minShards, Math.ceil(tiles / cost.shardTiles)));
}

/** Bytes of a batch of `tiles` tiles. */
export function totalBytes(cost: Cost, tiles: number): number {
  if (cost.wasm) return wasmBytes(cost.wasm, tiles, shardsOf(cost, tiles), cost.tileWidth);
  const windows = cost.windows.map((w) => w.copies * Math.min(w.most, w.shared + tiles * w.perTile));
  const whole = cost.once + shardsOf(cost, tiles) * cost.perShard + tiles * cost.perTile;
  return windows.reduce((sum, bytes) => sum + bytes, whole);
}

/** The most tiles that fit `available` bytes and the limits, and what ends the growth. 0 when not one fits. */
export function largestFit(cost: Cost, available: number): { tiles: number; bound: Bound | null } {
  let fits = 0;
  let above = cost.batchTiles + 1;
  if (cost.batchTiles > 0 && totalBytes(cost, cost.batchTiles) <= available) fits = cost.batchTiles;

  while (fits + 1 < above && fits < cost.batchTiles) {
    const middle = Math.floor((fits + above) / 2);
    if (totalBytes(cost, middle) <= available) fits = middle;
    else above = middle;
  }

  return { tiles: fits, bound: fits === cost.batchTiles ? cost.batchBound : null };
}

/** The limits that bound one buffer of an arena, the tighter kind first. */
export function bindingLimits(arena: ArenaLayout): (keyof PlanLimits)[] {
  switch (arena.access) {
    case "read":
    case "read_write":
      return ["maxStorageBufferBindingSize", "maxBufferSize"];
    case "uniform":
      return ["maxUniformBufferBindingSize", "maxBufferSize"];
    case "slots":
    case "staging":
    case "upload":
      return ["maxBufferSize"];
  }
}

function least(
  best: { tiles: number; bound: Bound } | null,
  tiles: number,
  limit: Bound["limit"],
  value: number,
  arena: string | null,
): { tiles: number; bound: Bound } {
  const whole = Math.floor(tiles);
  return best !== null && best.tiles <= whole ? best : { tiles: whole, bound: { limit, value, arena } };
}
