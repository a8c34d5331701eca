// which worlds share buffers: shards as equal as whole tiles allow, in the order of the worlds
import { CorralError } from "../core/errors.ts";
import { listOf } from "../core/options.ts";
import { show } from "../core/show.ts";

/** A shard: worlds `firstWorld` to `firstWorld + worlds - 1`, in buffers made for `paddedWorlds`. */
export interface Shard {
  readonly index: number;
  readonly firstWorld: number;
  readonly worlds: number;
  readonly paddedWorlds: number;
}

/** What the split of a batch depends on; a `Plan` has it. */
export interface Split {
  readonly numEnvs: number;
  readonly tileWidth: number;
  readonly shards: readonly Shard[];
}

/** A world's place: its shard, and its index among the shard's worlds. */
export interface WorldPlace {
  readonly shard: number;
  readonly local: number;
}

/** Splits `numEnvs` worlds, in tiles, into `count` shards; the first ones take the tiles that are left over. */
export function splitWorlds(numEnvs: number, tileWidth: number, count: number): Shard[] {
  const tiles = Math.ceil(numEnvs / tileWidth);
  const least = Math.floor(tiles / count);
  const larger = tiles % count;
  const shards: Shard[] = [];
  let firstWorld = 0;

  for (let index = 0; index < count; index++) {
    const paddedWorlds = (least + (index < larger ? 1 : 0)) * tileWidth;
    const worlds = Math.min(paddedWorlds, numEnvs - firstWorld);
    shards.push({ index, firstWorld, worlds, paddedWorlds });
    firstWorld += paddedWorlds;
  }

  return shards;
}

/** The worlds that are named, or all. Throws `bad-world`. */
export function worldsOf(split: Split, worlds: readonly number[] | undefined): readonly number[] {
  if (worlds === undefined) return Array.from({ length: split.numEnvs }, (_, i) => i);
  for (const world of listOf("worlds", worlds)) locateWorld(split, world);
  return worlds;
}

/** The worlds that values are written to, each named once: of two values of one world neither would be meant. Throws `bad-world`. */
export function worldsToSet(split: Split, worlds: readonly number[] | undefined): readonly number[] {
  const list = worldsOf(split, worlds);
  const seen = new Set<number>();
  for (const world of list) {
    if (seen.has(world))
      throw new CorralError("bad-world", `worlds has ${world} twice. Pass each world once.`, { world });
    seen.add(world);
  }
  return list;
}

/** Throws `bad-world` for what is no world of a batch. */
export function assertWorld(world: number, numEnvs: number): void {
  if (Number.isInteger(world) && world >= 0 && world < numEnvs) return;
  throw new CorralError(
    "bad-world",
    `world is ${show(world)}; the batch has worlds 0 to ${numEnvs - 1}. Pass one of these.`,
    { world, numEnvs },
  );
}

/** The place of a world (0 to numEnvs - 1). Throws `bad-world`. */
export function locateWorld(split: Split, world: number): WorldPlace {
  assertWorld(world, split.numEnvs);

  // the last shard that starts at or before the world
  const { shards } = split;
  let shard = 0;
  let after = shards.length;

  while (after - shard > 1) {
    const middle = (shard + after) >> 1;
    if (shards[middle].firstWorld <= world) shard = middle;
    else after = middle;
  }

  return { shard, local: world - shards[shard].firstWorld };
}
