// a gait for a robot of two legs, as a task has it: what its servos turn by for feet that step, found from its kinematics
import { jointOf } from "../model/model.ts";
import type { Oracle } from "../model/oracle.ts";
import { withRobot } from "./with-robot.ts";
import { listen } from "../model/mujoco.ts";
import { columnsOf, type Columns } from "./leg-columns.ts";
import { close, linkagesOf } from "./linkages.ts";
import { baseOf, type Robot } from "./robot.ts";
import { reachOf, type Places } from "./stance.ts";
import { kinematicsOf, legOf, straightKnees, type Kinematics } from "./straight-legs.ts";
import { touching } from "./touching.ts";
import { axesOf, turnedAhead } from "./upright.ts";
import { minus, turned, vectorAt, type Vector } from "./vectors.ts";

const GRAVITY = 9.81;
/** Legs that miss more of a step or a lift, in parts of it, are no legs to walk with. */
const MISSES = 0.15;
/** What is multiplied by the time in which a leg as long falls, √(leg / g): a stride, and how far ahead a fall is caught. */
const PERIOD = 1.9;
const CATCHES = 0.78;
/** Parts of the leg: how high feet swing, how far the base sways, and where feet land for each rad of tilt. */
const LIFT = 0.11;
const SWAY = 0.013;
const RIGHTS = 0.3;
/** What of the load of a leg servos aim beyond their places by: the rest is left to feet that give. */
const CARRIES = 0.7;
/** How far hips turn against the tilt, standing and walking (docs/decisions/0149). */
const POSTURE = [3, 6] as const;
/** An axis is that of pitch or roll if so much of it is along y or x; feet are below the mass at most by so much of the leg. */
const ALONG = 0.6;
const BELOW = 0.15;
/** Hinges that are so near to the foot's height are ankles, in parts of the leg. */
const ANKLE = 0.2;
/** rad that a servo is turned by to see what it pulls, and the least that it does for each. */
const TURNED = 1e-4;
const PULLS = 0.05;
/** A heel is as low as toes but for this part of the robot's height. */
const HEEL = 0.01;

/** A leg with its actuators: numbers for each. */
export interface GaitLeg extends Omit<Columns, "raises" | "sides" | "misses" | "stance"> {
  readonly actuators: readonly string[];
  readonly motors: readonly number[];
  readonly carry: readonly number[];
  readonly pitch: readonly number[];
  readonly roll: readonly number[];
  /** What its servos aim at beyond the pose: feet below the mass, and springs of joints. */
  readonly shift: readonly number[];
  /** To the left of the base (m). */
  readonly side: number;
}

export interface RobotGait {
  readonly legs: readonly GaitLeg[];
  readonly period: number;
  readonly lift: number;
  readonly sway: number;
  readonly catches: number;
  readonly rights: number;
  readonly posture: readonly [number, number];
}

/** Ahead, to the left and up of a base whose frame stands upright. */
const OWN: readonly Vector[] = [
  [1, 0, 0],
  [0, 1, 0],
  [0, 0, 1],
];

/** World positions and axes of a pose. */
interface Posed extends Kinematics, Places {
  readonly xpos: Float64Array;
  readonly xquat: Float64Array;
  readonly subtree_com: Float64Array;
}

function posed(oracle: Oracle, qpos: ArrayLike<number>): Posed {
  const places = kinematicsOf(oracle, qpos);
  listen(() => oracle.mujoco.mj_comPos(oracle.model, oracle.data));
  return {
    ...places,
    xpos: oracle.read("xpos"),
    xquat: oracle.read("xquat"),
    geom_xmat: oracle.read("geom_xmat"),
    subtree_com: oracle.read("subtree_com"),
  };
}

/** How far a joint turns for each rad of a servo's own, by the linkages of a robot. */
type Pull = (motor: number) => (joint: number) => number;

/** The body that stands: toes hang from one whose heel is as low. */
function standing({ model, span }: Robot, end: number, places: Places): number {
  const low = (body: number) =>
    Math.min(...touching(model, body).map((g) => places.geom_xpos[3 * g + 2] - reachOf(model, g, places, 2)));
  const above = model.body_weldid[model.body_parentid[end]];
  return above > 0 && low(above) < low(end) + HEEL * span ? above : end;
}

/** The middle of what touches of a foot (m): ahead, and to the left. */
function soleOf({ model }: Robot, own: readonly number[], places: Places): readonly [number, number] {
  const middle = (axis: number): number => {
    const at = (g: number) => places.geom_xpos[3 * g + axis];
    const low = Math.min(...own.map((g) => at(g) - reachOf(model, g, places, axis)));
    return (low + Math.max(...own.map((g) => at(g) + reachOf(model, g, places, axis, true)))) / 2;
  };
  return [middle(0), middle(1)];
}

/**
 * Where a foot touches the ground, in the world and in its frame (m), where it is a shin: a leg of a hip and a knee has no
 * ankle, and its frame is at the knee. Undefined where a foot has one.
 */
function tipOf(robot: Robot, foot: number, pose: Posed, hinges: readonly Hinge[]) {
  const pitches = hinges.filter(({ joint }) => Math.abs(pose.xaxis[3 * joint + 1]) > ALONG);
  const lowOf = (g: number) => pose.geom_xpos[3 * g + 2] - reachOf(robot.model, g, pose, 2);
  // what else of a shin touches is beside where it stands, as it slants
  const lowest = touching(robot.model, foot).toSorted((g, h) => lowOf(g) - lowOf(h))[0];
  const low = lowOf(lowest);
  const [frame, hip] = [pose.xpos[3 * foot + 2], pose.xanchor[3 * hinges[0].joint + 2]];
  if (pitches.length > 2 || frame - low < ANKLE * (hip - low)) return undefined;
  const at: Vector = [...soleOf(robot, [lowest], pose), low];
  const [w, x, y, z] = pose.xquat.subarray(4 * foot, 4 * foot + 4);
  return { at, own: turned(minus(at, vectorAt(pose.xpos, foot)), [w, -x, -y, -z]) };
}

/** A hinge of a leg, the servo that turns it, and by how much for each rad of that one's own joint. */
interface Hinge {
  readonly joint: number;
  readonly motor: number;
  readonly ratio: number;
}

/** The hinges of a leg, from the hip on, that servos of position turn, some by a linkage; no other foot hangs from them. */
function hingesOf({ model, motors }: Robot, foot: number, feet: readonly number[], pull: Pull): Hinge[] {
  const servos = Array.from({ length: model.nu }, (_, i) => i).filter((i) => motors[i].isPosition);
  const driving = new Map(servos.map((i) => [jointOf(model, i), i] as const));
  const leg = legOf(model, foot, feet);
  const pulls = servos.filter((i) => !leg.includes(jointOf(model, i))).map((motor) => ({ motor, by: pull(motor) }));
  return leg.flatMap((joint) => {
    const motor = driving.get(joint);
    if (motor !== undefined) return [{ joint, motor, ratio: 1 }];
    return pulls.flatMap(({ motor: other, by }) => {
      // a servo is one hinge, of those that it pulls the one that turns most
      const most = leg.toSorted((a, b) => Math.abs(by(b)) - Math.abs(by(a)))[0];
      return most === joint && Math.abs(by(joint)) > PULLS ? [{ joint, motor: other, ratio: by(joint) }] : [];
    });
  });
}

/** The gait of a robot that stands on two legs whose feet step and lift; undefined where it has none. */
export async function gaitOf(robot: Robot): Promise<RobotGait | undefined> {
  const { model, motors, mass } = robot;
  const whole = baseOf(robot);
  const { body: base, feet, flies, rolls } = whole;
  if (flies || rolls || feet.length !== 2) return undefined;
  const axes = axesOf(robot, whole);
  return withRobot(model, (oracle) => {
    const qpos = Float64Array.from(robot.qpos);
    // of poses x is ahead and z up
    if (axes) qpos.set(turnedAhead(robot, base, axes), model.jnt_qposadr[model.body_jntadr[base]] + 3);
    const linkages = linkagesOf(model);
    if (linkages.length > 0) close(oracle, model, linkages, qpos);
    const pose = posed(oracle, qpos);
    const straight = straightKnees(model, qpos, feet, pose);
    const soles = feet.map((end) => standing(robot, end, pose));
    const pull: Pull = (motor) => {
      const own = jointOf(model, motor);
      const pulled = linkages.filter(({ joints }) => joints.includes(own));
      if (pulled.length === 0) return () => 0;
      const turned = qpos.slice();
      turned[model.jnt_qposadr[own]] += TURNED;
      close(oracle, model, pulled, turned);
      return (joint) => (turned[model.jnt_qposadr[joint]] - qpos[model.jnt_qposadr[joint]]) / TURNED;
    };
    const legs = soles.map((foot): (GaitLeg & { readonly long: number; readonly misses: number }) | undefined => {
      const hinges = hingesOf(robot, foot, soles, pull);
      const shapes = touching(model, foot);
      if (hinges.length < 2 || shapes.length === 0) return undefined;
      const tip = tipOf(robot, foot, pose, hinges);
      const sole = tip?.at ?? soleOf(robot, shapes, pose);
      const own = hinges.map(({ motor }) => jointOf(model, motor));
      const places = own.map((joint) => model.jnt_qposadr[joint]);
      const pulled = linkages.filter(({ joints }) => own.some((j) => joints.includes(j)));
      const ranges = own.map((joint): [number, number] =>
        model.jnt_limited[joint] > 0
          ? [model.jnt_range[2 * joint], model.jnt_range[2 * joint + 1]]
          : [-Infinity, Infinity],
      );
      const at = tip?.at ?? vectorAt(pose.xpos, foot);
      const long = pose.xanchor[3 * hinges[0].joint + 2] - at[2];
      if (!(long > 0)) return undefined;
      const back = Math.max(-BELOW * long, Math.min(BELOW * long, pose.subtree_com[3 * base] - sole[0]));
      const { raises, sides, misses, stance, ...columns } = columnsOf(oracle, qpos, {
        base,
        axes: axes ? [axes.ahead, axes.left, axes.up] : OWN,
        foot,
        tip: tip?.own,
        places,
        ranges,
        long,
        back,
        bent: hinges.map(({ joint, ratio }) => (straight.get(joint) ?? 0) / (2 * ratio)),
        ...(hinges.some(({ joint }, i) => joint !== own[i]) && {
          close: (q: Float64Array) => close(oracle, model, pulled, q),
        }),
      });
      const stiffness = hinges.map(({ motor }) => motors[motor].servo?.stiffness ?? model.actuator_gainprm[10 * motor]);
      // what a leg alone is pushed by goes from its foot through the mass, which it would turn else
      const leans = (pose.subtree_com[3 * base + 1] - sole[1]) / (pose.subtree_com[3 * base + 2] - at[2]);
      const isAnkle = (i: number) => pose.xanchor[3 * hinges[i].joint + 2] - at[2] < ANKLE * long;
      // feet carry where they stand, not where their frames are: an ankle behind the middle of its sole pushes toes down
      const lever = (joint: number) =>
        pose.xaxis[3 * joint] * (sole[1] - pose.xanchor[3 * joint + 1]) -
        pose.xaxis[3 * joint + 1] * (sole[0] - pose.xanchor[3 * joint]);
      const along = (axis: number) => {
        const first = hinges.findIndex(({ joint }) => Math.abs(pose.xaxis[3 * joint + axis]) > ALONG);
        return hinges.map(({ joint, ratio }, i) => (i === first ? Math.sign(pose.xaxis[3 * joint + axis]) / ratio : 0));
      };
      return {
        ...columns,
        long,
        misses,
        actuators: hinges.map(({ motor }) => motors[motor].name),
        motors: hinges.map(({ motor }) => motor),
        carry: raises.map((raise, i) => {
          const { joint, ratio } = hinges[i];
          const rises = isAnkle(i) ? ratio * lever(joint) : raise + leans * sides[i];
          return (-CARRIES * rises * mass * GRAVITY) / stiffness[i];
        }),
        pitch: along(1),
        // what leans to the left is turned back about +x
        roll: along(0).map((sign) => -sign),
        shift: own.map((joint, i) => {
          const bent = qpos[places[i]] + stance[i] - model.qpos_spring[places[i]];
          return stance[i] + (model.jnt_stiffness[joint] * bent) / stiffness[i];
        }),
        // frames of feet may be anywhere about them
        side: sole[1] - pose.xpos[3 * base + 1],
      };
    });
    const found = legs.filter((leg) => leg !== undefined);
    const isFit =
      found.length === 2 && found.every(({ misses }) => misses < MISSES) && found[0].side * found[1].side < 0;
    if (!isFit) return undefined;
    const long = (found[0].long + found[1].long) / 2;
    const falls = Math.sqrt(long / GRAVITY);
    return {
      legs: found.toSorted((a, b) => b.side - a.side),
      period: PERIOD * falls,
      lift: LIFT * long,
      sway: SWAY * long,
      catches: CATCHES * falls,
      rights: RIGHTS * long,
      posture: POSTURE,
    };
  });
}
