// one physics step: evaluate, integrate (mj_step)
import { when } from "../trace/control.ts";
import { eq, type Bool } from "../trace/scalar.ts";
import { forward, type Evaluation } from "./forward.ts";
import { integrate } from "./integrator/integrate.ts";
import { rungeKutta, usesRK4 } from "./integrator/runge-kutta.ts";
import { runStage } from "./stages.ts";
import type { WorldData, ModelView } from "./view.ts";

export interface StepOptions {
  readonly nconmax: number;
  /** Runs after the evaluation whose sensors MuJoCo reports: the first of a step. */
  readonly observe?: (evaluation: Evaluation) => void;
  /** Runs after every evaluation; what it stores last is what MuJoCo's data holds after the step. */
  readonly after?: (evaluation: Evaluation) => void;
  /** Whether the state moves; if it does not, the step is one evaluation (mj_forward). Default: always. */
  readonly moves?: Bool;
}

/** Advances the state by one `timestep`. */
export function step(m: ModelView, d: WorldData, options: StepOptions): void {
  const { observe, after, moves = true } = options;
  if (usesRK4(m)) {
    rungeKutta(m, d, moves, (k) => {
      const evaluation = forward(m, d, options);
      if (observe) when(eq(k, 0), () => observe(evaluation));
      after?.(evaluation);
    });
  } else {
    const evaluation = forward(m, d, options);
    observe?.(evaluation);
    after?.(evaluation);
    runStage("integrate", () => when(moves, () => integrate(m, d, evaluation.inertia)));
  }
}
