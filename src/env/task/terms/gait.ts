// legs that step as a command says, by what their servos turn for feet that move: a policy acts about it
import { mjtJoint } from "../../../model/enums.ts";
import { actuatorNames } from "../../../model/model.ts";
import { add, lt, mul, or, select, square, sub, type Scalar } from "../../../trace/scalar.ts";
import { cos } from "../../../trace/math.ts";
import type { Scene } from "../task.ts";
import { body, isNumber, needs, needsOptions, numbers, type Body, type Source } from "./source.ts";
import { carried, leaning, stepping, turned } from "./stepping.ts";

/** How far it walks at least where its feet are lifted off their ground. */
const STROLLS = 0.3;

/** What servos of a leg turn by, each a number for every one of its `actuators`. */
export interface GaitLeg {
  /** Names of its actuators: servos of position. */
  readonly actuators: readonly string[];
  /** Part of the period by which it is ahead of the clock: 0 and 0.5 of two legs. */
  readonly phase: number;
  /** For a foot that is ahead, to the left and up (rad/m), that turns to the left (rad/rad), and by the square of ahead (rad/m²). */
  readonly ahead: readonly number[];
  readonly left: readonly number[];
  readonly up: readonly number[];
  readonly turn: readonly number[];
  readonly bend: readonly number[];
  /** Beyond their place where the leg alone carries the robot, as far as that moves servos back (rad). */
  readonly carry: readonly number[];
  /** For each rad that the base is to be turned back that leans ahead, and to the left. */
  readonly pitch: readonly number[];
  readonly roll: readonly number[];
}

export interface LegGaitOptions {
  /** The body that floats, at the free joint. */
  readonly base: Body;
  readonly legs: readonly GaitLeg[];
  /** Seconds of a stride, and the part of it that a foot stands; default 0.6. */
  readonly period: number;
  readonly duty?: number;
  /** How high feet swing and how far the base sways to the leg that stands (m); default 0. */
  readonly lift: number;
  readonly sway?: number;
  /** Feet that swing land farther by this times the velocity beyond the command (s), and this times the tilt (m); default 0. */
  readonly catches?: number;
  readonly rights?: number;
  /** Time constant with which it follows the command (s); default 0.5. */
  readonly follows?: number;
  /** Hips of legs that stand turn against the tilt of the base by this times it, as it stands and as it walks; default 0. */
  readonly posture?: readonly [standing: number, walking: number];
  /** Values of the task: what is commanded (ahead, left, turning) and the velocity of the base; default "wanted", "linear". */
  readonly wanted?: Source;
  readonly velocity?: Source;
  /** Unit vectors ahead and to the left in the frame of the base as it stands; default x and y. */
  readonly axes?: readonly [ahead: readonly number[], left: readonly number[]];
}

/** What a task takes of a gait. */
export interface Gait {
  /** Controls: the action, and what the gait turns its servos by. For `control` of a task. */
  readonly control: (s: Scene) => readonly Scalar[];
  /** For observations: sine and cosine of the phase, how far it walks (0 to 1), and the command as it is followed. */
  readonly clock: (s: Scene) => readonly Scalar[];
  /** How far beside the command each foot lands, ahead and to the left (m). */
  readonly landings: (s: Scene) => readonly Scalar[];
}

const COLUMNS = ["ahead", "left", "up", "turn", "bend", "carry", "pitch", "roll"] as const;
const NUMBERS = ["duty", "lift", "sway", "catches", "rights", "follows"] as const;
const OPTIONS = ["base", "legs", "period", "posture", "wanted", "velocity", "axes", ...NUMBERS];

function check(options: LegGaitOptions): void {
  needsOptions("gait", options, OPTIONS);
  const { legs, period, duty = 0.6 } = options;
  needs(Array.isArray(legs) && legs.length > 0, "legs of gait", legs, "a list of legs");
  needs(isNumber(period) && period > 0, "period of gait", period, "a number of seconds above 0");
  needs(isNumber(duty) && duty > 0.5 && duty < 1, "duty of gait", duty, "a number above 0.5 and below 1");
  for (const name of NUMBERS)
    needs(options[name] === undefined || isNumber(options[name]), `${name} of gait`, options[name], "a number");
  const { posture = [0, 0] } = options;
  const isPair = Array.isArray(posture) && posture.length === 2 && posture.every(isNumber);
  needs(isPair, "posture of gait", posture, "two numbers: as it stands, and as it walks");
  const { axes }: { readonly axes?: unknown } = options;
  const isVector = (a: unknown) => Array.isArray(a) && a.length === 3 && a.every(isNumber);
  const areAxes = axes === undefined || (Array.isArray(axes) && axes.length === 2 && axes.every(isVector));
  needs(areAxes, "axes of gait", axes, "two vectors of three numbers: ahead and to the left");
  for (const leg of legs) {
    needs(Array.isArray(leg.actuators), "actuators of a leg of gait", leg.actuators, "a list of names");
    const many = leg.actuators.length;
    for (const name of COLUMNS)
      needs(
        Array.isArray(leg[name]) && leg[name].length === many && leg[name].every(isNumber),
        `${name} of a leg of gait`,
        leg[name],
        `${many} numbers, one for each of its actuators`,
      );
  }
}

/** The numbers of a source, of which it takes those that are named. */
function told(source: Source, s: Scene, name: string, parts: readonly string[]): readonly Scalar[] {
  const found = numbers(source, s, name);
  const { length } = found;
  needs(
    length >= parts.length,
    `${name} of gait`,
    source,
    `${parts.length} numbers (${parts.join(", ")}), not ${length}`,
  );
  return found;
}

/** The places of a leg's actuators among the controls. */
function placesOf({ model }: Scene, { actuators }: GaitLeg): number[] {
  const names = actuatorNames(model);
  return actuators.map((name) => {
    needs(names.includes(name), "an actuator of gait", name, `one of ${names.join(", ")}`);
    return names.indexOf(name);
  });
}

/** The quaternion of a base. */
function quatOf(s: Scene, base: Body): readonly Scalar[] {
  const joint = s.model.body_jntadr[body(s, base)];
  needs(joint >= 0 && s.model.jnt_type[joint] === mjtJoint.FREE, "base of gait", base, "a body with a free joint");
  return s.d.qpos.run(s.model.jnt_qposadr[joint] + 3, 4);
}

/**
 * A gait whose strides are those of a command, about the pose that actions of 0 hold. Feet swing by a clock, land where the
 * command and the velocity beyond it ask for (Raibert 1986, Legged Robots That Balance), and hips of legs that stand hold
 * the base; where nothing is wanted and nothing pushes, feet stay. Policies act about it (residuals with a clock: Xie et al. 2018).
 * @throws CorralError bad-term
 */
export function gait(options: LegGaitOptions): Gait {
  check(options);
  const { base, legs, period, lift, duty = 0.6, sway = 0, posture = [0, 0] } = options;
  const { wanted = "wanted", velocity = "linear", axes } = options;
  const leans = (s: Scene) => leaning(quatOf(s, base), axes);
  const { kept, feet, caught, clock } = stepping({
    name: base,
    offsets: legs.map(({ phase }) => phase),
    period,
    duty,
    follows: options.follows ?? 0.5,
    catches: options.catches ?? 0,
    rights: options.rights ?? 0,
    linear: (s) => told(velocity, s, "velocity", ["ahead", "left"]),
    down: leans,
    wanted: (s) => told(wanted, s, "wanted", ["ahead", "left", "turning"]),
  });

  function control(s: Scene): readonly Scalar[] {
    const controls: Scalar[] = [...s.action];
    const [phase, walks, forward, sideways, turning] = kept(s);
    const [forwards, sideward] = leans(s);
    const moved = caught(s);
    const swayed = mul(mul(sway, walks), cos(mul(2 * Math.PI, sub(phase, duty / 2))));
    const against = add(posture[0], mul(walks, posture[1] - posture[0]));
    feet(s).forEach(({ along, up, stands }, k) => {
      const leg = legs[k];
      const part = mul(period * duty, along);
      const x = add(mul(forward, part), moved[2 * k]);
      const y = sub(add(mul(sideways, part), moved[2 * k + 1]), swayed);
      const load = carried(turned(phase, leg.phase), duty, walks);
      const held = select(or(stands, lt(walks, STROLLS)), against, 0, "f32");
      const by: Readonly<Record<(typeof COLUMNS)[number], Scalar>> = {
        ahead: x,
        left: y,
        up: mul(mul(lift, walks), up),
        turn: mul(turning, part),
        bend: square(x),
        carry: load,
        pitch: mul(held, forwards),
        roll: mul(held, sideward),
      };
      placesOf(s, leg).forEach((place, i) => {
        for (const name of COLUMNS) {
          if (leg[name][i] !== 0) controls[place] = add(controls[place], mul(leg[name][i], by[name]));
        }
      });
    });
    return controls;
  }
  return { control, clock, landings: caught };
}
