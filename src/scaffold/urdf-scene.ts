// a scene for a URDF, which knows neither actuators nor a floor: an MJCF that attaches it and adds both
import { escaped } from "../core/xml-text.ts";
import { CorralError } from "../core/errors.ts";
import { wheelsOf } from "./motors.ts";
import type { Model } from "../model/model.ts";
import { actuatorsOf, drivenIn, short, type ServoOptions } from "./scene-servos.ts";

export interface SceneOptions extends ServoOptions {
  /** Path of the URDF from the scene's file. */
  readonly file: string;
  /** It stands free, its frame at this height (m); undefined: it is fixed to the world. */
  readonly height: number | undefined;
  /** Where its trunk is in the frame of the URDF's first link (m), if the frame that floats is to be there. */
  readonly trunk?: readonly number[] | undefined;
  /** Names of links that lie in one another where it starts: they do not collide. */
  readonly overlaps?: readonly (readonly [string, string])[];
  /** Where its joints start, in the places of the scene's qpos, if not in the default pose. */
  readonly pose?: readonly number[] | undefined;
}

/** s, of the scene. */
const TIMESTEP = 0.002;

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
${actuatorsOf(model, options)}
  </actuator>${contact}${start}
</mujoco>
`;
}
