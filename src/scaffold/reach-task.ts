// a task for an arm of one's own: reaching
import { rateOf } from "./many-actions.ts";
import { goalsAbout, type Box } from "./goals.ts";
import type { Robot } from "./robot.ts";
import {
  about,
  actionOf,
  frameSkipOf,
  hasServos,
  number,
  numbers,
  servosOf,
  startOf,
  text,
  type Places,
} from "./robot-tasks.ts";
import { apartFrom, tipOf } from "./tip.ts";

/** The end of an arm goes where it is commanded. */
export function reachTask(
  name: string,
  robot: Robot,
  { library, model: path }: Places,
  goals: Box = goalsAbout(robot),
): string {
  const { model } = robot;
  const tip = tipOf(robot);
  const { expression, reach } = tip;
  const held = apartFrom(tip, robot);
  const count = robot.motors.length - held.size;
  return `// ${name}: the end of a robot goes where it is commanded
import { actionRateCost, command, defineTask, ${hasServos(robot) ? "servo, " : ""}startAround, torqueCost, tracking } from ${text(library)};

export default defineTask({
  id: ${text(name)},
  model: new URL(${text(path)}, import.meta.url),
  frameSkip: ${frameSkipOf(robot)},
  maxEpisodeSteps: 200,
  training: {
    ppo: {
      numEnvs: 256,
      steps: 2_000_000,
      config: { rolloutSteps: 32, minibatches: 8, epochs: 5, ${rateOf(count)}, initialLogStd: -0.5 },
    },
  },
${actionOf(robot, held, "what the end is not on")}
${servosOf(robot)}  values: {
    tip: ${text(expression)},
    // m, drawn for each episode of places that the tip comes to
    goal: command([
${goals.map((range) => `      ${numbers(range)},`).join("\n")}
    ]),
    missing: "distance(tip, goal)",
  },
  observe: { positions: "qpos", velocities: { value: "qvel", scale: 0.1, clip: [-5, 5] }, towards: "goal - tip", last_action: "action" },
  reward: {
    near: { value: "missing", weight: ${about(-1 / Math.max(reach, 0.05))} },
    there: tracking("tip", "goal", ${number(0.1 * Math.max(reach, 0.1))}),
    rate: { value: actionRateCost(), weight: ${about(-0.1 / count)} },
    torque: { value: torqueCost(), weight: ${about(-0.01 / (count * Math.max(0.01, (robot.mass * 9.81 * reach * 0.25) ** 2)))} },
  },
  info: { missing: "missing", success: "missing < ${number(0.05 * Math.max(reach, 0.1))}" },
  reset: ${startOf(robot, model.nkey > 0 ? 0.02 : 0.05, 0.05)},
});
`;
}
