// random quadrupeds on feet of little R beside what moves them: elliptic cones with impratio 100, pyramids of little friction
import { createRandom } from "./mjcf-random.ts";

const short = (x: number) => String(Number(x.toPrecision(4)));
const radians = (degrees: number) => (degrees * Math.PI) / 180;

/** Degrees by which thighs and shanks are bent. */
const [THIGH, SHANK] = [40, -75];
const LEGS = [
  [1, 1],
  [1, -1],
  [-1, 1],
  [-1, -1],
] as const;

/** A random quadruped as MJCF text. The same seed gives the same text. */
export function createQuadrupedMjcf(seed: number, cone: "pyramidal" | "elliptic"): string {
  const isPyramid = cone === "pyramidal";
  const r = createRandom(seed * 7 + (isPyramid ? 1 : 2));
  const size = r.pick([1, 1, 0.5, 2]);
  const mass = 15 * size ** 3 * r.between(0.5, 2);
  const foot = r.between(0.015, 0.04) * size;
  const footMass = mass * r.pick([0.001, 0.004, 0.02]);
  const condim = r.pick([3, 3, 4, 6]);
  const sliding = isPyramid ? r.pick([0.05, 0.1, 0.2, 0.4]) : r.pick([0.5, 0.8, 1]);
  const most = r.pick([0.999, 0.9995, 0.9999]);
  // as hard at once, or as deep as the foot is thick, as those of ANYmal and Spot
  const solimp = r.pick([`0.9 ${most} 0.001`, `${most} ${most} 0.001`, `0.015 1 ${short(foot)}`]);
  const friction = `${sliding} ${r.pick([0.02, 0.005])} ${r.pick([0.01, 0.001])}`;
  const [thigh, shank] = [0.2 * size * r.between(0.7, 1.3), 0.2 * size * r.between(0.7, 1.3)];
  const motors: string[] = [];
  const capsule = (length: number, thickness: number, share: number) =>
    `<geom type="capsule" fromto="0 0 0 0 0 ${short(-length)}" size="${short(thickness * size)}" mass="${short(share * mass)}" contype="0" conaffinity="0"/>`;

  const legs = LEGS.map(([x, y], leg) => {
    const armature = mass * size * size * r.pick([0, 1e-4, 1e-3]);
    const joint = (name: string, axis: string) => {
      motors.push(`<position joint="${name}${leg}" kp="${short(mass * 3)}" ctrlrange="-1 1"/>`);
      return `<joint name="${name}${leg}" axis="${axis}" damping="${short(0.05 * mass * size)}" armature="${short(armature)}" range="-2.5 2.5"/>`;
    };
    return `<body pos="${short(x * 0.3 * size)} ${short(y * 0.12 * size)} 0">${joint("hip", "1 0 0")}<geom type="sphere" size="${short(0.03 * size)}" mass="${short(0.03 * mass)}" contype="0" conaffinity="0"/>
<body pos="0 ${short(y * 0.05 * size)} 0" euler="0 ${THIGH} 0">${joint("thigh", "0 1 0")}${capsule(thigh, 0.02, 0.05)}
<body pos="0 0 ${short(-thigh)}" euler="0 ${SHANK} 0">${joint("knee", "0 1 0")}${capsule(shank, 0.012, 0.01)}
<geom type="sphere" size="${short(foot)}" pos="0 0 ${short(-shank)}" mass="${short(footMass)}" condim="${condim}" priority="1" friction="${friction}" solimp="${solimp}"/></body></body></body>`;
  });
  const height = thigh * Math.cos(radians(THIGH)) + shank * Math.cos(radians(THIGH + SHANK)) + foot;
  return `<mujoco model="quadruped_${seed}">
<option timestep="0.002" integrator="${r.pick(["Euler", "implicitfast"])}" cone="${cone}" impratio="${isPyramid ? 1 : 100}"/>
<worldbody><geom type="plane" size="9 9 .1"/><body pos="0 0 ${short(height - 0.001)}"><freejoint/><geom type="box" size="${short(0.3 * size)} ${short(0.12 * size)} ${short(0.06 * size)}" mass="${short(mass)}"/>${legs.join("\n")}</body></worldbody>
<actuator>${motors.join("")}</actuator></mujoco>
`;
}
