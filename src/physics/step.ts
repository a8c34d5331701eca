// one physics step: evaluate, integrate (mj_step)
import { when } from "../trace/control.ts";
import { eq, not, or, type Bool, type Int } from "../trace/scalar.ts";
import { forward, type Evaluation } from "./forward.ts";
import { ageHistory, history } from "./history.ts";
import { integrate } from "./integrator/integrate.ts";
import { choose, rungeKutta, usesRK4 } from "./integrator/runge-kutta.ts";
import { sample, type Samples } from "./sensor/sensor.ts";
import { runStage } from "./stages.ts";
import type { WorldData, ModelView } from "./view.ts";

export interface StepOptions {
  readonly nconmax: number;
  /** Runs after the evaluation whose sensors MuJoCo reports: the first of a step. */
  readonly observe?: (evaluation: Evaluation) => void;
  /** Runs after every evaluation; what it stores at the `last` of a step is what MuJoCo's data holds after it. */
  readonly after?: (evaluation: Evaluation, last: Bool) => void;
  /** Whether the state moves; if it does not, the step is one evaluation (mj_forward). Default: always. */
  readonly moves?: Bool;
}

/** Advances the state by one `timestep`. */
export function step(m: ModelView, d: WorldData, options: StepOptions): void {
  if (usesRK4(m)) stepRK4(m, d, options);
  else stepOnce(m, d, options);
}

function stepOnce(m: ModelView, d: WorldData, options: StepOptions): void {
  const { observe, after, moves = true } = options;
  const evaluation = forward(m, d, options);
  observe?.(evaluation);
  after?.(evaluation, true);
  if (m.nhistory === 0) {
    runStage("integrate", () => when(moves, () => integrate(m, d, evaluation.inertia)));
    return;
  }
  when(moves, () => {
    // what sensors measure belongs to the state before, and forces depend on controls of the past until it has moved
    const { forces } = evaluation;
    const samples = runStage("history", () => new Map([...sample(m, d, forces, false), ...sample(m, d, forces, true)]));
    runStage("integrate", () => integrate(m, d, evaluation.inertia));
    runStage("history", () => {
      ageHistory(m, d, 1);
      history(m, d, samples, -1);
    });
  });
}

/** How far the next evaluation of Runge and Kutta's four lies, in time steps. */
const LATER = [0.5, 0, 0.5, 0];

function stepRK4(m: ModelView, d: WorldData, options: StepOptions): void {
  const { observe, after, moves = true } = options;
  let last!: Evaluation;
  let first: Samples = new Map();
  const evaluate = (k: Int) => {
    const evaluation = forward(m, d, options);
    if (observe) when(eq(k, 0), () => observe(evaluation));
    // a state that does not move is evaluated once
    after?.(evaluation, or(eq(k, LATER.length - 1), not(moves)));
    last = evaluation;
    if (m.nhistory === 0) return;
    runStage("history", () =>
      when(moves, () => {
        when(eq(k, 0), () => {
          first = sample(m, d, evaluation.forces, false);
        });
        ageHistory(m, d, choose(LATER, k));
      }),
    );
  };
  // a delayed sensor measures at the state of the start, but in the frames of the last evaluation (mj_advance)
  const atEnd = () =>
    runStage("history", () => history(m, d, new Map([...first, ...sample(m, d, last.forces, true)]), -1));
  rungeKutta(m, d, moves, { evaluate, ...(m.nhistory > 0 ? { atEnd } : {}) });
}
