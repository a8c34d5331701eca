// many worlds of one model, stepped together
import { inLine } from "../core/show.ts";
import { INSPECT, type Inspect, printFacts } from "../core/inspect.ts";
import { formatBytes } from "../core/units.ts";
import { CorralError } from "../core/errors.ts";
import { assertNumbers, checked, NAMES, optionsOf } from "../core/options.ts";
import { integer } from "../core/schema.ts";
import { assertStateValues } from "./state-value.ts";
import { asHeld } from "../core/float32.ts";
import { nearest } from "../core/names.ts";
import { field, fieldSize, type FieldName } from "../model/fields.ts";
import type { Model } from "../model/model.ts";
import { locateWorld, worldsOf, worldsToSet } from "../memory/shards.ts";
import type { Plan } from "../memory/plan.ts";
import type { Arithmetic } from "./kernel/arithmetic.ts";
import { arithmeticOf, hostRecords, layoutsOf, type Batch, type BatchRegion, type HostRecords } from "./batch.ts";
import { placeBatch } from "./device.ts";
import { namedDevice, type DeviceChoice } from "./devices.ts";
import { CallMutex } from "../core/call-mutex.ts";
import { paramChanges, type SimParams } from "./params.ts";
import { putField, takeField } from "./host-records.ts";
import { prepare, type SimulationOptions } from "./simulation-spec.ts";
import { initialState, isEmpty } from "./kernel/record-io.ts";
import { noSnapshot, putSnapshot, type Snapshot, SnapshotKeeper, takeSnapshot } from "./snapshot.ts";
import { failedWorlds, type WorldStatus } from "./world-status.ts";

export { planKernels, planSimulation, type SimulationOptions } from "./simulation-spec.ts";
export type { Snapshot } from "./snapshot.ts";
export type { WorldStatus } from "./world-status.ts";
/** Values of state fields: row-major [worlds, size of the field]. */
export type StateValues = { [K in FieldName]?: ArrayLike<number> };
export type StateArrays = { [K in FieldName]?: Float64Array };

/**
 * Worlds of a model on a device, all memory reserved and all kernels compiled.
 * @throws CorralError bad-num-envs, bad-option, unknown-option, unknown-field, unsupported-feature; BudgetExceededError
 *   before anything is allocated; errors of the device. `onTurns`: see `placeBatch`
 */
export async function createSimulation(model: Model, options: SimulationOptions, onTurns?: () => void) {
  const { model: m, specFor } = prepare(model, options);
  const batch = await placeBatch(specFor, options.numEnvs, options, onTurns);
  try {
    const simulation = new Simulation(m, batch, { model, options });
    await simulation.reset();
    await simulation.sync();
    return simulation;
  } catch (error) {
    await batch.close();
    throw error;
  }
}

/** Bytes of worlds that are filled at a time. */
const FILL_BYTES = 2 ** 20;
/** Kernels count steps as i32. */
const MOST_STEPS = 2 ** 31 - 1;

/** What a simulation was made of: to make it again elsewhere. */
interface Recipe {
  readonly model: Model;
  readonly options: SimulationOptions;
}

/** A batch of worlds. State is MuJoCo's: what `mjSTATE_INTEGRATION` holds, per world. */
export class Simulation implements AsyncDisposable {
  readonly model: Model;
  readonly numEnvs: number;
  /** Every byte that this simulation holds. */
  readonly plan: Plan;
  /** What its steps are computed in. */
  readonly arithmetic: Arithmetic;
  readonly #batch: Batch;
  readonly #recipe: Recipe;
  readonly #outputs: readonly FieldName[];
  /** Arenas that hold what the future depends on. */
  readonly #kept: readonly string[];
  readonly #keeper: SnapshotKeeper | undefined;
  readonly #mutex = new CallMutex("the simulation");
  #stepCount = 0;

  constructor(model: Model, batch: Batch, recipe: Recipe) {
    const { outputs = [], snapshotEvery } = recipe.options;
    this.model = model;
    this.#batch = batch;
    this.#recipe = recipe;
    this.#outputs = outputs;
    this.plan = batch.planned.plan;
    this.arithmetic = arithmeticOf(batch);
    this.numEnvs = this.plan.numEnvs;
    this.#kept = model.nu > 0 ? ["state", "control"] : ["state"];
    if (snapshotEvery !== undefined) this.#keeper = new SnapshotKeeper(batch, this.#kept, snapshotEvery);
  }

  /** Physics steps of each world since the simulation was made or reset; a snapshot that is put back sets it. */
  get steps(): number {
    return this.#stepCount;
  }

  /** The last complete snapshot of `snapshotEvery`; also after the device was lost, and after `close`. */
  get lastSnapshot(): Snapshot | undefined {
    return this.#keeper?.last;
  }

  /** Where it runs, in words. */
  get deviceName(): string {
    return this.#batch.deviceName;
  }

  /** Puts all worlds into the model's initial state: qpos0, all else zero. */
  async reset(): Promise<void> {
    this.#mutex.assertOpen("reset");
    this.#batch.forgive();
    const initial: Partial<Record<string, ArrayLike<number>>> = { qpos: this.model.qpos0, ...initialState(this.model) };
    await this.#mutex.exclusive("reset", () => this.#fill(initial));
    this.#startAt(0);
  }

  /** Writes the same values into all worlds, all else zero. */
  async #fill(values: Partial<Record<string, ArrayLike<number>>>): Promise<void> {
    for (const arena of this.#kept) {
      const layout = layoutsOf(this.plan)[arena];
      const [{ paddedWorlds: most }] = this.plan.shards;
      const { tileWidth, bytesPerWorld } = layout;
      const worlds = Math.min(most, tileWidth * Math.ceil(FILL_BYTES / bytesPerWorld / tileWidth));
      const piece = { index: 0, firstWorld: 0, worlds, paddedWorlds: worlds };
      const records = this.#recordsFor((bytesPerWorld / 4) * worlds);
      for (const { name } of layout.fields) {
        const given = values[name] && asHeld(values[name], this.#batch.precision);
        if (given) for (let w = 0; w < worlds; w++) putField(layout, name, piece, w, records, given, 0);
      }

      for (const { index, paddedWorlds } of this.plan.shards) {
        for (let world = 0; world < paddedWorlds; world += worlds) {
          const end = (bytesPerWorld / 4) * Math.min(worlds, paddedWorlds - world);
          const part = { f32: records.f32.subarray(0, end), u32: records.u32.subarray(0, end) };
          await this.#batch.write(arena, index, part, (bytesPerWorld / 4) * world);
        }
      }
    }
  }

  #startAt(steps: number): void {
    this.#stepCount = steps;
    this.#keeper?.restart();
    this.#keeper?.stepped(steps);
  }

  /** Changes parameters of the kernels: timestep, gravity, tolerance, ls_tolerance, and what is `adjustable`. */
  setOptions(change: Partial<SimParams>): void {
    this.#mutex.assertOpen("change options");
    const { precision, planned } = this.#batch;
    for (const [name, value] of paramChanges(change, precision, planned.spec.params)) this.#batch.setParam(name, value);
  }

  /** Queues `nstep` physics steps of `timestep` each for every world (mj_step). */
  step(nstep = 1): void {
    this.#mutex.assertOpen("step");
    checked("nstep", integer(1, MOST_STEPS), nstep);
    this.#keeper?.check();
    this.#batch.setParam("nstep", nstep);
    this.#batch.run("step");
    this.#stepCount += nstep;
    this.#keeper?.stepped(this.#stepCount);
  }

  /** Queues an evaluation of the derived fields at the current state (mj_forward). */
  forward(): void {
    this.#mutex.assertOpen("forward");
    this.#batch.setParam("nstep", 0);
    this.#batch.run("step");
  }

  /**
   * Resolves when all queued work is done, and the last snapshot is on the host.
   * @throws CorralError work-refused, snapshot-failed; DeviceLostError
   */
  async sync(): Promise<void> {
    this.#mutex.assertOpen("sync");
    await this.#batch.sync();
    await this.#keeper?.settled();
  }

  #arenaOf(name: string): string {
    const layouts = layoutsOf(this.plan);
    for (const arena of ["state", "control", "derived"]) {
      if (layouts[arena]?.fields.some((f) => f.name === name)) return arena;
    }
    const known = ["state", "control", "derived"].flatMap((a) => layouts[a]?.fields.map((f) => f.name) ?? []);
    const near = nearest(name, known);
    const hint = near.length ? `; nearest: ${near.join(", ")}` : "";
    const text = `this simulation has no field "${inLine(name)}"${hint}. Derived fields must be named in \`outputs\`.`;
    throw new CorralError("unknown-field", text, { name, known });
  }

  /**
   * Sets state fields of all worlds or of chosen ones. Values are row-major [worlds, size of the field].
   * Nothing changes if any value is wrong.
   * @throws CorralError bad-option, unknown-field, bad-shape, bad-world, bad-value
   */
  async setState(values: StateValues, worlds?: readonly number[]): Promise<void> {
    this.#mutex.assertOpen("set state");
    const list = worldsToSet(this.plan, worlds);
    const byArena = new Map<string, [string, ArrayLike<number>][]>();
    for (const [name, data] of Object.entries(optionsOf(values, "values"))) {
      if (data === undefined) continue;
      assertNumbers(name, data);
      const arena = this.#arenaOf(name);
      if (arena === "derived")
        throw new CorralError("unknown-field", `${name} is derived; only state fields can be set.`, { name });
      const size = fieldSize(this.model, field(name as FieldName).name as FieldName);
      if (data.length !== size * list.length) {
        throw new CorralError(
          "bad-shape",
          `${name} has ${data.length} values; ${list.length} worlds of ${size} need ${size * list.length}.`,
          { name, length: data.length, expected: size * list.length },
        );
      }
      const { precision } = this.#batch;
      assertStateValues(name, data, { size, worlds: list, held: precision });
      byArena.set(arena, [...(byArena.get(arena) ?? []), [name, asHeld(data, precision)]]);
    }

    // a step between the read and the write would be undone
    await this.#mutex.exclusive("setState", () => this.#writeFields(byArena, list));
  }

  async #writeFields(
    byArena: ReadonlyMap<string, readonly [string, ArrayLike<number>][]>,
    list: readonly number[],
  ): Promise<void> {
    for (const [arena, fields] of byArena) {
      const layout = layoutsOf(this.plan)[arena];
      const touched = new Map<number, HostRecords>();
      for (const w of list) {
        const { shard } = locateWorld(this.plan, w);
        if (!touched.has(shard)) touched.set(shard, await this.#batch.read(arena, shard));
      }
      list.forEach((w, i) => {
        const { shard, local } = locateWorld(this.plan, w);
        for (const [name, data] of fields) {
          const size = data.length / list.length;
          putField(layout, name, this.plan.shards[shard], local, touched.get(shard)!, data, i * size);
        }
      });
      for (const [shard, records] of touched) await this.#batch.write(arena, shard, records);
    }
  }

  /**
   * Reads state fields, and derived fields named in `outputs`, of all worlds or of chosen ones, after all queued steps.
   * @throws CorralError unknown-field, bad-world
   */
  async getState<N extends FieldName>(
    names: readonly N[],
    worlds?: readonly number[],
  ): Promise<Record<N, Float64Array>> {
    this.#mutex.assertOpen("get state");
    checked("names", NAMES, names);
    const list = worldsOf(this.plan, worlds);
    const places = list.map((world) => locateWorld(this.plan, world));

    // the model has none of some: no kernel holds them, and there is nothing to read
    const known = (name: FieldName) => this.#outputs.includes(name) || field(name).group === "state";
    const empty = (name: FieldName) => known(name) && isEmpty(this.model, name, layoutsOf(this.plan).derived);
    const arenas = new Map(names.filter((name) => !empty(name)).map((name) => [name, this.#arenaOf(name)]));
    const records = await this.#readArenas(
      [...new Set(arenas.values())],
      [...new Set(places.map(({ shard }) => shard))],
    );

    const out = {} as Record<N, Float64Array>;
    for (const name of names) {
      const arena = arenas.get(name);
      const layout = arena === undefined ? undefined : layoutsOf(this.plan)[arena];
      const size = layout?.fields.find((f) => f.name === name)!.perWorld ?? 0;
      out[name] = new Float64Array(size * list.length);
      if (layout === undefined) continue;
      places.forEach(({ shard, local }, i) => {
        const from = records.get(`${arena} ${shard}`)!;
        takeField(layout, name, this.plan.shards[shard], local, from, out[name], i * size, field(name).type === "u32");
      });
    }
    return out;
  }

  /**
   * Worlds in which the last `step` or `forward` went wrong, and how; with fewer places for contacts than there may be,
   * also how many were needed. No other world is touched by what goes wrong in one.
   */
  async status(): Promise<WorldStatus[]> {
    this.#mutex.assertOpen("read the status");
    const records = await this.#readArenas(
      ["derived"],
      this.plan.shards.map(({ index }) => index),
    );
    return failedWorlds(this.plan, (shard) => records.get(`derived ${shard}`)!);
  }

  /** Reads arenas of some shards, all as they are now: in one call, so that nothing that is queued later gets between. */
  async #readArenas(arenas: readonly string[], shards: readonly number[]): Promise<Map<string, HostRecords>> {
    const records = new Map<string, HostRecords>();
    const regions: BatchRegion[] = [];
    for (const arena of arenas) {
      const { bytesPerWorld } = layoutsOf(this.plan)[arena];
      for (const shard of shards) {
        const into = this.#recordsFor((bytesPerWorld / 4) * this.plan.shards[shard].paddedWorlds);
        records.set(`${arena} ${shard}`, into);
        regions.push({ arena, shard, into: into.f32 });
      }
    }
    await this.#batch.readInto(regions);
    return records;
  }

  #recordsFor(length: number): HostRecords {
    return hostRecords(length, this.#batch.doubles);
  }

  /** Copies all that the future depends on to the host: state, controls, options that change between steps. */
  async snapshot(): Promise<Snapshot> {
    this.#mutex.assertOpen("take a snapshot");
    return takeSnapshot(this.#batch, this.#kept, this.#stepCount);
  }

  /**
   * Puts a snapshot back: bit for bit if it was taken on the same kind of device, GPU or CPU.
   * @throws CorralError bad-snapshot; then nothing has changed
   */
  async restore(snapshot: Snapshot): Promise<void> {
    this.#mutex.assertOpen("restore");
    await this.#mutex.exclusive("restore", () => putSnapshot(this.#batch, snapshot));
    this.#startAt(snapshot.steps);
  }

  /**
   * The same worlds on another device, going on from a snapshot; this simulation is closed. By default on a device of
   * the same name, of the shared ones a new one if the last was lost, and from the last snapshot. On the same kind of device the
   * worlds go on bit for bit.
   * @throws CorralError no-snapshot, bad-snapshot; what createSimulation throws: then this one is left as it is
   */
  async restoreOn(device?: DeviceChoice, snapshot = this.lastSnapshot): Promise<Simulation> {
    if (snapshot === undefined) throw noSnapshot(this.plan.name);
    const { model, options } = this.#recipe;
    const other = await createSimulation(model, {
      ...options,
      numEnvs: this.numEnvs,
      device: device ?? namedDevice(options.device),
    });
    try {
      await other.restore(snapshot);
      await other.sync();
    } catch (error) {
      await other.close();
      throw error;
    }
    await this.close();
    return other;
  }

  /** Names of the derived fields that can be read. */
  get outputNames(): readonly FieldName[] {
    return this.#outputs;
  }

  /** The traced kernels, for inspection. */
  get kernels(): Batch["planned"]["kernels"] {
    return this.#batch.planned.kernels;
  }

  [INSPECT](_depth: number, options: object, inspect: Inspect): string {
    return printFacts(
      "Simulation",
      {
        model: this.model.name,
        numEnvs: this.numEnvs,
        steps: this.steps,
        outputs: this.#outputs,
        device: this.deviceName,
        memory: formatBytes(this.plan.totalBytes),
      },
      options,
      inspect,
    );
  }

  /** Gives all memory back, once the call in flight and reads have completed. Calling it again returns the same promise. */
  close(): Promise<void> {
    return this.#mutex.close(() => this.#batch.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
