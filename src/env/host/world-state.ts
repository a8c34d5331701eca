// the state of chosen worlds, in and out by name: the physics, and what the task keeps
import { inLine, listed } from "../../core/show.ts";
import { CorralError } from "../../core/errors.ts";
import { assertNumbers, checked, NAMES, optionsOf } from "../../core/options.ts";
import { asHeld } from "../../core/float32.ts";
import { nearest } from "../../core/names.ts";
import { worldIndex, type ArenaLayout, type FieldLayout } from "../../memory/layout.ts";
import type { Plan } from "../../memory/plan.ts";
import { locateWorld, worldsOf, worldsToSet } from "../../memory/shards.ts";
import type { Batch, HostRecords } from "../../batch/batch.ts";
import { assertStateValues } from "../../batch/state-value.ts";
import { EPISODE, PER_WORLD, taskOffsets } from "../kernel/layout.ts";
import type { TaskShape } from "../task/shape.ts";

/** Where a named run of numbers lies in a world's record. */
interface Slot {
  readonly field: FieldLayout;
  readonly start: number;
  readonly size: number;
  readonly words: boolean;
}

/** Values by name, row-major [worlds, size of the name]. */
export type StateValues = { readonly [name: string]: ArrayLike<number> | undefined };

/** Reads and writes the `state` arena of an environment's batch. */
export class WorldState {
  readonly #batch: Batch;
  readonly #plan: Plan;
  readonly #layout: ArenaLayout;
  readonly #slots = new Map<string, Slot>();

  constructor(batch: Batch, shape: TaskShape) {
    this.#batch = batch;
    this.#plan = batch.planned.plan;
    this.#layout = this.#plan.arenas.find((a) => a.name === "state")!;
    const task = this.#layout.fields.find((f) => f.name === "task")!;
    const episode = this.#layout.fields.find((f) => f.name === "episode")!;
    for (const field of this.#layout.fields) {
      if (field.name === PER_WORLD) this.#drawnSlots(field, shape);
      else if (field !== task && field !== episode)
        this.#slots.set(field.name, { field, start: 0, size: field.perWorld, words: false });
    }
    this.#slots.set("episode", { field: episode, start: EPISODE.number, size: 1, words: true });
    this.#slots.set("episode_length", { field: episode, start: EPISODE.length, size: 1, words: true });
    this.#slots.set("episode_return", { field: task, start: 0, size: 1, words: false });
    let start = taskOffsets(shape).carried;
    for (const { name, size } of shape.carried) {
      this.#slots.set(name, { field: task, start, size, words: false });
      start += size;
    }
  }

  /** Names that `get` and `set` take. */
  get names(): string[] {
    return [...this.#slots.keys()];
  }

  /** What each item of `randomise` has drawn, by its name, in the order of its objects. */
  #drawnSlots(field: FieldLayout, shape: TaskShape): void {
    let start = 0;
    for (const { name, groups } of shape.random.drawn) {
      const size = groups.flat().length;
      this.#slots.set(name, { field, start, size, words: false });
      start += size;
    }
  }

  #slot(name: string): Slot {
    const slot = this.#slots.get(name);
    if (slot) return slot;
    const near = nearest(name, this.names);
    throw new CorralError(
      "unknown-field",
      `this environment keeps no "${inLine(name)}"; ${near.length ? `nearest: ${listed(near)}` : `it keeps ${listed(this.names)}`}.`,
      { name, nearest: near },
    );
  }

  async #records(list: readonly number[]): Promise<Map<number, HostRecords>> {
    const out = new Map<number, HostRecords>();
    for (const w of list) {
      const { shard } = locateWorld(this.#plan, w);
      if (!out.has(shard)) out.set(shard, await this.#batch.read("state", shard));
    }
    return out;
  }

  #visit(
    list: readonly number[],
    slot: Slot,
    records: Map<number, HostRecords>,
    each: (into: { [i: number]: number }, at: number, i: number) => void,
  ) {
    list.forEach((world, row) => {
      const { shard, local } = locateWorld(this.#plan, world);
      const record = records.get(shard)!;
      const { paddedWorlds } = this.#plan.shards[shard];
      for (let e = 0; e < slot.size; e++) {
        const at = worldIndex(this.#layout, slot.field, paddedWorlds, local, slot.start + e);
        each(slot.words ? record.u32 : record.f32, at, row * slot.size + e);
      }
    });
  }

  /** @throws CorralError unknown-field, bad-shape, bad-value, bad-world; then nothing has changed */
  async set(values: StateValues, worlds?: readonly number[]): Promise<void> {
    const list = worldsToSet(this.#plan, worlds);
    const given = Object.entries(optionsOf(values, "values")).filter(
      (entry): entry is [string, ArrayLike<number>] => entry[1] !== undefined,
    );
    for (const [name, data] of given) {
      const { size, words } = this.#slot(name);
      assertNumbers(name, data);
      if (data.length !== size * list.length) {
        throw new CorralError(
          "bad-shape",
          `${name} has ${data.length} values; ${list.length} worlds of ${size} need ${size * list.length}.`,
          { name },
        );
      }
      assertStateValues(name, data, { size, worlds: list, held: words ? "word" : this.#batch.precision });
    }
    const records = await this.#records(list);
    for (const [name, data] of given) {
      const slot = this.#slot(name);
      const held = slot.words ? data : asHeld(data, this.#batch.precision);
      this.#visit(list, slot, records, (into, at, i) => {
        into[at] = held[i];
      });
    }
    for (const [shard, record] of records) await this.#batch.write("state", shard, record);
  }

  /** @throws CorralError unknown-field, bad-world */
  async get<N extends string>(names: readonly N[], worlds?: readonly number[]): Promise<Record<N, Float64Array>> {
    checked("names", NAMES, names);
    const list = worldsOf(this.#plan, worlds);
    const slots = names.map((name) => this.#slot(name));
    const records = await this.#records(list);
    const out = {} as Record<N, Float64Array>;
    names.forEach((name, k) => {
      const values = new Float64Array(slots[k].size * list.length);
      this.#visit(list, slots[k], records, (from, at, i) => {
        values[i] = from[at];
      });
      out[name] = values;
    });
    return out;
  }
}
