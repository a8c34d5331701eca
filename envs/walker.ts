// what two-legged walkers that follow a joystick have in common: they act about a gait that is made from the command
// (residual policies with a clock: Xie et al. 2018, Siekmann et al. 2021), rewarded as the field does (Zakka et al. 2025)
import {
  actionRateCost,
  angularVelocity,
  Box,
  inContact,
  jointLimitCost,
  linearVelocity,
  powerCost,
  projectedGravity,
  push,
  torqueCost,
  tracking,
  uniformNoise,
  type Scene,
  type StartScene,
} from "../src/env/index.ts";
import { cos, exp, sin } from "../src/trace/math.ts";
import { eq, mul, neg, select, square, sub, sum, type Scalar } from "../src/trace/scalar.ts";
import { gaitOf, type GaitOptions } from "./gait.ts";
import { joystick, slip } from "./joystick.ts";
import { FALLS_COST, VARIED } from "./training.ts";

export interface WalkerOptions {
  readonly model: URL;
  readonly base: string;
  /** Bodies of the left foot and the right one. */
  readonly feet: readonly [string, string];
  readonly gait: GaitOptions;
  /** Forward, sideways (m/s), turning (rad/s) at most; back is half of forward. */
  readonly speeds: readonly [number, number, number];
  /** How far an action of 1 moves a servo's target (rad), and the log of the standard deviation of actions at first. */
  readonly acts: number;
  readonly logStd: number;
  /** Targets of the joints behind the legs, from how the arms swing; the first `moved` of them are acted on too. */
  readonly upper: (swings: readonly Scalar[]) => readonly Scalar[];
  readonly moved: number;
  /** The most of an action; default 1. */
  readonly most?: number;
  /** It has come down, or lies: what ends an episode, and costs what is earned within seconds. */
  readonly fallen: string;
  /** Whether a policy sees angles of joints about those of the gait; default: about those as it stands. */
  readonly aboutGait?: boolean;
  /** How far above the ground its soles are as it begins, standing (m); default 0. */
  readonly above?: number;
}

/** All of a task but its id and its terrain. */
export function walker({
  model,
  base,
  feet,
  gait: how,
  speeds,
  acts,
  logStd,
  upper,
  moved,
  most = 1,
  fallen,
  aboutGait = false,
  above = 0,
}: WalkerOptions) {
  const gait = gaitOf(how);
  const nj = 12 + moved;
  const stand = [...gait.standing.flat(), ...(upper([0, 0]) as number[])];
  const targets = (s: Scene): Scalar[] => [...gait.legs(s).flat(), ...upper(gait.swings(s))];
  const offGait = (s: Scene): Scalar[] =>
    targets(s)
      .slice(0, nj)
      .map((x, i) => sub(s.d.qpos.at(7 + i), x));
  const touches = (s: Scene) => feet.map((foot) => inContact(foot)(s));

  function start(s: StartScene) {
    const half = mul(sub(s.random.uniforms(1)[0], 0.5), 2 * Math.PI);
    return {
      qpos: [0, 0, how.height + above, cos(half), 0, 0, sin(half), ...uniformNoise(s, stand, 0.03)],
      qvel: [...uniformNoise(s, [0, 0, 0, 0, 0, 0], 0.1), ...stand.map(() => 0)],
    };
  }

  return {
    model,
    frameSkip: 4,
    maxEpisodeSteps: 1000,
    training: {
      ppo: {
        numEnvs: 256,
        steps: 4_000_000,
        config: { ...VARIED, gamma: FALLS_COST, initialLogStd: logStd },
      },
    },
    /** How fast commands are, world by world (m/s, rad/s): a curriculum. */
    params: { forward: speeds[0], sideways: speeds[1], turn: speeds[2] },
    actionSpace: () => new Box({ low: -most, high: most, shape: [nj] }),
    // actions move the targets of servos about those of the gait
    control: (s: Scene): Scalar[] => targets(s).map((x, i) => (i < nj ? sub(x, mul(-acts, s.action[i])) : x)),
    values: {
      linear: linearVelocity(base),
      angular: angularVelocity(base),
      down: projectedGravity(base),
      wanted: joystick("-0.5 * param.forward"),
    },
    observe: {
      linear: { value: "linear", noise: { uniform: [-0.1, 0.1] } },
      angular: { value: "angular", noise: { uniform: [-0.2, 0.2] }, scale: 0.25 },
      gravity: { value: "down", noise: { uniform: [-0.05, 0.05] } },
      command: "wanted",
      clock: gait.clock,
      angles: {
        value: aboutGait ? offGait : (s: Scene) => stand.slice(0, nj).map((x, i) => sub(s.d.qpos.at(7 + i), x)),
        noise: { uniform: [-0.03, 0.03] },
      },
      velocities: { value: `qvel[6:${6 + nj}]`, noise: { uniform: [-1, 1] }, scale: 0.05 },
      last_action: "action",
      landings: gait.caught,
      ...(how.footing === undefined ? {} : { ground: gait.ground }),
    },
    reward: {
      alive: 0.5,
      track_linear: { value: tracking("linear.xy", "wanted.xy", 0.4), weight: 1.5 },
      track_turn: { value: tracking("angular.z", "wanted.z", 0.5), weight: 0.75 },
      bounce: { value: "square(linear.z)", weight: -0.5 },
      sway: { value: "sum(square(angular.xy))", weight: -0.05 },
      level: { value: "sum(square(down.xy))", weight: -2 },
      gait: { value: (s: Scene) => exp(neg(mul(2, sum(offGait(s).map(square))))), weight: 0.5 },
      steps: {
        value: (s: Scene) => {
          const stands = gait.stands(s);
          const right = touches(s).map((touch, i) =>
            select(eq(select(touch, 1, 0, "f32"), select(stands[i], 1, 0, "f32")), 0.5, 0, "f32"),
          );
          return select(gait.moves(s), sum(right), 0, "f32");
        },
        weight: 0.3,
      },
      still: {
        value: (s: Scene) => select(gait.moves(s), 0, sum(s.d.qvel.run(6, nj).map(square)), "f32"),
        weight: -0.002,
      },
      limits: { value: jointLimitCost({ free: 0.95 }), weight: -1 },
      torque: { value: torqueCost(), weight: -1e-5 },
      power: { value: powerCost(), weight: -2e-4 },
      rate: { value: actionRateCost(), weight: -0.02 },
      slip: { value: slip(feet), weight: -0.1 },
      fall: { value: `(${fallen}) ? 1 : 0`, weight: -300 },
    },
    terminated: { fallen },
    randomise: {
      floor: { field: "geom_friction", of: ["floor", "*_foot_*"], element: 0, set: [0.4, 1.1], shared: true },
      load: { field: ["body_mass", "body_inertia"], of: base, scale: [0.9, 1.3] },
      friction: { field: "dof_frictionloss", of: ["left_*", "right_*"], scale: [0.8, 1.2] },
      armature: { field: "dof_armature", of: ["left_*", "right_*"], scale: [1, 1.1] },
    },
    // how far from the command (m/s, rad/s)
    info: { off: "distance(linear.xy, wanted.xy)", off_turn: "abs(angular.z - wanted.z)" },
    events: { push: push("root", { every: [4, 8], velocity: [0.3, 0.3, 0, 0, 0, 0.2] }) },
    reset: start,
  } as const;
}
