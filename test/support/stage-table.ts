// the stages of the pipeline one by one, each with what it reads and writes
import { array, loop } from "../../src/trace/control.ts";
import { add, mul, select, toI32, type Int, type Scalar } from "../../src/trace/scalar.ts";
import type { FieldName } from "../../src/model/fields.ts";
import { mjtConstraint, mjtEq, mjtJoint } from "../../src/model/enums.ts";
import type { Model } from "../../src/model/model.ts";
import { constraintBound, geomPairs } from "../../src/model/pairs.ts";
import { acceleration } from "../../src/physics/smooth/acceleration.ts";
import { actuation } from "../../src/physics/actuator/actuation.ts";
import { camlight } from "../../src/physics/smooth/camlight.ts";
import { collision } from "../../src/physics/collision/collision.ts";
import type { ContactSlots } from "../../src/physics/collision/contact-slots.ts";
import { comPos } from "../../src/physics/smooth/com_pos.ts";
import { comVel } from "../../src/physics/smooth/com_vel.ts";
import type { ConstraintForces, Contacts } from "../../src/physics/constraint/constraint-forces.ts";
import type { ContactRows } from "../../src/physics/constraint/contact-rows.ts";
import { nefc } from "../../src/physics/constraint/nefc.ts";
import { crb } from "../../src/physics/smooth/crb.ts";
import { factorM } from "../../src/physics/smooth/factor_m.ts";
import { forward, type Evaluation } from "../../src/physics/forward.ts";
import { JointInertia, jointInertia } from "../../src/physics/smooth/inertia.ts";
import { ageHistory, history } from "../../src/physics/history.ts";
import { integrate } from "../../src/physics/integrator/integrate.ts";
import { kinematics } from "../../src/physics/smooth/kinematics.ts";
import { passive } from "../../src/physics/smooth/passive.ts";
import { SymMatrix, treeSparsity } from "../../src/physics/smooth/sparsity.ts";
import { rne } from "../../src/physics/smooth/rne.ts";
import { rnePost } from "../../src/physics/smooth/rne_post.ts";
import { constraintRows, makeConstraint } from "../../src/physics/constraint/make_constraint.ts";
import { listRows, type Row } from "../../src/physics/constraint/rows.ts";
import { sample, sensor } from "../../src/physics/sensor/sensor.ts";
import { solve } from "../../src/physics/solver/solver.ts";
import { step } from "../../src/physics/step.ts";
import { tendon, tendonJacobian } from "../../src/physics/tendon/tendon.ts";
import { actuatorMoment, moment, transmission } from "../../src/physics/actuator/transmission.ts";
import type { WorldData, ModelView } from "../../src/physics/view.ts";
import { STAGES, type StageName } from "../../src/physics/stages.ts";
import { STATE as GIVEN, type Truth } from "./fixture.ts";
import { outputList, type Outputs, type Stage } from "./stages.ts";

export const STATE: readonly FieldName[] = [...GIVEN, "eq_active"];

const M = (m: ModelView, d: WorldData) => new SymMatrix(treeSparsity(m.model), d.M);
const inertia = (m: ModelView, d: WorldData) =>
  new JointInertia(m, d, M(m, d), new SymMatrix(treeSparsity(m.model), d.qLD));
const contactsOf = (m: ModelView, d: WorldData) =>
  collision(m, d, geomPairs(m.model), constraintBound(m.model).nconmax);

/** The active contacts: how many, and of each its pair and the numbers that `each` names. */
function listContacts(
  slots: ContactSlots,
  each: Record<string, { length: number; of: (slot: Int, index: Int) => readonly Scalar[] }>,
): Outputs {
  const pairList = outputList("out_pair", slots.nconmax);
  const pairOf = slots.table("out_pair_of", (place) => place, "i32");
  const lists = Object.entries(each).map(([name, e]) => ({
    name,
    ...e,
    list: outputList(`out_${name}`, e.length * slots.nconmax),
  }));
  slots.each((index, slot) => {
    pairList.set(index, pairOf(slot));
    for (const { length, of, list } of lists)
      of(slot, index).forEach((x, k) => list.set(add(mul(index, length), k), x));
  });
  const out: Record<string, readonly Scalar[]> = { count: [slots.count], ncon: [slots.ncon], pair: pairList.all() };
  for (const { name, list } of lists) out[name] = list.all();
  return out;
}

function rowOutputs(m: ModelView, rows: readonly Row[]): Outputs {
  const dense = (row: Row) => Array.from({ length: m.nv }, (_, i) => row.jac.find((e) => e.dof === i)?.value ?? 0);
  return {
    row_type: rows.map((r) => r.type),
    row_id: rows.map((r) => r.id),
    row_margin: rows.map((r) => r.margin),
    row_active: rows.map((r) => select(r.active, 1, 0, "f32")),
    row_D: rows.map((r) => r.D),
    row_R: rows.map((r) => r.R),
    row_aref: rows.map((r) => r.aref),
    row_pos: rows.map((r) => r.pos),
    row_J: rows.flatMap(dense),
  };
}

function listBlocks(m: ModelView, d: WorldData, rows: ContactRows): Outputs {
  const { dim, slots } = rows;
  const vel = (slot: Int) =>
    rows.jacobian(slot).map((J) => J.reduce<Scalar>((s, x, i) => add(s, mul(x, d.qvel.at(i))), 0));
  return listContacts(slots, {
    dist: { length: 1, of: (s) => [slots.dist(s)] },
    D: { length: 1, of: (s) => [rows.stiffness(s).D] },
    aref: { length: dim, of: (s) => rows.aref(s, rows.stiffness(s).impedance, vel(s), rows.stiffness(s).D) },
    J: { length: dim * m.nv, of: (s) => rows.jacobian(s).flat() },
    friction: { length: dim - 1, of: (s) => rows.cone(s).friction },
    tangentD: { length: dim - 1, of: (s) => rows.cone(s).tangentD },
  });
}

/** MuJoCo's contacts with their forces, as later stages see ours. */
const CONTACT_WIDTH = 23;
const givenContacts = (model: Model) => ({ contacts: 1 + CONTACT_WIDTH * constraintBound(model).nconmax });

/** The contacts of a state in the form that `givenContacts` describes. */
export function packContacts(model: Model, truth: Truth): Float64Array {
  const out = new Float64Array(givenContacts(model).contacts);
  const list = truth.contacts.filter((c) => c.exclude <= 1);
  out[0] = list.length;
  list.forEach((c, i) => {
    const bodies = c.geom.map((g) => model.geom_bodyid[g]);
    out.set([c.dist, ...c.pos, ...c.frame, ...c.force, ...c.geom, ...bodies], 1 + CONTACT_WIDTH * i);
  });
  return out;
}

function contactsFrom(m: ModelView, given: readonly Scalar[]): Contacts {
  const list = array("given", given.length);
  given.forEach((x, i) => list.set(i, x));
  return {
    each(body) {
      if (constraintBound(m.model).nconmax === 0) return;
      loop(toI32(given[0]), (i) => {
        const at = (k: number) => list.get(add(mul(i, CONTACT_WIDTH), 1 + k));
        const run = (k: number, n: number) => Array.from({ length: n }, (_, j) => at(k + j)) as never;
        const id = (k: number) => toI32(at(k));
        body({
          dist: at(0),
          pos: run(1, 3),
          frame: run(4, 9),
          force: run(13, 6),
          geom1: id(19),
          geom2: id(20),
          body1: id(21),
          body2: id(22),
        });
      });
    },
  };
}

/** What the forces of equality constraints, of the two ends of limits of joints and tendons, and of tendons' friction take. */
const givenForces = (model: Model) => {
  const { ne } = constraintBound(model);
  return { equality_force: ne, limit_force: 2 * (model.njnt + model.ntendon), friction_force: model.ntendon };
};

/** Rows of an equality constraint, by mjtEq. */
const EQUALITY_ROWS: Readonly<Record<number, number>> = {
  [mjtEq.CONNECT]: 3,
  [mjtEq.WELD]: 6,
  [mjtEq.JOINT]: 1,
  [mjtEq.TENDON]: 1,
};

/** MuJoCo's forces of constraints other than contacts, in the form that `givenForces` describes. */
export function packForces(model: Model, truth: Truth): Record<string, Float64Array> {
  const sizes = givenForces(model);
  // ours have rows for those that are switched off too, without force
  const equality = Array.from(model.eq_type, (type, id) => {
    const forces = truth.rows.filter((r) => r.type === mjtConstraint.EQUALITY && r.id === id).map((r) => r.force);
    return forces.length > 0 ? forces : Array<number>(EQUALITY_ROWS[type]).fill(0);
  }).flat();
  const limits = new Float64Array(sizes.limit_force);
  for (const { type, id, J, force } of truth.rows) {
    if (type !== mjtConstraint.LIMIT_JOINT && type !== mjtConstraint.LIMIT_TENDON) continue;
    const isTendon = type === mjtConstraint.LIMIT_TENDON;
    const upper = isTendon
      ? truth.fields.ten_length[id] > (model.tendon_range[2 * id] + model.tendon_range[2 * id + 1]) / 2
      : model.jnt_type[id] !== mjtJoint.BALL && J[model.jnt_dofadr[id]] < 0;
    limits[2 * (isTendon ? model.njnt + id : id) + (upper ? 1 : 0)] += force;
  }
  const friction = new Float64Array(model.ntendon);
  for (const { type, id, force } of truth.rows) if (type === mjtConstraint.FRICTION_TENDON) friction[id] = force;
  return { equality_force: Float64Array.from(equality), limit_force: limits, friction_force: friction };
}

/** The force of each of our rows: one row may serve both ends of a limit. */
function givenRowForces(m: ModelView, rows: readonly Row[], given: (name: string) => readonly Scalar[]): Scalar[] {
  const limits = given("limit_force");
  let equalities = 0;
  return rows.map((row, r) => {
    if (row.type === mjtConstraint.EQUALITY) return given("equality_force")[equalities++];
    if (row.type === mjtConstraint.FRICTION_TENDON) return given("friction_force")[row.id];
    if (row.kind !== "limit") return 0;
    const own = rows.filter((x) => x.type === row.type && x.id === row.id);
    const first = 2 * (row.type === mjtConstraint.LIMIT_TENDON ? m.njnt + row.id : row.id);
    return own.length === 1 ? add(limits[first], limits[first + 1]) : limits[first + own.indexOf(rows[r])];
  });
}

/** MuJoCo's forces of constraints, as our stages see them. */
function forcesFrom(m: ModelView, d: WorldData, given: (name: string) => readonly Scalar[]): ConstraintForces {
  const rows = listRows(constraintRows(m, d));
  const forces = givenRowForces(m, rows, given);
  return { contacts: contactsFrom(m, given("contacts")), rows, rowForce: (r) => forces[r] };
}

/** How a test runs a stage: what goes in beside its fields, and what comes out. */
type Run = Pick<Stage, "extra" | "run">;

/** Every stage. */
const RUNS: Readonly<Record<StageName, Run>> = {
  kinematics: {
    run: kinematics,
  },
  com_pos: {
    run: comPos,
  },
  camlight: { run: camlight },
  tendon: {
    run(m, d) {
      tendon(m, d);
      tendonJacobian(m, d);
    },
  },
  crb: {
    run: (m, d) => void crb(m, d, treeSparsity(m.model)),
  },
  factor_m: { run: (m, d) => void factorM(d, treeSparsity(m.model)) },
  collision: {
    run(m, d) {
      const slots = contactsOf(m, d);
      return listContacts(slots, {
        dist: { length: 1, of: (s) => [slots.dist(s)] },
        pos: { length: 3, of: slots.pos },
        frame: { length: 9, of: slots.frame },
      });
    },
  },
  transmission: {
    run(m, d) {
      transmission(m, d, contactsOf(m, d));
      actuatorMoment(m, d);
      const dense = Array<Scalar>(m.nactuator * m.nv).fill(0);
      for (let i = 0; i < m.nactuator; i++)
        for (const { dof, coef } of moment(m, d, i)) dense[i * m.nv + dof] = add(dense[i * m.nv + dof], coef);
      return { moment: dense };
    },
  },
  com_vel: { run: comVel },
  passive: {
    run: (m, d) => passive(m, d, contactsOf(m, d)),
  },
  rne: {
    run: rne,
  },
  actuation: {
    run: actuation,
  },
  acceleration: {
    run: (m, d) => acceleration(m, d, inertia(m, d)),
  },
  make_constraint: {
    run(m, d) {
      const { rows, contacts } = makeConstraint(m, d, contactsOf(m, d));
      return { ...rowOutputs(m, listRows(rows)), ...listBlocks(m, d, contacts) };
    },
  },
  solver: {
    run(m, d) {
      const { rows, contacts } = makeConstraint(m, d, contactsOf(m, d));
      const space = inertia(m, d).space(rows, contacts);
      const solution = solve(m, d, { rows, contacts, space, dual: space });
      const force = { length: contacts.dim, of: (s: Int, i: Int) => solution.contactForce(i, s) };
      return {
        ...rowOutputs(m, listRows(rows)),
        row_force: listRows(rows).map((_, r) => solution.rowForce(r)),
        ...listContacts(contacts.slots, contacts.dim ? { force } : {}),
        niter: [solution.niter],
      };
    },
  },
  history: {
    extra: (model) => ({ ...givenContacts(model), ...givenForces(model) }),
    run(m, d, extra) {
      const forces = forcesFrom(m, d, extra);
      const samples = new Map([...sample(m, d, forces, false), ...sample(m, d, forces, true)]);
      ageHistory(m, d, 1);
      history(m, d, samples, -1);
    },
  },
  integrate: { run: (m, d) => integrate(m, d, inertia(m, d)) },
  rne_post: {
    extra: (model) => ({ ...givenContacts(model), ...givenForces(model) }),
    run: (m, d, extra) => rnePost(m, d, forcesFrom(m, d, extra)),
  },
  sensor: {
    extra: (model) => ({ ...givenContacts(model), ...givenForces(model) }),
    run(m, d, extra) {
      sensor(m, d, forcesFrom(m, d, extra));
    },
  },
};

export const stageOf = (name: StageName): Stage => ({ name, ...STAGES[name], ...RUNS[name] });

/** What mj_forward leaves, by the whole pipeline. */
export function forwardStage(writes: readonly FieldName[]): Stage {
  return {
    name: `forward ${writes.join()}`,
    reads: STATE,
    writes,
    run(m, d) {
      const e = forward(m, d, { nconmax: constraintBound(m.model).nconmax });
      // as kernels do if matrices are read
      if (!(e.inertia instanceof JointInertia)) jointInertia(m, d, (_, make) => make());
      rnePost(m, d, e.forces);
      sensor(m, d, e.forces);
      return {
        ncon: [e.slots.ncon],
        nefc: [nefc(m, e)],
        niter: [e.solution.niter],
      };
    },
  };
}

/** One mj_step. */
export const STEP: Stage = {
  name: "step",
  reads: STATE,
  writes: ["time", "qpos", "qvel", "act", "qacc_warmstart", "qacc", "sensordata", "history"],
  run: (m, d) => {
    const keep = (e: Evaluation) => sensor(m, d, e.forces);
    step(m, d, { nconmax: constraintBound(m.model).nconmax, observe: keep });
  },
};
