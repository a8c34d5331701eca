// an environment that steps in JavaScript: a corridor whose walker starts anywhere and is paid at its right end
import { Box, Discrete } from "../../src/env/space/spaces.ts";
import { defineJsEnv } from "../../src/env/js-env.ts";

const LENGTH = 8;
const DRAW = 0;

export const corridor = defineJsEnv({
  id: "Corridor",
  observationSpace: new Box({ low: 0, high: 1, shape: [2] }),
  actionSpace: new Discrete(2),
  maxEpisodeSteps: 24,
  makeWorld() {
    let at = 0;
    const seen = () => [at / LENGTH, 1];
    return {
      reset({ random }) {
        at = random.integer(DRAW, LENGTH - 1);
        return seen();
      },
      step([right]) {
        at = Math.max(0, at + (right === 1 ? 1 : -1));
        const terminated = at >= LENGTH;
        return { observation: seen(), reward: terminated ? 1 : -0.05, terminated };
      },
      save: () => at,
      load(saved) {
        at = saved as number;
      },
    };
  },
});

/** The same with one force in [-1, 1] for an action. */
export const slide = defineJsEnv({
  ...corridor,
  id: "Slide",
  actionSpace: new Box({ low: -1, high: 1, shape: [1] }),
  makeWorld() {
    const inner = corridor.makeWorld();
    return { ...inner, step: (action) => inner.step(Int32Array.of(action[0] > 0 ? 1 : 0)) };
  },
});

export default corridor;
