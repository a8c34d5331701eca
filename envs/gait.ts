// a gait of two legs, made from commands of velocity: what servos of bipeds aim at, and policies act about
import { carried, leaning, stepping, turned, valueOf, type Scene } from "../src/env/index.ts";
import { footing, swung, type FootingOptions, type Ground } from "./footing.ts";
import { acos, atan2, cos, sin } from "../src/trace/math.ts";
import {
  add,
  div,
  lt,
  max,
  min,
  mul,
  or,
  select,
  sqrt,
  square,
  sub,
  type Bool,
  type Scalar,
} from "../src/trace/scalar.ts";

type Plane = readonly [x: Scalar, z: Scalar];

export type LegJoint = "hip_pitch" | "hip_roll" | "hip_yaw" | "knee" | "ankle_pitch" | "ankle_roll";

/** Two legs of hip pitch, roll and yaw, knee, ankle pitch and roll, and how they walk. */
export interface GaitOptions {
  /** Joints of a leg in the model's order. */
  readonly joints: readonly LegJoint[];
  /** With all joints at 0: from the axis of hip pitch to the knee's to the ankle's (m), ahead and up. */
  readonly thigh: readonly [number, number];
  readonly shank: readonly [number, number];
  /** Heights (m): of the base as it walks, of the axis of hip pitch above the base, of the ankle above the sole. */
  readonly height: number;
  readonly hip: number;
  readonly sole: number;
  /** How far ahead of the hips feet are, how much nearer to each other, and a leg outside of its axis of roll (m). */
  readonly centre: number;
  readonly nearer: number;
  readonly out: number;
  /** Seconds of two steps, the part of them that a foot stands, how high it swings and the base sways (m). */
  readonly period: number;
  readonly duty: number;
  readonly lift: number;
  readonly sway: number;
  /** Feet that swing land farther by this times the velocity beyond the command (s), as pendulums are caught. */
  readonly catches: number;
  /** And by this times the tilt towards there (m), as legs turn away with the base; default 0. */
  readonly rights?: number;
  /** Time constant with which it follows the command (s); default 0.25. */
  readonly follows?: number;
  /**
   * Servos of a leg aim beyond its place by what the weight that it carries moves them: of the knee all of the
   * weight over its stiffness (rad for each m that the ankle is behind it), of the hip's roll how far (rad); default 0.
   */
  readonly carries?: { readonly knee: number; readonly roll: number };
  /**
   * Hips of legs that stand turn by this times the tilt of the base, against it: as it stands, and as it walks, where steps
   * catch what that pushes.
   */
  readonly posture: readonly [standing: number, walking: number];
  /** Feet follow the terrain; default: they walk on a plane. */
  readonly footing?: FootingOptions;
}

/** How much of a tilt of the base the height of a foot that swings makes up for, on terrain. */
const LEVELS = 0.5;
/** On terrain: the tilt of the base that slows nothing, and how much of the command each rad beyond it takes. */
const UPRIGHT = 0.05;
const SLOWS = 6;
/** On terrain feet swing higher by how high steps of the ground are, and by so much at most (m). */
const CLEARS = 0.05;
/** How far it walks at least where its feet are lifted off their ground. */
const STROLLS = 0.3;

/** How far ahead of straight down a vector points (rad). */
const ahead = ([x, z]: Plane): Scalar => atan2(x, mul(z, -1));
const far = ([x, z]: Plane): Scalar => sqrt(add(square(x), square(z)));

/** Angles of hip, knee and ankle pitch that put the ankle at a place from the hip's axis, with a level foot. */
export function pitches({ thigh, shank }: Pick<GaitOptions, "thigh" | "shank">, ankle: Plane): Scalar[] {
  const [a, b] = [Math.hypot(...thigh), Math.hypot(...shank)];
  const c = min(far(ankle), 0.999 * (a + b));
  const bend = acos(div(add(a * a - b * b, square(c)), mul(2 * a, c)));
  const first = add(ahead(ankle), bend);
  const second = ahead([sub(ankle[0], mul(a, sin(first))), add(ankle[1], mul(a, cos(first)))]);
  const hip = sub(Math.atan2(thigh[0], -thigh[1]), first);
  const knee = sub(sub(Math.atan2(shank[0], -shank[1]), second), hip);
  return [hip, knee, mul(-1, add(hip, knee))];
}

/** What of a command it follows where the base tilts, 1 upright to 0. */
function steady(s: Scene): Scalar {
  const [x, y] = valueOf(s, "down");
  return max(sub(1, mul(SLOWS, max(sub(sqrt(add(square(x), square(y))), UPRIGHT), 0))), 0);
}

/**
 * A gait whose strides are those of the value `wanted` (forward, sideways, turning), followed smoothly. Where nothing is
 * wanted feet stay on the ground.
 */
export function gaitOf(options: GaitOptions) {
  const {
    joints,
    period,
    duty,
    lift,
    sway,
    height,
    hip,
    sole,
    centre,
    nearer,
    out,
    catches,
    rights = 0,
    follows = 0.25,
    carries,
    posture,
  } = options;
  const long = height + hip - sole;
  const apart = options.footing?.apart ?? 0;
  const inOrder = (angles: Readonly<Record<LegJoint, Scalar>>): Scalar[] => joints.map((name) => angles[name]);
  /** Angles of the left leg (side 1) or the right one (-1), so that rolling it leaves its foot at its height. */
  const legOf = (side: number, [x, z]: Plane, roll: Scalar) => {
    const [hip_pitch, knee, ankle_pitch] = pitches(options, [x, sub(z, mul(side * out, roll))]);
    return { hip_pitch, hip_roll: roll, hip_yaw: 0, knee, ankle_pitch, ankle_roll: mul(-1, roll) };
  };
  /** The same, with what a foot carries at a phase: all where it alone stands, half where the robot does not walk. */
  const loaded = (leg: ReturnType<typeof legOf>, side: number, phase: Scalar, walks: Scalar) => {
    if (!carries) return leg;
    const part = carried(phase, duty, walks);
    const behind = mul(Math.hypot(...options.shank), sin(add(leg.hip_pitch, leg.knee)));
    return {
      ...leg,
      knee: sub(leg.knee, mul(mul(part, carries.knee), behind)),
      hip_roll: sub(leg.hip_roll, mul(part, side * carries.roll)),
    };
  };
  /** An angle of a hip whose leg holds the base against its tilt. */
  const against = (angle: Scalar, tilt: Scalar, walks: Scalar, holds: Bool) => {
    const [standing, walking] = posture;
    return add(angle, select(holds, mul(add(standing, mul(walks, walking - standing)), tilt), 0, "f32"));
  };
  const { moves, kept, feet, caught, updated, clock } = stepping({
    offsets: [0, 0.5],
    period,
    duty,
    follows,
    catches,
    rights,
    linear: (s) => valueOf(s, "linear"),
    down: (s) => valueOf(s, "down"),
    wanted: (s) => valueOf(s, "wanted"),
    followed: (s) =>
      under ? valueOf(s, "wanted").map((x) => mul(x, mul(steady(s), under.pace(s)))) : valueOf(s, "wanted"),
  });
  /** Where feet that swing land from the base as it is. */
  const landings = (s: Scene) => {
    const [phase, walks, forward, sideways] = updated(s);
    const moved = caught(s);
    return [0, 0.5].map((offset, i) => {
      const own = turned(phase, offset);
      const until = add((period * duty) / 2, mul(period, sub(1, own)));
      return {
        ahead: add(centre, add(mul(forward, until), moved[2 * i])),
        left: add(mul(sideways, until), moved[2 * i + 1]),
        stands: or(lt(own, duty), lt(walks, STROLLS)),
      };
    });
  };
  const under = options.footing && footing(options.footing, landings);
  return {
    moves,
    /** What a policy must know of it. */
    clock,
    /** Where feet land beside it, which a policy sees too: the left one, then the right one (m). */
    caught,
    /** The ground that it takes feet to be over, which a policy sees too: heights (m) and slopes (rad); none on a plane. */
    ground: (s: Scene): readonly Scalar[] =>
      (under?.grounds(s) ?? []).flatMap(({ to, pitch, roll }: Ground) => [to, pitch, roll]),
    /** Whether the left and the right foot should stand. */
    stands: (s: Scene): Bool[] => feet(s).map(({ stands }) => stands),
    /** Angles of the left leg and the right one, in the order of their joints. */
    legs: (s: Scene): Scalar[][] => {
      const grounds = under?.grounds(s);
      const [forwards, sideward] = leaning(s.d.qpos.run(3, 4));
      const [phase, walks, forward, sideways, turning] = kept(s);
      const swayed = mul(mul(sway, walks), cos(mul(2 * Math.PI, sub(phase, duty / 2))));
      const moved = caught(s);
      return feet(s).map(({ along, up, stands, swings }, i) => {
        const side = 1 - 2 * i;
        const part = mul(period * duty, along);
        const x = add(add(centre, mul(forward, part)), moved[2 * i]);
        const clears = under ? add(lift, min(under.steps(s), CLEARS)) : lift;
        const lifted = add(-long, mul(mul(clears, walks), up));
        const roll = div(add((-side * nearer) / 2, sub(add(mul(sideways, part), moved[2 * i + 1]), swayed)), long);
        const holds = or(stands, lt(walks, STROLLS));
        const held = (leg: ReturnType<typeof legOf>) => {
          const carrying = loaded(leg, side, turned(phase, 0.5 * i), walks);
          return {
            ...carrying,
            hip_pitch: against(carrying.hip_pitch, forwards, walks, holds),
            hip_roll: against(carrying.hip_roll, mul(-1, sideward), walks, holds),
            hip_yaw: mul(turning, part),
          };
        };
        if (!grounds) return inOrder(held(legOf(side, [x, lifted], roll)));
        const ground = grounds[i];
        const lowers = mul(LEVELS, add(mul(x, forwards), mul(side * apart, sideward)));
        const swinging = add(swung(ground, swings), lowers);
        const leg = legOf(side, [x, add(lifted, select(holds, ground.to, swinging, "f32"))], roll);
        return inOrder({
          ...held(leg),
          ankle_pitch: sub(leg.ankle_pitch, ground.pitch),
          ankle_roll: add(leg.ankle_roll, ground.roll),
        });
      });
    },
    /** How the arm beside each leg swings, -1 to 1. */
    swings: (s: Scene): Scalar[] => {
      const [phase, , forward] = kept(s);
      return [0, 0.5].map((offset) => mul(forward, cos(mul(2 * Math.PI, add(phase, offset)))));
    },
    /** Those angles as it stands. */
    standing: [1, -1].map((side) => inOrder(legOf(side, [centre, -long], (-side * nearer) / 2 / long)) as number[]),
  };
}
