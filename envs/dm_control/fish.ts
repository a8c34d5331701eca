// fish: stays upright, or swims to a target
import { normalNoise, uniformNoise, type Scene, type StartScene } from "../../src/env/index.ts";
import { add, div, mul, type Scalar } from "../../src/trace/scalar.ts";
import { normalizeQuat, type Quat } from "../../src/trace/vector.ts";
import { spread } from "../shared.ts";
import { near, suite } from "./common.ts";

/** Tail and fins a little off, and turned anyhow. */
function start(s: StartScene): { qpos: Scalar[] } {
  const quat = normalizeQuat(normalNoise(s, 4, 1) as unknown as Quat);
  return { qpos: [0, 0, 0.1, ...quat, ...uniformNoise(s, Array<number>(7).fill(0), 0.2)] };
}

const UPRIGHT = "xmat(body.torso)[8]";

const upright = suite("fish-upright", "fish", {
  frameSkip: 10,
  observe: { joint_angles: "qpos[7:]", upright: UPRIGHT, velocity: "qvel" },
  reward: { reward: (s) => near(s, UPRIGHT, { bounds: [1, 1], margin: 1 }) },
  reset: start,
});

/** Radii of mouth and target (m). */
const TOUCH = 0.005 + 0.04;

const swim = suite("fish-swim", "fish", {
  frameSkip: 10,
  values: { missing: "to_local(geom_xmat(geom.mouth), geom_xpos(geom.target) - geom_xpos(geom.mouth))" },
  observe: { joint_angles: "qpos[7:]", upright: UPRIGHT, target: "missing", velocity: "qvel" },
  reward: {
    reward: (s) => {
      const there = near(s, "length(missing)", { bounds: [0, TOUCH], margin: 2 * TOUCH });
      const upright = div(add(s.d.xmat.at(9 * 1 + 8), 1), 2);
      return div(add(mul(7, there), upright), 8);
    },
  },
  randomise: {
    target: {
      field: "geom_pos",
      of: "target",
      set: {
        value: (s: Scene) => {
          const [a, b, c] = s.random.uniforms(3);
          return [spread(a, -0.4, 0.4), spread(b, -0.4, 0.4), spread(c, 0.1, 0.3)];
        },
        within: [-0.4, 0.4],
      },
    },
  },
  reset: start,
});

export const fish = [upright, swim];
