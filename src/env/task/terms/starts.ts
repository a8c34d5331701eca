// how episodes start, and what happens to worlds in them
import { add, le, mul, select, sub, type Scalar } from "../../../trace/scalar.ts";
import { mjtJoint } from "../../../model/enums.ts";
import { idOf, type Model } from "../../../model/model.ts";
import type { Disturbance, Scene, Start, StartScene } from "../task.ts";
import { normalNoise, uniformNoise } from "./basics.ts";
import { dofsOf, isNumber, needs, needsOptions, needsSpan } from "./source.ts";

export interface StartOptions {
  /** Positions are moved by up to this. Default 0. */
  readonly qpos?: number;
  /** Velocities are up to this. Default 0. */
  readonly qvel?: number;
  /** Normal noise of these standard deviations, rather than uniform. Default false. */
  readonly normal?: boolean;
  /** The keyframe to start from, its activations and mocap poses too. Default: qpos0. */
  readonly key?: string;
  /**
   * A joint that floats or slides, by name or id, and how far it starts above that (m, along z of what floats): by a
   * length, to which `qpos` adds its noise, or drawn between two, to which it does not, so that feet start on the floor.
   */
  readonly raise?: readonly [joint: string | number, by: number | readonly [least: number, most: number]];
  /** Joints, by name or id, that no noise moves: of what lies on a table. Default: none. */
  readonly except?: readonly (string | number)[];
}

/** Where in qpos a joint is raised. */
function raisedPlace(model: Model, raise: unknown): number {
  const [joint, by] = Array.isArray(raise) ? (raise as unknown[]) : [];
  const isPair = Array.isArray(raise) && raise.length === 2 && (typeof joint === "string" || Number.isInteger(joint));
  const isSpan = Array.isArray(by) && by.length === 2 && by.every(isNumber) && by[0] <= by[1];
  needs(
    isPair && (isNumber(by) || isSpan),
    "raise of startAround",
    raise,
    "a joint by name or id, and a length in m or [least, most] of it",
  );
  const id = typeof joint === "string" ? idOf(model, "joint", joint) : (joint as number);
  const type = model.jnt_type[id];
  needs(
    type === mjtJoint.FREE || type === mjtJoint.SLIDE,
    "raise of startAround",
    joint,
    "a joint that floats or slides",
  );
  return model.jnt_qposadr[id] + (type === mjtJoint.FREE ? 2 : 0);
}

/** Joints that no noise moves. */
function heldJoints(model: Model, except: unknown): ReadonlySet<number> {
  const isJoint = (j: unknown) => typeof j === "string" || (Number.isInteger(j) && (j as number) in model.jnt_type);
  needs(
    Array.isArray(except) && except.every(isJoint),
    "except of startAround",
    except,
    "a list of joints by name or id",
  );
  return new Set((except as (string | number)[]).map((j) => (typeof j === "string" ? idOf(model, "joint", j) : j)));
}

/** A start near qpos0 or a keyframe. */
export const startAround =
  (options: StartOptions = {}) =>
  (s: StartScene): Start => {
    const { qpos = 0, qvel = 0, normal = false, key, raise, except = [] } = options;
    needsOptions("startAround", options, ["qpos", "qvel", "normal", "key", "raise", "except"]);
    for (const [name, scale] of Object.entries({ qpos, qvel }))
      needs(isNumber(scale) && scale >= 0, `${name} of startAround`, scale, "a number of at least 0");
    const { model } = s;
    const id = key === undefined ? -1 : idOf(model, "key", key);
    const row = (values: Float64Array, width: number) => values.slice(id * width, (id + 1) * width);
    const { na, nmocap } = model;
    const kept: Start = {
      ...(id >= 0 && na > 0 && { act: Array.from(row(model.key_act, na)) }),
      ...(id >= 0 && nmocap > 0 && { mocap_pos: Array.from(row(model.key_mpos, 3 * nmocap)) }),
      ...(id >= 0 && nmocap > 0 && { mocap_quat: Array.from(row(model.key_mquat, 4 * nmocap)) }),
    };
    const noisy = (centre: ArrayLike<Scalar>, scale: number): Scalar[] => {
      if (scale === 0) return Array.from(centre);
      if (!normal) return uniformNoise(s, centre, scale);
      return normalNoise(s, centre.length, scale).map((x, i) => add(x, centre[i]));
    };
    const start: Scalar[] = id < 0 ? s.m.qpos0.run(0, model.nq) : Array.from(row(model.key_qpos, model.nq));
    const at = raise === undefined ? -1 : raisedPlace(model, raise);
    const by = raise?.[1] ?? 0;
    const least = typeof by === "number" ? by : by[0];
    if (at >= 0) start[at] = add(start[at], least);
    const speeds: ArrayLike<Scalar> = id < 0 ? new Float64Array(model.nv) : row(model.key_qvel, model.nv);
    const moved = noisy(start, qpos);
    const fast = noisy(speeds, qvel);
    const held = heldJoints(model, except);
    const jointAt = (i: number) => model.jnt_qposadr.findLastIndex((first) => first <= i);
    start.forEach((x, i) => held.has(jointAt(i)) && (moved[i] = x));
    fast.forEach((_, i) => held.has(model.dof_jntid[i]) && (fast[i] = speeds[i]));
    if (typeof by !== "number") moved[at] = add(start[at], mul(s.random.uniforms(1)[0], by[1] - least));
    return { qpos: moved, qvel: fast, ...kept };
  };

export interface PushOptions {
  /** Seconds without a push between two: [least, most]. */
  readonly every: readonly [number, number];
  /** Each velocity of the joint is changed by up to this (m/s, rad/s): one number, or one for each dof. */
  readonly velocity: number | readonly number[];
  /** Key of the world's memory. Pushes of one joint with the same numbers come at the same times, unless they have keys of their own. */
  readonly key?: string;
}

/** Pushes a joint, by name or id, such as the free joint of a torso, at random times: its velocities jump. */
export const push =
  (joint: string | number, options: PushOptions) =>
  (s: Scene): Disturbance => {
    const dofs = dofsOf(s, [joint]);
    needsOptions("push", options, ["every", "velocity", "key"]);
    const { every, velocity } = options;
    const { key = `push of ${joint} by ${String(velocity)} every ${String(every)}` } = options;
    needs(typeof key === "string" && key !== "", "key of push", key, "a name that is not empty");
    needsSpan("every of push", every);
    needs(
      isNumber(velocity) || (Array.isArray(velocity) && velocity.length === dofs.length && velocity.every(isNumber)),
      "velocity of push",
      velocity,
      `a number, or one for each of the ${dofs.length} dofs of ${joint}`,
    );
    const [least, most] = every;
    // half a step early: a sum of steps is not exact
    const isDue = (t: Scene, time: Scalar) => le(time, mul(t.dt, 0.5));
    const pause = (t: Scene): Scalar => add(least, mul(t.random.uniforms(1)[0], most - least));
    const [left] = s.memory(key, (t, before) => {
      if (!before) return [pause(t)];
      return [select(isDue(t, before[0]), pause(t), sub(before[0], t.dt), "f32")];
    });
    const draws = s.random.uniforms(dofs.length);
    const qvel = Array<Scalar>(s.model.nv).fill(0);
    dofs.forEach((dof, i) => {
      const most = typeof velocity === "number" ? velocity : velocity[i];
      qvel[dof] = select(isDue(s, left), mul(sub(mul(2, draws[i]), 1), most), 0, "f32");
    });
    return { qvel };
  };
