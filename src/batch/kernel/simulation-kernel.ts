// the kernels of a simulation: read a world's record, step or evaluate, write it back
import { each, loop, param, stage, variable, when, type Variable } from "../../trace/control.ts";
import { trace, type Trace, type TraceForm } from "../../trace/graph.ts";
import { add, and, bor, eq, gt, max, select, sub, toF32, toU32, type Bool, type Int } from "../../trace/scalar.ts";
import { fieldSize, type Capacities, type FieldName } from "../../model/fields.ts";
import { remembersEnergy } from "../../model/energy.ts";
import type { Model } from "../../model/model.ts";
import { constraintBound, geomPairs } from "../../model/pairs.ts";
import type { ArenaLayout } from "../../memory/layout.ts";
import { keepConstraints } from "../../physics/constraint/outputs.ts";
import { nefc } from "../../physics/constraint/nefc.ts";
import type { Evaluation } from "../../physics/forward.ts";
import { JointInertia, jointInertia } from "../../physics/smooth/inertia.ts";
import { rnePost } from "../../physics/smooth/rne_post.ts";
import { keepEnergy } from "../../physics/sensor/energy.ts";
import { sensor } from "../../physics/sensor/sensor.ts";
import { subtreeVelocity } from "../../physics/sensor/subtree.ts";
import { APPLIED, RecordIO, stateFields, type AppliedForce } from "./record-io.ts";
import { badFieldBit, badStateBit, Status } from "../../physics/status.ts";
import { runStage } from "../../physics/stages.ts";
import { step } from "../../physics/step.ts";
import { tendonJacobian } from "../../physics/tendon/tendon.ts";
import { actuatorMoment } from "../../physics/actuator/transmission.ts";
import { worldData, modelView, type WorldData, type ModelView, type PerWorld } from "../../physics/view.ts";

/** What a kernel is specialised to. */
export interface KernelSpec {
  readonly model: Model;
  /** Contacts that a world may have at once. */
  readonly nconmax: number;
  /** Whether the batch keeps qfrc_applied and xfrc_applied. */
  readonly applied: boolean;
  /** Those of them that are written anew before each step instead. */
  readonly forces?: readonly AppliedForce[];
  /** Derived fields that later code or the host reads: as MuJoCo's data holds them after a step. */
  readonly outputs: readonly FieldName[];
  /** Double precision intrinsics for the float64 reference. */
  readonly exact?: boolean;
  readonly state: ArenaLayout;
  /** Numbers of the model that each world has its own of. */
  readonly perWorld?: PerWorld;
  /** Parameters in slot order, the same for all kernels of a batch. */
  readonly params: readonly { readonly name: string; readonly type: "f32" | "i32" | "u32" }[];
}

const MATRICES = ["crb", "M", "qLD", "qLDiagInv"] as const;
/** Derived fields that need contact forces propagated to bodies. */
const POST_CONSTRAINT: ReadonlySet<FieldName> = new Set<FieldName>(["cacc", "cfrc_int", "cfrc_ext"]);

/** Whether a world may have more contacts than it has room for. */
export const mayOverflow = ({ model, nconmax }: Pick<KernelSpec, "model" | "nconmax">): boolean =>
  nconmax < constraintBound(model).nconmax;

/** Places of contacts and rows that a world has room for. */
export function capacitiesOf({ model, nconmax }: Pick<KernelSpec, "model" | "nconmax">): Required<Capacities> {
  const bound = constraintBound(model);
  const places = Math.min(nconmax, bound.nconmax);
  const most = geomPairs(model).kinds.reduce((rows, p) => Math.max(rows, p.nrow), 0);
  return { nconmax: places, njmax: bound.ne + bound.nf + bound.nl + places * most };
}

/** One world between load and store, while a kernel is traced. */
export class WorldKernel {
  readonly m: ModelView;
  readonly d: WorldData;
  readonly state: RecordIO;
  /** Bits of the status word so far (u32). */
  readonly status: Variable;
  /** Contacts that an evaluation found, at most so far (i32); undefined if nconmax is room for all. */
  readonly needed: Variable | undefined;
  readonly #spec: KernelSpec;

  constructor(spec: KernelSpec) {
    this.#spec = spec;
    this.m = modelView(spec.model, spec.perWorld);
    this.d = worldData(
      spec.model,
      spec.applied ? [] : APPLIED.filter((name) => !spec.forces?.includes(name as AppliedForce)),
      capacitiesOf(spec),
      spec.perWorld,
    );
    this.state = new RecordIO(spec.state);
    this.status = variable("status", 0, "u32");
    if (mayOverflow(spec)) this.needed = variable("needed", 0, "i32");
  }

  /** Reads the state fields. */
  load(): void {
    stage("load", () => {
      for (const name of stateFields(this.#spec.model, this.#spec.applied)) this.state.loadInto(this.d[name]);
    });
  }

  /** Writes the state fields. */
  store(): void {
    stage("store", () => {
      for (const name of stateFields(this.#spec.model, this.#spec.applied)) this.state.storeFrom(this.d[name]);
    });
  }

  /** Controls of this step; values that are not finite, or beyond mjMAXVAL, set BAD_CTRL and act as zeros, as in MuJoCo (mj_checkCtrl). */
  setCtrl(values: readonly Int[]): void {
    const bad = badStateBit(values, Status.BAD_CTRL);
    this.flag(bad);
    const ok = eq(bad, 0);
    values.forEach((x, i) => this.d.ctrl.set(i, select(ok, x, 0)));
  }

  flag(bits: Int): void {
    if (bits !== 0) this.status.set(bor(this.status.get(), bits));
  }

  /** `count` physics steps; with `moves` false one evaluation that leaves the state. `before`: what each begins with. */
  step(count: Int, moves: Bool = true, before?: (i: Int) => void): void {
    const last = sub(count, 1);
    loop(
      count,
      (i) => {
        before?.(i);
        step(this.m, this.d, {
          nconmax: this.#spec.nconmax,
          moves,
          ...(this.#wants("sensordata") ? { observe: (e) => this.#observe(e, eq(i, last)) } : {}),
          after: (e, isLast) => this.#keep(e, and(isLast, eq(i, last))),
        });
      },
      { label: "steps" },
    );
    this.check();
  }

  /** Flags a state that is not finite or beyond mjMAXVAL. */
  check(): void {
    stage("check", () => this.#check());
  }

  #wants(name: FieldName): boolean {
    return this.#spec.outputs.includes(name);
  }

  #observe(e: Evaluation, now: Bool): void {
    runStage("sensor", () => when(now, () => sensor(this.m, this.d, e.forces)));
  }

  /** What is read after the last evaluation: what costs little is overwritten by each. */
  #keep(e: Evaluation, isLast: Bool): void {
    const { d } = this;
    if (remembersEnergy(this.#spec.model)) runStage("sensor", () => keepEnergy(this.m, d));
    if (this.#wants("ncon")) d.ncon.set(0, toF32(e.slots.ncon));
    keepConstraints(this.m, d, e, this.#spec.outputs);
    if (this.#wants("qfrc_inverse")) {
      const { qfrc_smooth, qfrc_bias, qfrc_passive } = d;
      each(this.m.nv, (i) => d.qfrc_inverse.set(i, add(sub(qfrc_smooth.at(i), qfrc_passive.at(i)), qfrc_bias.at(i))));
    }
    if (this.#wants("nefc")) d.nefc.set(0, toF32(nefc(this.m, e)));
    if (this.#wants("solver_niter")) d.solver_niter.set(0, toF32(e.solution.niter));
    // articulated bodies need no M: made if it is read
    if (!(e.inertia instanceof JointInertia) && MATRICES.some((name) => this.#wants(name)))
      jointInertia(this.m, d, runStage);
    if (this.#wants("ten_J")) tendonJacobian(this.m, d);
    if (this.#wants("actuator_moment")) actuatorMoment(this.m, d);
    if (this.#wants("subtree_linvel") || this.#wants("subtree_angmom")) subtreeVelocity(this.m, d);
    if (this.#spec.outputs.some((name) => POST_CONSTRAINT.has(name))) {
      runStage("rne_post", () => when(isLast, () => rnePost(this.m, d, e.forces)));
    }
    if (e.slots.overflow !== false) {
      this.flag(select(e.slots.overflow, Status.CONTACT_OVERFLOW, 0, "u32"));
      this.needed?.set(max(this.needed.get(), e.slots.ncon));
    }
  }

  /** Flags state that is not finite or beyond mjMAXVAL (mj_checkPos, mj_checkVel, mj_checkAcc). */
  #check(): void {
    this.flag(badFieldBit(this.d.qpos, Status.BAD_QPOS));
    this.flag(badFieldBit(this.d.qvel, Status.BAD_QVEL));
    this.flag(badFieldBit(this.d.qacc, Status.BAD_QACC));
  }
}

/** Arenas of a plain simulation beside its state. */
export interface SimArenas {
  readonly control: ArenaLayout | undefined;
  readonly derived: ArenaLayout;
}

/**
 * The kernel of a simulation: `nstep` physics steps (mj_step), or if `nstep` is 0 one evaluation of the derived
 * fields (mj_forward). One kernel does both, since compiling takes longer than anything else.
 */
export function traceSimulation(spec: KernelSpec, arenas: SimArenas, form: TraceForm): Trace {
  const { exact = false, params } = spec;
  return trace(
    () => {
      const w = new WorldKernel(spec);
      w.load();
      if (arenas.control) w.setCtrl(new RecordIO(arenas.control).load("ctrl"));
      const nstep = param("nstep", "i32");
      w.step(max(nstep, 1), gt(nstep, 0));
      w.store();
      stage("outputs", () => {
        const io = new RecordIO(arenas.derived);
        for (const name of spec.outputs)
          if (fieldSize(spec.model, name, capacitiesOf(spec)) > 0) io.storeFrom(w.d[name]);
        io.store("status", w.needed ? [w.status.get(), toU32(w.needed.get())] : [w.status.get()], "u32");
      });
    },
    { ...form, exact, params },
  );
}
