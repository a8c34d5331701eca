// a gait of two legs, made from commands of velocity: what servos of bipeds aim at, and policies act about
import { valueOf, type Scene } from "../src/env/index.ts";
import { footing, swung, type FootingOptions, type Ground } from "./footing.ts";
import { acos, atan2, cos, sin } from "../src/trace/math.ts";
import {
  add,
  clamp,
  div,
  floor,
  gt,
  lt,
  max,
  min,
  mul,
  or,
  select,
  sqrt,
  square,
  sub,
  sum,
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

/** Seconds within which a foot that swings aims anew, and how far it is moved at most (m). */
const AIMS = 0.08;
const FARTHEST = 0.25;
/** How much of a tilt of the base the height of a foot that swings makes up for, on terrain. */
const LEVELS = 0.5;
/** On terrain: the tilt of the base that slows nothing, and how much of the command each rad beyond it takes. */
const UPRIGHT = 0.05;
const SLOWS = 6;
/** On terrain feet swing higher by how high steps of the ground are, and by so much at most (m). */
const CLEARS = 0.05;
/** How fast a base goes (m/s) and how far it tilts (rad) that is told to stand and steps nevertheless. */
const PUSHED = 0.2;
const TILTED = 0.08;
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

/** Where a foot is in its stride, 1/2 as it touches down to -1/2 as it leaves, and how high its swing is, 0 to 1. */
export function stride(phase: Scalar, duty: number) {
  const u = div(sub(phase, duty), 1 - duty);
  // a cubic that leaves and meets the ground at its speed
  const slope = -(1 - duty) / duty;
  const swing = add(-0.5, mul(u, add(slope, mul(u, sub(3 * (1 - slope), mul(2 * (1 - slope), u))))));
  const stands = lt(phase, duty);
  return {
    along: select(stands, sub(0.5, div(phase, duty)), swing, "f32"),
    up: select(stands, 0, square(sin(mul(Math.PI, u))), "f32"),
    stands,
    /** How much of its swing is over, where it swings. */
    swings: u,
  };
}

/** How far the base leans ahead and to the left: what it has of straight down, from its quaternion. */
function tiltOf(s: Scene): readonly [Scalar, Scalar] {
  const [w, x, y, z] = s.d.qpos.run(3, 4);
  return [mul(2, sub(mul(w, y), mul(x, z))), mul(-2, add(mul(y, z), mul(w, x)))];
}

/** What of a command it follows where the base tilts, 1 upright to 0. */
function steady(s: Scene): Scalar {
  const [x, y] = valueOf(s, "down");
  return max(sub(1, mul(SLOWS, max(sub(sqrt(add(square(x), square(y))), UPRIGHT), 0))), 0);
}

/** Whether the base goes or tilts as one that stands does not. */
function isPushed(s: Scene): Bool {
  const [[vx, vy], [x, y]] = [valueOf(s, "linear"), valueOf(s, "down")];
  return or(gt(sum([square(vx), square(vy)]), PUSHED ** 2), gt(sum([square(x), square(y)]), TILTED ** 2));
}

/** A phase moved on, within 0 to 1. */
export const turned = (phase: Scalar, by: number): Scalar => sub(add(phase, by), floor(add(phase, by)));

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
    const alone = clamp(div(min(phase, sub(duty, phase)), duty - 0.5), 0, 1);
    const part = add(0.5, mul(walks, sub(alone, 0.5)));
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
  const moves = (s: Scene): Bool => gt(sum(valueOf(s, "wanted").map(square)), 0.01);
  /** Phase, then how far it walks at all (0 to 1), then the command as it is followed. */
  function advance(t: Scene, before: readonly Scalar[] | undefined): readonly Scalar[] {
    if (!before) return [t.random.uniforms(1)[0], 0, 0, 0, 0];
    const wanted = under
      ? valueOf(t, "wanted").map((x) => mul(x, mul(steady(t), under.pace(t))))
      : valueOf(t, "wanted");
    const part = min(div(t.dt, follows), 1);
    const pushed = isPushed(t);
    const goals = [select(or(moves(t), pushed), 1, 0, "f32"), ...wanted];
    const rates = [select(pushed, min(div(t.dt, AIMS), 1), part, "f32"), part, part, part];
    const followed = goals.map((goal, i) => add(before[i + 1], mul(rates[i], sub(goal, before[i + 1]))));
    return [turned(add(before[0], div(t.dt, period)), 0), ...followed];
  }
  const kept = (s: Scene): readonly Scalar[] => s.memory("gait", advance);
  /** How far each foot lands from where the command puts it, ahead and to the left: what it had as it touched down. */
  const caught = (s: Scene): readonly Scalar[] =>
    s.memory("catch", (t, before) => {
      if (!before) return [0, 0, 0, 0];
      const [, , ...followed] = kept(t);
      const velocity = valueOf(t, "linear");
      const tilt = rights === 0 ? [0, 0] : valueOf(t, "down");
      const aims = [0, 1].map((i) => {
        const beyond = mul(catches, sub(velocity[i], followed[i]));
        return clamp(add(beyond, mul(rights, tilt[i])), -FARTHEST, FARTHEST);
      });
      const part = min(div(t.dt, AIMS), 1);
      return feet(t).flatMap(({ stands }, foot) =>
        aims.map((aim, i) => {
          const was = before[2 * foot + i];
          return select(stands, was, add(was, mul(part, sub(aim, was))), "f32");
        }),
      );
    });
  const feet = (s: Scene) => [0, 0.5].map((offset) => stride(turned(kept(s)[0], offset), duty));
  /** Where feet that swing land from the base as it is. */
  const landings = (s: Scene) => {
    const [phase, walks, forward, sideways] = s.updated("gait", advance);
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
    clock: (s: Scene): Scalar[] => {
      const [phase, ...others] = kept(s);
      const angle = mul(2 * Math.PI, phase);
      return [sin(angle), cos(angle), ...others];
    },
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
      const [forwards, sideward] = tiltOf(s);
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
