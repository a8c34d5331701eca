// a task for a robot of one's own that goes in a vertical plane, as walkers of two dimensions do
import { nameOf } from "../model/model.ts";
import { planarBase } from "./planar-base.ts";
import type { PlanarRoot } from "./planar.ts";
import { checkStands, type Robot } from "./robot.ts";
import {
  about,
  actionOf,
  entriesOf,
  frameSkipOf,
  hasServos,
  number,
  numbers,
  servosOf,
  standingTorque,
  text,
  trainingOf,
  type Places,
} from "./robot-tasks.ts";

/** m that it starts higher by at most, or of its height if that is less: noise would put it into the floor. */
const DROP = 0.02;

/**
 * A robot that goes ahead as it is commanded, in the plane that its slides leave it.
 * @throws CorralError no-ground, no-contact
 */
export function planarTask(name: string, robot: Robot, root: PlanarRoot, { library, model: path }: Places): string {
  const { model, qpos, motors, mass, span, floor, key, lift } = robot;
  checkStands(model, root.body, false);
  const base = planarBase(robot, root);
  const dof = (j: number) => `qvel[${model.jnt_dofadr[j]}]`;
  const signed = (sign: number, value: string) => (sign < 0 ? `-${value}` : value);
  const { lean } = base;
  const at = lean === undefined ? -1 : model.jnt_qposadr[lean];
  const trunk = nameOf(model, "body", base.body) || base.body;
  const hasPose = base.posed.length > 0;
  const isTall = base.height > 0.03 && base.height > 0.5 * base.legs;
  const torque = standingTorque(mass, base);
  const speed = about(Math.max(0.3, Math.min(1.5, 2 * Math.max(base.height, span))));
  const up = base.rises ? 1 : -1;
  const most = lift + DROP * Math.min(1, base.height > DROP ? base.height : span);
  const raise = (base.rises ? [lift, most] : [-most, -lift]).map((x) => x || 0);
  const joint = (j: number) => text(nameOf(model, "joint", j) || j);
  const imports = [
    "actionRateCost",
    "command",
    "defineTask",
    "height",
    "outside",
    "push",
    ...(hasServos(robot) ? ["servo"] : []),
    "startAround",
    "torqueCost",
    "tracking",
  ];
  const noisy = (list: readonly (readonly [name: string, value: string, more: string])[], noise: boolean): string =>
    list
      .map(([term, value, more]) => {
        const [, scale] = /(scale: [\d.]+)/.exec(more) ?? [];
        const options = noise ? more : scale;
        return `      ${term}: ${options ? `{ value: ${value}, ${options} }` : value},`;
      })
      .join("\n");
  const seen = [
    ["ahead", `"ahead"`, "noise: 0.05"],
    ["rises", `"rises"`, "noise: 0.05"],
    ["height", "height(BASE)", "noise: 0.02"],
    ...(lean === undefined
      ? []
      : ([
          ["lean", `"lean"`, "noise: 0.02"],
          ["turns", `"turns"`, "noise: 0.1, scale: 0.25"],
        ] as const)),
    ...(hasPose ? ([["joints", `"joints"`, "noise: 0.01"]] as const) : []),
    ...(base.turned.length > 0
      ? ([["velocities", text(entriesOf("qvel", base.turned)), "noise: 0.5, scale: 0.05"]] as const)
      : []),
    ["command", `"wanted"`, ""],
    ["last_action", `"action"`, ""],
  ] as const;
  return `// ${name}: a robot goes ahead in a plane as it is commanded, pushed and randomised
import {
${imports.map((each) => `  ${each},`).join("\n")}
} from ${text(library)};

const BASE = ${text(trunk)};
${isTall ? `/** Below this height it has fallen (m). */\nconst LOW = ${number(floor + 0.5 * base.height)};\n` : ""}${lean === undefined ? "" : "/** Tilted by more than this it has fallen (rad). */\nconst TIPPED = 1;\n"}${hasPose ? `/** Joints in the pose that episodes start in. */\nconst HOME = ${text(numbers(base.posed.map((i) => qpos[i])))};\n` : ""}
export default defineTask({
  id: ${text(name)},
  model: new URL(${text(path)}, import.meta.url),
  frameSkip: ${frameSkipOf(robot)},
  maxEpisodeSteps: 1000,
${trainingOf(motors.length, { initialLogStd: -0.5 })}
  /** Speed ahead that is commanded (m/s); a curriculum raises it. */
  params: { speed: ${speed} },
${actionOf(robot)}
${servosOf(robot)}  values: {
    wanted: command([["0", "param.speed"]], { every: [3, 6] }),
    ahead: ${text(signed(base.ahead, dof(base.along)))},
    rises: ${text(signed(up, dof(base.up)))},${
      lean === undefined
        ? ""
        : `
    lean: ${text(at >= 0 && qpos[at] !== 0 ? `qpos[${at}] - ${number(qpos[at])}` : `qpos[${at}]`)},
    turns: ${text(dof(lean))},`
    }${hasPose ? `\n    joints: \`${entriesOf("qpos", base.posed)} - \${HOME}\`,` : ""}
  },

  // what sensors tell; critics also see what is true
  observe: {
    policy: {
${noisy(seen, true)}
    },
    critic: {
${noisy(seen, false)}
    },
  },
  reward: {
    track: { value: tracking("ahead", "wanted", 0.5), weight: 1.5 },
    alive: { value: "1.0", weight: 0.25 },
    bounce: { value: "square(rises)", weight: -0.1 },${
      lean === undefined
        ? ""
        : `
    lean: { value: "square(lean)", weight: -0.5 },
    sway: { value: "square(turns)", weight: -0.02 },`
    }${hasPose ? `\n    pose: { value: "dot(joints, joints)", weight: ${about(-0.25 / base.posed.length)} },` : ""}
    torque: { value: torqueCost(), weight: ${about(-0.02 / (motors.length * torque * torque))} },
    rate: { value: actionRateCost(), weight: ${about(-0.1 / motors.length)} },
  },
  // m/s beside what is commanded, in the mean
  info: { off: "abs(ahead - wanted)" },
  terminated: {
${[...(isTall ? ["    low: outside(height(BASE), LOW, Infinity),"] : []), ...(lean === undefined ? [] : [`    tipped: outside("lean", -TIPPED, TIPPED),`])].join("\n")}
  },
  randomise: {
    ground: { field: "geom_friction", element: 0, scale: [0.6, 1.4], shared: true },
  },
  events: { push: push(${joint(base.along)}, { every: [4, 8], velocity: 0.3 }) },
  reset: startAround({ ${key === undefined ? "" : `key: ${text(key)}, `}qpos: 0.02, qvel: 0.1, raise: [${joint(base.up)}, ${numbers(raise)}] }),
});
`;
}
