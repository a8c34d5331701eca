// worlds of independent kinematic trees whose masses are far apart, and the same trees each in a world of its own
import { createRandom } from "./mjcf-random.ts";
import { attributes } from "./random-parts.ts";

interface Part {
  readonly world: string;
  readonly actuators: string;
}

/** A box on a floor of its own that no other tree touches, with a chain of limbs that motors drive into their limits. */
function tree(seed: number, name: string, mass: number, bit: number): Part {
  const r = createRandom(seed);
  const kg = (low: number, high: number) => (mass * r.between(low, high)).toPrecision(4);
  const surface = attributes({
    contype: bit,
    conaffinity: bit,
    condim: r.pick([1, 3, 3, 4, 6]),
    friction: r.pick(["1 0.005 0.0001", "0.3 0.01 0.001"]),
  });
  const height = r.between(0.095, 0.1).toFixed(4);
  let [chain, ends, actuators] = ["", "", ""];
  for (let i = r.whole(0, 2); i >= 0; i--) {
    const joint = {
      name: `${name}${i}`,
      axis: r.pick(["0 1 0", "0 1 0", "0.6 0.8 0"]),
      limited: "true",
      range: r.pick(["-1 0.02", "0.01 0.015", "-2 2"]),
      armature: kg(0.001, 0.01),
      frictionloss: r.chance(0.3) ? kg(0.01, 0.1) : 0,
    };
    chain += `<body pos="${chain ? 0.2 : 0.1} 0 0"><joint${attributes(joint)}/><geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.02" mass="${kg(0.1, 1)}"${surface}/>`;
    ends += "</body>";
    actuators += `<motor joint="${name}${i}" gear="${kg(1, 10)}" ctrlrange="-1 1"/>`;
  }
  const base = r.pick(["<freejoint/>", `<joint type="slide" axis="0 0 1"/>`, ""]);
  const world = `<geom type="plane" size="5 5 0.1"${surface}/>
<body pos="0 0 ${height}">${base}<geom type="box" size="0.1 0.1 0.1" mass="${kg(1, 3)}"${surface}/>${chain}${ends}</body>`;
  return { world, actuators };
}

/** A heavy and a light tree in one world, and each alone: MJCF texts. The same seed gives the same texts. */
export function createTrees(seed: number): { together: string; apart: [string, string] } {
  const r = createRandom(1000 + seed);
  const option = {
    timestep: 0.002,
    cone: r.pick(["pyramidal", "elliptic"]),
    solver: r.pick(["Newton", "CG"]),
    integrator: r.pick(["Euler", "implicitfast"]),
    iterations: 200,
  };
  const parts = [tree(2 * seed, "heavy", r.pick([1e3, 1e4]), 1), tree(2 * seed + 1, "light", r.pick([1e-3, 1e-2]), 2)];
  const model = (used: readonly Part[]) => `<mujoco><option${attributes(option)}/>
<worldbody>${used.map((p) => p.world).join("\n")}</worldbody>
<actuator>${used.map((p) => p.actuators).join("")}</actuator></mujoco>`;
  return { together: model(parts), apart: [model([parts[0]]), model([parts[1]])] };
}
