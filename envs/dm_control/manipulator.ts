// manipulator: a hand of two digits at the end of an arm brings a ball to its target
import { valueOf, type Scene, type Start, type StartScene, type Task } from "../../src/env/index.ts";
import { atan2, cos, sin } from "../../src/trace/math.ts";
import { add, and, gt, lt, mul, select, sub, type Bool, type Scalar } from "../../src/trace/scalar.ts";
import { spread } from "../shared.ts";
import { near, suite } from "./common.ts";
import { areApart, plus, turned, type Capsule, type Point } from "./plane.ts";

/** As dm_control orders them; the model has thumb and finger the other way round. */
const JOINTS = ["arm_root", "arm_shoulder", "arm_elbow", "arm_wrist", "finger", "fingertip", "thumb", "thumbtip"];
const TOUCH = ["palm_touch", "finger_touch", "thumb_touch", "fingertip_touch", "thumbtip_touch"];
const BALL = 0.022;
/** Draws of a start. Four in ten touch nothing: of 1,500 starts one is left that does. */
const TRIES = 14;
/** Of starts a tenth have the ball in the hand, a tenth at the target. */
const [IN_HAND, IN_TARGET] = [0.1, 0.1];
/** A point of the floor and of each wall, and which way they face. */
const PLANES: readonly (readonly [Point, Point])[] = [
  [
    [0, 0],
    [0, 1],
  ],
  [
    [-0.682843, 0.282843],
    [Math.SQRT1_2, Math.SQRT1_2],
  ],
  [
    [0.682843, 0.282843],
    [-Math.SQRT1_2, Math.SQRT1_2],
  ],
];

/** A body of the arm in the plane: its capsules, and the body that carries it, with which it may overlap. */
interface Link {
  readonly capsules: readonly Capsule[];
  readonly parent: number;
}

/** A frame: where it is, and how it is turned about -y; `side` -1 where left is right. */
interface Frame {
  readonly at: Point;
  readonly angle: Scalar;
}
const within = ({ at, angle }: Frame, p: Point): Point => plus(at, turned(p, angle));
const capsule = (f: Frame, a: Point, b: Point, radius: number): Capsule => ({
  ends: [within(f, a), within(f, b)],
  radius,
});

/** The capsules of a digit and of its tip, on the right of the hand or, mirrored, on its left. */
function digit(hand: Frame, side: 1 | -1, [angle, tipAngle]: readonly Scalar[]): Capsule[][] {
  const mirrored = ([x, z]: Point): Point => [mul(side, x), z];
  const base: Frame = { at: [0.03, 0.045], angle: add(Math.PI / 2, angle) };
  const tip: Frame = { at: within(base, [0.05, -0.01]), angle: add(base.angle, tipAngle) };
  const of = (f: Frame, a: Point, b: Point, radius: number): Capsule => ({
    ends: [within(hand, mirrored(within(f, a))), within(hand, mirrored(within(f, b)))],
    radius,
  });
  return [
    [of(base, [0, 0], [0.02, -0.01], 0.007), of(base, [0.02, -0.01], [0.04, -0.01], 0.007)],
    [of(tip, [-0.003, 0], [0.003, 0], 0.008)],
  ];
}

/** The arm at its angles, root to thumbtip in the model's order, and the frame of its hand. */
function armAt(q: readonly Scalar[]): { links: Link[]; hand: Frame } {
  const upper: Frame = { at: [0, 0.4], angle: q[0] };
  const middle: Frame = { at: within(upper, [0, 0.18]), angle: add(upper.angle, q[1]) };
  const lower: Frame = { at: within(middle, [0, 0.15]), angle: add(middle.angle, q[2]) };
  const hand: Frame = { at: within(lower, [0, 0.12]), angle: add(lower.angle, q[3]) };
  const palm = [0.03, -0.03].map((x) => capsule(hand, [0, 0.03], [x, 0.045], 0.008));
  const [thumb, thumbtip] = digit(hand, 1, [q[4], q[5]]);
  const [finger, fingertip] = digit(hand, -1, [q[6], q[7]]);
  const links: Link[] = [
    { capsules: [capsule(upper, [0, 0], [0, 0.18], 0.02)], parent: -1 },
    { capsules: [capsule(middle, [0, 0], [0, 0.15], 0.017)], parent: 0 },
    { capsules: [capsule(lower, [0, 0], [0, 0.12], 0.014)], parent: 1 },
    { capsules: [capsule(hand, [0, 0], [0, 0.03], 0.011), ...palm], parent: 2 },
    { capsules: thumb, parent: 3 },
    { capsules: thumbtip, parent: 4 },
    { capsules: finger, parent: 3 },
    { capsules: fingertip, parent: 6 },
  ];
  return { links, hand };
}

/** Whether nothing touches: no link another but its parent, none the floor or a wall. */
function isFree(links: readonly Link[]): Bool {
  const planes = links.flatMap(({ capsules }) =>
    capsules.flatMap(({ ends, radius }) =>
      PLANES.flatMap(([[px, pz], [nx, nz]]) =>
        ends.map(([x, z]) => gt(add(mul(nx, sub(x, px)), mul(nz, sub(z, pz))), radius)),
      ),
    ),
  );
  const pairs = links.flatMap((a, i) =>
    links
      .slice(0, i)
      .filter((_, j) => j !== a.parent)
      .flatMap((b) => a.capsules.flatMap((x) => b.capsules.map((y) => areApart(x, y)))),
  );
  return [...planes, ...pairs].reduce(and);
}

/** A start of 13 uniform numbers: state, and whether nothing touches in it. */
function startOf(s: StartScene, u: readonly Scalar[]): { start: Start; free: Bool } {
  const { model } = s;
  const range = (j: number) =>
    model.jnt_limited[j] > 0 ? [model.jnt_range[2 * j], model.jnt_range[2 * j + 1]] : [-Math.PI, Math.PI];
  const arm = Array.from({ length: 8 }, (_, j) => spread(u[j], range(j)[0], range(j)[1]));
  // the hand is closed evenly
  arm[6] = arm[4];
  const { links, hand } = armAt(arm);
  const target = s.m.body_pos.vec3(model.names.body.indexOf("target_ball"));
  const turn = s.m.body_quat.run(4 * model.names.body.indexOf("target_ball"), 4);
  const grasp = within(hand, [0, 0.065]);
  const [held, there] = [lt(u[8], IN_HAND), lt(u[8], IN_HAND + IN_TARGET)];
  const one = (inHand: Scalar, atTarget: Scalar, anywhere: Scalar): Scalar =>
    select(held, inHand, select(there, atTarget, anywhere, "f32"), "f32");
  const at: Point = [
    one(grasp[0], target[0], spread(u[9], -0.5, 0.5)),
    one(grasp[1], target[2], spread(u[10], 0, 0.7)),
  ];
  const angle = one(sub(Math.PI, hand.angle), mul(2, atan2(turn[2], turn[0])), mul(u[11], 2 * Math.PI));
  const ball: Link = { capsules: [{ ends: [at, at], radius: BALL }], parent: -1 };
  const qvel: Scalar[] = Array<Scalar>(model.nv).fill(0);
  qvel[8] = one(0, 0, spread(u[12], -5, 5));
  return { start: { qpos: [...arm, ...at, angle], qvel }, free: isFree([...links, ball]) };
}

const half = (s: Scene): Scalar => mul(0.5, spread(s.random.uniforms(1)[0], -Math.PI, Math.PI));

const bring = suite("manipulator-bring_ball", "manipulator", {
  frameSkip: 10,
  values: { joints: `qpos(${JOINTS.map((j) => `joint.${j}`).join(", ")})` },
  observe: {
    arm_pos: (s) => valueOf(s, "joints").flatMap((q) => [sin(q), cos(q)]),
    arm_vel: `qvel(${JOINTS.map((j) => `joint.${j}`).join(", ")})`,
    touch: `[${TOUCH.map((t) => `log(1 + sensor(${t}))`).join(", ")}]`,
    hand_pos: "[xpos(body.hand).xz, xquat(body.hand)[0], xquat(body.hand)[2]]",
    object_pos: "[xpos(body.ball).xz, xquat(body.ball)[0], xquat(body.ball)[2]]",
    object_vel: "qvel(joint.ball_x, joint.ball_z, joint.ball_y)",
    target_pos: "[xpos(body.target_ball).xz, xquat(body.target_ball)[0], xquat(body.target_ball)[2]]",
  },
  reward: {
    reward: (s) =>
      near(s, "distance(site_xpos(site.ball), site_xpos(site.target_ball))", { bounds: [0, 0.01], margin: 0.02 }),
  },
  randomise: {
    target: {
      field: "body_pos",
      of: "target_ball",
      element: [0, 2],
      set: {
        value: (s: Scene) => {
          const [x, z] = s.random.uniforms(2);
          return [spread(x, -0.4, 0.4), spread(z, 0.1, 0.4)];
        },
        within: [-0.4, 0.4],
      },
    },
    turn: {
      field: "body_quat",
      of: "target_ball",
      element: [0, 2],
      set: {
        value: (s: Scene) => {
          const angle = half(s);
          return [cos(angle), sin(angle)];
        },
        within: [-1, 1],
      },
    },
  },
  reset: (s) =>
    startOf(
      s,
      s.random.accepted(TRIES, 13, (u) => startOf(s, u).free),
    ).start,
});

export const manipulators: readonly Task[] = [bring];
