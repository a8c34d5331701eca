// going on from another moment: elsewhere, many times over, or with one world alone
import { CorralError } from "../../core/errors.ts";
import { checked, onlyOptions } from "../../core/options.ts";
import { integer } from "../../core/schema.ts";
import { show } from "../../core/show.ts";
import type { CallMutex } from "../../core/call-mutex.ts";
import { worldIndex, type ArenaLayout } from "../../memory/layout.ts";
import { HOST_WORDS } from "../../record/host-words.ts";
import type { RecorderOptions } from "../../record/options.ts";
import { hostRecords, type Batch } from "../../batch/batch.ts";
import type { DeviceChoice } from "../../batch/devices.ts";
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

/** Continuations of one world. */
const MOST_COPIES = 1_000_000;
/** Ids of worlds that were not there before a fork start here. */
const FORKED_IDS = 2 ** 31;

/** Where an environment is in time. */
export interface Progress {
  /** Control steps of the batch so far. */
  steps: number;
  wasReset: boolean;
}

/** What going to another moment takes of an environment. */
export interface TravelParts<E> {
  readonly id: string;
  readonly worldIds: readonly number[];
  readonly progress: Progress;
  readonly batch: Batch;
  readonly mutex: CallMutex;
  /** Arenas of a snapshot. */
  readonly kept: readonly string[];
  readonly keeper: SnapshotKeeper | undefined;
  readonly params: TaskParams;
  readonly exchange: Exchange;
  readonly watch: Watch;
  readonly collect: () => Promise<StepResult>;
  readonly close: () => Promise<void>;
  /** Makes the same environment with other options. */
  readonly again: (changes: object) => Promise<E>;
}

/** An environment that can be put into a state. */
interface Restorable {
  restore(snapshot: VecSnapshot): Promise<unknown>;
  close(): Promise<void>;
}

/** Snapshots, forks and recorded steps of one environment; `VectorEnv` says what each does. */
export class TimeTravel<E extends Restorable> {
  readonly #of: TravelParts<E>;

  constructor(parts: TravelParts<E>) {
    this.#of = parts;
  }

  get lastSnapshot(): VecSnapshot | undefined {
    const batch = this.#of.keeper?.last;
    return batch && { batch: withoutReads(batch), wasReset: true };
  }

  async snapshot(): Promise<VecSnapshot> {
    const { batch, kept, progress, mutex } = this.#of;
    return mutex.exclusive("snapshot", async () => {
      const { steps, wasReset } = progress;
      return { batch: withoutReads(await takeSnapshot(batch, kept, steps)), wasReset };
    });
  }

  async restore(snapshot: VecSnapshot): Promise<StepResult> {
    return this.#of.mutex.exclusive("restore", async () => {
      await putSnapshot(this.#of.batch, (snapshot as VecSnapshot | undefined)?.batch);
      return this.#arriveAt(snapshot.batch.steps, snapshot.wasReset);
    });
  }

  async seek(step: number): Promise<StepResult> {
    const { mutex, watch, progress } = this.#of;
    return mutex.exclusive("seek", async () => {
      watch.assertRecorded(step, progress.steps);
      watch.seek(step);
      return this.#arriveAt(step, true);
    });
  }

  /** Results of worlds that were put to control step `step`. */
  async #arriveAt(step: number, wasReset: boolean): Promise<StepResult> {
    const { params, progress, watch, keeper, exchange, collect } = this.#of;
    await params.reload();
    progress.wasReset = wasReset;
    progress.steps = step;
    watch.forget();
    keeper?.restart();
    keeper?.stepped(step);
    exchange.expect("step");
    return collect();
  }

  async restoreOn(device?: DeviceChoice, snapshot = this.lastSnapshot): Promise<E> {
    if (snapshot === undefined) throw noSnapshot(this.#of.id);
    const { worldIds, close } = this.#of;
    const other = await this.#from(snapshot, { numEnvs: worldIds.length, worldIds, device });
    await close();
    return other;
  }

  async fork(worldIds: readonly number[], times = 1, options: ForkOptions = {}): Promise<E> {
    onlyOptions("fork", options, ["recorder"]);
    const { recorder } = options;
    checked("times", integer(1, MOST_COPIES), times);
    if (!Array.isArray(worldIds))
      throw new CorralError("bad-world", `fork takes a list of ids of worlds; it got ${show(worldIds)}.`, { worldIds });
    const places = worldIds.map((id) => this.#placeOf(id));
    if (places.length === 0 || new Set(places).size < places.length) {
      const text = `fork takes different ids of worlds, at least one; it got ${show(worldIds)}. Pass such as [0]; times: 8 makes eight of each.`;
      throw new CorralError("bad-world", text, { worldIds });
    }
    const taken = new Set(this.#of.worldIds);
    let next = FORKED_IDS;
    const fresh = () => {
      while (taken.has(next)) next++;
      return next++;
    };
    const worlds = places.flatMap((place) => Array.from({ length: times }, () => place));
    const ids = worldIds.flatMap((id) => Array.from({ length: times }, (_, k) => (k === 0 ? id : fresh())));
    const snapshot = await this.snapshot();
    const batch = pickWorlds(snapshot.batch, worlds, ids);
    const own = this.#of.watch.recorder?.settings;
    const changes = {
      numEnvs: worlds.length,
      worldIds: ids,
      shards: 1,
      monitor: undefined,
      recorder: recorder ?? (own ? { ...own, worlds: "all" } : false),
    };
    return this.#from({ ...snapshot, batch }, changes);
  }

  #placeOf(id: number): number {
    const place = this.#of.worldIds.indexOf(id);
    if (place >= 0) return place;
    throw new CorralError("bad-world", `no world of ${this.#of.id} has the id ${show(id)}. Pass ids of worldIds.`, {
      id,
    });
  }

  async #from(snapshot: VecSnapshot, changes: object): Promise<E> {
    const other = await this.#of.again(changes);
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
