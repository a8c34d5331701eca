// a task that ends after a given number of steps, the twin of Countdown in `tools/reference/record_autoreset.py`
import { defineTask, Discrete, type Scene } from "../../src/env/index.ts";
import { table } from "../../src/trace/control.ts";
import { add, eq, mul, toF32, toI32, type Bool } from "../../src/trace/scalar.ts";

const NEVER = -1;

export interface Plan {
  readonly terminate_at: number | null;
  readonly truncate_at: number | null;
}

/** Observation [episode, step]; reward 10 * episode + step; one plan for each world id. */
export function countdown(plans: readonly Plan[], id = "Countdown") {
  const at = (s: Scene, which: keyof Plan): Bool =>
    eq(
      toI32(s.length),
      table(
        which,
        plans.map((p) => p[which] ?? NEVER),
        "i32",
      )(toI32(s.world)),
    );
  return defineTask({
    id,
    model: `<mujoco><worldbody><body><joint type="slide"/><geom size="1"/></body></worldbody></mujoco>`,
    frameSkip: 1,
    maxEpisodeSteps: Infinity,
    defaults: {},
    actionSpace: () => new Discrete(2),
    control: () => [],
    observe: (s) => ({ counts: [toF32(s.episode), toF32(s.length)] }),
    reward: (s) => ({ count: add(mul(toF32(s.episode), 10), toF32(s.length)) }),
    terminated: (s) => ({ terminate_at: at(s, "terminate_at") }),
    truncated: (s) => ({ truncate_at: at(s, "truncate_at") }),
    info: (s) => ({ step: toF32(s.length) }),
    resetInfo: (s) => ({ episode_index: toF32(s.episode) }),
    reset: (s) => ({ qpos: s.random.uniforms(s.model.nq), qvel: s.random.normals(s.model.nv) }),
  });
}
