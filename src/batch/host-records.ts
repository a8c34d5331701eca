// host side of the arenas: fields of chosen worlds in and out of the records of a shard
import { worldIndex, type ArenaLayout, type FieldLayout } from "../memory/layout.ts";
import type { Shard } from "../memory/shards.ts";
import type { HostRecords } from "./batch.ts";

const fieldOf = (layout: ArenaLayout, name: string): FieldLayout => layout.fields.find((f) => f.name === name)!;

/** Calls `visit` with the buffer index and the element for one world's part of a field. */
function visit(
  layout: ArenaLayout,
  field: FieldLayout,
  shard: Shard,
  local: number,
  each: (at: number, element: number) => void,
): void {
  for (let e = 0; e < field.perWorld; e++) each(worldIndex(layout, field, shard.paddedWorlds, local, e), e);
}

/** Copies a field of one world out of a shard's records. */
export function takeField(
  layout: ArenaLayout,
  name: string,
  shard: Shard,
  local: number,
  records: HostRecords,
  out: Float64Array | Float32Array | Uint32Array,
  start: number,
  words = false,
): void {
  const from = words ? records.u32 : records.f32;
  visit(layout, fieldOf(layout, name), shard, local, (at, e) => {
    out[start + e] = from[at];
  });
}

/** Copies a field of one world into a shard's records. */
export function putField(
  layout: ArenaLayout,
  name: string,
  shard: Shard,
  local: number,
  records: HostRecords,
  values: ArrayLike<number>,
  start: number,
  words = false,
): void {
  const into = words ? records.u32 : records.f32;
  visit(layout, fieldOf(layout, name), shard, local, (at, e) => {
    into[at] = values[start + e];
  });
}
