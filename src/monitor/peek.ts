// the numbers of the worlds that are watched, as the monitor's kernels copied them
import { worldIndex, type ArenaLayout } from "../memory/layout.ts";
import { locateWorld } from "../memory/shards.ts";
import { layoutsOf, type Batch } from "../batch/batch.ts";
import { ROWS, rowWords, watchedIn } from "./kernels.ts";
import type { MonitorSettings } from "./options.ts";

/** A world in arenas that hold nothing but its own tile: what a kernel sees as world `lane`. */
export interface Peek {
  readonly world: number;
  readonly lane: number;
  readonly layouts: Readonly<Record<string, ArenaLayout>>;
  /** Decoded, by arena. */
  readonly buffers: Readonly<Record<string, Float64Array>>;
}

type Words = Uint32Array | Float64Array;

/** Reads what was copied of `arenas` of each world, before and after the step, in one round trip. */
export async function peek(
  batch: Batch,
  arenas: readonly string[],
  settings: MonitorSettings,
): Promise<{ readonly before: Peek; readonly after: Peek }[]> {
  const { plan } = batch.planned;
  const words = rowWords(layoutsOf(plan), arenas);
  const rows = settings.worlds.map((world) => {
    const { shard } = locateWorld(plan, world);
    const into = batch.doubles ? new Float64Array(2 * words) : new Uint32Array(2 * words);
    const start = 2 * words * watchedIn(batch, shard, settings).indexOf(world);
    return { world, region: { arena: ROWS, shard, start, into } };
  });
  await batch.readInto(rows.map(({ region }) => region));
  return rows.map(({ world, region: { into } }) => ({
    before: decoded(batch, arenas, world, into.subarray(0, words)),
    after: decoded(batch, arenas, world, into.subarray(words)),
  }));
}

function decoded(batch: Batch, arenas: readonly string[], world: number, row: Words): Peek {
  const { plan } = batch.planned;
  const layouts = layoutsOf(plan);
  const width = Math.max(...plan.arenas.map(({ tileWidth }) => tileWidth));
  const lane = locateWorld(plan, world).local % width;
  const buffers = Object.fromEntries(
    plan.arenas.map(({ name, sharedBytes, bytesPerWorld }) => [
      name,
      new Float64Array((sharedBytes + bytesPerWorld * width) / 4),
    ]),
  );
  let at = 0;
  for (const name of arenas) {
    const end = at + 4 * layouts[name].worldVec4s;
    decode(layouts[name], row.subarray(at, end), width, lane, buffers[name]);
    at = end;
  }
  return { world, lane, layouts, buffers };
}

/** Puts the numbers of a world where a kernel looks for them. */
function decode(layout: ArenaLayout, words: Words, width: number, lane: number, into: Float64Array): void {
  const floats = words instanceof Float64Array ? words : new Float32Array(words.buffer, words.byteOffset, words.length);
  const alone = { ...layout, sharedBytes: 0, tileWidth: 1 };
  for (const field of layout.fields) {
    const values = field.type === "f32" ? floats : words;
    for (let e = 0; e < field.perWorld; e++)
      into[worldIndex(layout, field, width, lane, e)] = values[worldIndex(alone, field, 1, 0, e)];
  }
}

/** A field of the world that was read; empty if no arena has it. */
export function fieldIn({ layouts, buffers, lane }: Peek, name: string): Float64Array {
  for (const layout of Object.values(layouts)) {
    const field = layout.fields.find((f) => f.name === name);
    if (!field || field.perWorld === 0) continue;
    return Float64Array.from(
      { length: field.perWorld },
      (_, e) => buffers[layout.name][worldIndex(layout, field, layout.tileWidth, lane, e)],
    );
  }
  return new Float64Array();
}
