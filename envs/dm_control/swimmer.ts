// swimmer: a chain of links swims to a target, in the plane
import { angularVelocity, linearVelocity, type Scene, type Task } from "../../src/env/index.ts";
import { lt, mul, select, sub, type Scalar } from "../../src/trace/scalar.ts";
import { near, randomJoints, suite } from "./common.ts";

const swimmer = (name: string, links: number): Task => {
  const bodies = ["head", ...Array.from({ length: links - 1 }, (_, i) => `segment_${i}`)];
  return suite(name, `swimmer${links}`, {
    frameSkip: 15,
    values: {
      to_target: "to_local(xmat(body.head), geom_xpos(geom.target) - geom_xpos(geom.nose)).xy",
    },
    observe: {
      joints: "qpos[3:]",
      to_target: "to_target",
      body_velocities: (s: Scene) =>
        bodies.flatMap((body) => [...linearVelocity(body)(s).slice(0, 2), angularVelocity(body)(s)[2]]),
    },
    reward: {
      reward: (s) => near(s, "length(to_target)", { bounds: [0, 0.1], margin: 0.5, sigmoid: "long_tail" }),
    },
    randomise: {
      target: {
        field: "geom_pos",
        of: "target",
        element: [0, 1],
        set: {
          value: (s: Scene): Scalar[] => {
            const [close, x, y] = s.random.uniforms(3);
            const box = select(lt(close, 0.2), 0.3, 2, "f32");
            return [x, y].map((u) => mul(box, sub(mul(2, u), 1)));
          },
          within: [-2, 2],
        },
      },
    },
    reset: (s) => randomJoints(s),
  });
};

export const swimmers: readonly Task[] = [swimmer("swimmer-swimmer6", 6), swimmer("swimmer-swimmer15", 15)];
