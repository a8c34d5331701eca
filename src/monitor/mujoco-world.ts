// one world in MuJoCo, float64: state in, one step, results out
import { RandomStream, streams } from "../core/rng.ts";
import { mjMAXVAL, mjtDisableBit, mjtGeom, mjtIntegrator } from "../model/enums.ts";
import { remembersEnergy } from "../model/energy.ts";
import { withOptions, type Model } from "../model/model.ts";
import type { ModelChange } from "../model/model-data.ts";
import { geomPairs, meetsInFaces } from "../model/pairs.ts";
import { listen } from "../model/mujoco.ts";
import { createOracle, type Oracle } from "../model/oracle.ts";
import { besideBodies } from "../physics/same-frames.ts";

/** What a step depends on and leaves (mjSTATE_INTEGRATION, with what this release does not change left out). */
export const WORLD_STATE = [
  "qpos",
  "qvel",
  "act",
  "qacc_warmstart",
  "mocap_pos",
  "mocap_quat",
  "eq_active",
  "history",
] as const;

/** State of one world and the controls of its next step. */
export interface WorldState {
  readonly time: number;
  readonly qpos: Float64Array;
  readonly qvel: Float64Array;
  readonly act: Float64Array;
  readonly qacc_warmstart: Float64Array;
  readonly mocap_pos: Float64Array;
  readonly mocap_quat: Float64Array;
  readonly eq_active: Float64Array;
  readonly history: Float64Array;
  /** Kinetic energy of the evaluation before and whether there was one; empty if no sensor remembers it. */
  readonly energy_vel: Float64Array;
  readonly ctrl: Float64Array;
}

/** The state whose fields `read` gives by name. */
export function worldState(read: (name: string) => Float64Array, ctrl: Float64Array): WorldState {
  return {
    time: read("time")[0] ?? 0,
    qpos: read("qpos"),
    qvel: read("qvel"),
    act: read("act"),
    qacc_warmstart: read("qacc_warmstart"),
    mocap_pos: read("mocap_pos"),
    mocap_quat: read("mocap_quat"),
    eq_active: read("eq_active"),
    history: read("history"),
    energy_vel: read("energy_vel"),
    ctrl,
  };
}

/** What mjData holds after a step, and is compared. */
export interface StepResult {
  readonly qpos: Float64Array;
  readonly qvel: Float64Array;
  readonly act: Float64Array;
  readonly qacc: Float64Array;
  readonly sensordata: Float64Array;
  readonly ncon: number;
  readonly nefc: number;
  /** Iterations of the solver, of the island that took most. */
  readonly niter: number;
  /** The largest acceleration that smooth forces or constraints want (qacc_smooth, efc_aref): what cancels in qacc. */
  readonly wanted: number;
}

/** Sizes of geoms that grow: a mesh's are those of its vertices. */
const GROWN: Readonly<Record<number, number>> = { [mjtGeom.BOX]: 3, [mjtGeom.CYLINDER]: 2 };

const largest = (values: Float64Array): number => values.reduce((most, x) => Math.max(most, Math.abs(x)), 0);

/** MuJoCo's side of a comparison. `delete()` it. */
export class MuJoCoWorld {
  readonly oracle: Oracle;
  /** Geoms whose faces may meet: with a margin above zero MuJoCo makes their contacts by another rule. */
  readonly #facing: ReadonlySet<number>;
  readonly #remembers: boolean;

  private constructor(oracle: Oracle, model: Model) {
    this.oracle = oracle;
    const geoms = geomPairs(model)
      .filter((pair) => meetsInFaces(model, pair))
      .flatMap(({ geom1, geom2 }) => [geom1, geom2]);
    this.#facing = new Set(geoms);
    this.#remembers = remembersEnergy(model);
  }

  /** MuJoCo with its automatic reset off: a world that diverges must be seen, not started over. */
  /** `forceLimited`: actuators that get a range of their forces, whatever it is. */
  static async create(model: Model, forceLimited: readonly number[] = []): Promise<MuJoCoWorld> {
    const disableflags = model.opt.disableflags | mjtDisableBit.AUTORESET;
    return new MuJoCoWorld(await createOracle(withOptions(model, { disableflags }), forceLimited), model);
  }

  /** Numbers of the model that go with its state. */
  setNumbers(numbers: readonly Omit<ModelChange, "derived">[]): void {
    for (const { field, index, value } of numbers)
      (this.oracle.model as unknown as Record<string, Float64Array>)[field][index] = value;
  }

  load(state: WorldState): void {
    const { data } = this.oracle;
    data.time = state.time;
    for (const name of WORLD_STATE) if (state[name].length > 0) this.oracle.write(name, state[name]);
    if (state.ctrl.length > 0) this.oracle.write("ctrl", state.ctrl);
    this.loadEnergy(state.energy_vel);
  }

  /** What a world remembers of its energy; nothing if `kept` is empty. */
  loadEnergy(kept: ArrayLike<number>): void {
    if (kept.length === 0) return;
    const { data } = this.oracle;
    data.energy[1] = kept[0];
    data.flg_energyvel = kept[1] !== 0;
  }

  /** Kinetic energy of the last evaluation, and whether there was one; empty if no sensor remembers it. */
  energy(): number[] {
    const { data, read } = this.oracle;
    return this.#remembers ? [read("energy")[1], Number(data.flg_energyvel)] : [];
  }

  /** The state after a step, with the controls it was made with. */
  state(): WorldState {
    const { data, read } = this.oracle;
    const fields = Object.fromEntries([...WORLD_STATE, "ctrl"].map((name) => [name, read(name)]));
    return { time: data.time, ...fields, energy_vel: Float64Array.from(this.energy()) } as WorldState;
  }

  /** One step (mj_step) from a state. */
  step(from: WorldState): StepResult {
    const { mujoco, model, data } = this.oracle;
    this.load(from);
    // what MuJoCo has to say of a bad state is said by `diverged`
    listen(() => mujoco.mj_step(model, data));
    return this.#result();
  }

  /**
   * The same, with M qacc for the forces that velocities are integrated from: these sum to that but for what the solver
   * leaves and what rounds, which is much where they cancel. RK4 and discrete integrate qacc anyway.
   */
  stepByAcceleration(from: WorldState): StepResult {
    const { mujoco, model, data, read, write } = this.oracle;
    const integratesQacc: readonly number[] = [mjtIntegrator.RK4, mjtIntegrator.DISCRETE];
    if (integratesQacc.includes(model.opt.integrator)) return this.step(from);
    this.load(from);
    const total = new mujoco.DoubleBuffer(model.nv);
    try {
      listen(() => {
        mujoco.mj_forward(model, data);
        mujoco.mj_mulM(model, data, total, Array.from(read("qacc")));
        const smooth = read("qfrc_smooth");
        const sum = total.GetView() as Float64Array;
        write(
          "qfrc_constraint",
          smooth.map((f, i) => sum[i] - f),
        );
        if (model.opt.integrator === mjtIntegrator.EULER) mujoco.mj_Euler(model, data);
        else mujoco.mj_implicit(model, data);
      });
    } finally {
      total.delete();
    }
    return this.#result();
  }

  #result(): StepResult {
    const { data, read } = this.oracle;
    return {
      qpos: read("qpos"),
      qvel: read("qvel"),
      act: read("act"),
      qacc: read("qacc"),
      sensordata: read("sensordata"),
      ncon: data.ncon,
      nefc: data.nefc,
      niter: Math.max(...(data.solver_niter as Int32Array)),
      wanted: Math.max(
        largest(read("qacc_smooth")),
        data.nefc > 0 ? largest(read("efc_aref").subarray(0, data.nefc)) : 0,
      ),
    };
  }

  /**
   * Runs a function while margins of contacts and limits are larger by `change` (m, rad): all of them, but where it is above
   * zero those of geoms whose faces may meet. These are larger themselves, boxes and cylinders by half, so that two come
   * nearer by `change`.
   */
  withMargins<T>(change: number, call: () => T): T {
    const { model } = this.oracle;
    const margins = ["geom_margin", "pair_margin", "body_margin", "jnt_margin", "tendon_margin"] as const;
    const names = [...margins, "geom_size", "geom_rbound", "geom_aabb"] as const;
    const before = names.map((name) => Float64Array.from(model[name] as Float64Array));
    const [geom1, geom2] = [model.pair_geom1 as Int32Array, model.pair_geom2 as Int32Array];
    const keeps = (name: string, i: number) =>
      change > 0 &&
      ((name === "geom_margin" && this.#facing.has(i)) ||
        (name === "pair_margin" && this.#facing.has(geom1[i]) && this.#facing.has(geom2[i])));
    try {
      for (const name of margins) {
        const view = model[name] as Float64Array;
        for (let i = 0; i < view.length; i++) if (!keeps(name, i)) view[i] += change;
      }
      if (change > 0) this.#grow(change / 2);
      return call();
    } finally {
      names.forEach((name, i) => (model[name] as Float64Array).set(before[i]));
    }
  }

  /** Runs a function while every geom lies by up to `change` (m, rad) elsewhere on its body; another way for each `seed`. */
  withGeomsMoved<T>(seed: number, change: number, call: () => T): T {
    const { model } = this.oracle;
    const names = ["geom_pos", "geom_quat", "geom_sameframe"] as const;
    const view = (name: (typeof names)[number]) => model[name] as Float64Array | Uint8Array;
    const before = names.map((name) => view(name).slice());
    const random = new RandomStream(seed, 0, 0, streams.user + 4);
    let next = 0;
    const moved = (x: number) => x + change * (2 * random.uniform(next++) - 1);
    // from where MuJoCo takes them to be, up to a micrometre from where their own frames are
    const { geom_pos, geom_quat } = besideBodies(model);
    try {
      view("geom_pos").set(geom_pos.map(moved));
      view("geom_quat").set(geom_quat.map(moved));
      view("geom_sameframe").fill(0);
      return call();
    } finally {
      names.forEach((name, i) => view(name).set(before[i]));
    }
  }

  /** Boxes and cylinders whose faces may meet, and what bounds them. */
  #grow(by: number): void {
    const { model } = this.oracle;
    const size = model.geom_size as Float64Array;
    const aabb = model.geom_aabb as Float64Array;
    const rbound = model.geom_rbound as Float64Array;
    for (const geom of this.#facing) {
      const sizes = GROWN[(model.geom_type as Int32Array)[geom]] ?? 0;
      if (sizes === 0) continue;
      for (let k = 0; k < sizes; k++) size[3 * geom + k] += by;
      for (let k = 0; k < 3; k++) aabb[6 * geom + 3 + k] += by;
      rbound[geom] += 2 * by;
    }
  }

  delete(): void {
    this.oracle.delete();
  }
}

/** What is wrong with a result by MuJoCo's own bounds (mj_checkPos, mj_checkVel, mj_checkAcc); undefined: nothing. */
export function diverged(result: StepResult): "qpos" | "qvel" | "qacc" | undefined {
  const bad = (values: Float64Array) => values.some((x) => !(Math.abs(x) <= mjMAXVAL));
  if (bad(result.qpos)) return "qpos";
  if (bad(result.qvel)) return "qvel";
  if (bad(result.qacc)) return "qacc";
  return undefined;
}
