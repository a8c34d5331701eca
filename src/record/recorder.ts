// the flight recorder: on the device, in the submission of the step itself, the state every few control steps and
// every action since. Nothing is read until a world fails; then the records of failed worlds come to the host.
import { worldIndex, type ArenaLayout } from "../memory/layout.ts";
import { locateWorld } from "../memory/shards.ts";
import { hostRecords, layoutsOf, type Batch, type BatchRegion } from "../batch/batch.ts";
import { numbersOf, type Words } from "./words.ts";
import { HEAD_WORDS, PLACES, recordOf, wordsOf } from "./arenas.ts";
import type { RecorderSettings } from "./options.ts";

/** A state and the control steps that were made from it. */
export interface SegmentInfo {
  /** Control steps of the batch before it. */
  readonly start: number;
  readonly steps: number;
  /** Whether the state is not that which the steps before it left: it was set, reset or put back by a call. */
  readonly cut: boolean;
  /** Values of the kernels' parameters. */
  readonly params: Readonly<Record<string, number>>;
}

/** A segment of some worlds: [worlds, words of a world] for each arena, and [steps, worlds, words of an action]. */
export interface Segment extends SegmentInfo {
  readonly states: Readonly<Record<string, Words>>;
  readonly actions: Words;
}

/** All that is known of some worlds: segments in order, and the state that they end in. */
export interface Recording {
  readonly worlds: readonly number[];
  readonly segments: readonly Segment[];
  /** By arena, [worlds, words of a world]: the states, and the last results. */
  readonly end: Readonly<Record<string, Words>>;
}

interface Slot extends SegmentInfo {
  steps: number;
  /** Place in the ring. */
  readonly place: number;
}

/** Words of a world without padding. */
export const packedWords = (layout: ArenaLayout): number => layout.fields.reduce((n, f) => n + f.perWorld, 0);

/** Where the words of world `local` of a buffer lie, in the order of the fields. */
export function packedIndex(layout: ArenaLayout, paddedWorlds: number, local: number): number[] {
  return layout.fields.flatMap((field) =>
    Array.from({ length: field.perWorld }, (_, e) => worldIndex(layout, field, paddedWorlds, local, e)),
  );
}

/** Tells the device which worlds are recorded. */
export async function writePlaces(batch: Batch, { worlds }: RecorderSettings): Promise<void> {
  if (worlds === "all") return;
  const { plan } = batch.planned;
  const words = wordsOf(layoutsOf(plan)[PLACES]);
  for (const { index, firstWorld, worlds: count, paddedWorlds } of plan.shards) {
    const records = hostRecords(words * paddedWorlds, batch.doubles);
    worlds.forEach((world, place) => {
      if (world >= firstWorld && world < firstWorld + count) records.u32[words * (world - firstWorld)] = place + 1;
    });
    await batch.write(PLACES, index, records);
  }
}

export class Recorder {
  readonly settings: RecorderSettings;
  readonly #batch: Batch;
  readonly #states: readonly string[];
  readonly #layouts: Readonly<Record<string, ArenaLayout>>;
  /** From the oldest on. */
  #slots: Slot[] = [];
  #place = 0;
  #cut = true;

  /** Records the arenas `states` of a batch that was planned with `recordArenas` and `recordKernels`. */
  constructor(batch: Batch, states: readonly string[], settings: RecorderSettings) {
    this.settings = settings;
    this.#batch = batch;
    this.#states = states;
    this.#layouts = layoutsOf(batch.planned.plan);
  }

  /** Segments from the oldest on. */
  get segments(): readonly SegmentInfo[] {
    return this.#slots;
  }

  /** Whether a world is recorded. */
  has(world: number): boolean {
    const { worlds } = this.settings;
    return worlds === "all" || worlds.includes(world);
  }

  /** The state is changed by something other than a step: the next step begins a new segment. */
  cut(): void {
    this.#cut = true;
  }

  /** Kernels to run before the next step, in its submission; `steps` were made before it. */
  before(steps: number): string[] {
    const { everySteps, keep } = this.settings;
    const slot = this.#slots[this.#slots.length - 1];
    const isFull = slot === undefined || slot.steps === everySteps;
    const kernels = this.#cut && !isFull ? ["record_cut", "record"] : ["record"];
    if (this.#cut || isFull) {
      if (slot) this.#place = (this.#place + 1) % keep;
      const params = this.#batch.params();
      this.#slots = this.#slots.filter(({ place }) => place !== this.#place);
      this.#slots.push({ start: steps, steps: 0, cut: this.#cut, params, place: this.#place });
      this.#cut = false;
    }
    this.#slots[this.#slots.length - 1].steps++;
    return kernels;
  }

  /** Returns a function that takes back the steps since, where they are not submitted after all. */
  mark(): () => void {
    const [slots, place, cut] = [this.#slots.map((slot) => ({ ...slot })), this.#place, this.#cut];
    return () => {
      [this.#slots, this.#place, this.#cut] = [slots, place, cut];
    };
  }

  /**
   * Queues the state at the start of the last segment before control step `step`, and forgets what was after it. Returns
   * how many steps lead from there to `step`; `replay` queues the action of one of them, before it is made again.
   */
  rewind(step: number): Omit<SegmentInfo, "cut"> & { readonly replay: (k: number) => void } {
    const slot = this.#slots.findLast(({ start }) => start < step)!;
    this.#slots = this.#slots.filter(({ start }) => start < slot.start);
    this.#place = slot.place;
    const back = (recorded: number) => {
      this.#batch.setParam("record_segment", slot.place);
      this.#batch.setParam("record_step", recorded);
      this.#batch.run("record_back");
    };
    back(-1);
    this.#slots.push({ ...slot, steps: 0 });
    this.#cut = false;
    return { start: slot.start, steps: step - slot.start, params: slot.params, replay: back };
  }

  /** Reads all that is known of some recorded worlds. Nothing may be queued until it resolves. */
  async capture(worlds: readonly number[], results: readonly string[]): Promise<Recording> {
    const regions: BatchRegion[] = [];
    const rows = (arena: string) => this.#rows(arena, worlds, regions);
    const rings = Object.fromEntries([...this.#states, "action"].map((a) => [a, rows(recordOf(a))]));
    const tiles = this.#states.map((arena) => ({ arena, tiles: this.#tiles(arena, worlds, regions) }));
    const end: Record<string, Words> = Object.fromEntries(results.map((arena) => [arena, rows(arena)]));
    await this.#batch.readInto(regions);

    for (const { arena, tiles: read } of tiles) {
      const layout = this.#layouts[arena];
      end[arena] = this.#joined(
        worlds.map((world, i) => {
          const lane = locateWorld(this.#batch.planned.plan, world).local % layout.tileWidth;
          return packedIndex({ ...layout, sharedBytes: 0 }, layout.tileWidth, lane).map((at) => read[i][at]);
        }),
      );
    }
    const segments = this.#slots.map(({ place, ...info }) => ({
      ...info,
      states: Object.fromEntries(this.#states.map((arena) => [arena, this.#state(arena, rings[arena], place)])),
      actions: this.#actions(rings.action, worlds.length, place, info.steps),
    }));
    const { doubles, adapter } = this.#batch;
    // what no adapter recorded is kept as numbers: any CPU executes it again
    return doubles || adapter ? { worlds, segments, end } : this.#decoded({ worlds, segments, end });
  }

  #decoded({ worlds, segments, end }: Recording): Recording {
    const decode = (states: Readonly<Record<string, Words>>) =>
      Object.fromEntries(
        Object.entries(states).map(([arena, words]) => [arena, numbersOf(this.#layouts[arena], words)]),
      );
    return {
      worlds,
      segments: segments.map((s) => ({
        ...s,
        states: decode(s.states),
        actions: numbersOf(this.#layouts.action, s.actions),
      })),
      end: decode(end),
    };
  }

  #words(length: number): Words {
    return this.#batch.doubles ? new Float64Array(length) : new Uint32Array(length);
  }

  #joined(rows: readonly (readonly number[])[]): Words {
    const out = this.#words(rows.reduce((n, row) => n + row.length, 0));
    rows.forEach((row, i) => out.set(row, i * row.length));
    return out;
  }

  /** Rows of worlds in an arena of rows. */
  #rows(arena: string, worlds: readonly number[], regions: BatchRegion[]): Words {
    const recorded = this.settings.worlds;
    const isRing = arena.startsWith("record_");
    const layout = this.#layouts[arena];
    const shared = isRing && recorded !== "all";
    const words = shared ? layout.sharedBytes / 4 / recorded.length : wordsOf(layout);
    const out = this.#words(words * worlds.length);
    worlds.forEach((world, row) => {
      const { shard, local } = locateWorld(this.#batch.planned.plan, world);
      const place = shared ? recorded.indexOf(world) : local;
      const into = out.subarray(row * words, (row + 1) * words);
      regions.push({ arena, shard, start: words * place, into });
    });
    return out;
  }

  /** The tiles of worlds in an arena of tiles. */
  #tiles(arena: string, worlds: readonly number[], regions: BatchRegion[]): Words[] {
    const layout = this.#layouts[arena];
    return worlds.map((world) => {
      const { shard, local } = locateWorld(this.#batch.planned.plan, world);
      const into = this.#words(wordsOf(layout) * layout.tileWidth);
      const first = local - (local % layout.tileWidth);
      regions.push({ arena, shard, start: layout.sharedBytes / 4 + wordsOf(layout) * first, into });
      return into;
    });
  }

  /** States of a segment out of rows of the ring, whose words are those of a tile of one world. */
  #state(arena: string, ring: Words, place: number): Words {
    const layout = this.#layouts[arena];
    const words = layout.worldVec4s * 4;
    const order = packedIndex({ ...layout, sharedBytes: 0, tileWidth: 1 }, 1, 0);
    const row = words * this.settings.keep;
    const starts = Array.from({ length: ring.length / row }, (_, i) => i * row + place * words);
    return this.#joined(starts.map((start) => order.map((at) => ring[start + at])));
  }

  /** Actions of a segment, step by step. */
  #actions(ring: Words, worlds: number, place: number, steps: number): Words {
    const { everySteps } = this.settings;
    const words = wordsOf(this.#layouts.action);
    const out = this.#words(words * worlds * steps);
    for (let step = 0; step < steps; step++) {
      for (let w = 0; w < worlds; w++) {
        const from = w * (ring.length / worlds) + HEAD_WORDS + words * (place * everySteps + step);
        out.set(ring.subarray(from, from + words), words * (step * worlds + w));
      }
    }
    return out;
  }
}
