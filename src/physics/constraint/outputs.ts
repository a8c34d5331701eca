// contacts and constraint rows as arrays, for those who read them: MuJoCo's mjContact and efc_*
import { each, increase, variable, when, type Variable } from "../../trace/control.ts";
import { add, div, gt, max, mul, neg, select, sub, toF32, toI32, type Int, type Scalar } from "../../trace/scalar.ts";
import { mjtCone, mjtConstraint } from "../../model/enums.ts";
import type { FieldName } from "../../model/fields.ts";
import type { Evaluation } from "../forward.ts";
import { listRows, rowDot, type Row } from "./rows.ts";
import type { WorldData, ModelView } from "../view.ts";

/** Names of the fields that are written here. */
const FIELDS = /^(contact_|efc_)|^n[efl]$/;

/** Writes the wanted fields, in MuJoCo's order; what is beyond ncon or nefc is zero, geoms and addresses -1. */
export function keepConstraints(m: ModelView, d: WorldData, e: Evaluation, names: readonly FieldName[]): void {
  const wanted = names.filter((name) => FIELDS.test(name));
  if (wanted.length === 0) return;
  const wants = (...of: FieldName[]) => of.some((name) => wanted.includes(name));
  for (const name of wanted) {
    const none = name === "contact_geom" || name === "contact_efc_address" ? -1 : 0;
    const field = d[name];
    each(field.rows, (row) => field.setRow(row, Array<Scalar>(field.width).fill(none)));
  }
  const put = (name: FieldName, row: Int, values: readonly Scalar[]) => {
    if (wants(name))
      d[name].setRow(
        row,
        values.map((x) => toF32(x)),
      );
  };
  const at = variable("efc_at", 0, "i32");
  for (const [r, row] of listRows(e.rows).entries()) {
    when(row.active, () => {
      putRow(m, d, put, at.get(), row, e.solution.rowForce(r));
      increase(at, 1);
    });
    for (const name of ["ne", "nf", "nl"] as const) {
      if (wants(name) && countOf(row) === name) d[name].set(0, add(d[name].at(0), select(row.active, 1, 0, "f32")));
    }
  }
  if (e.slots.nslot > 0 && wanted.some((name) => !/^n[efl]$/.test(name))) putContacts(m, d, e, put, at);
}

const countOf = ({ kind }: Row): FieldName => ({ equality: "ne", friction: "nf", limit: "nl" } as const)[kind];

type Put = (name: FieldName, row: Int, values: readonly Scalar[]) => void;

function putRow(m: ModelView, d: WorldData, put: Put, at: Int, row: Row, force: Scalar): void {
  put("efc_type", at, [row.type]);
  put("efc_id", at, [row.id]);
  put(
    "efc_J",
    at,
    Array.from({ length: m.nv }, (_, i) => row.jac.find(({ dof }) => dof === i)?.value ?? 0),
  );
  put("efc_pos", at, [row.pos]);
  put("efc_margin", at, [row.margin]);
  put("efc_frictionloss", at, [row.frictionloss]);
  put("efc_D", at, [row.D]);
  put("efc_R", at, [row.R]);
  put("efc_vel", at, [rowDot(row, (i) => d.qvel.at(i))]);
  put("efc_aref", at, [row.aref]);
  put("efc_force", at, [force]);
}

function putContacts(m: ModelView, d: WorldData, e: Evaluation, put: Put, at: Variable): void {
  const { slots, contacts } = e;
  const geoms = (["geom1", "geom2"] as const).map((end) => slots.ofGeom(`out_${end}`, end, (g) => g, "i32"));
  const [margin, adhesion] = (["margin", "adhesion"] as const).map((of) => slots.ofKind(`out_${of}`, (p) => p[of]));
  slots.each((index, slot) => {
    const cone = contacts.cone(slot);
    const wrench = e.solution.contactForce(index, slot);
    const net = Array.from({ length: 6 }, (_, k) => wrench[k] ?? 0);
    put("contact_dist", index, [slots.dist(slot)]);
    put("contact_pos", index, slots.pos(slot));
    put("contact_frame", index, slots.frame(slot));
    put("contact_includemargin", index, [margin(slot)]);
    put(
      "contact_friction",
      index,
      Array.from({ length: 5 }, (_, k) => select(gt(cone.condim, k + 1), cone.friction[k] ?? 0, 0, "f32")),
    );
    put("contact_dim", index, [cone.condim]);
    put(
      "contact_geom",
      index,
      geoms.map((g) => g(slot)),
    );
    // without rows there is nothing to pull against
    const pull = select(contacts.makesRows(slot), adhesion(slot), 0, "f32");
    put("contact_force", index, [sub(net[0], pull), ...net.slice(1)]);
    when(contacts.makesRows(slot), () => {
      put("contact_efc_address", index, [at.get()]);
      putContactRows(m, d, e, put, { at, index, slot, margin: margin(slot), wrench });
    });
  });
}

interface ContactPlace {
  readonly at: Variable;
  readonly index: Int;
  readonly slot: Int;
  readonly margin: Scalar;
  readonly wrench: readonly Scalar[];
}

/** The rows of one contact: its directions, or the edges of its pyramid. */
function putContactRows(m: ModelView, d: WorldData, e: Evaluation, put: Put, c: ContactPlace): void {
  const { contacts, slots } = e;
  const { slot, index, at } = c;
  const J = contacts.jacobian(slot);
  const times = (x: (i: number) => Scalar) => J.map((row) => row.reduce<Scalar>((s, v, i) => add(s, mul(v, x(i))), 0));
  const { impedance, D } = contacts.stiffness(slot);
  const own = times((i) => d.qvel.at(i));
  const aref = contacts.aref(slot, impedance, own, D);
  const vel = own.map((v, k) => add(v, contacts.surface(slot)[k] ?? 0));
  const qacc = times((i) => d.qacc.at(i));
  const cone = contacts.cone(slot);
  const dist = slots.dist(slot);
  const row = (
    type: number,
    values: { J: readonly Scalar[]; D: Scalar; vel: Scalar; aref: Scalar; force: Scalar; pos: Scalar },
  ) => {
    const n = at.get();
    put("efc_type", n, [type]);
    put("efc_id", n, [index]);
    put("efc_J", n, values.J);
    put("efc_pos", n, [values.pos]);
    put("efc_margin", n, [values.pos === 0 ? 0 : c.margin]);
    put("efc_D", n, [values.D]);
    put("efc_R", n, [div(1, values.D)]);
    put("efc_vel", n, [values.vel]);
    put("efc_aref", n, [values.aref]);
    put("efc_force", n, [values.force]);
    at.set(add(n, 1));
  };
  const normal = () =>
    row(mjtConstraint.CONTACT_FRICTIONLESS, { J: J[0], D, vel: vel[0], aref: aref[0], force: c.wrench[0], pos: dist });
  const flat = toI32(cone.condim);
  when(
    gt(flat, 1),
    () => {
      for (let k = 1; k < J.length; k++) {
        when(gt(flat, k), () => {
          if (m.opt.cone === mjtCone.ELLIPTIC) {
            if (k === 1)
              row(mjtConstraint.CONTACT_ELLIPTIC, {
                J: J[0],
                D,
                vel: vel[0],
                aref: aref[0],
                force: c.wrench[0],
                pos: dist,
              });
            const part = { J: J[k], vel: vel[k], aref: aref[k], force: c.wrench[k], pos: 0 };
            row(mjtConstraint.CONTACT_ELLIPTIC, { ...part, D: mul(D, cone.tangentD[k - 1]) });
            return;
          }
          for (const mu of [cone.friction[k - 1], neg(cone.friction[k - 1])]) {
            const along = (x: readonly Scalar[]) => add(x[0], mul(mu, x[k]));
            const edge = J[0].map((x, i) => add(x, mul(mu, J[k][i])));
            const force = max(mul(D, sub(along(aref), along(qacc))), 0);
            row(mjtConstraint.CONTACT_PYRAMIDAL, { J: edge, D, vel: along(vel), aref: along(aref), force, pos: dist });
          }
        });
      }
    },
    normal,
  );
}
