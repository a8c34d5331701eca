// what floats in a vertical plane, by a slide along it, one up and a hinge: walkers of two dimensions
import { mjtJoint, mjtTrn, mjtWrap } from "../model/enums.ts";
import { jointOf, type Model } from "../model/model.ts";
import { drivenBase, flies } from "./feet.ts";
import { bodyOf, isBelow } from "./motors.ts";
import { cross, dot, turned, vectorAt, type Vector } from "./vectors.ts";

/** A body that joints let go in a vertical plane, by id; no actuator drives them, and some drive what hangs on it. */
export interface PlanarRoot {
  readonly body: number;
  readonly along: number;
  readonly up: number;
  /** The hinge by which it leans; undefined where it stays upright. */
  readonly lean: number | undefined;
  /** The axis of `along` as the model is drawn, and whether `up` goes up. */
  readonly axis: Vector;
  readonly rises: boolean;
}

/** How parallel axes are at least, as a cosine. */
const PARALLEL = 0.999;

/** The axis of a joint in the world, as the model is drawn. */
function axisOf(model: Model, j: number): Vector {
  let axis = vectorAt(model.jnt_axis, j);
  for (let b = model.jnt_bodyid[j]; b > 0; b = model.body_parentid[b])
    axis = turned(axis, model.body_quat.subarray(4 * b, 4 * b + 4));
  return axis;
}

/** Joints that an actuator turns or slides by itself, or by a fixed tendon. */
function drivenBy(model: Model, i: number): number[] {
  if (model.actuator_trntype[i] !== mjtTrn.TENDON) return [jointOf(model, i)];
  const tendon = model.actuator_trnid[2 * i];
  const from = model.tendon_adr[tendon];
  return Array.from({ length: model.tendon_num[tendon] }, (_, k) => from + k).flatMap((k) =>
    model.wrap_type[k] === mjtWrap.JOINT ? [model.wrap_objid[k]] : [],
  );
}

/** What floats in a plane, if something does: the body on which all that is driven hangs; nothing that rotors carry. */
export function planarRoot(model: Model): PlanarRoot | undefined {
  const actuators = Array.from({ length: model.nu }, (_, i) => i);
  const driven = new Set(actuators.flatMap((i) => drivenBy(model, i)));
  const moved = [...new Set(actuators.map((i) => bodyOf(model, i)))];
  const roots = Array.from({ length: model.nbody }, (_, b) => b).flatMap((body) => {
    if (body === 0 || model.body_jntnum[body] === 0 || !moved.some((b) => b !== body && isBelow(model, b, body)))
      return [];
    const path = Array.from({ length: model.njnt }, (_, j) => j).filter((j) =>
      isBelow(model, body, model.jnt_bodyid[j]),
    );
    const of = (type: number) => path.filter((j) => model.jnt_type[j] === type);
    const [slides, hinges] = [of(mjtJoint.SLIDE), of(mjtJoint.HINGE)];
    if (slides.length !== 2 || hinges.length > 1 || slides.length + hinges.length !== path.length) return [];
    if (path.some((j) => driven.has(j))) return [];
    const isUp = (j: number) => Math.abs(axisOf(model, j)[2]) > PARALLEL;
    const [up, along] = [slides.find(isUp), slides.find((j) => !isUp(j))];
    if (up === undefined || along === undefined || Math.abs(axisOf(model, along)[2]) > 1e-3) return [];
    const lean = hinges.at(0);
    const axis = axisOf(model, along);
    const normal = cross(axis, [0, 0, 1]);
    if (lean !== undefined && Math.abs(dot(axisOf(model, lean), normal)) < PARALLEL) return [];
    if (flies(model, body)) return [];
    return [{ body, along, up, lean, axis, rises: axisOf(model, up)[2] > 0 }];
  });
  return roots.at(-1);
}

/** The body that floats, freely or else in a plane; undefined where none does. */
export function floatingBody(model: Model): number | undefined {
  const base = drivenBase(model);
  return base === undefined ? planarRoot(model)?.body : model.jnt_bodyid[base];
}
