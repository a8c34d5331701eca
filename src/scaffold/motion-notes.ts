// notes on a motion that a task is to follow: how long and fast it is, where joints leave their ranges, turned quaternions
import { countOf, ratesAgree } from "../core/units.ts";
import { mjtJoint } from "../model/enums.ts";
import { describe, type Model } from "../model/model.ts";

/** Part of its range by which a joint may leave it unmentioned. */
const LEAVES = 0.1;
/** A base whose w is below the first and z above the second is turned by half, or its w comes last. */
const LAST_W = { w: 0.1, z: 0.98 };

const rounded = (x: number): string => String(Number(x.toPrecision(3)));

/** Frames as they were read, row-major. */
export interface Clip {
  readonly count: number;
  /** Seconds between two of them. */
  readonly dt: number;
  /** Frames in a second that its file says itself. */
  readonly said?: number;
  readonly qpos: Float64Array;
  readonly qvel: Float64Array;
}

/** What of a motion shows a wrong rate of frames, wrong columns, degrees, or quaternions in another order. */
export function motionNotes(model: Model, { count, dt, said, qpos, qvel }: Clip): string[] {
  const { nq, nv } = model;
  const single = Array.from({ length: model.njnt }, (_, j) => j).filter((j) => model.jnt_type[j] >= mjtJoint.SLIDE);
  const unit = (j: number) => (model.jnt_type[j] === mjtJoint.SLIDE ? "m" : "rad");
  const column = (of: Float64Array, width: number, at: number) =>
    Array.from({ length: count }, (_, f) => of[f * width + at]);
  const speed = (j: number) => Math.max(...column(qvel, nv, model.jnt_dofadr[j]).map(Math.abs));
  const [fastest] = single.toSorted((a, b) => speed(b) - speed(a));
  const notes = [
    `The motion: ${countOf(count, "frame")} in ${rounded((count - 1) * dt)} s (${rounded(1 / dt)} a second)` +
      `${fastest === undefined ? "" : `; ${describe(model, "joint", fastest)} is the fastest, at ${rounded(speed(fastest))} ${unit(fastest)}/s`}.`,
  ];

  if (said !== undefined && !ratesAgree(said, dt))
    notes.push(
      `Its file says ${rounded(said)} frames a second; the task takes the ${rounded(1 / dt)} of --fps. Leave --fps out to take the file's.`,
    );

  const beyond = single.flatMap((j) => {
    const [low, high] = model.jnt_range.subarray(2 * j, 2 * j + 2);
    const least = LEAVES * (high - low);
    const far = column(qpos, nq, model.jnt_qposadr[j]).filter((x) => x < low - least || x > high + least);
    return model.jnt_limited[j] > 0 && far.length > 0 ? [{ j, low, high, at: far[0] }] : [];
  });
  if (beyond.length > 0) {
    const [{ j, low, high, at }] = beyond;
    const others = beyond.length > 1 ? `, and ${beyond.length - 1} more leave theirs` : "";
    notes.push(
      `In it ${describe(model, "joint", j)} comes to ${rounded(at)} ${unit(j)}, its range is [${rounded(low)}, ${rounded(high)}]${others}. ` +
        "Angles are in radians, and columns in the order of qpos.",
    );
  }

  const free = Array.from(model.jnt_type).indexOf(mjtJoint.FREE);
  const at = free < 0 ? 0 : model.jnt_qposadr[free] + 3;
  if (free >= 0 && Math.abs(qpos[at]) < LAST_W.w && Math.abs(qpos[at + 3]) > LAST_W.z)
    notes.push(
      'It begins turned by half about z. If the file has w last, pass --quaternions xyzw, or quaternions: "xyzw" to loadMotion in the task.',
    );
  return notes;
}
