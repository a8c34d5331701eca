// random models that are hard on a solver: contacts that no dof relieves, constraints that contradict, masses far apart
import { createRandom, type Random } from "./mjcf-random.ts";
import { attributes, list, text } from "./random-parts.ts";

/** Attributes of <option> that are fixed instead of drawn. */
export type StiffOptions = Readonly<Record<string, string | number>>;

interface Drawn {
  readonly r: Random;
  /** Axes in any direction, centres of mass off them by any distance, masses from 1 g to 3 t, all solvers and integrators. */
  readonly wide: boolean;
  count: number;
  readonly actuators: string[];
  readonly equalities: string[];
}

const AXES = ["1 0 0", "0 1 0", "0 0 1"];
const round = (x: number) => String(Number(x.toPrecision(4)));

/** A direction that no frame has, or now and then one that all have. */
function direction(r: Random): string {
  if (r.chance(0.3)) return r.pick(AXES);
  const at = [0, 1, 2].map(() => r.between(-1, 1));
  return at.map((x) => round(x / Math.hypot(...at))).join(" ");
}

/** A mass (kg): over six orders of magnitude where models are wide. */
const massOf = ({ r, wide }: Drawn, low: number, high: number): string =>
  round(10 ** (wide ? r.between(-3, 3.5) : r.between(low, high)));

function surface(r: Random): Record<string, string> {
  const out: Record<string, string> = { condim: r.pick(["1", "3", "3", "4", "6"]) };
  if (r.chance(0.6)) out.friction = r.pick(["0 0 0", "0.01 0.001 0.0001", "0.3 0.01 0.001", "1 0.02 0.01"]);
  if (r.chance(0.3)) out.solimp = list(r.between(0.3, 0.95), r.between(0.95, 0.999), 0.001);
  return out;
}

/** A static obstacle with a ball in it that turns about its own centre: hinges or a ball joint, now and then off centre. */
function turret(d: Drawn, x: number): string {
  const { r, wide } = d;
  const id = d.count++;
  const depth = r.between(0.0005, 0.003);
  const start = r.whole(0, 2);
  const joints = r.chance(0.2)
    ? [`<joint name="t${id}" type="ball"/>`]
    : Array.from({ length: r.pick([1, 1, 2, 3]) }, (_, k) => {
        // two of them may be parallel: what one does the other undoes
        const axis = wide ? (r.chance(0.3) ? "0 0 1" : direction(r)) : AXES[(start + k) % 3];
        return `<joint name="t${id}_${k}" axis="${axis}" armature="${text(r.between(0, 0.01) + 1e-4)}"/>`;
      });
  // the centre of mass may miss the axes by a hair, or the contact by more
  const offset = wide && r.chance(0.7) ? 10 ** r.between(-5, -1.7) : r.pick([0, 0, 0.02]);
  const ball = `<geom type="sphere" size="0.04" pos="${round(offset)} 0 0" mass="${massOf(d, -3, 1)}"${attributes(surface(r))}/>`;
  const onto = r.pick(["floor", "wall", "edge", "mate"]);
  const obstacle = {
    floor: "",
    wall: `<geom type="box" size="0.05 0.2 0.2" pos="${text(x + 0.09 - depth)} 0 1"${attributes(surface(r))}/>`,
    edge: `<geom type="box" size="0.2 0.1 0.05" pos="${text(x - 0.2)} -0.1 1"/>`,
    mate: `<body pos="${text(x + 0.08 - depth)} 0 1"><joint axis="${wide ? direction(r) : "0 0 1"}" armature="0.01"/><geom type="sphere" size="0.04" mass="${wide ? massOf(d, 0, 0) : 0.2}"${attributes(surface(r))}/></body>`,
  }[onto];
  const arm = r.chance(0.5) ? `\n${limb(d, "0 0 0")}` : "";
  if (!joints[0].includes("ball")) d.actuators.push(`<motor joint="t${id}_0" gear="0.2" ctrlrange="-1 1"/>`);
  const height = onto === "floor" ? 0.04 - depth : 1;
  return `${obstacle}\n<body pos="${text(x)} 0 ${round(height)}">${joints.join("")}${ball}${arm}</body>`;
}

/** A limb that a motor drives into its limits. */
function limb(d: Drawn, pos: string): string {
  const { r, count, actuators } = d;
  const name = `l${count}_${actuators.length}`;
  const mass = Number(massOf(d, -3, 1));
  const axis = d.wide ? direction(r) : "0 1 0";
  actuators.push(
    `<position joint="${name}" kp="${round(10 * mass)}" kv="${round(0.1 * mass)}" ctrlrange="-2 2"${r.chance(0.3) ? ` forcerange="${round(-mass)} ${round(mass)}"` : ""}/>`,
  );
  const friction = r.chance(0.3) ? ` frictionloss="${round(0.1 * mass)}"` : "";
  return `<body pos="${pos}"><joint name="${name}" axis="${axis}" range="${r.pick(["-1 0.02", "0.01 0.015", "-20 20"])}" armature="${round(0.05 * mass)}"${friction}/><geom type="capsule" fromto="0 0 0 0.1 0 -0.2" size="0.015" mass="${round(mass)}" contype="0" conaffinity="0"/></body>`;
}

/** Two limbs that a joint equality, or two that contradict each other, hold together. */
function coupled(d: Drawn, x: number): string {
  const { r, wide } = d;
  const id = d.count++;
  const part = (name: string, y: number) =>
    `<body name="${name}" pos="${text(x)} ${y} 1"><joint name="${name}" axis="${wide ? direction(r) : "0 1 0"}" range="-90 90" armature="0.01"/><geom type="capsule" fromto="0 0 0 0.1 0 -0.2" size="0.015" mass="${massOf(d, -2, 1)}" contype="0" conaffinity="0"/></body>`;
  const [a, b] = [`c${id}a`, `c${id}b`];
  const tie = (offset: number) => `<joint joint1="${a}" joint2="${b}" polycoef="${text(offset)} 1 0 0 0"/>`;
  d.equalities.push(tie(r.between(-0.05, 0.05)));
  if (r.chance(0.6)) d.equalities.push(tie(r.between(-0.05, 0.05)));
  if (wide && r.chance(0.3)) d.equalities.push(`<weld body1="${a}" body2="${b}"/>`);
  if (wide && r.chance(0.3)) d.equalities.push(`<connect body1="${a}" body2="world" anchor="0.05 0 -0.1"/>`);
  d.actuators.push(`<motor joint="${a}" gear="0.5" ctrlrange="-1 1"/>`);
  return part(a, 0.5) + part(b, 0.8);
}

/** A crank whose centre of mass lies on its axis, with a pin that a connect holds to a rod. */
function crank(d: Drawn, x: number): string {
  const { r } = d;
  const id = d.count++;
  const pin = r.between(0.03, 0.08);
  d.equalities.push(`<connect body1="w${id}" body2="rod${id}" anchor="${text(pin)} 0 0"/>`);
  if (r.chance(0.3)) d.equalities.push(`<connect body1="w${id}" body2="world" anchor="${text(-pin)} 0 0.001"/>`);
  d.actuators.push(`<motor joint="w${id}" gear="0.3" ctrlrange="-1 1"/>`);
  return `<body name="w${id}" pos="${text(x)} 1.5 1"><joint name="w${id}" axis="0 1 0" armature="${text(r.between(0, 0.01))}"/><geom type="cylinder" size="0.1 0.01" euler="90 0 0" mass="${massOf(d, -2, 1)}" contype="0" conaffinity="0"/></body>
<body name="rod${id}" pos="${text(x + pin)} 1.5 1"><freejoint/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.01" mass="${massOf(d, -2, 1)}" contype="0" conaffinity="0"/></body>`;
}

/** Free boxes and balls of any mass on the floor, light upon heavy and heavy upon light. */
function heap(d: Drawn, x: number): string {
  const { r } = d;
  let height = 0;
  return Array.from({ length: r.whole(1, 3) }, () => {
    const size = r.between(0.05, 0.15);
    const box = r.chance(0.6);
    height += size - r.between(0, 0.002);
    const at = height;
    height += size;
    const shape = box ? `type="box" size="${list(size, size, size)}"` : `type="sphere" size="${text(size)}"`;
    return `<body pos="${text(x)} -1 ${text(at)}"><freejoint/><geom ${shape} mass="${massOf(d, -3, 3)}"${attributes(surface(r))}/></body>`;
  }).join("\n");
}

/**
 * A random model as MJCF text. The same seed gives the same text; MuJoCo steps it without diverging. `wide`: from a
 * family with axes and masses of any kind, all integrators and all solvers.
 */
export function createStiffMjcf(seed: number, options: StiffOptions = {}, wide = false): string {
  const r = createRandom(seed);
  const d: Drawn = { r, wide, count: 0, actuators: [], equalities: [] };
  const option = {
    timestep: r.pick([0.001, 0.002, 0.004]),
    integrator: r.pick(["Euler", "Euler", wide ? "implicit" : "Euler", "RK4", ...(wide ? ["implicitfast"] : [])]),
    cone: r.pick(["pyramidal", "elliptic"]),
    solver: r.pick(["Newton", "Newton", "CG", ...(wide ? ["CG", "PGS"] : [])]),
    impratio: r.pick([1, wide ? 100 : 1, 10]),
    // to the optimum, so that solvers can be compared
    iterations: 200,
    tolerance: 1e-12,
    ls_iterations: 100,
    ...options,
  };
  const parts = Array.from({ length: r.whole(1, 2) }, (_, i) => turret(d, i));
  parts.push(limb(d, "0 0.3 1"));
  if (r.chance(0.5)) parts.push(coupled(d, 3));
  if (r.chance(0.4)) parts.push(crank(d, 4));
  if (r.chance(0.6)) parts.push(heap(d, 5));
  return `<mujoco model="stiff_${seed}">
<option${attributes(option)}/>
<worldbody>
<geom type="plane" size="9 9 0.1"${attributes(surface(r))}/>
${parts.join("\n")}
</worldbody>
<equality>${d.equalities.join("")}</equality>
<actuator>${d.actuators.join("")}</actuator>
</mujoco>
`;
}
