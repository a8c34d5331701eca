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
import { MuJoCoWorld, WORLD_STATE, worldState } from "../monitor/mujoco-world.ts";
import { listen } from "../model/mujoco.ts";
import { layoutsOf } from "../batch/batch.ts";
import type { EnvSpec } from "./kernel/env-kernel.ts";
import type { Layouts } from "./kernel/env-world.ts";
import { OUTSIDE, outsideArena, outsideOutputs, traceBegin, traceEnd } from "./kernel/outside-kernels.ts";
import { PER_WORLD } from "./kernel/layout.ts";
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

/** MuJoCo's worlds beside those of a batch, stepped between its kernels. */
class MuJoCoPhysics {
  readonly #spec: EnvSpec;
  readonly #batch: CpuBatch;
  readonly #worlds: readonly MuJoCoWorld[];
  readonly #outputs: readonly FieldName[];
  /** Numbers of its own that each world was given last. */
  readonly #given: (readonly number[] | undefined)[];

  constructor(spec: EnvSpec, batch: CpuBatch, worlds: readonly MuJoCoWorld[]) {
    this.#spec = spec;
    this.#batch = batch;
    this.#worlds = worlds;
    this.#outputs = outsideOutputs(spec);
    this.#given = worlds.map(() => undefined);
  }

  /** The physics of a control step in each world that moves. */
  step(): void {
    const { plan } = this.#batch.planned;
    const layouts = layoutsOf(plan);
    for (const shard of plan.shards) {
      const state = this.#batch.numbers("state", shard.index);
      const outside = this.#batch.numbers(OUTSIDE, shard.index);
      for (let local = 0; local < shard.worlds; local++) {
        const at = { shard, local };
        this.#stepWorld(
          shard.firstWorld + local,
          new Record(layouts.state, state, at),
          new Record(layouts[OUTSIDE], outside, at),
        );
      }
    }
  }

  #stepWorld(index: number, state: Record, outside: Record): void {
    if (outside.read("moves")[0] === 0) return;
    const world = this.#worlds[index];
    this.#become(index, state);
    const { mujoco, model, data, write, read } = world.oracle;
    for (const name of ["qfrc_applied", "xfrc_applied"] as const) write(name, outside.read(name));
    world.load(worldState((name) => state.read(name), outside.read("ctrl")));
    const { nstep } = this.#batch.params();
    listen(() => {
      for (let k = 0; k < nstep; k++) mujoco.mj_step(model, data);
    });
    const after = world.state();
    state.write("time", [after.time]);
    for (const name of [...WORLD_STATE, "energy_vel"] as const) state.write(name, after[name]);
    if (this.#outputs.some((name) => (POST as readonly string[]).includes(name)))
      mujoco.mj_rnePostConstraint(model, data);
    if (this.#outputs.some((name) => name.startsWith("subtree_lin") || name.startsWith("subtree_ang")))
      mujoco.mj_subtreeVel(model, data);
    for (const name of this.#outputs)
      outside.write(name, name === "ncon" || name === "nefc" ? [data[name]] : read(name));
  }

  /** Gives MuJoCo's model the numbers that the world has drawn. */
  #become(index: number, state: Record): void {
    const own: readonly Omit<ModelChange, "value">[] = ownNumbers(this.#spec.shape);
    if (own.length === 0) return;
    const values = Array.from(state.read(PER_WORLD));
    const before = this.#given[index];
    if (before && values.every((x, i) => x === before[i])) return;
    this.#given[index] = values;
    const changes = own.map((number, i) => ({ ...number, value: values[i] }));
    const { mujoco, model, data } = this.#worlds[index].oracle;
    writeChanges(mujoco, model, data, changes);
    for (const { field, index: k, value } of changes) if (field === "gravity") model.opt.gravity[k] = value;
  }

  delete(): void {
    for (const world of this.#worlds) world.delete();
  }
}

/** The numbers of one world in an arena. */
class Record {
  readonly #layout: ArenaLayout;
  readonly #numbers: Float64Array;
  readonly #at: { readonly shard: Shard; readonly local: number };

  constructor(layout: ArenaLayout, numbers: Float64Array, at: { readonly shard: Shard; readonly local: number }) {
    this.#layout = layout;
    this.#numbers = numbers;
    this.#at = at;
  }

  #places(name: string): number[] {
    const field = this.#layout.fields.find((f) => f.name === name);
    const { shard, local } = this.#at;
    const place = (e: number) => worldIndex(this.#layout, field!, shard.paddedWorlds, local, e);
    return Array.from({ length: field?.perWorld ?? 0 }, (_, e) => place(e));
  }

  /** No numbers of a field that is not there. */
  read(name: string): Float64Array {
    return Float64Array.from(this.#places(name), (at) => this.#numbers[at]);
  }

  write(name: string, values: ArrayLike<number>): void {
    this.#places(name).forEach((at, e) => {
      this.#numbers[at] = values[e];
    });
  }
}

/** An environment on MuJoCo's physics; disposing of it closes both. */
export interface MuJoCoVec extends AsyncDisposable {
  readonly env: VectorEnv;
}

/** @throws CorralError not-under-mujoco */
function assertMuJoCoCan(spec: EnvSpec): void {
  const { task, shape, model } = spec;
  const refuse = (text: string) =>
    new CorralError("not-under-mujoco", `${task.id} cannot be stepped by MuJoCo: ${text}.`, { id: task.id });
  if (shape.actuators.driven.length > 0)
    throw refuse("its `actuators` act in each physics step, which MuJoCo does not know");
  if (model.speedLimits?.length) throw refuse("its `limits` hold speeds of joints, for which MuJoCo has no limit");
  const others = outsideOutputs(spec).filter((name) => OTHERWISE.test(name));
  if (others.length > 0) throw refuse(`it reads ${listed(others)}, which MuJoCo's data has in another form`);
}

/**
 * Makes an environment whose physics is MuJoCo's WebAssembly in float64, a model and data for each world; actions,
 * observations, rewards and draws are made by the same kernels as elsewhere, in float64. Worlds that have ended wait
 * (`autoreset: "disabled"`). To play, not to train.
 * @throws CorralError not-under-mujoco, mujoco-memory; what `makeVec` throws
 */
export async function makeMuJoCoVec(env: string | Task, given: NamedOptions): Promise<MuJoCoVec> {
  const { adapter: _, threads: __, tuned: ___, monitor: ____, ...others } = given as { [name: string]: unknown };
  const options = { ...others, device: "cpu-f64", autoreset: "disabled", recorder: false } as unknown as NamedOptions;
  const { settings, definition } = await defineVec(env, options);
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
        { name: "begin", trace: (arenas: Layouts, unroll: boolean) => traceBegin(spec, arenas, unroll) },
        { name: "step", trace: (arenas: Layouts, unroll: boolean) => traceEnd(spec, arenas, unroll) },
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
    for (let w = 0; w < numEnvs; w++) worlds.push(await MuJoCoWorld.create(model));
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
