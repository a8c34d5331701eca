// many worlds of one model, stepped together
import { CorralError } from "../core/errors.ts";
import { nearest } from "../core/names.ts";
import { field, fieldSize, fieldsOf, type FieldName } from "../model/fields.ts";
import { withOptions, type Model, type OptionOverrides } from "../model/model.ts";
import { constraintBound } from "../model/pairs.ts";
import { checkSupported } from "../model/supported.ts";
import { locateWorld } from "../memory/shards.ts";
import type { Plan } from "../memory/plan.ts";
import { hostRecords, layoutsOf, planOf, type Batch, type BatchSpec, type HostRecords, type PlanContext, type PlannedBatch } from "./batch.ts";
import { placeBatch, type PlacementOptions } from "./device.ts";
import { traceSimulation } from "./kernel.ts";
import { paramChanges, simParams, type SimParams } from "./params.ts";
import { putField, takeField } from "./records.ts";
import { fieldRequest, stateFields } from "./state.ts";

/** Options of a simulation. Those of mjOption override the model's. */
export interface SimulationOptions extends OptionOverrides, PlacementOptions {
  /** Worlds. */
  readonly numEnvs: number;
  /** Contacts that a world may have at once; default: all that its candidate pairs can make. */
  readonly nconmax?: number;
  /** Derived fields that can be read after a step: "xpos", "sensordata", "ncon", ... Default: none. */
  readonly outputs?: readonly FieldName[];
  /** Keep qfrc_applied and xfrc_applied per world (default true). */
  readonly applied?: boolean;
  /** Straight-line kernels (default), or kernels with runtime loops: slower, smaller, for very large models. */
  readonly unroll?: boolean;
}

/** Values of state fields: row-major [worlds, size of the field]. */
export type StateValues = { [K in FieldName]?: ArrayLike<number> };
export type StateArrays = { [K in FieldName]?: Float64Array };

/** A copy of all state of a batch. Opaque; belongs to simulations of the same model, count and device precision. */
export interface Snapshot {
  readonly numEnvs: number;
  readonly nstate: number;
  readonly shards: readonly HostRecords[];
}

const PLACEMENT = new Set(["numEnvs", "nconmax", "outputs", "applied", "unroll", "device", "adapter", "budget", "onOverBudget", "shards"]);

function checkCount(name: string, value: number): void {
  if (!Number.isInteger(value) || value < 1) {
    throw new CorralError("bad-num-envs", `${name} is ${String(value)}; it is a positive integer. Pass at least 1.`, { [name]: value });
  }
}

/** The model with the options of mjOption among `options` applied. */
function overridden(model: Model, options: SimulationOptions): Model {
  const overrides = Object.fromEntries(Object.entries(options).filter(([k, v]) => !PLACEMENT.has(k) && v !== undefined));
  return Object.keys(overrides).length ? withOptions(model, overrides as OptionOverrides) : model;
}

function checkOutputs(outputs: readonly string[]): void {
  const known = fieldsOf("derived").map((f) => f.name as string);
  for (const name of outputs) {
    if (known.includes(name) && !/^(contact_|efc_|n[efl]$)/.test(name)) continue;
    const near = nearest(name, known);
    throw new CorralError(
      "unknown-field",
      `outputs names "${name}", which is no derived field that can be read` + (near.length ? `; nearest: ${near.join(", ")}.` : "."),
      { name },
    );
  }
}

/** The batch behind a simulation, for any count of worlds. */
function simulationSpec(model: Model, options: SimulationOptions): (numEnvs: number) => BatchSpec {
  const applied = options.applied ?? true;
  const outputs = options.outputs ?? [];
  const nconmax = options.nconmax ?? constraintBound(model).nconmax;
  const base = { model, nconmax, applied, outputs, unroll: options.unroll ?? true, exact: options.device === "cpu-f64" };
  const size = (name: FieldName) => fieldSize(model, name);
  const params = simParams(model);
  const names = params.map((p) => ({ name: p.name, type: p.type }));
  return (numEnvs) => ({
    name: model.name || "simulation",
    numEnvs,
    params,
    arenas: [
      { name: "state", access: "read_write", fields: stateFields(model, applied).map((n) => fieldRequest(n, "state", size(n))) },
      ...(model.nu > 0
        ? [{ name: "control", access: "read_write" as const, fields: [fieldRequest("ctrl", "state", model.nu)] }]
        : []),
      {
        name: "derived",
        access: "read_write",
        fields: [
          ...outputs.filter((n) => size(n) > 0).map((n) => fieldRequest(n, "derived", size(n), "fewer outputs")),
          { name: "status", group: "task", type: "u32", perWorld: 1 },
        ],
      },
    ],
    kernels: [
      {
        name: "step",
        trace: (arenas) =>
          traceSimulation({ ...base, state: arenas.state, params: names }, { control: arenas.control, derived: arenas.derived }),
      },
    ],
  });
}

/**
 * The bytes of a simulation, field by field, without a device.
 * @throws what createSimulation throws for its arguments
 */
export function planSimulation(model: Model, options: SimulationOptions, context: PlanContext = {}): Plan {
  return planKernels(model, options, context).plan;
}

/** The traced kernels and the plan of a simulation, without a device. */
export function planKernels(model: Model, options: SimulationOptions, context: PlanContext = {}): PlannedBatch {
  const { specFor } = prepare(model, options);
  return planOf(specFor(options.numEnvs), context);
}

function prepare(model: Model, options: SimulationOptions) {
  checkCount("numEnvs", options.numEnvs);
  if (options.nconmax !== undefined) checkCount("nconmax", options.nconmax);
  checkOutputs(options.outputs ?? []);
  const m = overridden(model, options);
  checkSupported(m);
  return { model: m, specFor: simulationSpec(m, options) };
}

/**
 * Worlds of a model on a device, all memory reserved and all kernels compiled.
 * @throws CorralError bad-num-envs, bad-option, unknown-option, unknown-field, unsupported-feature; BudgetExceededError
 *   before anything is allocated; errors of the device
 */
export async function createSimulation(model: Model, options: SimulationOptions): Promise<Simulation> {
  const { model: m, specFor } = prepare(model, options);
  const batch = await placeBatch(specFor, options.numEnvs, options);
  const simulation = new Simulation(m, batch, options.outputs ?? []);
  simulation.reset();
  return simulation;
}

/** A batch of worlds. State is MuJoCo's: what `mjSTATE_INTEGRATION` holds, per world. */
export class Simulation implements AsyncDisposable {
  readonly model: Model;
  readonly numEnvs: number;
  /** Every byte that this simulation holds. */
  readonly plan: Plan;
  private readonly batch: Batch;
  private readonly outputs: readonly FieldName[];
  private closed = false;

  constructor(model: Model, batch: Batch, outputs: readonly FieldName[]) {
    this.model = model;
    this.batch = batch;
    this.outputs = outputs;
    this.plan = batch.planned.plan;
    this.numEnvs = this.plan.numEnvs;
  }

  /** Where it runs, in words. */
  get deviceName(): string {
    return this.batch.deviceName;
  }

  private assertOpen(what: string): void {
    if (this.closed) throw new CorralError("closed", `cannot ${what}: the simulation was closed. Create another one.`);
  }

  /** Puts all worlds into the model's initial state: qpos0, all else zero. */
  reset(): void {
    this.assertOpen("reset");
    const initial: Partial<Record<string, ArrayLike<number>>> = { qpos: this.model.qpos0, ...mocapFrames(this.model) };
    for (const { index } of this.plan.shards) {
      this.writeShard("state", index, (layout, shard, records) => {
        for (const f of layout.fields) {
          const values = initial[f.name];
          if (values) for (let w = 0; w < shard.paddedWorlds; w++) putField(layout, f.name, shard, w, records, values, 0);
        }
      });
      if (this.model.nu > 0) this.writeShard("control", index, () => {});
    }
  }

  private writeShard(
    arena: string,
    index: number,
    fill: (layout: ReturnType<typeof layoutsOf>[string], shard: Plan["shards"][number], records: HostRecords) => void,
  ): void {
    const layout = layoutsOf(this.plan)[arena];
    const shard = this.plan.shards[index];
    const length = (layout.sharedBytes + layout.bytesPerWorld * shard.paddedWorlds) / 4;
    const records = hostRecords(length, this.batch.deviceName.startsWith("cpu"));
    fill(layout, shard, records);
    this.batch.write(arena, index, records);
  }

  /** Changes options that are parameters of the kernels: timestep, gravity, tolerance, ls_tolerance. */
  setOptions(change: Partial<SimParams>): void {
    this.assertOpen("change options");
    for (const [name, value] of paramChanges(change)) this.batch.setParam(name, value);
  }

  /** Queues `nstep` physics steps of `timestep` each for every world (mj_step). */
  step(nstep = 1): void {
    this.assertOpen("step");
    if (!Number.isInteger(nstep) || nstep < 1) {
      throw new CorralError("bad-option", `nstep is ${String(nstep)}; it is a positive integer.`, { nstep });
    }
    this.batch.setParam("nstep", nstep);
    this.batch.run("step");
  }

  /** Queues an evaluation of the derived fields at the current state (mj_forward). */
  forward(): void {
    this.assertOpen("forward");
    this.batch.setParam("nstep", 0);
    this.batch.run("step");
  }

  /** Resolves when all queued work is done. */
  sync(): Promise<void> {
    this.assertOpen("sync");
    return this.batch.sync();
  }

  private worldList(worlds: readonly number[] | undefined): readonly number[] {
    if (worlds) for (const w of worlds) locateWorld(this.plan, w);
    return worlds ?? Array.from({ length: this.numEnvs }, (_, i) => i);
  }

  private arenaOf(name: string): string {
    const layouts = layoutsOf(this.plan);
    for (const arena of ["state", "control", "derived"]) {
      if (layouts[arena]?.fields.some((f) => f.name === name)) return arena;
    }
    const known = ["state", "control", "derived"].flatMap((a) => layouts[a]?.fields.map((f) => f.name) ?? []);
    const near = nearest(name, known);
    throw new CorralError(
      "unknown-field",
      `this simulation has no field "${name}"${near.length ? `; nearest: ${near.join(", ")}` : ""}. ` +
        `Derived fields must be named in \`outputs\`.`,
      { name, known },
    );
  }

  /**
   * Sets state fields of all worlds or of chosen ones. Values are row-major [worlds, size of the field].
   * Nothing changes where any value is wrong.
   * @throws CorralError unknown-field, bad-shape, bad-world, bad-value
   */
  async setState(values: StateValues, worlds?: readonly number[]): Promise<void> {
    this.assertOpen("set state");
    const list = this.worldList(worlds);
    const byArena = new Map<string, [string, ArrayLike<number>][]>();
    for (const [name, data] of Object.entries(values)) {
      if (!data) continue;
      const arena = this.arenaOf(name);
      if (arena === "derived") throw new CorralError("unknown-field", `${name} is derived; only state fields can be set.`, { name });
      const size = fieldSize(this.model, field(name as FieldName).name as FieldName);
      if (data.length !== size * list.length) {
        throw new CorralError(
          "bad-shape",
          `${name} has ${data.length} values; ${list.length} worlds of ${size} need ${size * list.length}.`,
          { name, length: data.length, expected: size * list.length },
        );
      }
      const bad = Array.prototype.findIndex.call(data, (x: number) => !Number.isFinite(x));
      if (bad >= 0) {
        throw new CorralError(
          "bad-value",
          `${name}[${bad % size}] of world ${list[Math.floor(bad / size)]} is ${data[bad]}; it must be finite.`,
          { name, world: list[Math.floor(bad / size)] },
        );
      }
      byArena.set(arena, [...(byArena.get(arena) ?? []), [name, data]]);
    }

    for (const [arena, fields] of byArena) {
      const layout = layoutsOf(this.plan)[arena];
      const touched = new Map<number, HostRecords>();
      for (const w of list) {
        const { shard } = locateWorld(this.plan, w);
        if (!touched.has(shard)) touched.set(shard, await this.batch.read(arena, shard));
      }
      list.forEach((w, i) => {
        const { shard, local } = locateWorld(this.plan, w);
        for (const [name, data] of fields) {
          const size = data.length / list.length;
          putField(layout, name, this.plan.shards[shard], local, touched.get(shard)!, data, i * size);
        }
      });
      for (const [shard, records] of touched) this.batch.write(arena, shard, records);
    }
  }

  /**
   * Reads state fields, and derived fields named in `outputs`, of all worlds or of chosen ones, after all queued steps.
   * @throws CorralError unknown-field, bad-world
   */
  async getState<N extends FieldName>(names: readonly N[], worlds?: readonly number[]): Promise<Record<N, Float64Array>> {
    this.assertOpen("get state");
    const list = this.worldList(worlds);
    const out = {} as Record<N, Float64Array>;
    const cache = new Map<string, HostRecords>();
    for (const name of names) {
      // the model has none of it: no kernel holds it, and there is nothing to read
      const known = this.outputs.includes(name) || field(name).group === "state";
      if (known && fieldSize(this.model, name) === 0) {
        out[name] = new Float64Array(0);
        continue;
      }
      const arena = this.arenaOf(name);
      const layout = layoutsOf(this.plan)[arena];
      const size = layout.fields.find((f) => f.name === name)!.perWorld;
      const values = new Float64Array(size * list.length);
      for (let i = 0; i < list.length; i++) {
        const { shard, local } = locateWorld(this.plan, list[i]);
        const key = `${arena} ${shard}`;
        if (!cache.has(key)) cache.set(key, await this.batch.read(arena, shard));
        takeField(layout, name, this.plan.shards[shard], local, cache.get(key)!, values, i * size, field(name).type === "u32");
      }
      out[name] = values;
    }
    return out;
  }

  /** Copies the whole state to the host. */
  async snapshot(): Promise<Snapshot> {
    this.assertOpen("take a snapshot");
    const shards: HostRecords[] = [];
    for (const { index } of this.plan.shards) shards.push(await this.batch.read("state", index));
    return { numEnvs: this.numEnvs, nstate: layoutsOf(this.plan).state.bytesPerWorld, shards };
  }

  /**
   * Puts a snapshot back, bit for bit.
   * @throws CorralError bad-snapshot
   */
  restore(snapshot: Snapshot): void {
    this.assertOpen("restore");
    const { bytesPerWorld } = layoutsOf(this.plan).state;
    const fits = snapshot.numEnvs === this.numEnvs && snapshot.nstate === bytesPerWorld && snapshot.shards.length === this.plan.shards.length;
    if (!fits) {
      throw new CorralError(
        "bad-snapshot",
        `the snapshot is of ${snapshot.numEnvs} worlds of ${snapshot.nstate} bytes in ${snapshot.shards.length} shards; ` +
          `this simulation has ${this.numEnvs} of ${bytesPerWorld} in ${this.plan.shards.length}. Use one of the same kind.`,
      );
    }
    snapshot.shards.forEach((records, index) => this.batch.write("state", index, records));
  }

  /** Names of the derived fields that can be read. */
  get outputNames(): readonly FieldName[] {
    return this.outputs;
  }

  /** The traced kernels, for inspection. */
  get kernels(): Batch["planned"]["kernels"] {
    return this.batch.planned.kernels;
  }

  /** Gives all memory back. Calling it again does nothing. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await this.batch.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Initial frames of mocap bodies, from the model. */
export function mocapFrames(model: Model): { mocap_pos?: number[]; mocap_quat?: number[] } {
  if (model.nmocap === 0) return {};
  const pos: number[] = Array(3 * model.nmocap).fill(0);
  const quat: number[] = Array(4 * model.nmocap).fill(0);
  for (let b = 0; b < model.nbody; b++) {
    const id = model.body_mocapid[b];
    if (id < 0) continue;
    for (let k = 0; k < 3; k++) pos[3 * id + k] = model.body_pos[3 * b + k];
    for (let k = 0; k < 4; k++) quat[4 * id + k] = model.body_quat[4 * b + k];
  }
  return { mocap_pos: pos, mocap_quat: quat };
}
