// an environment whose physics is MuJoCo's own, in float64: the task is the same kernels, so that what differs is physics
import { CorralError } from "../core/errors.ts";
import { listed } from "../core/show.ts";
import { CpuBatch } from "../batch/cpu-batch.ts";
import { placeBatch } from "../batch/device.ts";
import { worldIndex, type ArenaLayout } from "../memory/layout.ts";
import type { Shard } from "../memory/shards.ts";
import { writeChanges } from "../model/changes.ts";
import type { ModelChange } from "../model/model-data.ts";
import type { FieldName } from "../model/fields.ts";
import { oracleBytes } from "../model/oracle.ts";
import { MuJoCoWorld, WORLD_STATE } from "../monitor/mujoco-world.ts";
import { listen } from "../model/mujoco.ts";
import { layoutsOf } from "../batch/batch.ts";
import type { TraceForm } from "../trace/graph.ts";
import { drivenNumbers, type DrivenNumber } from "./kernel/actuator-line.ts";
import type { EnvSpec } from "./kernel/env-kernel.ts";
import type { Layouts } from "./kernel/env-world.ts";
import {
  DRIVEN,
  drives,
  OUTSIDE,
  outsideArena,
  outsideOutputs,
  traceBegin,
  traceDrive,
  traceEnd,
} from "./kernel/outside-kernels.ts";
import { CONTACTS_NEEDED, PER_WORLD } from "./kernel/layout.ts";
import { writeFirstStates } from "./host/first-states.ts";
import { worldIdsOf } from "./host/options.ts";
import { TaskParams } from "./host/task-params.ts";
import { VectorEnv } from "./host/vector-env.ts";
import { defineVec, type NamedOptions } from "./make.ts";
import { ownNumbers } from "./task/shape.ts";
import type { Task } from "./task/task.ts";

/** Derived fields that MuJoCo's data has in another form. */
const OTHERWISE = /^(contact_|efc_|crb$|M$|qLD|ten_J|actuator_moment|solver_niter|qfrc_inverse)/;
/** Made by mj_rnePostConstraint alone. */
const POST = ["cacc", "cfrc_int", "cfrc_ext"] as const;

/** Fields of mjData that are written and read by other means than a view of them. */
const BY_MEANS: readonly string[] = ["eq_active", "history"];
/** What actuators act from. */
const MOTION = ["qpos", "qvel"] as const;
const APPLIED = ["qfrc_applied", "xfrc_applied", "ctrl"] as const;

/** MuJoCo's worlds beside those of a batch, stepped between its kernels. */
class MuJoCoPhysics {
  readonly #spec: EnvSpec;
  readonly #batch: CpuBatch;
  readonly #worlds: readonly BesideWorld[];
  /** Those of the model that go with the state. */
  readonly #numbers: readonly DrivenNumber[];

  constructor(spec: EnvSpec, batch: CpuBatch, worlds: readonly MuJoCoWorld[]) {
    this.#spec = spec;
    this.#batch = batch;
    this.#numbers = drivenNumbers(spec.shape.actuators);
    const { plan } = batch.planned;
    const layouts = layoutsOf(plan);
    this.#worlds = plan.shards.flatMap((shard) => {
      const arena = (name: string, local: number) =>
        new Record(layouts[name], batch.numbers(name, shard.index), { shard, local });
      return Array.from({ length: shard.worlds }, (_, local) => ({
        world: worlds[shard.firstWorld + local],
        state: arena("state", local),
        outside: arena(OUTSIDE, local),
        views: new Map<string, Float64Array>(),
        given: undefined,
      }));
    });
  }

  /** The physics of a control step in each world that moves. */
  step(): void {
    const outputs = outsideOutputs(this.#spec);
    const moving = this.#worlds.filter(({ outside }) => outside.first("moves") !== 0);
    const { nstep } = this.#batch.params();
    for (const beside of moving) this.#begin(beside);
    if (drives(this.#spec)) for (let k = 0; k < nstep; k++) this.#drive(moving, k);
    else for (const beside of moving) makeSteps(beside, nstep);
    for (const beside of moving) this.#end(beside, outputs);
  }

  /** One physics step, whose actuators act from the state before it. */
  #drive(moving: readonly BesideWorld[], k: number): void {
    for (const beside of moving) {
      for (const name of MOTION) beside.state.write(name, viewOf(beside, name));
      beside.outside.write(DRIVEN.step, [k]);
    }
    this.#batch.run("drive");
    for (const beside of moving) {
      const { outside, world } = beside;
      outside.copyTo(DRIVEN.ctrl, viewOf(beside, "ctrl"));
      const values = outside.read(DRIVEN.numbers);
      for (const [i, { field, index }] of this.#numbers.entries()) world.oracle.model[field][index] = values[i];
      makeSteps(beside, 1);
    }
  }

  #begin(beside: BesideWorld): void {
    const { world, state, outside } = beside;
    this.#become(beside);
    const { data, write } = world.oracle;
    data.time = state.first("time");
    for (const name of WORLD_STATE) {
      if (!BY_MEANS.includes(name)) state.copyTo(name, viewOf(beside, name));
      else if (state.has(name)) write(name, state.read(name));
    }
    for (const name of APPLIED) outside.copyTo(name, viewOf(beside, name));
    outside.write(CONTACTS_NEEDED, [0]);
    world.loadEnergy(state.read("energy_vel"));
  }

  #end(beside: BesideWorld, outputs: readonly FieldName[]): void {
    const { world, state, outside } = beside;
    const { mujoco, model, data, read } = world.oracle;
    state.write("time", [data.time]);
    for (const name of WORLD_STATE)
      if (state.has(name)) state.write(name, BY_MEANS.includes(name) ? read(name) : viewOf(beside, name));
    if (state.has("energy_vel")) state.write("energy_vel", world.energy());
    if (outputs.some((name) => (POST as readonly string[]).includes(name))) mujoco.mj_rnePostConstraint(model, data);
    if (outputs.some((name) => name.startsWith("subtree_lin") || name.startsWith("subtree_ang")))
      mujoco.mj_subtreeVel(model, data);
    for (const name of outputs)
      outside.write(name, name === "ncon" || name === "nefc" ? [data[name]] : viewOf(beside, name));
  }

  /** Gives MuJoCo's model the numbers that the world has drawn. */
  #become(beside: BesideWorld): void {
    const own: readonly Omit<ModelChange, "value">[] = ownNumbers(this.#spec.shape);
    if (own.length === 0 || (beside.given && beside.state.equals(PER_WORLD, beside.given))) return;
    const values = beside.state.read(PER_WORLD);
    beside.given = values;
    const changes = own.map((number, i) => ({ ...number, value: values[i] }));
    const { mujoco, model, data } = beside.world.oracle;
    writeChanges(mujoco, model, data, changes);
    for (const { field, index: k, value } of changes) if (field === "gravity") model.opt.gravity[k] = value;
  }

  delete(): void {
    for (const { world } of this.#worlds) world.delete();
  }
}

/** Physics steps; of what the task tells of contacts, MuJoCo's own count is kept, which drops none. */
function makeSteps({ world: { oracle }, outside }: BesideWorld, count: number): void {
  const { mujoco, model, data } = oracle;
  const counts = outside.has(CONTACTS_NEEDED);
  listen(() => {
    for (let k = 0; k < count; k++) {
      mujoco.mj_step(model, data);
      if (counts) outside.write(CONTACTS_NEEDED, [Math.max(outside.first(CONTACTS_NEEDED), data.ncon)]);
    }
  });
}

/** A world of MuJoCo, and where its numbers are in the arenas of the batch. */
interface BesideWorld {
  readonly world: MuJoCoWorld;
  readonly state: Record;
  readonly outside: Record;
  /** Arrays of mjData, which are dear to ask for. */
  readonly views: Map<string, Float64Array>;
  /** Numbers of its own that it was given last. */
  given: Float64Array | undefined;
}

/** An array of mjData where it is now: growing memory moves it. */
function viewOf({ world, views }: BesideWorld, name: string): Float64Array {
  const known = views.get(name);
  if (known && known.length > 0) return known;
  const view = (world.oracle.data as unknown as { readonly [field: string]: Float64Array })[name];
  views.set(name, view);
  return view;
}

/** The numbers of one world in an arena. */
class Record {
  readonly #numbers: Float64Array;
  /** Where each field has its numbers. */
  readonly #places: ReadonlyMap<string, Int32Array>;

  constructor(layout: ArenaLayout, numbers: Float64Array, at: { readonly shard: Shard; readonly local: number }) {
    this.#numbers = numbers;
    const place = (field: ArenaLayout["fields"][number], e: number) =>
      worldIndex(layout, field, at.shard.paddedWorlds, at.local, e);
    this.#places = new Map(
      layout.fields.map((field) => [
        field.name,
        Int32Array.from({ length: field.perWorld }, (_, e) => place(field, e)),
      ]),
    );
  }

  #of(name: string): Int32Array {
    return this.#places.get(name) ?? NOWHERE;
  }

  has(name: string): boolean {
    return this.#of(name).length > 0;
  }

  /** The first number of a field; 0 of one that is not there. */
  first(name: string): number {
    return this.has(name) ? this.#numbers[this.#of(name)[0]] : 0;
  }

  /** No numbers of a field that is not there. */
  read(name: string): Float64Array {
    return Float64Array.from(this.#of(name), (at) => this.#numbers[at]);
  }

  equals(name: string, values: Float64Array): boolean {
    return this.#of(name).every((at, e) => this.#numbers[at] === values[e]);
  }

  copyTo(name: string, into: Float64Array): void {
    const places = this.#of(name);
    for (let e = 0; e < places.length; e++) into[e] = this.#numbers[places[e]];
  }

  write(name: string, values: ArrayLike<number>): void {
    const places = this.#of(name);
    for (let e = 0; e < places.length; e++) this.#numbers[places[e]] = values[e];
  }
}

const NOWHERE = new Int32Array();

/** An environment on MuJoCo's physics; disposing of it closes both. */
export interface MuJoCoVec extends AsyncDisposable {
  readonly env: VectorEnv;
}

/** @throws CorralError not-under-mujoco */
function assertMuJoCoCan(spec: EnvSpec): void {
  const { task, model } = spec;
  const refuse = (text: string) =>
    new CorralError(
      "not-under-mujoco",
      `${task.id} cannot be stepped by MuJoCo: ${text}. Leave "mujoco" out; device: "cpu-f64" is float64 too.`,
      { id: task.id },
    );
  if (model.speedLimits?.length) throw refuse("its `limits` hold speeds of joints, for which MuJoCo has no limit");
  const others = outsideOutputs(spec).filter((name) => OTHERWISE.test(name));
  if (others.length > 0) throw refuse(`it reads ${listed(others)}, which MuJoCo's data has in another form`);
}

const FLOAT64 = { device: "cpu-f64", autoreset: "disabled", recorder: false } as const;

/**
 * Says before anything is played whether MuJoCo can step an environment.
 * @throws CorralError not-under-mujoco; what `makeVec` throws
 */
export async function assertUnderMuJoCo(env: string | Task, given: NamedOptions): Promise<void> {
  const { definition } = await defineVec(env, mujocoOptions(given));
  assertMuJoCoCan(definition.spec);
}

function mujocoOptions(given: NamedOptions): NamedOptions {
  const {
    adapter: _,
    threads: __,
    tuned: ___,
    monitor: ____,
    arithmetic: _____,
    ...others
  } = given as { [name: string]: unknown };
  return { ...others, ...FLOAT64 } as unknown as NamedOptions;
}

/**
 * Makes an environment whose physics is MuJoCo's WebAssembly in float64, a model and data for each world; actions,
 * observations, rewards and draws are made by the same kernels as elsewhere, in float64. Worlds that have ended wait
 * (`autoreset: "disabled"`). To play, not to train.
 * @throws CorralError not-under-mujoco, mujoco-memory; what `makeVec` throws
 */
export async function makeMuJoCoVec(env: string | Task, given: NamedOptions): Promise<MuJoCoVec> {
  const { settings, definition } = await defineVec(env, mujocoOptions(given));
  const { spec } = definition;
  assertMuJoCoCan(spec);
  const { vec, model } = settings;
  const bytes = await oracleBytes(model);
  const batchOf = (numEnvs: number) => {
    const batch = definition.batch(numEnvs);
    return {
      ...batch,
      host: [...(batch.host ?? []), { name: "MuJoCo's worlds", bytes: bytes * numEnvs }],
      arenas: [...batch.arenas, outsideArena(spec)],
      kernels: [
        ...batch.kernels.filter(({ name }) => name !== "step"),
        { name: "begin", trace: (arenas: Layouts, form: TraceForm) => traceBegin(spec, arenas, form) },
        ...(drives(spec)
          ? [{ name: "drive", trace: (arenas: Layouts, form: TraceForm) => traceDrive(spec, arenas, form) }]
          : []),
        { name: "step", trace: (arenas: Layouts, form: TraceForm) => traceEnd(spec, arenas, form) },
      ],
    };
  };
  const batch = (await placeBatch(batchOf, vec.numEnvs, vec)) as CpuBatch;
  const worlds: MuJoCoWorld[] = [];
  const close = async () => {
    for (const world of worlds.splice(0)) world.delete();
    await batch.close();
  };
  try {
    if (!(batch instanceof CpuBatch))
      throw new CorralError("bad-option", "MuJoCo's worlds are beside JavaScript's only.");
    const { numEnvs } = batch.planned.plan;
    // forces that are bounded by speed have bounds where the MJCF has none
    const bounded = spec.shape.actuators.driven.filter(({ most }) => most.peak !== undefined);
    const forceLimited = bounded.map(({ actuator }) => actuator);
    for (let w = 0; w < numEnvs; w++) worlds.push(await MuJoCoWorld.create(model, forceLimited));
    const physics = new MuJoCoPhysics(spec, batch, worlds);
    batch.before.set("step", () => {
      batch.run("begin");
      physics.step();
    });
    await writeFirstStates(batch, vec.seed ?? 0, worldIdsOf(vec, numEnvs));
    const params = new TaskParams(batch, spec.shape);
    const initial = Object.fromEntries(spec.shape.params.map((p) => [p.name, p.initial]));
    params.check(vec.params ?? {});
    await params.set({ ...initial, ...vec.params });
    const again = () =>
      Promise.reject(new CorralError("not-under-mujoco", "worlds of MuJoCo are not forked; make others."));
    return { env: new VectorEnv(spec, batch, settings, params, undefined, again), [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}
