// a reference motion that worlds follow: read by time on the device, begun anywhere, where it fails more often
import { table } from "../../trace/control.ts";
import {
  abs,
  add,
  and,
  clamp,
  div,
  eq,
  floor,
  ge,
  lt,
  min,
  mul,
  ne,
  not,
  or,
  select,
  sqrt,
  square,
  sub,
  sum,
  toF32,
  toI32,
  type Bool,
  type Scalar,
} from "../../trace/scalar.ts";
import { atan2 } from "../../trace/math.ts";
import { mjtJoint } from "../../model/enums.ts";
import { idOf, type Model } from "../../model/model.ts";
import { GROUND } from "../../model/terrain/place.ts";
import { inLine, show } from "../../core/show.ts";
import { mulQuat, negQuat, type Quat } from "../../trace/vector.ts";
import { bodyId } from "./bodies.ts";
import type { FrameOptions, Frames, MotionSource } from "./motion-frames.ts";
import { isOwnKey } from "./own-key.ts";
import type { Scene, Start, StartScene, TermSource } from "./task.ts";
import { termCondition } from "./term-value.ts";
import { isNumber, jointList, needs, needsOptions } from "./terms/source.ts";

export interface MotionOptions extends FrameOptions {
  /**
   * Whether a world has failed, a condition of its last step: episodes then begin more often in parts of the motion in
   * which they failed. Give it to `terminated` too. Default: anywhere in the motion, as often.
   */
  readonly failed?: TermSource<object>;
  /** Parts of the motion that are told apart, 1 to 64. Default 8. */
  readonly parts?: number;
  /** How fast a world's share of failures in a part follows what happens there, 0 to 1. Default 0.2. */
  readonly rate?: number;
  /** What is added to each part's share of failures, so that each is begun in: more is more even. Default 0.2. */
  readonly floor?: number;
  /** Whether all episodes begin with its first frame, as for a recording. Default false. */
  readonly fromStart?: boolean;
  /** Name of it, where a task has several. Default "motion". */
  readonly key?: string;
}

const KNOWN = ["model", "fps", "cyclic", "quaternions", "failed", "parts", "rate", "floor", "fromStart", "key"];

const NO_PARTS = "left out: all episodes begin with the first frame";
const NO_FAILED = "left out, or beside failed, a condition: without it episodes begin anywhere, as often";

/** Which moment of the motion is read. */
export interface At {
  /** Seconds ahead of now. Default 0. */
  readonly ahead?: number;
}

/** Where a moment lies among frames. */
interface Moment {
  /** Of the frame before it, and how far it is to the next, 0 to 1. */
  readonly frame: Scalar;
  readonly part: Scalar;
  /** Cycles that are over. */
  readonly cycles: Scalar;
}

/** A motion for tasks of one model. Its functions are terms, values and starts. Made by `loadMotion`. */
export class Motion {
  readonly #frames: Frames;
  readonly #how: Required<Pick<MotionOptions, "parts" | "rate" | "floor" | "fromStart" | "key">>;
  readonly #failed: TermSource<object> | undefined;
  /** Seconds from its first frame to its last. */
  readonly duration: number;

  constructor(frames: Frames, options: Omit<MotionOptions, keyof FrameOptions>) {
    const { failed, parts = 8, rate = 0.2, floor: least = 0.2, fromStart = false, key = "motion" } = options;
    needs(Number.isInteger(parts) && parts >= 1 && parts <= 64, "parts of a motion", parts, "a whole number, 1 to 64");
    needs(rate >= 0 && rate <= 1, "rate of a motion", rate, "a number from 0 to 1");
    needs(least > 0 && Number.isFinite(least), "floor of a motion", least, "a number above 0");
    needs(typeof fromStart === "boolean", "fromStart of a motion", fromStart, "true or false");
    needs(typeof key === "string" && key !== "", "key of a motion", key, "a name that is not empty");
    const drawn = (["failed", "parts", "rate", "floor"] as const).find((name) => options[name] !== undefined);
    if (drawn !== undefined) {
      needs(!fromStart, `${drawn} of a motion with fromStart`, options[drawn], NO_PARTS);
      needs(failed !== undefined, `${drawn} of a motion without failed`, options[drawn], NO_FAILED);
    }
    this.#frames = frames;
    this.#failed = failed;
    this.#how = { parts: failed === undefined ? 1 : parts, rate, floor: least, fromStart, key };
    this.duration = frames.dt * (frames.count - 1);
  }

  /** Seconds of the motion at which the world is; of a cyclic one they go on beyond its duration. */
  readonly time = (s: Scene): Scalar => add(this.#begun(s), mul(toF32(s.length), s.dt));

  /** Where in the motion the world is, 0 to 1. */
  readonly phase = (s: Scene): Scalar => {
    const { frame, part } = this.#moment(this.time(s));
    return div(add(frame, part), this.#frames.count - 1);
  };

  /** Whether the motion is over: a condition of `truncated`. Never of a cyclic one. */
  readonly over = (s: Scene): Bool => this.#isOver(this.time(s), s.dt);

  /** Positions of the motion now: of joints by name, or all of qpos. */
  readonly qpos =
    (joints?: readonly string[], at: At = {}) =>
    (s: Scene): Scalar[] => {
      const all = this.#qposAt(s.model, this.#now(s, at));
      if (jointList(joints) === undefined) return all;
      return joints!.flatMap((name) => {
        const joint = idOf(s.model, "joint", name);
        const size = { [mjtJoint.FREE]: 7, [mjtJoint.BALL]: 4 }[s.model.jnt_type[joint]] ?? 1;
        return all.slice(s.model.jnt_qposadr[joint], s.model.jnt_qposadr[joint] + size);
      });
    };

  /** Velocities of the motion now: of joints by name, or all of qvel. */
  readonly qvel =
    (joints?: readonly string[], at: At = {}) =>
    (s: Scene): Scalar[] => {
      const all = this.#qvelAt(s.model, this.#now(s, at));
      if (jointList(joints) === undefined) return all;
      const ids = joints!.map((name) => idOf(s.model, "joint", name));
      return ids.flatMap((joint) => all.filter((_, dof) => s.model.dof_jntid[dof] === joint));
    };

  /** The place of a body in the motion now (m); `from`: less that of another body. */
  readonly xpos =
    (body: string | number, { from, ...at }: At & { readonly from?: string | number } = {}) =>
    (s: Scene): Scalar[] => {
      const moment = this.#now(s, at);
      const place = (name: string | number) => {
        const id = bodyId(s.model, "body", name);
        const { bodies } = this.#frames;
        const x = this.#read("xpos", 3 * bodies.length, 3 * this.#ownBody(s.model, id), 3, moment);
        return x.map((v, k) => (this.#floats(s.model, id) ? this.#further(v, k, moment) : v));
      };
      const own = place(body);
      if (from === undefined) return own;
      const other = place(from);
      return own.map((v, k) => sub(v, other[k]));
    };

  /** How a body lies in the motion now, as a quaternion. */
  readonly xquat =
    (body: string | number, at: At = {}) =>
    (s: Scene): Scalar[] => {
      const id = bodyId(s.model, "body", body);
      const { bodies } = this.#frames;
      return unit(this.#read("xquat", 4 * bodies.length, 4 * this.#ownBody(s.model, id), 4, this.#now(s, at)));
    };

  /** The angle between how a body lies and how it does in the motion (rad). */
  readonly turned =
    (body: string | number) =>
    (s: Scene): Scalar => {
      const id = bodyId(s.model, "body", body);
      const want = this.xquat(body)(s) as unknown as Quat;
      const [w, ...axis] = mulQuat(negQuat(want), s.d.xquat.quat(id));
      return mul(2, atan2(sqrt(sum(axis.map(square))), abs(w)));
    };

  /** Starts of episodes: in the pose and at the velocity of the motion, with noise in slides and hinges. */
  readonly start =
    (options: { readonly qpos?: number; readonly qvel?: number } = {}) =>
    (s: StartScene): Start => {
      needsOptions("start of a motion", options, ["qpos", "qvel"]);
      const { qpos: far = 0, qvel: fast = 0 } = options;
      for (const [name, most] of Object.entries({ qpos: far, qvel: fast }))
        needs(isNumber(most) && most >= 0, `${name} of the start of a motion`, most, "a number of at least 0");
      const { model } = s;
      // failures are told by time, which is remembered
      if (this.#failed !== undefined) this.#begun(s);
      const moment = this.#moment(this.#first(s));
      const scalar = (j: number) => model.jnt_type[j] === mjtJoint.SLIDE || model.jnt_type[j] === mjtJoint.HINGE;
      const noisy = (all: Scalar[], most: number, isOwn: (i: number) => boolean) => {
        if (most === 0) return all;
        const draws = s.random.uniforms(all.length);
        return all.map((x, i) => (isOwn(i) ? add(x, mul(sub(mul(2, draws[i]), 1), most)) : x));
      };
      const joints = Array.from(model.jnt_qposadr).filter((_, j) => scalar(j));
      return {
        qpos: noisy(this.#qposAt(model, moment), far, (i) => joints.includes(i)),
        qvel: noisy(this.#qvelAt(model, moment), fast, (i) => scalar(model.dof_jntid[i])),
      };
    };

  #isOver(time: Scalar, dt: Scalar): Bool {
    if (this.#frames.cyclic) return lt(time, 0);
    // half a step early: a sum of steps is not exact
    return ge(add(time, mul(dt, 0.5)), this.duration);
  }

  #now(s: Scene, at: At): Moment {
    needsOptions("what is read of a motion", at, ["ahead"]);
    const { ahead = 0 } = at;
    needs(isNumber(ahead), "ahead of a motion", ahead, "a number of seconds");
    return this.#moment(add(this.time(s), ahead));
  }

  #moment(time: Scalar): Moment {
    const { count, dt, cyclic } = this.#frames;
    const last = count - 1;
    const cycles = cyclic ? floor(div(time, this.duration)) : 0;
    const frames = div(sub(time, mul(cycles, this.duration)), dt);
    const within = clamp(frames, 0, last);
    const frame = min(floor(within), last - 1);
    return { frame, part: sub(within, frame), cycles };
  }

  /** `size` numbers of a row, between two frames. */
  #read(
    name: "qpos" | "qvel" | "xpos" | "xquat",
    width: number,
    from: number,
    size: number,
    { frame, part }: Moment,
  ): Scalar[] {
    // of bodies only what is read, in a table of their own
    const whole = name === "qpos" || name === "qvel";
    const { count } = this.#frames;
    const values = whole
      ? this.#frames[name]
      : Float64Array.from(
          { length: count * size },
          (_, i) => this.#frames[name][Math.floor(i / size) * width + from + (i % size)],
        );
    const stride = whole ? width : size;
    const read = table(`${this.#how.key}_${name}${whole ? "" : from}`, values);
    const row = mul(toI32(frame), stride);
    return Array.from({ length: size }, (_, k) => {
      const column = whole ? from + k : k;
      const [a, b] = [read(add(row, column)), read(add(row, column + stride))];
      return add(a, mul(part, sub(b, a)));
    });
  }

  /** A body of the task's model as the motion's has it: a terrain may stand before it. */
  #ownBody({ names: { body } }: Model, id: number): number {
    const { bodies } = this.#frames;
    const place = body.slice(0, id).filter((name) => name !== GROUND).length;
    const own = bodies[place] === body[id] || body[id] === "" ? place : bodies.indexOf(body[id]);
    needs(own >= 0 && own < bodies.length, "a body of a motion", body[id], `one of its model's: ${bodies.join(", ")}`);
    return own;
  }

  /** Columns are told by their places, so joints are where the motion's are. */
  #assertJoints({ names: { joint } }: Model): void {
    const { joints } = this.#frames;
    const isOwn = joints.every((name, j) => joint[j] === name);
    const wanted = `${show(joints)}, as the motion's model has them: load it with that of the task`;
    needs(isOwn, "the list of joints of the task", joint, wanted);
  }

  #qposAt(model: Model, moment: Moment): Scalar[] {
    this.#assertJoints(model);
    const { nq, cyclic } = this.#frames;
    const all = this.#read("qpos", nq, 0, nq, moment);
    model.jnt_type.forEach((type, j) => {
      const at = model.jnt_qposadr[j];
      if (type === mjtJoint.FREE) {
        if (cyclic) for (let k = 0; k < 3; k++) all[at + k] = this.#further(all[at + k], k, moment);
        all.splice(at + 3, 4, ...unit(all.slice(at + 3, at + 7)));
      }
      if (type === mjtJoint.BALL) all.splice(at, 4, ...unit(all.slice(at, at + 4)));
    });
    return all;
  }

  #qvelAt(model: Model, moment: Moment): Scalar[] {
    this.#assertJoints(model);
    return this.#read("qvel", this.#frames.nv, 0, this.#frames.nv, moment);
  }

  #further(x: Scalar, k: number, { cycles }: Moment): Scalar {
    return add(x, mul(cycles, this.#frames.advance[k] ?? 0));
  }

  /** Whether a body goes with what floats. */
  #floats({ body_rootid, jnt_type, jnt_bodyid }: Model, body: number): boolean {
    const free = jnt_type.indexOf(mjtJoint.FREE);
    return free >= 0 && body_rootid[body] === jnt_bodyid[free];
  }

  /** Where the episode began (s). */
  #begun(s: Scene): Scalar {
    this.#assertOwnKey();
    const [begun] = s.updated(this.#how.key, (t, before) => (before && !t.fresh ? before : [this.#first(t)]));
    return begun;
  }

  /** What is remembered goes by the key: two motions would begin where one of them does. */
  #assertOwnKey(): void {
    const { key } = this.#how;
    needs(
      isOwnKey(`motion ${key}`, [this]),
      "key of a motion",
      key,
      "a name that no other motion of the task has: loadMotion(..., { key })",
    );
  }

  /** The share of failures of each part of the motion, as the step before left it. */
  #shares(s: Scene): readonly Scalar[] {
    return s.memory(`failures of ${this.#how.key}`, this.#learn, { persists: true });
  }

  readonly #learn = (s: Scene, before: readonly Scalar[] | undefined): readonly Scalar[] => {
    const { parts, rate, key } = this.#how;
    const shares = before ?? Array<Scalar>(parts).fill(0);
    if (this.#failed === undefined) return shares;
    // a start knows no failure
    if (s.fresh) return this.#known(s, shares);
    const fails = termCondition(this.#failed, s, { name: `failed of the motion "${inLine(key)}"`, takes: [] });
    const time = this.time(s);
    const partOf = (t: Scalar) => {
      const { frame, part } = this.#moment(t);
      return min(floor(mul(div(add(frame, part), this.#frames.count - 1), parts)), parts - 1);
    };
    // a part is passed where the next one begins, the last one where the motion is over, or is failed in
    const [now, last] = [partOf(time), partOf(sub(time, s.dt))];
    const ends = and(this.over(s), not(this.#isOver(sub(time, s.dt), s.dt)));
    return shares.map((share, k) => {
      const passed = and(and(eq(last, k), or(ne(now, k), ends)), not(fails));
      const counts = or(passed, and(fails, eq(now, k)));
      return select(counts, add(share, mul(rate, sub(select(fails, 1, 0, "f32"), share))), share, "f32");
    });
  };

  /** What a world knows of failures: nothing where it begins. */
  #known(s: Scene, shares: readonly Scalar[]): Scalar[] {
    return shares.map((x) => select(eq(s.episode, 0), 0, x, "f32"));
  }

  /** Seconds of the motion at which the episode begins, the same in all scenes of its start. */
  #first(s: Scene): Scalar {
    const { parts, floor: least, fromStart } = this.#how;
    if (fromStart) return 0;
    const kept = this.#shares(s);
    // while the sizes of memories are found there may be none yet
    const shares = kept.length === parts ? kept : Array<Scalar>(parts).fill(0);
    const weights = this.#known(s, shares).map((x) => add(x, least));
    const [which, where] = s.starting().uniforms(2);
    const goal = mul(which, sum(weights));
    let [part, upTo]: Scalar[] = [0, 0];
    for (const weight of weights.slice(0, -1)) {
      upTo = add(upTo, weight);
      part = add(part, select(ge(goal, upTo), 1, 0, "f32"));
    }
    return mul(div(add(part, where), parts), this.duration);
  }
}

function unit(quat: readonly Scalar[]): Scalar[] {
  const norm = sqrt(sum(quat.map(square)));
  return quat.map((x) => div(x, norm));
}

/**
 * Reads a motion of a model: rows of qpos, the text of a CSV file, or the bytes of one or of an npz with `qpos`
 * [frames, nq] and `fps` or `dt`.
 * @throws CorralError bad-motion, bad-npy, bad-term, and what loading a model throws
 */
export async function loadMotion(source: MotionSource, options: MotionOptions): Promise<Motion> {
  needsOptions("loadMotion", options, KNOWN);
  const { model, fps, cyclic, quaternions, ...how } = options;
  const read = { model, ...(fps === undefined ? {} : { fps }), ...(cyclic === undefined ? {} : { cyclic }) };
  const { readFrames } = await import("./motion-frames.ts"); // a page that follows no motion loads no reader
  return new Motion(await readFrames(source, { ...read, ...(quaternions ? { quaternions } : {}) }), how);
}
