// Go1GetUp: the quadruped is dropped however it falls, and gets to its feet (after Zakka et al. 2025)
import {
  actionRateCost,
  angularVelocity,
  defineTask,
  jointLimitCost,
  projectedGravity,
  torqueCost,
  valueOf,
  velocityCost,
  type Scene,
  type StartScene,
} from "../../src/env/index.ts";
import { exp } from "../../src/trace/math.ts";
import { add, clamp, div, lt, mul, select, sqrt, square, sub, sum, type Scalar } from "../../src/trace/scalar.ts";
import { VARIED } from "../training.ts";
import { HEIGHT, JOYSTICK, offPose, STAND } from "./shared.ts";

/** Half of the episodes begin in the air, turned anyhow and with any pose; the others on the feet, to stay there. */
function start(s: StartScene) {
  const [falls, ...draws] = s.random.uniforms(1 + 4 + STAND.length);
  const quat = draws.slice(0, 4).map((u) => sub(u, 0.5));
  const long = sqrt(add(sum(quat.map(square)), 1e-6));
  const tumbles = lt(falls, 0.6);
  const pick = (a: Scalar, b: Scalar) => select(tumbles, a, b, "f32");
  const turned = quat.map((x, i) => pick(div(x, long), i === 0 ? 1 : 0));
  const { jnt_range } = s.model;
  const joints = STAND.map((angle, i) => {
    const [low, high] = jnt_range.subarray(2 * (i + 1), 2 * (i + 2));
    return pick(add(low, mul(draws[4 + i], high - low)), angle);
  });
  return { qpos: [0, 0, pick(0.45, HEIGHT), ...turned, ...joints], qvel: Array<number>(18).fill(0) };
}

function control(s: Scene): Scalar[] {
  const up = sub(1, mul(2, add(square(s.d.qpos.at(4)), square(s.d.qpos.at(5)))));
  const level = clamp(div(sub(up, 0.5), 0.4), 0, 1);
  return STAND.map((angle, i) => {
    const at = s.d.qpos.at(7 + i);
    return add(add(at, mul(level, sub(angle, at))), s.action[i]);
  });
}

/** 1 where the trunk is upright, 0 where it lies on its back. */
const upright = (s: Scene) => mul(0.5, sub(1, valueOf(s, "down")[2]));

export const go1GetUp = defineTask({
  id: "Go1GetUp",
  model: new URL("./getup.xml", import.meta.url),
  frameSkip: 4,
  maxEpisodeSteps: 300,
  training: { ppo: { numEnvs: 256, steps: 3_000_000, config: { ...VARIED, initialLogStd: -0.5 } } },
  // on its feet servos hold the pose of standing, lying they hold the joints where they are; actions move their targets
  // (Zakka et al. 2025 move them from where joints are alone; about a pose it does not leave its back)
  action: { clip: [-2, 2], scale: 0.5 },
  control,
  values: {
    down: projectedGravity("trunk"),
    angular: angularVelocity("trunk"),
    // 0 where it lies on its belly
    raised: `saturate((xpos(body.trunk).z - 0.08) / ${HEIGHT - 0.08})`,
  },
  observe: {
    angular: { value: "angular", noise: { uniform: [-0.2, 0.2] }, scale: 0.25 },
    gravity: { value: "down", noise: { uniform: [-0.05, 0.05] } },
    angles: { value: offPose, noise: { uniform: [-0.03, 0.03] } },
    velocities: { value: "qvel[6:]", noise: { uniform: [-1.5, 1.5] }, scale: 0.05 },
    last_action: "action",
  },
  reward: {
    upright: { value: upright, weight: 1 },
    height: { value: (s: Scene) => mul(square(upright(s)), valueOf(s, "raised")[0]), weight: 1 },
    pose: {
      value: (s: Scene) => mul(square(upright(s)), exp(mul(-0.2, sum(offPose(s).map(square))))),
      weight: 1,
    },
    limits: { value: jointLimitCost({ free: 0.95 }), weight: -0.1 },
    torque: { value: torqueCost(), weight: -1e-5 },
    speed: { value: velocityCost(), weight: -1e-4 },
    rate: { value: actionRateCost(), weight: -0.002 },
  },
  randomise: JOYSTICK.randomise,
  // on its feet, near the pose of standing
  info: { success: `down.z < -0.9 && raised > 0.7` },
  reset: start,
});
