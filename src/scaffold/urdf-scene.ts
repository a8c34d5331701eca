// a scene for a URDF, which knows neither actuators nor a floor: an MJCF that attaches it and adds both
import { CorralError } from "../core/errors.ts";
import { mjtJoint } from "../model/enums.ts";
import { nameOf, type Model } from "../model/model.ts";
import { followersOf, isBelow, wheelsOf } from "./motors.ts";

export interface SceneOptions {
  /** Path of the URDF from the scene's file. */
  readonly file: string;
  /** It stands free, its frame at this height (m); undefined: it is fixed to the world. */
  readonly height: number | undefined;
  /** Where its trunk is in the frame of the URDF's first link (m), if the frame that floats is to be there. */
  readonly trunk?: readonly number[] | undefined;
  /** Its weight times its height (N m), where both are known. */
  readonly carries?: number;
  /** How many times as stiff its servos are. */
  readonly stiffer?: number;
  /** Names of the joints of its legs. */
  readonly legs?: ReadonlySet<string>;
  /** Names of links that lie in one another where it starts: they do not collide. */
  readonly overlaps?: readonly (readonly [string, string])[];
  /** Where its joints start, in the places of the scene's qpos, if not in the default pose. */
  readonly pose?: readonly number[] | undefined;
}

/** A servo spends its force on so much of an error (rad, m); its damping is this part of its stiffness (s). */
const SERVO_ERROR = 0.67;
const SERVO_DAMPING = 0.05;
/** rad/s that wheels are asked for at most, and the error that takes all of their torque. */
const WHEEL_SPEED = 20;
const WHEEL_ERROR = 5;
/**
 * Of a robot that stands free, the part of its weight times its height that servos are stiff enough for at most: motors of Go1,
 * ANYmal and G1 have 0.3 to 0.7 of it. Many URDFs say 100 or 1,000 N m of any joint.
 */
const STANDING = 1;
/** s, of the scene. */
const TIMESTEP = 0.002;

export const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
export const short = (x: number): string => String(Number(x.toPrecision(4)));

/** Of a robot that stands free, the part of its weight times its height that a joint of a leg has where the URDF does not say. */
const LEG_FORCE = 0.5;

/** What a joint may be moved with (N m, N): what the URDF says, or what carries a part of what hangs on it, or stands on it. */
function forceOf(model: Model, joint: number, { carries, legs }: Pick<SceneOptions, "carries" | "legs">): number {
  const said = model.jnt_actfrclimited[joint] > 0 ? model.jnt_actfrcrange[2 * joint + 1] : 0;
  if (said > 0) return said;
  if (carries !== undefined && legs?.has(nameOf(model, "joint", joint))) return LEG_FORCE * carries;
  const mass = (bodies: (b: number) => boolean) => model.body_mass.reduce((sum, m, b) => sum + (bodies(b) ? m : 0), 0);
  const hangs = mass((b) => isBelow(model, b, model.jnt_bodyid[joint]));
  return 9.81 * 0.3 * Math.max(hangs, 0.2 * mass(() => true));
}

type Servo = Pick<SceneOptions, "carries" | "legs" | "stiffer">;

/** Gains of the servo of a joint, as its scene has them (N m/rad, N m s/rad). */
function gainsOf(model: Model, joint: number, options: Servo): { readonly kp: string; readonly kv: string } {
  const { carries = Infinity, stiffer = 1 } = options;
  const force = forceOf(model, joint, options);
  // stiffer than this a free link would swing faster than steps can follow
  const inertia = model.dof_M0[model.jnt_dofadr[joint]];
  const most = STANDING * carries;
  const kp = Math.min((stiffer * Math.min(force, most)) / SERVO_ERROR, (0.25 * inertia) / TIMESTEP ** 2);
  return { kp: short(kp), kv: short(SERVO_DAMPING * kp) };
}

function actuatorOf(model: Model, joint: number, isWheel: boolean, options: SceneOptions): string {
  const name = escaped(nameOf(model, "joint", joint));
  const force = forceOf(model, joint, options);
  const bound = `forcerange="${short(-force)} ${short(force)}"`;
  if (isWheel)
    return `<velocity name="${name}" joint="${name}" kv="${short(force / WHEEL_ERROR)}" ctrlrange="-${WHEEL_SPEED} ${WHEEL_SPEED}" ${bound}/>`;
  const { kp, kv } = gainsOf(model, joint, options);
  return `<position name="${name}" joint="${name}" kp="${kp}" kv="${kv}" ${bound}/>`;
}

/** Joints that are driven: what follows another is moved by it. */
function drivenIn(model: Model): number[] {
  const follow = new Set(followersOf(model).map(({ joint }) => joint));
  return Array.from({ length: model.njnt }, (_, j) => j).filter(
    (j) =>
      [mjtJoint.HINGE, mjtJoint.SLIDE].includes(model.jnt_type[j] as 2 | 3) &&
      nameOf(model, "joint", j) !== "" &&
      !follow.has(j),
  );
}

/** Gains of all actuators of a scene; undefined of wheels, whose servos hold no pose. */
export function servosIn(model: Model, options: Servo): (readonly [kp: number, kv: number] | undefined)[] {
  const wheels = wheelsOf(model);
  return drivenIn(model).map((j) => {
    if (wheels.has(j)) return undefined;
    const { kp, kv } = gainsOf(model, j, options);
    return [Number(kp), Number(kv)];
  });
}

/**
 * The scene: a floor, the robot of a URDF, a servo of position for each of its joints that follows no other, and one of velocity for its wheels.
 * @throws CorralError no-actuators where no joint could have one
 */
export function urdfScene(name: string, model: Model, options: SceneOptions): string {
  const { file, height, trunk, pose, overlaps = [] } = options;
  const wheels = wheelsOf(model);
  const scalar = drivenIn(model);
  if (scalar.length === 0)
    throw new CorralError(
      "no-actuators",
      "the URDF has no joint that could be driven, and says of nothing else what moves it. Write an MJCF with <actuator>, thrusters as <motor site>.",
    );
  // links that are fixed have names too, which the model alone has not
  const taken = new Set([...model.source.xml.matchAll(/\bname\s*=\s*["']([^"']*)["']/g)].map(([, given]) => given));
  const unused = (wanted: string): string => (taken.has(wanted) ? unused(`${wanted}_`) : escaped(wanted));
  const attach = `<attach model="robot" prefix=""/>`;
  const attached = trunk ? `<frame pos="${trunk.map((x) => short(-x)).join(" ")}">${attach}</frame>` : attach;
  const robot =
    height === undefined
      ? `<frame>${attached}</frame>`
      : `<body name="${unused(name)}" pos="0 0 ${short(height)}">
      <freejoint name="${unused("root")}"/>
      ${attached}
    </body>`;
  const shift = height === undefined ? 0 : 7;
  const target = (j: number) => (wheels.has(j) ? 0 : (pose?.[shift + model.jnt_qposadr[j]] ?? 0));
  const start =
    pose === undefined
      ? ""
      : `
  <keyframe>
    <key name="home" qpos="${pose.map((x, i) => short(height !== undefined && i === 2 ? height : x)).join(" ")}" ctrl="${scalar.map((j) => short(target(j))).join(" ")}"/>
  </keyframe>`;
  const excluded = overlaps.map(([a, b]) => `    <exclude body1="${escaped(a)}" body2="${escaped(b)}"/>\n`).join("");
  const contact = excluded === "" ? "" : `\n  <contact>\n${excluded}  </contact>`;
  return `<!-- ${escaped(name)}: a floor for the robot of a URDF, and actuators, which a URDF has none of: change their gains -->
<mujoco model="${escaped(name)}">
  <option timestep="${TIMESTEP}" integrator="implicitfast"/>
  <asset>
    <model name="robot" file="${escaped(file)}"/>
  </asset>
  <worldbody>
    <light pos="0 0 3" dir="0 0 -1" directional="true"/>
    <geom name="${unused("floor")}" type="plane" size="0 0 0.05"/>
    ${robot}
  </worldbody>
  <actuator>
${scalar.map((j) => `    ${actuatorOf(model, j, wheels.has(j), options)}`).join("\n")}
  </actuator>${contact}${start}
</mujoco>
`;
}
