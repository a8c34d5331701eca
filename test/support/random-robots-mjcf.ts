// random robots that touch each other, themselves and the floor, and are tied together: models in which much is coupled
import { createRandom, type Random } from "./mjcf-random.ts";
import { attributes } from "./random-parts.ts";

interface Made {
  readonly r: Random;
  count: number;
  readonly bodies: string[];
  readonly joints: string[];
  readonly actuators: string[];
}

const short = (x: number) => String(Number(x.toPrecision(4)));

const surface = (r: Random): string =>
  attributes({
    condim: r.pick([1, 3, 3, 4, 6]),
    friction: r.pick(["1 0.02 0.001", "0.5 0.01 0.001", "0.9 0.005 0.0001"]),
  });

/** A limb of some links, which servos move. */
function limb(made: Made, links: number, pos: string, parent: number): string {
  const { r, bodies, joints, actuators } = made;
  const id = made.count++;
  const mass = parent * r.pick([1, 0.3, 0.3, 0.05]);
  bodies.push(`b${id}`);
  joints.push(`j${id}`);
  actuators.push(`<position joint="j${id}" kp="${short(20 * mass)}" ctrlrange="-1.5 1.5"/>`);
  const joint = {
    name: `j${id}`,
    axis: r.pick(["1 0 0", "0 1 0", "0 0 1", "0.6 0 0.8"]),
    range: "-2 2",
    armature: short(mass * r.pick([0, 0.01, 0.001])),
    damping: short(0.05 * mass),
    ...(r.chance(0.3) ? { frictionloss: short(0.3 * mass) } : {}),
  };
  const places = ["0.2 0.05 0", "0.1 -0.15 -0.1", "0 0 -0.2"];
  const next =
    links > 1 ? Array.from({ length: r.pick([1, 1, 1, 2]) }, () => limb(made, links - 1, r.pick(places), mass)) : [];
  const shape = r.pick(["capsule", "capsule", "box"]);
  return `<body name="b${id}" pos="${pos}"><joint${attributes(joint)}/><geom type="${shape}" size="0.04 0.07 0.05" pos="0.08 0 -0.05" euler="0 90 0" mass="${short(mass)}"${surface(r)}/>${next.join("")}</body>`;
}

function robot(made: Made, place: number): string {
  const { r } = made;
  const id = made.count++;
  made.bodies.push(`b${id}`);
  const mass = r.pick([5, 1, 1, 0.2]);
  const base = r.pick([
    "<freejoint/>",
    "<freejoint/>",
    `<joint axis="0 0 1" armature="0.01"/>`,
    `<joint type="slide" axis="1 0 0"/><joint type="ball" armature="0.01"/>`,
    "",
  ]);
  const hips = ["0.15 0.1 0", "-0.15 0.1 0", "0 -0.18 0"];
  const limbs = Array.from({ length: r.whole(1, 3) }, (_, k) => limb(made, r.whole(1, 3), hips[k], 0.4 * mass));
  const pos = [0.35 * place + r.between(-0.2, 0.2), r.between(-0.2, 0.2), r.between(0.1, 0.35)].map(short).join(" ");
  const euler = `${short(r.between(-30, 30))} 0 ${short(r.between(-90, 90))}`;
  return `<body name="b${id}" pos="${pos}" euler="${euler}">${base}<geom type="${r.pick(["box", "capsule", "sphere"])}" size="0.1 0.08 0.06" mass="${mass}"${surface(r)}/>${limbs.join("")}</body>`;
}

function ties({ r, bodies, joints }: Made): string {
  const tie = () => {
    const [a, b, x, y] = [r.pick(bodies), r.pick(bodies), r.pick(joints), r.pick(joints)];
    const kind = r.pick(["connect", "weld", "joint", "tendon"]);
    if (kind === "tendon") return `<tendon tendon1="T" polycoef="0.1 0 0 0 0"/>`;
    if (kind === "joint") return x === y ? "" : `<joint joint1="${x}" joint2="${y}" polycoef="0.1 0.5 0.1 0 0"/>`;
    if (a === b) return "";
    return kind === "weld"
      ? `<weld body1="${a}" body2="${b}"/>`
      : `<connect body1="${a}" body2="${b}" anchor="0.1 0 0"/>`;
  };
  return Array.from({ length: r.pick([0, 1, 2, 4]) }, tie).join("");
}

/** A random model of robots as MJCF text. The same seed gives the same text. */
export function createRobotsMjcf(seed: number): string {
  const r = createRandom(seed);
  const made: Made = { r, count: 0, bodies: [], joints: [], actuators: [] };
  const robots = Array.from({ length: r.whole(2, 3) }, (_, k) => robot(made, k));
  const [first, last] = [made.joints[0], made.joints.at(-1)!];
  const equalities = ties(made);
  const option = {
    timestep: 0.002,
    integrator: r.pick(["Euler", "implicitfast", "RK4"]),
    cone: r.pick(["pyramidal", "elliptic"]),
    impratio: r.pick([1, 1, 10]),
    iterations: 100,
  };
  return `<mujoco><option${attributes(option)}/>
<worldbody><geom type="plane" size="9 9 0.1"/>${robots.join("\n")}</worldbody>
<equality>${equalities}</equality>
<tendon><fixed name="T" limited="true" range="-0.5 0.5" frictionloss="${r.pick([0, 0.2])}"><joint joint="${first}" coef="1"/><joint joint="${last}" coef="-0.7"/></fixed></tendon>
<actuator>${made.actuators.join("")}</actuator></mujoco>
`;
}
