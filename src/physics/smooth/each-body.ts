// loops over bodies and their dofs, along the kinematic trees
import { breakIf, each, loop, table, variable } from "../../trace/control.ts";
import { add, eq, gt, isNode, select, sub, type Bool, type Int } from "../../trace/scalar.ts";
import { add6, type Spatial } from "../../trace/spatial.ts";
import type { Field, ModelView } from "../view.ts";

/** `each`, or written out even where the kernel loops. */
function pass(inLine: boolean, count: Int, body: (i: Int) => void): void {
  if (inLine && typeof count === "number") for (let i = 0; i < count; i++) body(i);
  else each(count, body);
}

const NONE: ReadonlySet<number> = new Set();

/** Bodies from the leaves up, without the world and those that are left out. */
export function eachBodyUp(
  m: ModelView,
  body: (i: Int, parent: Int) => void,
  inLine = false,
  without: ReadonlySet<number> = NONE,
): void {
  if (without.size > 0) return eachOf(m, bodiesBut(m, without).toReversed(), body, inLine);
  pass(inLine, m.nbody - 1, (up) => {
    const i = sub(m.nbody - 1, up);
    body(i, m.body_parentid.at(i));
  });
}

/** Bodies from the roots down, without the world and those that are left out. */
export function eachBodyDown(
  m: ModelView,
  body: (i: Int, parent: Int) => void,
  inLine = false,
  without: ReadonlySet<number> = NONE,
): void {
  if (without.size > 0) return eachOf(m, bodiesBut(m, without), body, inLine);
  if (inLine) pass(true, m.nbody - 1, (k) => body(add(k, 1), m.body_parentid.at(add(k, 1))));
  else each(m.nbody, (i) => body(i, m.body_parentid.at(i)), { start: 1 });
}

const bodiesBut = (m: ModelView, without: ReadonlySet<number>): number[] =>
  Array.from({ length: m.nbody - 1 }, (_, k) => k + 1).filter((b) => !without.has(b));

function eachOf(m: ModelView, bodies: readonly number[], body: (i: Int, parent: Int) => void, inLine: boolean): void {
  const at = table("bodies", bodies, "i32");
  pass(inLine, bodies.length, (k) => body(at(k), m.body_parentid.at(at(k))));
}

/** The joints of a body, ascending. */
export function eachJoint(m: ModelView, body: Int, visit: (joint: Int) => void): void {
  const first = m.body_jntadr.at(body);
  each(add(first, m.body_jntnum.at(body)), visit, { start: first });
}

/** The dofs of a body, ascending. */
export function eachDof(m: ModelView, body: Int, visit: (dof: Int) => void): void {
  const first = m.body_dofadr.at(body);
  const count = m.body_dofnum.at(body);
  if (isNode(count)) each(add(first, count), visit, { start: first });
  else pass(true, count, (k) => visit(add(first, k)));
}

/** The dofs of a body, descending. */
export function eachDofUp(m: ModelView, body: Int, visit: (dof: Int) => void): void {
  const last = sub(add(m.body_dofadr.at(body), m.body_dofnum.at(body)), 1);
  pass(true, m.body_dofnum.at(body), (k) => visit(sub(last, k)));
}

/** The dofs that move one of two bodies against the other, and whose they are: what moves both alike is left out. */
export function eachDofBetween(
  m: ModelView,
  first: Int,
  second: Int,
  visit: (dof: Int, body: Int, ofFirst: Bool) => void,
): void {
  const [a, b] = [first, second].map((body, k) => variable(`end${k}`, body, "i32"));
  loop(
    m.nbody,
    () => {
      breakIf(eq(a.get(), b.get()));
      // parents have smaller ids
      const ofFirst = gt(a.get(), b.get());
      const body = select(ofFirst, a.get(), b.get(), "i32");
      eachDofUp(m, body, (dof) => visit(dof, body, ofFirst));
      const parent = m.body_parentid.at(body);
      a.set(select(ofFirst, parent, a.get(), "i32"));
      b.set(select(ofFirst, b.get(), parent, "i32"));
    },
    { label: "path" },
  );
}

/** Adds the rows of bodies to those of their parents, from the leaves up: each is then the sum over its subtree. */
export function sumUp(m: ModelView, rows: Field): void {
  eachBodyUp(m, (i, parent) => {
    const own = rows.slice(i, rows.width);
    rows.setRow(
      parent,
      rows.slice(parent, rows.width).map((x, k) => add(x, own[k])),
    );
  });
}

/** A spatial vector that grows dof by dof. */
export function movingSpatial(name: string, initial: Spatial) {
  const parts = initial.map((x, k) => variable(`${name}_${k}`, x));
  const get = () => parts.map((v) => v.get()) as unknown as Spatial;
  const set = (s: Spatial) => s.forEach((x, k) => parts[k].set(x));
  return { get, set, add: (s: Spatial) => set(add6(get(), s)) };
}
