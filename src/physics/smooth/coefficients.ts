// coefficients of dofs and tendons: damping and armature with what actuators add to them, polynomial springs and dampers
import { abs, add, add as plus, mul, type Int, type Scalar } from "../../trace/scalar.ts";
import { mjtTrn } from "../../model/enums.ts";
import type { Model } from "../../model/model.ts";
import { scalarTable, type ModelView } from "../view.ts";

/** A coefficient that grows with what it multiplies: linear + poly0 x + poly1 x². */
export interface Poly<T extends Scalar = number> {
  readonly linear: T;
  readonly poly: readonly [T, T];
}

const polyOf = <T extends Scalar>(linear: T, poly: ArrayLike<number>, i: number): Poly<T | number> => ({
  linear,
  poly: [poly[2 * i], poly[2 * i + 1]],
});

export const isZero = ({ linear, poly }: Poly<Scalar>): boolean => linear === 0 && poly[0] === 0 && poly[1] === 0;

/** The coefficient at x; one that is odd takes |x| (mju_polyForce). */
export function polyForce({ linear, poly }: Poly<Scalar>, x: Scalar, odd: boolean): Scalar {
  const size = odd && poly[0] !== 0 ? abs(x) : x;
  return add(linear, add(mul(poly[0], size), mul(poly[1], mul(x, x))));
}

/** The derivative of x times that coefficient (mjd_xPolyForce). */
export const polySlope = ({ linear, poly }: Poly<Scalar>, x: Scalar, odd: boolean): Scalar =>
  polyForce({ linear, poly: [mul(2, poly[0]), mul(3, poly[1])] }, x, odd);

/** Actuators by their joints and tendons; of a model they are what they are. */
interface Pulled {
  readonly joints: ReadonlyMap<number, number[]>;
  readonly tendons: ReadonlyMap<number, number[]>;
}

const pulled = new WeakMap<Model, Pulled>();

function pulledOf(model: Model): Pulled {
  const known = pulled.get(model);
  if (known) return known;
  const found = { joints: new Map<number, number[]>(), tendons: new Map<number, number[]>() };
  const maps: Partial<Record<number, Map<number, number[]>>> = {
    [mjtTrn.JOINT]: found.joints,
    [mjtTrn.JOINTINPARENT]: found.joints,
    [mjtTrn.TENDON]: found.tendons,
  };
  for (let i = 0; i < model.nactuator; i++) {
    const map = maps[model.actuator_trntype[i]];
    const id = model.actuator_trnid[2 * i];
    map?.set(id, [...(map.get(id) ?? []), i]);
  }
  pulled.set(model, found);
  return found;
}

/** The actuators on a joint or tendon (mj_actuatorDamping, mj_actuatorArmature). */
const actuatorsOf = (model: Model, isTendon: boolean, id: number): readonly number[] =>
  pulledOf(model)[isTendon ? "tendons" : "joints"].get(id) ?? [];

const gear2 = (model: Model, i: number): number => model.actuator_gear[6 * i] ** 2;

function withActuators<T extends Scalar>(model: Model, own: Poly<T>, isTendon: boolean, id: number): Poly<T> {
  const add = (a: T, b: number): T => (b === 0 ? a : (plus(a, b) as T));
  return actuatorsOf(model, isTendon, id).reduce<Poly<T>>((sum, i) => {
    const added = polyOf(model.actuator_damping[i], model.actuator_dampingpoly, i);
    return {
      linear: add(sum.linear, added.linear * gear2(model, i)),
      poly: [add(sum.poly[0], added.poly[0] * gear2(model, i)), add(sum.poly[1], added.poly[1] * gear2(model, i))],
    };
  }, own);
}

const addedArmature = (model: Model, isTendon: boolean, id: number): number =>
  actuatorsOf(model, isTendon, id).reduce((sum, i) => sum + model.actuator_armature[i] * gear2(model, i), 0);

/** Rows of coefficients, at constant or runtime indices. */
export function polyTable(name: string, rows: readonly Poly<Scalar>[]): (i: Int) => Poly<Scalar> {
  const part = (suffix: string, of: (p: Poly<Scalar>) => Scalar) => scalarTable(`${name}${suffix}`, rows.map(of));
  const [linear, first, second] = [
    part("", (p) => p.linear),
    part("_1", (p) => p.poly[0]),
    part("_2", (p) => p.poly[1]),
  ];
  return (i) => ({ linear: linear(i), poly: [first(i), second(i)] });
}

export const dofDamping = ({ model, dof_damping: own }: ModelView, dof: number): Poly<Scalar> =>
  withActuators<Scalar>(model, polyOf(own.at(dof), model.dof_dampingpoly, dof), false, model.dof_jntid[dof]);

/** A field of which worlds may have their own numbers. */
export interface Drawn {
  at(i: number): Scalar | undefined;
}

const tendonDampingOf = (model: Model, t: number, own: Scalar): Poly<Scalar> =>
  withActuators<Scalar>(model, polyOf(own, model.tendon_dampingpoly, t), true, t);

export const tendonDamping = ({ model, tendon_damping: own }: ModelView, t: number): Poly<Scalar> =>
  tendonDampingOf(model, t, own.at(t));

/** Whether a tendon is damped, in the model or in some world. `own`: what worlds draw, which is no number. */
export const tendonDamped = (model: Model, t: number, own: Drawn): boolean =>
  own.at(t) !== model.tendon_damping[t] || !isZero(tendonDampingOf(model, t, model.tendon_damping[t]));

/** Whether a tendon has a spring, in the model or in some world. */
export const tendonSprung = (model: Model, t: number, own: Drawn): boolean =>
  own.at(t) !== model.tendon_stiffness[t] || !isZero(polyOf(model.tendon_stiffness[t], model.tendon_stiffnesspoly, t));

export const jointStiffness = ({ model, jnt_stiffness: own }: ModelView, j: number): Poly<Scalar> =>
  polyOf<Scalar>(own.at(j), model.jnt_stiffnesspoly, j);

export const tendonStiffness = ({ model, tendon_stiffness: own }: ModelView, t: number): Poly<Scalar> =>
  polyOf<Scalar>(own.at(t), model.tendon_stiffnesspoly, t);

export const dofArmature = ({ model, dof_armature: own }: ModelView, dof: number): Scalar =>
  plus(own.at(dof), addedArmature(model, false, model.dof_jntid[dof]));

/** The armature of each dof, at constant or runtime indices. */
export const dofArmatures = (m: ModelView): ((dof: Int) => Scalar) =>
  scalarTable(
    "dof_armature",
    Array.from({ length: m.nv }, (_, i) => dofArmature(m, i)),
  );

export const tendonArmature = (model: Model, t: number): number =>
  model.tendon_armature[t] + addedArmature(model, true, t);
