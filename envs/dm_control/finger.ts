// finger: a spinner is turned by a finger of two links
import { type Scene, type StartScene, type Task } from "../../src/env/index.ts";
import { cos, sin } from "../../src/trace/math.ts";
import { add, and, mul, select, type Bool, type Scalar } from "../../src/trace/scalar.ts";
import { spread } from "../shared.ts";
import { randomJoints, suite } from "./common.ts";
import { isBeyond, plus, turned } from "./plane.ts";

/** Where finger and spinner are hinged (m), and how far the tip and the target are from the spinner's hinge. */
const [FINGER, SPINNER, HEIGHT] = [-0.2, 0.2, 0.4];
const RADIUS = 0.13;
/** Starts that are tried: all touch the spinner less often than once in 10^9. */
const TRIES = 12;

/** Whether the fingertip, the only part that reaches it, touches neither half of the spinner. */
function isFree([proximal, distal, hinge]: readonly Scalar[]): Bool {
  // the finger points along x where its first angle is -90°, of which the model is made
  const first = add(proximal, Math.PI / 2);
  const both = add(first, distal);
  const elbow = plus([FINGER, HEIGHT], turned([0, -0.18], first));
  const tip = [-0.13, -0.161].map((z) => plus(elbow, turned([0, z], both)));
  const reach = 0.03 + 0.04;
  return [-0.02, 0.02].reduce<Bool>((free, x) => {
    const [a, b] = [-0.09, 0.09].map((z) => plus([SPINNER, HEIGHT], turned([x, z], hinge)));
    const apart = and(isBeyond(tip[0], a, b, reach), isBeyond(tip[1], a, b, reach));
    const back = and(isBeyond(a, tip[0], tip[1], reach), isBeyond(b, tip[0], tip[1], reach));
    return and(free, and(apart, back));
  }, true);
}

function start(s: StartScene): { qpos: Scalar[] } {
  let { qpos } = randomJoints(s);
  for (let i = 1; i < TRIES; i++) {
    const free = isFree(qpos);
    const next = randomJoints(s).qpos;
    qpos = qpos.map((x, k) => select(free, x, next[k], "f32"));
  }
  return { qpos };
}

const OBSERVED = {
  position: "[qpos[0], qpos[1], tip.x, tip.y]",
  velocity: "qvel",
  touch: "[log(1 + sensor(top)), log(1 + sensor(bottom))]",
};
const VALUES = { tip: "(site_xpos(site.tip) - xpos(body.spinner)).xz" };

const spin = suite("finger-spin", "finger_spin", {
  frameSkip: 2,
  values: VALUES,
  observe: OBSERVED,
  reward: { reward: "qvel(joint.hinge) <= -15 ? 1 : 0" },
  reset: start,
});

const turn = (name: string, size: number): Task =>
  suite(name, "finger_turn", {
    frameSkip: 2,
    values: {
      ...VALUES,
      goal: "(site_xpos(site.target) - xpos(body.spinner)).xz",
      missing: `distance(goal, tip) - ${size}`,
    },
    observe: { ...OBSERVED, target_position: "goal", dist_to_target: "missing" },
    reward: { reward: "missing <= 0 ? 1 : 0" },
    randomise: {
      target: {
        field: "site_pos",
        of: "target",
        element: [0, 2],
        set: {
          value: (s: Scene) => {
            const angle = spread(s.random.uniforms(1)[0], -Math.PI, Math.PI);
            return [add(SPINNER, mul(RADIUS, sin(angle))), add(HEIGHT, mul(RADIUS, cos(angle)))];
          },
          within: [SPINNER - RADIUS, HEIGHT + RADIUS],
        },
      },
    },
    reset: start,
  });

export const fingers: readonly Task[] = [spin, turn("finger-turn_easy", 0.07), turn("finger-turn_hard", 0.03)];
