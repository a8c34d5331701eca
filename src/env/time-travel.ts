// going on from another moment: elsewhere, many times over, or with one world alone
import { CorralError } from "../core/errors.ts";
import { worldIndex, type ArenaLayout } from "../memory/layout.ts";
import { hostRecords } from "../sim/batch.ts";
import type { DeviceChoice } from "../sim/device.ts";
import { noSnapshot, type ArenaSnapshot, type Snapshot } from "../sim/snapshot.ts";
import { EPISODE } from "./layout.ts";

/** A copy of all that an environment's future depends on, random counters included, and of its last results. Opaque. */
export interface VecSnapshot {
  readonly batch: Snapshot;
  readonly wasReset: boolean;
}

/** Ids of worlds that were not there before a fork start here. */
const FORKED_IDS = 2 ** 31;

/** An environment that can be made again and put into a state. */
interface Restorable {
  restore(snapshot: VecSnapshot): Promise<unknown>;
  close(): Promise<void>;
}

export abstract class TimeTravel<E extends Restorable> {
  abstract readonly id: string;
  abstract readonly numEnvs: number;
  abstract readonly worldIds: readonly number[];
  /** Makes the same environment with other options. */
  protected abstract readonly again: (changes: object) => Promise<E>;
  abstract get lastSnapshot(): VecSnapshot | undefined;
  abstract snapshot(): Promise<VecSnapshot>;
  abstract close(): Promise<void>;

  /**
   * The same worlds on another device, going on from a snapshot; this environment is closed. By default on the process's
   * shared device, which is a new one where the last was lost, and from the last snapshot. The new one has the results
   * of the snapshot; on the same kind of device the worlds go on bit for bit.
   * @throws CorralError no-snapshot, bad-snapshot; what makeVec throws: then this one is left as it is
   */
  async restoreOn(device?: DeviceChoice, snapshot = this.lastSnapshot): Promise<E> {
    if (snapshot === undefined) throw noSnapshot(this.id);
    const other = await this.#from(snapshot, { numEnvs: this.numEnvs, worldIds: this.worldIds, device });
    await this.close();
    return other;
  }

  /**
   * Another environment with `times` copies of each of some worlds, by id: many continuations of one state. The first
   * copy of a world is that world and goes on bit for bit; the others draw their next episodes as worlds of their own.
   * This environment goes on too. Close the fork like any other.
   * @throws CorralError bad-world, bad-option; what makeVec throws
   */
  async fork(worldIds: readonly number[], times = 1): Promise<E> {
    if (!Number.isInteger(times) || times < 1)
      throw new CorralError("bad-option", `times is ${String(times)}; it is a whole number of at least 1.`, { times });
    const places = worldIds.map((id) => this.#placeOf(id));
    if (places.length === 0 || new Set(places).size < places.length) {
      throw new CorralError(
        "bad-world",
        `fork takes different ids of worlds, at least one; it got ${worldIds.length}.`,
        {
          worldIds,
        },
      );
    }
    const taken = new Set(this.worldIds);
    let next = FORKED_IDS;
    const fresh = () => {
      while (taken.has(next)) next++;
      return next++;
    };
    const worlds = places.flatMap((place) => Array.from({ length: times }, () => place));
    const ids = worldIds.flatMap((id) => Array.from({ length: times }, (_, k) => (k === 0 ? id : fresh())));
    const snapshot = await this.snapshot();
    const batch = pickWorlds(snapshot.batch, worlds, ids);
    return this.#from({ ...snapshot, batch }, { numEnvs: worlds.length, worldIds: ids, shards: 1, recorder: true });
  }

  /** One world alone, by id, in a batch of one: it goes on bit for bit. Throws as `fork`. */
  extract(worldId: number): Promise<E> {
    return this.fork([worldId]);
  }

  #placeOf(id: number): number {
    const place = this.worldIds.indexOf(id);
    if (place >= 0) return place;
    throw new CorralError("bad-world", `no world of ${this.id} has the id ${String(id)}. Pass ids of worldIds.`, {
      id,
    });
  }

  async #from(snapshot: VecSnapshot, changes: object): Promise<E> {
    const other = await this.again(changes);
    try {
      await other.restore(snapshot);
    } catch (error) {
      await other.close();
      throw error;
    }
    return other;
  }
}

const paddedTo = (layout: ArenaLayout, worlds: number) => layout.tileWidth * Math.ceil(worlds / layout.tileWidth);

/** The snapshot of a batch of chosen worlds, which may occur more than once, with ids of their own. */
function pickWorlds(snapshot: Snapshot, worlds: readonly number[], ids: readonly number[]): Snapshot {
  const arenas = Object.entries(snapshot.arenas).map(([name, copy]): [string, ArenaSnapshot] => {
    const { layout, records } = copy;
    const [before, after] = [paddedTo(layout, snapshot.numEnvs), paddedTo(layout, worlds.length)];
    const picked = hostRecords((layout.bytesPerWorld / 4) * after, records.f32 instanceof Float64Array);
    for (const field of layout.fields) {
      worlds.forEach((world, row) => {
        for (let e = 0; e < field.perWorld; e++)
          picked.u32[worldIndex(layout, field, after, row, e)] =
            records.u32[worldIndex(layout, field, before, world, e)];
        if (field.name === "episode") picked.u32[worldIndex(layout, field, after, row, EPISODE.world)] = ids[row];
      });
    }
    return [name, { layout, records: picked }];
  });
  return { ...snapshot, numEnvs: worlds.length, arenas: Object.fromEntries(arenas) };
}
