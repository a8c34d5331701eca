// where every element of an arena lies in its buffer. A buffer starts with what is shared, then come the worlds, in the
// arena's layout. All parts are multiples of 16 bytes, so sizes are exact and add up.
import type { ArenaRequest, FieldRequest } from "./request.ts";
import { elementBytes } from "./request.ts";

const VEC4 = 4;
const VEC4_BYTES = 16;

/** A field's place. Offsets and sizes count vec4s (16 bytes). */
export interface FieldLayout {
  readonly name: string;
  readonly group: string;
  readonly type: FieldRequest["type"];
  /** Elements of one world, and elements once a buffer. */
  readonly perWorld: number;
  readonly shared: number;
  /** Start of the shared elements in the buffer. */
  readonly sharedOffset: number;
  /** Tiles: start in a world's record, and its vec4s. */
  readonly worldOffset: number;
  readonly worldVec4s: number;
  /** Bytes a world takes of it, padding included; a whole number in tiles, elements only in rows. */
  readonly bytesPerWorld: number;
  readonly remedy: string | null;
}

/** A buffer's layout for any number of worlds. */
export interface ArenaLayout {
  readonly name: string;
  readonly access: ArenaRequest["access"];
  readonly layout: "tiles" | "rows";
  readonly scope: "shard" | "batch";
  readonly copies: number;
  /** Most bytes of one buffer, or null. */
  readonly window: number | null;
  readonly tileWidth: number;
  readonly fields: readonly FieldLayout[];
  /** Bytes before the first world. */
  readonly sharedBytes: number;
  /** Bytes a world takes. */
  readonly bytesPerWorld: number;
  /** Tiles: vec4s of one world's record, the stride between tiles being this times the tile width. */
  readonly worldVec4s: number;
}

/** Lays out an arena for tiles of `tileWidth` worlds. */
export function layoutArena(arena: Required<ArenaRequest>, tileWidth: number): ArenaLayout {
  let sharedVec4s = 0;
  let worldVec4s = 0;

  const fields = arena.fields.map((request): FieldLayout => {
    const { name, group, type, perWorld = 0, shared = 0, remedy = null } = request;
    const vec4s = Math.ceil(perWorld / VEC4);
    const bytesPerWorld = arena.layout === "tiles" ? vec4s * VEC4_BYTES : perWorld * elementBytes[type];
    const place = { sharedOffset: sharedVec4s, worldOffset: worldVec4s, worldVec4s: vec4s };
    sharedVec4s += Math.ceil(shared / VEC4);
    worldVec4s += vec4s;
    return { name, group, type, perWorld, shared, ...place, bytesPerWorld, remedy };
  });

  return {
    name: arena.name,
    access: arena.access,
    layout: arena.layout,
    scope: arena.scope,
    copies: arena.copies,
    window: arena.window,
    tileWidth,
    fields,
    sharedBytes: sharedVec4s * VEC4_BYTES,
    bytesPerWorld: fields.reduce((sum, field) => sum + field.bytesPerWorld, 0),
    worldVec4s,
  };
}

/** Bytes of one buffer of the arena for `worlds` worlds (a multiple of the tile width). */
export function bufferBytes(arena: ArenaLayout, worlds: number): number {
  const bytes = arena.sharedBytes + arena.bytesPerWorld * worlds;
  return arena.window === null ? bytes : Math.min(arena.window, bytes);
}

/** Bytes of a field in one buffer of an arena without a window; over the fields they add up to `bufferBytes`. */
export function fieldBytes(field: FieldLayout, worlds: number): number {
  return Math.ceil(field.shared / VEC4) * VEC4_BYTES + field.bytesPerWorld * worlds;
}

/** Index of the first shared element of a field in its buffer, in elements of 4 bytes. */
export function sharedIndex(field: FieldLayout): number {
  return field.sharedOffset * VEC4;
}

/**
 * Index of element `element` of a field of the world `local` of a buffer with `worlds` worlds, in elements of 4 bytes:
 * what an accessor of emitted code computes.
 */
export function worldIndex(
  arena: ArenaLayout,
  field: FieldLayout,
  worlds: number,
  local: number,
  element: number,
): number {
  const start = arena.sharedBytes / 4;

  if (arena.layout === "rows") return start + rowsBefore(arena, field) * worlds + local * field.perWorld + element;

  const { tileWidth, worldVec4s } = arena;
  const tile = Math.floor(local / tileWidth);
  const lane = local % tileWidth;
  const vec4 = field.worldOffset + Math.floor(element / VEC4);
  return start + ((tile * worldVec4s + vec4) * tileWidth + lane) * VEC4 + (element % VEC4);
}

/** Rows: elements that one world has in the fields before this one. */
function rowsBefore(arena: ArenaLayout, field: FieldLayout): number {
  let elements = 0;

  for (const other of arena.fields) {
    if (other.name === field.name) break;
    elements += other.perWorld;
  }

  return elements;
}
