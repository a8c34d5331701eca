// an environment that steps in JavaScript: a corridor with two ends, of which one is to be reached; it is seen which
import { isMainThread } from "node:worker_threads";
import { Box, Discrete } from "../../src/env/space/spaces.ts";
import { defineJsEnv } from "../../src/env/js-env.ts";

const LENGTH = 8;
const DRAW = { at: 0, goal: 1 } as const;

export const corridor = defineJsEnv({
  id: "Corridor",
  observationSpace: new Box({ low: 0, high: 1, shape: [2] }),
  actionSpace: new Discrete(2),
  maxEpisodeSteps: 24,
  makeWorld() {
    let [at, goal] = [0, 0];
    const seen = () => [at / LENGTH, goal];
    return {
      reset({ random }) {
        at = 1 + random.integer(DRAW.at, LENGTH - 1);
        goal = random.integer(DRAW.goal, 2);
        return seen();
      },
      step([right]) {
        at += right === 1 ? 1 : -1;
        const terminated = at <= 0 || at >= LENGTH;
        const reward = terminated ? (at > 0 === goal > 0 ? 1 : -1) : -0.05;
        return { observation: seen(), reward, terminated };
      },
      save: () => [at, goal],
      load(saved) {
        [at, goal] = saved as number[];
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

/** Slides whose worlds never return from the third step of a thread that collects. */
export const stuck = defineJsEnv({
  ...slide,
  id: "Stuck",
  makeWorld() {
    const world = slide.makeWorld();
    let steps = 0;
    return {
      ...world,
      step(action) {
        while (steps > 1) steps++;
        if (!isMainThread) steps++;
        return world.step(action);
      },
    };
  },
});

export default corridor;
