// whether servos hold a robot where it starts
import { listen } from "../model/mujoco.ts";
import { withRobot } from "./with-robot.ts";
import { drivenBase } from "./feet.ts";
import type { Robot } from "./robot.ts";

/** s; what is held by too little sinks within a few, and what is only just held later. */
const HELD = 10;
/** It is looked at so often (s). */
const LOOKS = 0.1;
/** The part of its height that it keeps, and the cosine of how far it leans at most. */
const KEEPS = 0.85;
const LEANS = Math.cos(0.25);

/** How much stiffer servos may be made; legs that fold under a robot at the first of these stand at another mostly. */
const STIFFER = [1, 1.5, 2, 3] as const;

/** Stiffness and damping of each actuator; undefined of those that stay as they are. */
type Gains = readonly (readonly [kp: number, kv: number] | undefined)[];

/** Whether a robot still stands after a while where it starts, with the controls of that. */
function staysUp({ model, qpos, motors, lift }: Robot, body: number, gains: Gains): Promise<boolean> {
  return withRobot(model, (oracle) => {
    const { mujoco, model: m, data } = oracle;
    const put = (of: Gains) =>
      of.forEach((gain, i) => {
        if (gain === undefined) return;
        (m.actuator_gainprm as Float64Array)[10 * i] = gain[0];
        (m.actuator_biasprm as Float64Array).set([-gain[0], -gain[1]], 10 * i + 1);
      });
    put(gains);
    const free = model.body_jntadr[body];
    oracle.write(
      "qpos",
      qpos.map((x, i) => (i === model.jnt_qposadr[free] + 2 ? x + lift : x)),
    );
    oracle.write(
      "ctrl",
      motors.map(({ home }) => home),
    );
    listen(() => mujoco.mj_forward(m, data));
    // the vertical in the frame of the base
    const up = () => oracle.read("xmat").slice(9 * body + 6, 9 * body + 9);
    const z = () => oracle.read("xpos")[3 * body + 2];
    const [height, upright] = [z(), up()];
    const stands = () => {
      const leans = up().reduce((sum, x, k) => sum + x * upright[k], 0);
      return z() > KEEPS * height && leans > LEANS;
    };
    const steps = Math.round(LOOKS / model.opt.timestep);
    for (let t = 0; t < HELD && stands(); t += LOOKS)
      listen(() => {
        for (let i = 0; i < steps; i++) mujoco.mj_step(m, data);
      });
    put(gains.map((gain, i) => gain && [model.actuator_gainprm[10 * i], -model.actuator_biasprm[10 * i + 2]]));
    return stands();
  });
}

/** How many times as stiff servos hold a robot up where it starts: as soft as they may be, and soft ones where none holds it. */
export async function stiffnessFor(robot: Robot, gainsOf: (stiffer: number) => Gains): Promise<number> {
  const base = drivenBase(robot.model);
  if (base === undefined) return 1;
  for (const stiffer of STIFFER)
    if (await staysUp(robot, robot.model.jnt_bodyid[base], gainsOf(stiffer))) return stiffer;
  return 1;
}

/** Stiffer servos, in words. */
export const toldStiffness = (stiffer: number): string[] =>
  stiffer === 1 ? [] : [`Its servos are ${stiffer} times as stiff as its motors ask for: softer ones let it fold.`];
