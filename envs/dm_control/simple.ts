// cartpole, pendulum, acrobot, point mass, reacher, ball in cup
import { normalNoise, uniformNoise, type Scene, type StartScene, type Task } from "../../src/env/index.ts";
import { cos, sin } from "../../src/trace/math.ts";
import { add, and, clamp, div, gt, mul, select, square, sub, type Bool, type Scalar } from "../../src/trace/scalar.ts";
import { spread } from "../shared.ts";
import { near, randomJoints, smallControl, softened, suite } from "./common.ts";

// cosines are at most 1, and rounding may put them a little above it
const UP = Infinity;

const cartpole = (name: string, swings: boolean, sparse: boolean): Task =>
  suite(name, "cartpole", {
    frameSkip: 1,
    observe: { position: "[qpos[0], xmat(body.pole_1)[8], xmat(body.pole_1)[2]]", velocity: "qvel" },
    reward: {
      reward: (s) => {
        const [cart, cosine] = [s.d.qpos.at(0), s.d.xmat.at(9 * 2 + 8)];
        if (sparse)
          return mul(
            near(s, () => cart, { bounds: [-0.25, 0.25] }),
            near(s, () => cosine, { bounds: [0.995, UP] }),
          );
        const centred = softened(
          near(s, () => cart, { margin: 2 }),
          1,
          1,
        );
        const slow = softened(
          near(s, () => s.d.qvel.at(1), { margin: 5 }),
          1,
          1,
        );
        return mul(mul(div(add(cosine, 1), 2), softened(smallControl(s), 4, 1)), mul(slow, centred));
      },
    },
    reset: (s) => {
      const qvel = normalNoise(s, 2, 0.01);
      if (!swings) return { qpos: [...uniformNoise(s, [0], 0.1), ...uniformNoise(s, [0], 0.034)], qvel };
      const [cart, pole] = normalNoise(s, 2, 0.01);
      return { qpos: [cart, add(pole, Math.PI)], qvel };
    },
  });

const pendulum = suite("pendulum-swingup", "pendulum", {
  frameSkip: 1,
  observe: { orientation: "[xmat(body.pole)[8], xmat(body.pole)[2]]", velocity: "qvel" },
  reward: { reward: (s) => near(s, "xmat(body.pole)[8]", { bounds: [Math.cos((8 * Math.PI) / 180), UP] }) },
  reset: (s) => randomJoints(s),
});

const acrobot = (name: string, sparse: boolean): Task =>
  suite(name, "acrobot", {
    frameSkip: 1,
    observe: {
      orientations:
        "[xmat(body.upper_arm)[2], xmat(body.lower_arm)[2], xmat(body.upper_arm)[8], xmat(body.lower_arm)[8]]",
      velocity: "qvel",
    },
    reward: {
      reward: (s) =>
        near(s, "distance(site_xpos(site.target), site_xpos(site.tip))", { bounds: [0, 0.2], margin: sparse ? 0 : 1 }),
    },
    reset: (s) => randomJoints(s),
  });

const pointMass = suite("point_mass-easy", "point_mass", {
  frameSkip: 1,
  observe: { position: "qpos", velocity: "qvel" },
  reward: {
    reward: (s) =>
      mul(
        near(s, "distance(geom_xpos(geom.target), geom_xpos(geom.pointmass))", { bounds: [0, 0.015], margin: 0.015 }),
        softened(smallControl(s), 4, 1),
      ),
  },
  reset: (s) => randomJoints(s),
});

const reacher = (name: string, size: number): Task =>
  suite(name, "reacher", {
    frameSkip: 1,
    values: { to_target: "(geom_xpos(geom.target) - geom_xpos(geom.finger)).xy" },
    observe: { position: "qpos", to_target: "to_target", velocity: "qvel" },
    reward: { reward: (s) => near(s, "length(to_target)", { bounds: [0, size + 0.01] }) },
    randomise: {
      target: {
        field: "geom_pos",
        of: "target",
        element: [0, 1],
        set: {
          value: (s: Scene) => {
            const [a, b] = s.random.uniforms(2);
            const [angle, radius] = [mul(a, 2 * Math.PI), spread(b, 0.05, 0.2)];
            return [mul(radius, sin(angle)), mul(radius, cos(angle))];
          },
          within: [-0.2, 0.2],
        },
      },
    },
    reset: (s) => randomJoints(s),
  });

/** Ends of the cup's parts, from its centre along x and z (m). */
const CUP = [
  [-0.05, 0],
  [-0.05, -0.075],
  [-0.025, -0.1],
  [0.025, -0.1],
  [0.05, -0.075],
  [0.05, 0],
] as const;
/** Places that are tried for the ball: all touch the cup less often than once in 10^9. */
const TRIES = 12;

/** Whether the ball touches no part of the cup, from whose centre it is at (x, z). */
function isFree(x: Scalar, z: Scalar): Bool {
  const reach = 0.025 + 0.008;
  return CUP.slice(1).reduce<Bool>((free, [bx, bz], i) => {
    const [ax, az] = CUP[i];
    const [dx, dz] = [bx - ax, bz - az];
    const along = clamp(div(add(mul(sub(x, ax), dx), mul(sub(z, az), dz)), dx * dx + dz * dz), 0, 1);
    const [ex, ez] = [sub(sub(x, ax), mul(along, dx)), sub(sub(z, az), mul(along, dz))];
    return and(free, gt(add(square(ex), square(ez)), reach * reach));
  }, true);
}

const ballInCup = suite("ball_in_cup-catch", "ball_in_cup", {
  frameSkip: 10,
  observe: { position: "qpos", velocity: "qvel" },
  values: { to_target: "abs(site_xpos(site.target) - xpos(body.ball))" },
  // the target's half width, less the ball's radius
  reward: { reward: "to_target.x < 0.05 - 0.025 && to_target.z < 0.05 - 0.025 ? 1 : 0" },
  reset: (s: StartScene) => {
    const draws = s.random.uniforms(2 * TRIES);
    let [x, z]: Scalar[] = [spread(draws[0], -0.2, 0.2), spread(draws[1], 0.2, 0.5)];
    for (let i = 1; i < TRIES; i++) {
      // the ball's slides begin 0.4 m below the cup's centre
      const free = isFree(x, sub(z, 0.4));
      x = select(free, x, spread(draws[2 * i], -0.2, 0.2));
      z = select(free, z, spread(draws[2 * i + 1], 0.2, 0.5));
    }
    return { qpos: [0, 0, x, z] };
  },
});

export const simple: readonly Task[] = [
  cartpole("cartpole-balance", false, false),
  cartpole("cartpole-balance_sparse", false, true),
  cartpole("cartpole-swingup", true, false),
  cartpole("cartpole-swingup_sparse", true, true),
  pendulum,
  acrobot("acrobot-swingup", false),
  acrobot("acrobot-swingup_sparse", true),
  pointMass,
  reacher("reacher-easy", 0.05),
  reacher("reacher-hard", 0.015),
  ballInCup,
];
