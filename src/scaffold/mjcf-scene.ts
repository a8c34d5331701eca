// a scene for an MJCF robot without a floor, or a pose to start from: one that attaches it and adds what it lacks
import { escaped } from "../core/xml-text.ts";
import { mjtDisableBit, mjtIntegrator, mjtJoint } from "../model/enums.ts";
import type { Model } from "../model/model.ts";
import { bentOf, toldOf, type Bent } from "./bent.ts";
import { motorsOf, wheelsOf } from "./motors.ts";
import { standsOn, type Robot } from "./robot.ts";
import { hasGround } from "./stance.ts";
import { actuatorsOf, drivenIn, short, type ServoOptions } from "./scene-servos.ts";

export interface Lack {
  readonly floor: boolean;
  readonly bent: Bent | undefined;
  /** The keyframe whose legs are straight; undefined for the default pose. */
  readonly from?: string | undefined;
  /** Of a robot without actuators, what those of the scene are made by. */
  readonly servos?: ServoOptions | undefined;
}

/**
 * What a robot lacks to start from; undefined where nothing. What reaches stands on nothing, and what follows a motion starts
 * in it: a keyframe of theirs is left alone.
 */
export async function lackOf(robot: Robot, kind: "velocity" | "reach" | "track"): Promise<Lack | undefined> {
  const { model, key: from, qpos } = robot;
  const feet = kind === "reach" ? undefined : standsOn(robot);
  const floor = feet !== undefined && !hasGround(model);
  const isKept = from !== undefined && kind !== "velocity";
  const bent = isKept ? undefined : await bentOf(model, feet, from === undefined ? undefined : qpos);
  return floor || bent ? { floor, bent, from } : undefined;
}

/** How the scene calls the pose to start from: as none of the robot's keyframes is called. */
const keyOf = ({ names }: Model): string =>
  ["home", "stance", "new_task_stance"].find((name) => !names.key.includes(name)) ?? "new_task_home";

/** All bits of what collides: a floor with these meets each of it. */
const bitsOf = (model: Model): number =>
  Array.from({ length: model.ngeom }, (_, g) => model.geom_contype[g] | model.geom_conaffinity[g]).reduce(
    (all, bits) => all | bits,
    1,
  );

function floorFor(model: Model): string {
  const taken = new Set(model.names.geom);
  const name = ["floor", "ground", "new_task_floor"].find((each) => !taken.has(each));
  const bits = bitsOf(model) >>> 0;
  const mask = bits === 1 ? "" : ` contype="${bits}" conaffinity="${bits}"`;
  return `
    <light pos="0 0 3" dir="0 0 -1" directional="true"/>
    <geom name="${name}" type="plane" size="0 0 0.05"${mask}/>`;
}

/** Options that robots set, and what they are where nothing is said; choices as MJCF names them, in the order of their numbers. */
const NUMBERS = {
  timestep: 0.002,
  impratio: 1,
  tolerance: 1e-8,
  ls_tolerance: 0.01,
  density: 0,
  viscosity: 0,
} as const;
const COUNTS = { iterations: 100, ls_iterations: 50, noslip_iterations: 0, ccd_iterations: 35 } as const;
const CHOICES = {
  integrator: ["Euler", "RK4", "implicit", "implicitfast", "discrete"],
  cone: ["pyramidal", "elliptic"],
  solver: ["PGS", "CG", "Newton"],
} as const;

/**
 * The options that differ from MuJoCo's own, said again: MuJoCo warns of each that a scene takes from what it attaches, and
 * compiles no scene that says another number.
 */
function optionsOf({ opt: own }: Model, hasServos: boolean): string {
  // dampers of servos need it; what is the default may differ
  const opt = hasServos && own.integrator === mjtIntegrator.EULER ? { ...own, integrator: IMPLICIT } : own;
  const set = Object.entries({ ...NUMBERS, ...COUNTS })
    .filter(([name, usual]) => opt[name as keyof typeof opt] !== usual)
    .map(([name]) => `${name}="${String(opt[name as keyof typeof opt])}"`);
  const chosen = Object.entries(CHOICES).map(
    ([name, names]) => `${name}="${names[opt[name as keyof typeof CHOICES]]}"`,
  );
  const off = Object.entries(mjtDisableBit).filter(([, bit]) => (opt.disableflags & bit) !== 0);
  const flags = off.map(([name]) => `${name.toLowerCase()}="disable"`);
  return `<option ${[...set, ...chosen].join(" ")}${flags.length > 0 ? `>\n    <flag ${flags.join(" ")}/>\n  </option>` : "/>"}`;
}

const IMPLICIT = mjtIntegrator.IMPLICITFAST;

/** Text within a comment, which two dashes would end. */
const commented = (text: string): string => escaped(text).replaceAll("--", "- -");

/** Controls of the actuators that a scene adds, in a pose. */
function homesOf(model: Model, qpos: readonly number[]): number[] {
  const wheels = wheelsOf(model);
  return drivenIn(model).map((j) => (wheels.has(j) ? 0 : qpos[model.jnt_qposadr[j]]));
}

/** The scene; `compiler`: attributes of the robot's that hold for the whole of a model. */
export function mjcfScene(
  name: string,
  model: Model,
  file: string,
  { floor, bent, servos }: Lack,
  compiler = "",
): string {
  // controls of servos are where they start; a motor that the task makes a servo of pushes nothing by itself
  const ctrl =
    bent &&
    (servos ? homesOf(model, bent.qpos) : motorsOf(model, bent.qpos).map(({ servo, home }) => (servo ? 0 : home)));
  const key = bent
    ? `
  <keyframe>
    <key name="${keyOf(model)}" qpos="${bent.qpos.map(short).join(" ")}" ctrl="${ctrl?.map(short).join(" ")}"/>
  </keyframe>`
    : "";
  const actuators = servos
    ? `
  <actuator>
${actuatorsOf(model, { ...servos, isExplicit: model.opt.integrator === mjtIntegrator.RK4 })}
  </actuator>`
    : "";
  const adds = [
    ...(floor ? ["a floor"] : []),
    ...(bent ? ["a pose to start from"] : []),
    ...(servos ? ["actuators, which it has none of (change their gains)"] : []),
  ];
  const isChanged = servos && model.opt.integrator === mjtIntegrator.EULER;
  return `<!-- ${escaped(name)}: a robot, and ${adds.join(" and ")} -->
<mujoco model="${escaped(name)}">
  <compiler conflict="merge"${compiler}/>
  <!-- as in ${commented(file)}: change both, since MuJoCo takes no two that differ, or those of a batch or run alone${isChanged ? "; the integrator differs, since servos ask for it" : ""} -->
  ${optionsOf(model, servos !== undefined)}
  <asset>
    <model name="robot" file="${escaped(file)}"/>
  </asset>
  <worldbody>${floor ? floorFor(model) : ""}
    <frame>
      <attach model="robot" prefix=""/>
    </frame>
  </worldbody>${actuators}${key}
</mujoco>
`;
}

/** Attributes of the robot's compiler that its scene lacks, told by what a scene without them has more of. */
export const compilerOf = (robot: Model, scene: Model, { floor }: Lack): string =>
  (scene.ngeom > robot.ngeom + (floor ? 1 : 0) && robot.nbody === scene.nbody ? ' discardvisual="true"' : "") +
  (scene.nbody > robot.nbody ? ' fusestatic="true"' : "");

/** Actuators that the scene adds, in words. */
function toldServos(model: Model): string[] {
  const driven = drivenIn(model).length;
  const scalar = Array.from(model.jnt_type).filter((type) => type === mjtJoint.HINGE || type === mjtJoint.SLIDE).length;
  const others = scalar - driven;
  return [
    `The robot has no actuators: the scene adds servos for ${driven} joint${driven > 1 ? "s" : ""}. Change their gains there.`,
    ...(others > 0 ? [`${others} of its joints follow others, or have no name, and get no servo.`] : []),
  ];
}

/** What of the scene the robot's own model does not have, in words. */
export const told = (model: Model, { floor, bent, from, servos }: Lack): string[] => [
  ...(servos ? toldServos(model) : []),
  ...(floor ? ["The robot has no floor: the scene adds a plane."] : []),
  ...(bent ? toldOf(bent, keyOf(model), from) : []),
];
