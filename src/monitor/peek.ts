// one world's numbers out of a batch, without the others
import { worldIndex, type ArenaLayout } from "../memory/layout.ts";
import { locateWorld } from "../memory/shards.ts";
import { layoutsOf, type Batch, type BatchRegion } from "../sim/batch.ts";

/** A world in arenas that hold nothing but its own tile: what a kernel sees as world `lane`. */
export interface Peek {
  readonly world: number;
  readonly lane: number;
  readonly layouts: Readonly<Record<string, ArenaLayout>>;
  /** Decoded, by arena. */
  readonly buffers: Readonly<Record<string, Float64Array>>;
}

/** Reads some arenas of some worlds in one round trip. */
export async function peek(batch: Batch, arenas: readonly string[], worlds: readonly number[]): Promise<Peek[]> {
  const { plan } = batch.planned;
  const layouts = layoutsOf(plan);
  const regions: BatchRegion[] = [];
  const read = worlds.map((world) => {
    const { shard, local } = locateWorld(plan, world);
    return arenas.map((arena) => {
      const { tileWidth, sharedBytes, bytesPerWorld, layout } = layouts[arena];
      const isRow = layout === "rows";
      const words = bytesPerWorld / 4;
      const length = isRow ? words : words * tileWidth;
      const into = batch.adapter ? new Uint32Array(length) : new Float64Array(length);
      const first = isRow ? local : local - (local % tileWidth);
      regions.push({ arena, shard, start: sharedBytes / 4 + words * first, into });
      return into;
    });
  });
  await batch.readInto(regions);

  return worlds.map((world, row) => {
    const width = Math.max(...plan.arenas.map(({ tileWidth }) => tileWidth));
    const lane = locateWorld(plan, world).local % width;
    const buffers = Object.fromEntries(
      plan.arenas.map((layout) => {
        const at = arenas.indexOf(layout.name);
        const buffer = new Float64Array((layout.sharedBytes + layout.bytesPerWorld * width) / 4);
        if (at >= 0) decode(layout, read[row][at], width, lane, buffer);
        return [layout.name, buffer];
      }),
    );
    return { world, lane, layouts, buffers };
  });
}

/** Puts the numbers of a world where a kernel looks for them. */
function decode(
  layout: ArenaLayout,
  words: Uint32Array | Float64Array,
  width: number,
  lane: number,
  into: Float64Array,
): void {
  const floats = words instanceof Float64Array ? words : new Float32Array(words.buffer);
  const from = layout.layout === "rows" ? 0 : lane % layout.tileWidth;
  const unshared = { ...layout, sharedBytes: 0 };
  for (const field of layout.fields) {
    const values = field.type === "f32" ? floats : words;
    for (let e = 0; e < field.perWorld; e++)
      into[worldIndex(layout, field, width, lane, e)] = values[worldIndex(unshared, field, layout.tileWidth, from, e)];
  }
}

/** A field of the world that was read; empty where no arena has it. */
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
