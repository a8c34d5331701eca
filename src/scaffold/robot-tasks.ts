// a task for a robot of one's own that walks, drives or flies as it is commanded
import { mjtJoint } from "../model/enums.ts";
import { nameOf } from "../model/model.ts";
import { rateOf } from "./many-actions.ts";
import { baseOf, type Base, type Robot } from "./robot.ts";
import type { RobotGait } from "./gait.ts";
import { bodyOf, isBelow, MOST_REACH, type Motor } from "./motors.ts";
import { heldOf, heldWords, withoutHeld } from "./held.ts";
import { swingSpeed } from "./swing.ts";
import { axesOf, type Axes } from "./upright.ts";

/** Where a task's file finds things: the library, and the model as a URL relative to itself. */
export interface Places {
  readonly library: string;
  readonly model: string;
}

/** Less than this part of how far a control goes is the rounding of what it was found by. */
const ROUNDING = 1e-6;

export const number = (x: number): string => String(Number(x.toPrecision(4)));
export const numbers = (list: readonly number[]): string => `[${list.map(number).join(", ")}]`;
export const text = (x: string | number): string => JSON.stringify(x);
/** One significant digit, for what a user is to tune. */
export const about = (x: number): string => String(Number(x.toPrecision(1)));

/** Seconds of a control step. */
export const CONTROL = 0.02;
export const frameSkipOf = ({ model }: Robot): number => Math.max(1, Math.round(CONTROL / model.opt.timestep));

/** Controls from actions in [-1, 1], in code; of those that are held, and what they are. */
export function actionOf({ motors: all }: Robot, held: ReadonlySet<number> = new Set(), which = ""): string {
  const motors = all.filter((_, i) => !held.has(i));
  const kept = all.filter((_, i) => held.has(i)).map(({ home }) => number(home));
  const servos = motors.filter(({ isPosition }) => isPosition).length;
  const what = servos === motors.length ? "angles about those of the start" : "controls about those of the start";
  const named = `    actuators: [
${motors.map(({ name }) => `      ${text(name)},`).join("\n")}
    ],${kept.some((home) => home !== "0") ? `\n    others: [${kept.join(", ")}],` : ""}
`;
  return `  // actions in [-1, 1] are ${what}, one for each actuator${held.size > 0 ? `; ${which} stays there` : ""}
  action: {
${held.size > 0 ? named : ""}    clip: [-1, 1],
    scale: ${numbers(motors.map(({ reach }) => reach))},
    offset: ${numbers(motors.map(({ home, reach }) => (Math.abs(home) < ROUNDING * reach ? 0 : home)))},
  },`;
}

/** Whether a task makes servos of motors. */
export const hasServos = ({ motors }: Robot): boolean => motors.some(({ servo }) => servo !== undefined);

/** What makes servos of motors, and lets wheels follow, in code: lines with their commas, or nothing where there is none. */
export function servosOf({ motors }: Robot): string {
  const gains = new Map<string, string[]>();
  for (const { name, servo } of motors) {
    if (!servo) continue;
    const made = `servo({ stiffness: ${number(servo.stiffness)}, damping: ${number(servo.damping)} })`;
    gains.set(made, [...(gains.get(made) ?? []), name]);
  }
  const servos = [...gains].flatMap(([made, names]) => names.map((name) => `    ${text(name)}: { network: ${made} },`));
  const wheels = motors
    .filter(({ lag }) => lag !== undefined)
    .map(({ name, lag }) => `    ${text(name)}: { lag: ${lag} },`);
  if (servos.length + wheels.length === 0) return "";
  const lines = [
    ...(servos.length > 0
      ? [
          "    // motors as servos of position, their torque within what the model says: a spring and a damper in each physics step",
        ]
      : []),
    ...servos,
    ...(wheels.length > 0 ? ["    // s, in which wheels follow: at once they throw what they drive"] : []),
    ...wheels,
  ];
  return `  actuators: {
${lines.join("\n")}
  },
`;
}

/** What stands starts higher by up to so much of a metre, or of its height if that is less: noise would put it into the floor. */
const DROP = 0.02;

/** Near the keyframe, or the default pose: the base on the floor or above it, what else floats where it is. */
export function startOf({ model, key, lift, span }: Robot, qpos: number, qvel: number, base?: Base): string {
  const from = key === undefined ? "" : `key: ${text(key)}, `;
  // a frame at its feet, or below them, does not say how tall it is
  const most = base ? lift + DROP * Math.min(1, base.height > DROP ? base.height : span) : 0;
  const raise = base?.flies ? (lift === 0 ? "" : number(lift)) : `[${number(lift)}, ${number(most)}]`;
  const raised = base === undefined || raise === "" ? "" : `, raise: [${text(base.joint)}, ${raise}]`;
  const loose = Array.from({ length: model.njnt }, (_, j) => nameOf(model, "joint", j) || j).filter(
    (name, j) => model.jnt_type[j] === mjtJoint.FREE && name !== base?.joint,
  );
  const except = loose.length === 0 ? "" : `, except: [${loose.map(text).join(", ")}]`;
  return `startAround({ ${from}qpos: ${qpos}, qvel: ${qvel}${raised}${except} })`;
}

/** Entries of a vector by expression: slices of those that follow each other. */
export function entriesOf(of: string, at: readonly number[]): string {
  const starts = at.flatMap((k, i) => (i === 0 || k !== at[i - 1] + 1 ? [i] : []));
  const parts = starts.map((from, i) => {
    const to = (starts[i + 1] ?? at.length) - 1;
    return from === to ? `${of}[${at[from]}]` : `${of}[${at[from]}:${at[to] + 1}]`;
  });
  return parts.length === 1 && at.length > 1 ? parts[0] : `[${parts.join(", ")}]`;
}

/** The gait, in code: what a task's `control`, and its observations, take. */
function gaitOf({ legs, period, lift, sway, catches, rights, posture }: RobotGait, axes: Axes | undefined): string {
  const columns = ["ahead", "left", "up", "turn", "bend", "carry", "pitch", "roll"] as const;
  // a mm of what a foot is moved by a m is nothing
  const row = (list: readonly number[]) => numbers(list.map((x) => Math.round(1000 * x) / 1000));
  const code = legs.map(
    (leg, i) => `    {
      actuators: [${leg.actuators.map(text).join(", ")}],
      phase: ${i / legs.length},
${columns.map((name) => `      ${name}: ${row(leg[name])},`).join("\n")}
    },`,
  );
  return `/** How its legs step: what servos turn by for each metre that a foot is ahead, to the left or up (docs/your-first-task.md). */
const GAIT = gait({
  base: BASE,
  period: ${number(period)}, // s of two steps
  lift: ${number(lift)}, // m
  sway: ${number(sway)}, // m
  catches: ${number(catches)}, // s of the velocity beside the command, by which feet land farther
  rights: ${number(rights)}, // m for each rad of tilt
  posture: ${numbers(posture)}, // how far hips turn against the tilt, standing and walking
${axes ? `  axes: [${numbers(axes.ahead)}, ${numbers(axes.left)}], // ahead and to the left in the frame of the base\n` : ""}  legs: [
${code.join("\n")}
  ],
});

`;
}

/** Velocity (m/s) that a step about a gait may catch: what tall legs move beyond it is noise that tips them (docs/decisions/0160). */
const CAUGHT = 0.9;

/** Motors whose servos aim so that a gait's feet are below the mass, moved as far as a step must go that catches a body so high. */
function shifted(motors: Robot["motors"], { legs }: RobotGait, height: number): Robot["motors"] {
  const shift = new Map(legs.flatMap((leg) => leg.motors.map((motor, i) => [motor, leg.shift[i]] as const)));
  // a pendulum so high goes so far, by its length, while it falls
  const share = Math.min(1, CAUGHT / Math.sqrt(9.81 * Math.max(height, 0.01)) / MOST_REACH);
  return motors.map((motor, i) => ({
    ...motor,
    home: motor.home + (shift.get(i) ?? 0),
    reach: motor.isPosition ? share * motor.reach : motor.reach,
  }));
}

/** What a fall of two legs without a gait costs, and the discount that sees it (docs/decisions/0119): without, many fall as they hurry. */
const FALL = 300;
const SEES_FALLS = 0.995;

/** What a base on more than two feet that is not level costs, a squared sine of its tilt: without, tall ones tip as they go sideways. */
const LEVEL = 2;

/** Motors whose servos of legs go twice as far: hips turn little, and need all of it to catch a body that goes sideways. */
const withWideLegs = ({ model, motors }: Robot, feet: readonly number[]): readonly Motor[] =>
  motors.map((motor, i) =>
    motor.isPosition && feet.some((foot) => isBelow(model, foot, bodyOf(model, i)))
      ? { ...motor, reach: Math.min(MOST_REACH, 2 * motor.reach) }
      : motor,
  );

/** What a base is commanded: entries of the value `wanted`, with what they are. */
function commandOf({ flies, rolls, glides, height: above }: Base, floor: number): string {
  const sideways =
    rolls && !glides ? `["0", "0"], // wheels do not go sideways` : `["-0.5 * param.speed", "0.5 * param.speed"],`;
  return `    wanted: command(
      [
        ["-0.5 * param.speed", "param.speed"],
        ${sideways}${flies ? `\n        ${numbers([floor + above, floor + above + 0.5])}, // height (m)` : ""}
        ["-param.turn", "param.turn"],
      ],
      { every: [3, 6] },
    ),`;
}

/** Height below which it has fallen (m); undefined where its frame is too low to tell. */
function fallen({ flies, height: above, legs }: Base, floor: number): number | undefined {
  if (flies) return floor + 0.2 * above;
  return above > 0.03 && above > 0.5 * legs ? floor + 0.5 * above : undefined;
}

/** Where it has fallen, as constants of the file. */
const fallOf = (low: number | undefined): string =>
  `${low === undefined ? "" : `/** Below this height it has fallen (m). */\nconst LOW = ${number(low)};\n`}/** Tilted by more than this it has fallen (rad). */\nconst TIPPED = 1;\n`;

/** Axes that a robot goes along, as constants of the file. */
const axesIn = ({
  ahead,
  left,
  up,
}: Axes): string => `/** Ahead, to the left and up as it stands, in the frame of its base, which lies otherwise. */
const AHEAD = ${text(numbers(ahead))};
const LEFT = ${text(numbers(left))};
const UP = ${text(numbers(up))};
`;

/** How the base moves, in the frame of the base or along axes of its own; lines with their commas. */
function motionOf(axes: Axes | undefined, level: boolean): string {
  const along = (value: string) =>
    `\`[${["AHEAD", "LEFT", "UP"].map((axis) => `dot(${value}, \${${axis}})`).join(", ")}]\``;
  if (!axes)
    return `    linear: linearVelocity(BASE),
    angular: angularVelocity(BASE),${level ? `\n    down: projectedGravity(BASE),` : ""}`;
  return `    own_linear: linearVelocity(BASE),
    own_angular: angularVelocity(BASE),
    own_down: projectedGravity(BASE),
    linear: ${along("own_linear")},
    angular: ${along("own_angular")},
    down: ${along("own_down")},
    leans: "acos(clamp(-down.z, -1, 1))",`;
}

/** What standing takes of an actuator, about (N m). */
export const standingTorque = (mass: number, { height, feet }: Pick<Base, "height" | "feet">): number =>
  (mass * 9.81 * 0.25 * Math.max(height, 0.1)) / Math.max(1, feet.length);

/** Legs that stand by themselves learn to walk by much noise, and what is likeliest is to walk too (docs/decisions/0181). */
const STEPS_BY_NOISE = { initialLogStd: -0.5, finalLogStd: -2.2 };

/** How a policy that walks is trained, in code: its noise, and what follows the bound of values. */
export const trainingOf = (
  actions: number,
  { initialLogStd, finalLogStd }: { readonly initialLogStd: number; readonly finalLogStd?: number },
  more = "",
): string => `  training: {
    ppo: {
      numEnvs: 256,
      steps: 4_000_000,
      config: {
        rolloutSteps: 32,
        minibatches: 8,
        epochs: 5,
        ${rateOf(actions)},
        valueClip: 0.2,${more}
        initialLogStd: ${initialLogStd},${finalLogStd === undefined ? "" : `\n        finalLogStd: ${finalLogStd},`}
        hidden: [128, 128],
        activation: "elu",
      },
    },
  },`;

/**
 * A base that follows commands of velocity on its feet or wheels, or in the air; on two legs about a gait, where it has one.
 * @throws CorralError no-free-base, no-lift, no-ground, no-contact
 */
export function velocityTask(name: string, given: Robot, { library, model: path }: Places, gait?: RobotGait): string {
  const whole = baseOf(given);
  const level = whole.feet.length > 2 && !whole.flies;
  const robot = {
    ...given,
    motors: gait ? shifted(given.motors, gait, whole.height) : level ? withWideLegs(given, whole.feet) : given.motors,
  };
  const { model, qpos, mass, span, floor } = robot;
  const held = heldOf(robot, whole);
  const base = withoutHeld(whole, robot, held);
  const axes = axesOf(robot, base);
  const motors = robot.motors.filter((_, i) => !held.has(i));
  // about a gait what falls cost keeps policies from walking (docs/decisions/0156)
  const falls = base.feet.length === 2 && !gait;
  const named = (body: number): string | number => nameOf(model, "body", body) || body;
  const trunk = text(named(base.body));
  const hasPose = base.posed.length > 0;
  // what standing takes of each actuator, about
  const torque = base.flies ? (mass * 9.81) / motors.length : standingTorque(mass, base);
  // how long legs are says how fast they walk: of those whose shins are their feet, links span half of that
  const tall = base.feet.length === 2 ? base.height : Math.max(base.height, span);
  const most = Math.min(Math.max(0.3, Math.min(1, 2 * tall)), gait ? swingSpeed(robot, gait.legs) : Infinity);
  const speed = base.flies ? 1 : about(most);
  const feet = base.feet.map(
    (body, i) =>
      `    air_${i}: { value: touchdown(${text(named(body))}, 0.2), weight: ${about(2 / base.feet.length)} },`,
  );
  const low = fallen(base, floor);
  const gravity = axes || level ? '"down"' : "projectedGravity(BASE)";
  const joints = (noise: string): string[] =>
    hasPose ? [noise === "" ? `      joints: "joints",` : `      joints: { value: "joints", ${noise} },`] : [];
  const steps = gait ? [`      clock: GAIT.clock,`, `      landings: GAIT.landings,`] : [];
  const velocities = (noise: string): string[] =>
    base.turned.length > 0
      ? [`      velocities: { value: "${entriesOf("qvel", base.turned)}",${noise} scale: 0.05 },`]
      : [];
  const own = [
    ...(base.flies
      ? [`    track_height: { value: tracking(height(BASE), "wanted.z", 0.5), weight: 1 },`]
      : [`    bounce: { value: "square(linear.z)", weight: -1 },`]),
    `    sway: { value: "dot(angular.xy, angular.xy)", weight: -0.05 },`,
    ...(hasPose
      ? [`    pose: { value: "dot(joints, joints)", weight: ${about(-0.5 / Math.max(1, base.posed.length))} },`]
      : []),
    ...(level ? [`    level: { value: "dot(down.xy, down.xy)", weight: -${LEVEL} },`] : []),
    `    torque: { value: torqueCost(), weight: ${about(-0.02 / (motors.length * torque * torque))} },`,
    `    rate: { value: actionRateCost(), weight: ${about(-0.1 / motors.length)} },`,
    ...feet,
    ...(falls
      ? [
          `    fall: { value: \`${low === undefined ? "" : "high < ${LOW} || "}leans > \${TIPPED} ? 1 : 0\`, weight: -${FALL} },`,
        ]
      : []),
  ];
  const imports = [
    "actionRateCost",
    "angularVelocity",
    "command",
    "defineTask",
    ...(gait ? ["gait"] : []),
    "height",
    "linearVelocity",
    "outside",
    "projectedGravity",
    "push",
    ...(hasServos(robot) ? ["servo"] : []),
    "startAround",
    ...(axes ? [] : ["tilt"]),
    "torqueCost",
    ...(feet.length > 0 ? ["touchdown"] : []),
    "tracking",
  ];
  const does = base.flies ? "flies" : base.rolls ? "drives" : "walks";
  return `// ${name}: a robot ${does} as it is commanded, pushed and randomised
import {
${imports.map((each) => `  ${each},`).join("\n")}
} from ${text(library)};

const BASE = ${trunk};
${fallOf(low)}${hasPose ? `/** Joints in the pose that episodes start in. */\nconst HOME = ${text(numbers(base.posed.map((i) => qpos[i])))};\n` : ""}${axes ? axesIn(axes) : ""}
${gait ? gaitOf(gait, axes) : ""}export default defineTask({
  id: ${text(name)},
  model: new URL(${text(path)}, import.meta.url),
  frameSkip: ${frameSkipOf(robot)},
  maxEpisodeSteps: 1000,
${trainingOf(motors.length, base.feet.length > 2 ? STEPS_BY_NOISE : { initialLogStd: -1.5 }, falls ? `\n        gamma: ${SEES_FALLS}, // a fall costs what is earned within seconds` : "")}
  /** Forward speed that is commanded (m/s) and turning (rad/s); a curriculum raises them. */
  params: { speed: ${speed}, turn: 1 },
${actionOf(robot, held, heldWords(robot, base, held))}
${gait ? "  // about the gait, whose steps are those that are commanded\n  control: GAIT.control,\n" : ""}${servosOf(robot)}  values: {
${commandOf(base, floor)}
${motionOf(axes, level)}${hasPose ? `\n    joints: \`${entriesOf("qpos", base.posed)} - \${HOME}\`,` : ""}${falls ? `\n    ${low === undefined ? "" : "high: height(BASE),\n    "}${axes ? "" : "leans: tilt(BASE),"}` : ""}
  },

  // what sensors tell; critics also see what is true
  observe: {
    policy: {
      linear: { value: "linear", noise: 0.05 },
      angular: { value: "angular", noise: 0.1, scale: 0.25 },
      gravity: { value: ${gravity}, noise: 0.02 },
      command: "wanted",
${[...(base.flies ? [`      height: { value: height(BASE), noise: 0.02 },`] : []), ...joints("noise: 0.01"), ...velocities(" noise: 0.5,"), ...steps, `      last_action: "action",`].join("\n")}
    },
    critic: {
      linear: "linear",
      angular: { value: "angular", scale: 0.25 },
      gravity: ${gravity},
      command: "wanted",
${[...joints(""), ...velocities(""), ...steps, `      last_action: "action",`].join("\n")}
      height: height(BASE),
    },
  },
  reward: {
    track_linear: { value: tracking("linear.xy", "wanted.xy", 0.5), weight: 1.5 },
    track_turn: { value: tracking("angular.z", "wanted.${base.flies ? "w" : "z"}", 0.5), weight: 0.75 },
    alive: { value: "1.0", weight: 0.25 },
${own.join("\n")}
  },
  // m/s and rad/s beside what is commanded, in the mean
  info: { off: "distance(linear.xy, wanted.xy)", off_turn: "abs(angular.z - wanted.${base.flies ? "w" : "z"})" },
  terminated: {
${[...(low === undefined ? [] : ["    low: outside(height(BASE), LOW, Infinity),"]), `    tipped: outside(${axes ? '"leans"' : "tilt(BASE)"}, 0, TIPPED),`].join("\n")}
  },
  randomise: {
${[
  `    ground: { field: "geom_friction", element: 0, scale: [0.6, 1.4], shared: true },`,
  ...(base.load === undefined
    ? []
    : [
        `    load: { field: ["body_mass", "body_inertia"], of: ${base.load === base.body ? "BASE" : text(named(base.load))}, scale: [0.8, 1.2] },`,
      ]),
].join("\n")}
  },
  events: { push: push(${text(base.joint)}, { every: [4, 8], velocity: [0.3, 0.3, 0, 0, 0, 0.2] }) },
  reset: ${startOf(robot, 0.02, 0.1, base)},
});
`;
}
