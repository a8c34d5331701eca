// humanoid: stands, walks, runs
import { normalNoise, subtreeVelocity, type Scene, type StartScene, type Task } from "../../src/env/index.ts";
import { add, div, mul, sqrt, square, type Scalar } from "../../src/trace/scalar.ts";
import { normalizeQuat, type Quat } from "../../src/trace/vector.ts";
import { near, randomJoints, smallControl, softened, suite } from "./common.ts";

const LIMBS = ["left_hand", "left_foot", "right_hand", "right_foot"];

function start(s: StartScene): { qpos: Scalar[] } {
  const { qpos } = randomJoints(s);
  qpos.splice(3, 4, ...normalizeQuat(normalNoise(s, 4, 1) as unknown as Quat));
  return { qpos };
}

const humanoid = (name: string, wanted: number): Task =>
  suite(name, "humanoid", {
    frameSkip: 5,
    observe: {
      joint_angles: "qpos[7:]",
      head_height: "xpos(body.head).z",
      extremities: `[${LIMBS.map((limb) => `to_local(xmat(body.torso), xpos(body.${limb}) - xpos(body.torso))`).join(", ")}]`,
      torso_vertical: "xmat(body.torso)[6:9]",
      com_velocity: subtreeVelocity("torso"),
      velocity: "qvel",
    },
    reward: {
      reward: (s: Scene) => {
        const standing = near(s, "xpos(body.head).z", { bounds: [1.4, Infinity], margin: 1.4 / 4 });
        const upright = near(s, "xmat(body.torso)[8]", {
          bounds: [0.9, Infinity],
          sigmoid: "linear",
          margin: 1.9,
          valueAtMargin: 0,
        });
        const stands = mul(mul(standing, upright), softened(smallControl(s), 4, 1));
        const [x, y] = subtreeVelocity("torso")(s);
        if (wanted === 0) {
          const [still, steady] = [x, y].map((v) => near(s, () => v, { margin: 2 }));
          return mul(stands, div(add(still, steady), 2));
        }
        const moves = near(s, () => sqrt(add(square(x), square(y))), {
          bounds: [wanted, Infinity],
          margin: wanted,
          valueAtMargin: 0,
          sigmoid: "linear",
        });
        return mul(stands, softened(moves, 1, 5));
      },
    },
    reset: start,
  });

export const humanoids: readonly Task[] = [
  humanoid("humanoid-stand", 0),
  humanoid("humanoid-walk", 1),
  humanoid("humanoid-run", 10),
];
