// HandTurnCube: a LEAP-like hand turns a cube about the vertical without dropping it
import {
  actionRateCost,
  bodyId,
  defineTask,
  startAround,
  torqueCost,
  uniformNoise,
  valueOf,
  type Scene,
  type StartScene,
} from "../../src/env/index.ts";
import { cos, sin } from "../../src/trace/math.ts";
import { add, div, max, mul, square, sub, type Scalar } from "../../src/trace/scalar.ts";
import { spread } from "../shared.ts";
import { VARIED } from "../training.ts";

/** Angles about which actions move the servos: fingers bent under the cube, the thumb beside it (rad). */
const FINGER = [0.8, 0, 0.8, 0.8];
const HOME = [...FINGER, ...FINGER, ...FINGER, 0.8, 0.8, 0.8, 0];
/** How the cube lies at the start about the vertical (rad). */
const YAW = -1.25;

/** From the cube to the tips of fingers and thumb. */
const TIPS = `[${["if", "mf", "rf", "th"].map((finger) => `site_xpos(site.${finger}_tip) - cube`).join(", ")}]`;

const home = startAround({ key: "home" });

/** The hand about home, the cube just above it. */
function start(s: StartScene) {
  const { qpos } = home(s);
  const [x, y, turn] = s.random.uniforms(3);
  const half = mul(spread(turn, YAW - 0.3, YAW + 0.3), 0.5);
  const place = [spread(x, 0.09, 0.11), spread(y, -0.01, 0.01), 0.05];
  return { qpos: [...uniformNoise(s, qpos!.slice(0, HOME.length), 0.1), ...place, cos(half), 0, 0, sin(half)] };
}

/** How far the cube has turned about the vertical in the episode (rad). */
const turned = (s: Scene): Scalar =>
  s.updated("turned", (now, before) => [before ? add(before[0], mul(valueOf(now, "spin")[0], now.dt)) : 0])[0];

/** Cosine and sine of four times the cube's angle about the vertical: it looks the same after a quarter turn. */
function quarterTurns({ d, model }: Scene): Scalar[] {
  const at = 9 * bodyId(model, "body", "cube");
  const [x, y] = [d.xmat.at(at), d.xmat.at(at + 3)];
  // of an axis that stands upright there is no angle
  const size = max(add(square(x), square(y)), 1e-6);
  const [cos2, sin2] = [div(sub(square(x), square(y)), size), div(mul(mul(x, y), 2), size)];
  return [sub(square(cos2), square(sin2)), mul(mul(cos2, sin2), 2)];
}

export const handTurnCube = defineTask({
  id: "HandTurnCube",
  model: new URL("./model.xml", import.meta.url),
  frameSkip: 5,
  maxEpisodeSteps: 200,
  training: { ppo: { numEnvs: 256, steps: 3_500_000, config: { ...VARIED, initialLogStd: -1.6, gamma: 0.98 } } },
  defaults: {
    /** What an episode is to turn the cube by (rad). */
    success_turn: Math.PI / 2,
  },
  // actions are angles about home, for servos
  action: { clip: [-1, 1], scale: 0.75, offset: HOME },
  values: {
    cube: "xpos(body.cube)",
    rates: "to_world(xmat(body.cube), qvel(cube)[3:6])",
    spin: "rates.z",
    turned,
  },
  observe: {
    angles: { value: `qpos[0:${HOME.length}]`, noise: { uniform: [-0.02, 0.02] } },
    velocities: { value: `qvel[0:${HOME.length}]`, scale: 0.1 },
    last_action: "action",
    cube: { value: "cube - xpos(body.palm)", scale: 10 },
    cube_up: "[xmat(body.cube)[2], xmat(body.cube)[5], xmat(body.cube)[8]]",
    quarter_turns: quarterTurns,
    tips: { value: TIPS, scale: 15 },
    cube_velocity: "qvel(cube)[0:3]",
    cube_rates: { value: "rates", scale: 0.3 },
  },
  // as in Playground's LeapCubeRotateZAxis, but that fast turns are paid no more than one of 2 rad/s
  reward: {
    turn: "clamp(spin, -20, 2)",
    held: { value: "1.0", weight: 0.25 },
    slide: { value: "length(qvel(cube)[0:2])", weight: -0.5 },
    rate: { value: actionRateCost(), weight: -0.005 },
    torque: { value: torqueCost(), weight: -0.05 },
  },
  terminated: { dropped: "cube.z < -0.05" },
  info: { spin: "spin", turned: "turned", success: "turned > option.success_turn" },
  reset: start,
});
