// going on from another moment: elsewhere, many times over, or with one world alone
import { CorralError } from "../../core/errors.ts";
import { show } from "../../core/show.ts";
import type { CallMutex } from "../../core/call-mutex.ts";
import { worldIndex, type ArenaLayout } from "../../memory/layout.ts";
import { HOST_WORDS } from "../../record/bundle.ts";
import type { RecorderOptions } from "../../record/options.ts";
import { hostRecords, type Batch } from "../../batch/batch.ts";
import type { DeviceChoice } from "../../batch/device.ts";
import {
  noSnapshot,
  putSnapshot,
  takeSnapshot,
  type ArenaSnapshot,
  type Snapshot,
  type SnapshotKeeper,
} from "../../batch/snapshot.ts";
import type { Exchange } from "./exchange.ts";
import { EPISODE, RESULT } from "../kernel/layout.ts";
import type { StepResult } from "./step-result.ts";
import type { TaskParams } from "./task-params.ts";
import { EPOCH } from "../kernel/trips.ts";
import type { Watch } from "./watch.ts";

/** A copy of all that an environment's future depends on, random counters included, and of its last results. Opaque. */
export interface VecSnapshot {
  readonly batch: Snapshot;
  readonly wasReset: boolean;
}

/** What may differ in a fork. */
export interface ForkOptions {
  readonly recorder?: boolean | RecorderOptions;
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
  protected abstract readonly batch: Batch;
  protected abstract readonly mutex: CallMutex;
  /** Arenas of a snapshot. */
  protected abstract readonly kept: readonly string[];
  protected abstract readonly keeper: SnapshotKeeper | undefined;
  protected abstract readonly params: TaskParams;
  protected abstract readonly exchange: Exchange;
  protected abstract readonly watch: Watch;
  protected stepCount = 0;
  protected wasReset = false;
  protected abstract collect(): Promise<StepResult>;
  abstract close(): Promise<void>;

  /** Control steps of the batch so far; a snapshot that is put back sets it. */
  get steps(): number {
    return this.stepCount;
  }

  /** The last complete snapshot of `snapshotEvery`; also after the device was lost, and after `close`. */
  get lastSnapshot(): VecSnapshot | undefined {
    const batch = this.keeper?.last;
    return batch && { batch: withoutReads(batch), wasReset: true };
  }

  /** Copies to the host all that the future depends on, and the last results. */
  async snapshot(): Promise<VecSnapshot> {
    this.mutex.assertOpen("take a snapshot");
    const { batch, kept, stepCount, wasReset } = this;
    return this.mutex.exclusive("snapshot", async () => ({
      batch: withoutReads(await takeSnapshot(batch, kept, stepCount)),
      wasReset,
    }));
  }

  /**
   * Puts a snapshot back and returns the results it was taken with: bit for bit on the same kind of device, whatever the
   * shards.
   * @throws CorralError bad-snapshot where it is of another environment, of other options or count of worlds; then
   *   nothing has changed
   */
  async restore(snapshot: VecSnapshot): Promise<StepResult> {
    this.mutex.assertOpen("restore");
    return this.mutex.exclusive("restore", async () => {
      await putSnapshot(this.batch, (snapshot as VecSnapshot | undefined)?.batch);
      return this.arriveAt(snapshot.batch.steps, snapshot.wasReset);
    });
  }

  /**
   * Goes back to a recorded control step, on the device: from the state before it, with the actions that were recorded.
   * What was recorded after it is forgotten. Returns the results of that step, bit for bit.
   * @throws CorralError not-recorded, with the steps that are; then nothing has changed
   */
  async seek(step: number): Promise<StepResult> {
    this.mutex.assertOpen("seek");
    this.watch.assertRecorded(step, this.stepCount);
    return this.mutex.exclusive("seek", async () => {
      this.watch.seek(step);
      return this.arriveAt(step, true);
    });
  }

  /** Results of worlds that were put to control step `step`. */
  private async arriveAt(step: number, wasReset: boolean): Promise<StepResult> {
    await this.params.reload();
    this.wasReset = wasReset;
    this.stepCount = step;
    this.watch.forget();
    this.keeper?.restart();
    this.keeper?.stepped(step);
    this.exchange.expect("step");
    return this.collect();
  }

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
   * This environment goes on too. Close the fork like any other. It has the recorder of this environment, of all worlds,
   * unless `recorder` says otherwise.
   * @throws CorralError bad-world, bad-option; what makeVec throws
   */
  async fork(worldIds: readonly number[], times = 1, { recorder }: ForkOptions = {}): Promise<E> {
    if (!Number.isInteger(times) || times < 1)
      throw new CorralError("bad-option", `times is ${String(times)}; it is a whole number of at least 1.`, { times });
    if (!Array.isArray(worldIds))
      throw new CorralError("bad-world", `fork takes a list of ids of worlds; it got ${show(worldIds)}.`, { worldIds });
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
    const own = this.watch.recorder?.settings;
    const changes = {
      numEnvs: worlds.length,
      worldIds: ids,
      shards: 1,
      monitor: undefined,
      recorder: recorder ?? (own ? { ...own, worlds: "all" } : false),
    };
    return this.#from({ ...snapshot, batch }, changes);
  }

  /** One world alone, by id, in a batch of one: it goes on bit for bit. Throws as `fork`. */
  extract(worldId: number, options: ForkOptions = {}): Promise<E> {
    return this.fork([worldId], 1, options);
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

/** A snapshot whose bits do not depend on when the host has read results. */
function withoutReads(snapshot: Snapshot): Snapshot {
  const { [EPOCH]: _, ...params } = snapshot.params;
  const { layout, records } = snapshot.arenas.result;
  const [field] = layout.fields;
  const worlds = paddedTo(layout, snapshot.numEnvs);
  for (let world = 0; world < worlds; world++)
    for (const name of HOST_WORDS) records.f32[worldIndex(layout, field, worlds, world, RESULT[name])] = 0;
  return { ...snapshot, params };
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
