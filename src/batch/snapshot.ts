// copies of all that a batch's future depends on, and the same worlds again from one
import { CorralError } from "../core/errors.ts";
import { worldIndex, type ArenaLayout } from "../memory/layout.ts";
import type { ArenaRequest } from "../memory/request.ts";
import type { Shard } from "../memory/shards.ts";
import {
  hostRecords,
  layoutsOf,
  SHADOW,
  stagingArena,
  type Batch,
  type BatchRegion,
  type HostRecords,
} from "./batch.ts";

/** One arena of all worlds, shard after shard. */
export interface ArenaSnapshot {
  readonly layout: ArenaLayout;
  readonly records: HostRecords;
}

/** A copy of the state of a batch, on the host. Opaque. */
export interface Snapshot {
  readonly name: string;
  readonly numEnvs: number;
  /** Physics steps since the worlds were created or reset. */
  readonly steps: number;
  readonly arenas: Readonly<Record<string, ArenaSnapshot>>;
  /** Parameters of the kernels, as they were. */
  readonly params: Readonly<Record<string, number>>;
}

const bytesOf = (layout: ArenaLayout, worlds: number): number => layout.bytesPerWorld * worlds;

/** Reads arenas of a batch as they are after everything queued so far. Nothing may be queued until it resolves. */
export async function takeSnapshot(
  batch: Batch,
  arenas: readonly string[],
  steps: number,
  from: (arena: string) => string = (arena) => arena,
): Promise<Snapshot> {
  const { plan, spec } = batch.planned;
  const worlds = plan.shards.reduce((sum, shard) => sum + shard.paddedWorlds, 0);
  const params = batch.params();
  const regions: BatchRegion[] = [];
  const copies: Record<string, ArenaSnapshot> = {};

  for (const arena of arenas) {
    const layout = layoutsOf(plan)[arena];
    const records = hostRecords(bytesOf(layout, worlds) / 4, batch.doubles);
    copies[arena] = { layout, records };
    for (const shard of plan.shards) {
      const into = slice(layout, shard, records).f32;
      regions.push({ arena: from(arena), shard: shard.index, into });
    }
  }

  await batch.readInto(regions);
  return { name: spec.name, numEnvs: plan.numEnvs, steps, arenas: copies, params };
}

/**
 * Writes a snapshot into a batch: bit for bit where both compute in the same precision, whatever their shards and tiles.
 * Throws `bad-snapshot` if it is of another batch; then nothing is written.
 */
export async function putSnapshot(batch: Batch, snapshot: Snapshot | undefined): Promise<void> {
  const { plan, spec } = batch.planned;
  const layouts = layoutsOf(plan);
  checkSnapshot(batch, snapshot);

  batch.forgive();
  for (const { name } of spec.params) if (name in snapshot.params) batch.setParam(name, snapshot.params[name]);
  for (const [arena, copy] of Object.entries(snapshot.arenas)) {
    const { layout, records } = converted(copy, layouts[arena], plan.numEnvs, batch.doubles);
    for (const shard of plan.shards) await batch.write(arena, shard.index, slice(layout, shard, records));
  }
}

/** Throws `bad-snapshot` if a snapshot does not fit a batch. */
function checkSnapshot(batch: Batch, snapshot: Snapshot | undefined): asserts snapshot is Snapshot {
  const { plan, spec } = batch.planned;
  const layouts = layoutsOf(plan);
  const fieldsOf = (layout: ArenaLayout | undefined) =>
    layout?.fields.map((field) => `${field.name}:${field.type}[${field.perWorld}]`).join(" ") ?? "nothing";
  // tiles may be others, and what each field is for may be worded otherwise
  const placesOf = ({ layout, sharedBytes, bytesPerWorld, worldVec4s, fields }: ArenaLayout) =>
    JSON.stringify([layout, sharedBytes, bytesPerWorld, worldVec4s, fields.map((f) => ({ ...f, remedy: "" }))]);
  const refuse = (has: string, wants: string): never => {
    throw new CorralError(
      "bad-snapshot",
      `the snapshot of ${snapshot?.name} has ${has}; ${spec.name} has ${wants}. Use one of the same kind.`,
      { snapshot: has, batch: wants },
    );
  };

  if (typeof snapshot?.arenas !== "object" || snapshot.arenas === null) {
    throw new CorralError("bad-snapshot", `this is no snapshot of ${spec.name}. Pass what its snapshot() gave.`);
  }
  if (snapshot.numEnvs !== plan.numEnvs) refuse(`${snapshot.numEnvs} worlds`, `${plan.numEnvs}`);
  for (const [arena, { layout, records }] of Object.entries(snapshot.arenas)) {
    const wanted = Object.hasOwn(layouts, arena) ? layouts[arena] : undefined;
    const [has, wants] = [fieldsOf(layout), fieldsOf(wanted)];
    if (wanted === undefined || has !== wants) return refuse(`${arena} of ${has}`, wants);
    if (placesOf(layout) !== placesOf(wanted)) refuse(`${arena} laid out in another way`, "its own layout");
    const { tileWidth } = layout;
    const isTile = [4, 8, 16, 32, 64, 128, 256].includes(tileWidth);
    if (!isTile) refuse(`tiles of ${tileWidth} worlds`, "a power of two from 4 to 256");
    const words = bytesOf(layout, Math.ceil(plan.numEnvs / tileWidth) * tileWidth) / 4;
    const [f32, u32] = [records.f32.length, records.u32.length];
    if (f32 !== words || u32 !== words) refuse(`${f32} numbers and ${u32} words of ${arena}`, `${words} of each`);
  }
  // fields of two models may be alike
  if (snapshot.name !== spec.name) refuse(`worlds of ${snapshot.name}`, "its own");
}

/** The part of one shard; a world's bytes do not depend on where its shard begins. */
function slice(layout: ArenaLayout, shard: Shard, records: HostRecords): HostRecords {
  const start = bytesOf(layout, shard.firstWorld) / 4;
  const end = start + bytesOf(layout, shard.paddedWorlds) / 4;
  const f32 = records.f32.subarray(start, end);
  return { f32, u32: records.u32 === records.f32 ? (f32 as Float64Array) : records.u32.subarray(start, end) };
}

/** The same worlds in another layout or precision. */
function converted(copy: ArenaSnapshot, layout: ArenaLayout, numEnvs: number, double: boolean): ArenaSnapshot {
  const from = copy.layout;
  const same = from.tileWidth === layout.tileWidth && copy.records.f32 instanceof Float64Array === double;
  if (same) return copy;

  const padded = Math.ceil(numEnvs / layout.tileWidth) * layout.tileWidth;
  const before = Math.ceil(numEnvs / from.tileWidth) * from.tileWidth;
  const records = hostRecords(bytesOf(layout, padded) / 4, double);
  layout.fields.forEach((field, k) => {
    const part = field.type === "f32" ? "f32" : "u32";
    for (let world = 0; world < numEnvs; world++) {
      for (let e = 0; e < field.perWorld; e++) {
        const at = worldIndex(layout, field, padded, world, e);
        records[part][at] = copy.records[part][worldIndex(from, from.fields[k], before, world, e)];
      }
    }
  });
  return { layout, records };
}

/** The error of going on without a snapshot. */
export const noSnapshot = (name: string): CorralError =>
  new CorralError("no-snapshot", `${name} has no snapshot to go on from. Pass one, or make it with snapshotEvery.`);

/** Arenas that hold the last snapshot of others on the device until the host has read it, and what it is read through. */
export function snapshotArenas(arenas: readonly ArenaRequest[]): ArenaRequest[] {
  const shadows = arenas.map((arena) => ({
    ...arena,
    name: shadowOf(arena.name),
    fields: arena.fields.map((field) => ({ ...field, group: "record", remedy: "no snapshotEvery" })),
  }));
  return [...shadows, stagingArena(shadowOf("staging"), 1)];
}

const shadowOf = (arena: string): string => arena + SHADOW;

/**
 * Keeps the last complete snapshot of a running batch on the host. The state is copied on the device at once, and read
 * while steps go on; a snapshot that is due during a read is taken after it.
 */
export class SnapshotKeeper {
  /** The last complete one. */
  last: Snapshot | undefined;
  readonly #batch: Batch;
  readonly #arenas: readonly string[];
  readonly #every: number;
  #reading: Promise<void> | undefined;
  #failure: CorralError | undefined;
  #due: number;

  /** A snapshot every `every` steps of `arenas`, which the batch has shadows of. */
  constructor(batch: Batch, arenas: readonly string[], every: number) {
    this.#batch = batch;
    this.#arenas = arenas;
    this.#every = every;
    this.#due = 0;
  }

  /** Tells that the worlds are `steps` steps old, with all of them queued. Takes a snapshot if one is due. */
  stepped(steps: number): void {
    if (steps < this.#due || this.#reading !== undefined) return;
    for (const arena of this.#arenas) this.#batch.copy(arena, shadowOf(arena));
    this.#due = steps + this.#every;
    this.#reading = this.#read(steps);
  }

  /** Takes the next snapshot at the next call of `stepped`: the worlds were started over. */
  restart(): void {
    this.#due = 0;
  }

  /** Resolves when no snapshot is under way. Throws as `check`. */
  async settled(): Promise<void> {
    await this.#reading;
    this.check();
  }

  /** Throws `snapshot-failed` if one could not be read since the last call; the worlds are unharmed. */
  check(): void {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
  }

  async #read(steps: number): Promise<void> {
    try {
      this.last = await takeSnapshot(this.#batch, this.#arenas, steps, shadowOf);
    } catch (error) {
      // an error of the device or of earlier work is thrown by every call
      this.#due = 0;
      if (error instanceof CorralError && error.code !== "readback-failed") return;
      const before =
        this.last === undefined ? "there is none before it" : `the last good one is of step ${this.last.steps}`;
      this.#failure = new CorralError(
        "snapshot-failed",
        `the snapshot at step ${steps} could not be read (${(error as Error).message}); ${before}. The worlds are unharmed: go on, the next step takes another.`,
        { steps, last: this.last?.steps },
        { cause: error },
      );
    } finally {
      this.#reading = undefined;
    }
  }
}
