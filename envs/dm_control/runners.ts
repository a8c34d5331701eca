// cheetah, walker and hopper
import { subtreeVelocity, type Scene, type Task } from "../../src/env/index.ts";
import { add, div, mul, type Scalar } from "../../src/trace/scalar.ts";
import { near, randomJoints, smallControl, softened, suite } from "./common.ts";

const speed = (s: Scene): Scalar => subtreeVelocity("torso")(s)[0];

const cheetah = suite("cheetah-run", "cheetah", {
  frameSkip: 1,
  observe: { position: "qpos[1:]", velocity: "qvel" },
  reward: {
    reward: (s) => near(s, speed, { bounds: [10, Infinity], margin: 10, valueAtMargin: 0, sigmoid: "linear" }),
  },
  reset: (s) => randomJoints(s, true),
});

/** Bodies of the walker, of which it sees how they lie. */
const WALKER = [1, 2, 3, 4, 5, 6, 7];

const walker = (name: string, wanted: number): Task =>
  suite(name, "walker", {
    frameSkip: 10,
    observe: {
      orientations: (s) => WALKER.flatMap((b) => [s.d.xmat.at(9 * b), s.d.xmat.at(9 * b + 2)]),
      height: "xpos(body.torso).z",
      velocity: "qvel",
    },
    reward: {
      reward: (s) => {
        const standing = near(s, "xpos(body.torso).z", { bounds: [1.2, Infinity], margin: 0.6 });
        const upright = div(add(1, s.d.xmat.at(9 + 8)), 2);
        const stands = div(add(mul(standing, 3), upright), 4);
        if (wanted === 0) return stands;
        const moves = near(s, speed, {
          bounds: [wanted, Infinity],
          margin: wanted / 2,
          valueAtMargin: 0.5,
          sigmoid: "linear",
        });
        return mul(stands, softened(moves, 1, 5));
      },
    },
    reset: (s) => randomJoints(s),
  });

const hopper = (name: string, hops: boolean): Task =>
  suite(name, "hopper", {
    frameSkip: 4,
    observe: {
      position: "qpos[1:]",
      velocity: "qvel",
      touch: "[log(1 + sensor(toe)), log(1 + sensor(heel))]",
    },
    reward: {
      reward: (s) => {
        const standing = near(s, "xipos(body.torso).z - xipos(body.foot).z", { bounds: [0.6, 2] });
        if (!hops) return mul(standing, softened(smallControl(s), 4, 1));
        const hopping = { bounds: [2, Infinity] as const, margin: 1, valueAtMargin: 0.5, sigmoid: "linear" as const };
        return mul(standing, near(s, speed, hopping));
      },
    },
    reset: (s) => randomJoints(s),
  });

export const runners: readonly Task[] = [
  cheetah,
  walker("walker-stand", 0),
  walker("walker-walk", 1),
  walker("walker-run", 8),
  hopper("hopper-stand", false),
  hopper("hopper-hop", true),
];
