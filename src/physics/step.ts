// one physics step: evaluate, integrate (mj_step)
import { breakIf, each, loop, when } from "../trace/control.ts";
import { add, eq, mul, not, select, type Bool, type Int } from "../trace/scalar.ts";
import { mjtSolver } from "../model/enums.ts";
import { forward, type Evaluation } from "./forward.ts";
import { integrate, advanceActivations, choose, integratePos, RK4, usesRK4 } from "./integrator/integrate.ts";
import { copyField } from "./smooth/sparsity.ts";
import { runStage } from "./stages.ts";
import { Field, type WorldData, type ModelView } from "./view.ts";

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
  if (usesRK4(m)) rungeKutta(m, d, options);
  else {
    const evaluation = forward(m, d, options);
    options.observe?.(evaluation);
    options.after?.(evaluation);
    runStage("integrate", () => when(options.moves ?? true, () => integrate(m, d, evaluation.inertia)));
  }
}

/** Runs `body` if `cond` holds; a plain call where it always does. */
const onlyWhen = (cond: Bool, body: (() => void) | undefined): void => {
  if (body) when(cond, body);
};

/** Fourth-order Runge-Kutta (mj_RungeKutta): four evaluations in a runtime loop. */
function rungeKutta(m: ModelView, d: WorldData, options: StepOptions): void {
  const keep = (f: Field) => {
    const copy = new Field(`${f.name}_0`, f.length);
    copyField(f, copy);
    return copy;
  };
  const start = { qpos: keep(d.qpos), qvel: keep(d.qvel), act: keep(d.act) };
  const sums = { vel: new Field("dX_vel", m.nv), acc: new Field("dX_acc", m.nv), act: new Field("dX_act", m.na) };
  for (const f of [sums.vel, sums.acc, sums.act]) each(f.length, (i) => f.set(i, 0));

  const moves = options.moves ?? true;
  loop(
    4,
    (k: Int) => {
      const evaluation = forward(m, d, options);
      onlyWhen(eq(k, 0), options.observe && (() => options.observe!(evaluation)));
      options.after?.(evaluation);
      breakIf(not(moves));

      runStage("integrate", () => {
        const weight = choose(RK4.weight, k);
        const ahead = choose(RK4.ahead, k);
        const last = eq(k, 3);
        const collect = (sum: Field, rate: Field) =>
          each(sum.length, (i) => sum.set(i, add(sum.at(i), mul(weight, rate.at(i)))));
        collect(sums.vel, d.qvel);
        collect(sums.acc, d.qacc);
        collect(sums.act, d.act_dot);

        // next evaluation point, or with the weighted sums the end of the step
        const direction = (sum: Field, rate: Field) => (i: Int) => select(last, sum.at(i), mul(ahead, rate.at(i)));
        const velocity = new Field("dX", m.nv);
        const moving = direction(sums.vel, d.qvel);
        each(m.nv, (i) => velocity.set(i, moving(i)));
        integratePos(m, start.qpos, d.qpos, (i) => velocity.at(i), m.timestep);
        const speed = direction(sums.acc, d.qacc);
        each(m.nv, (i) => d.qvel.set(i, add(start.qvel.at(i), mul(m.timestep, speed(i)))));
        if (m.na > 0) {
          const rate = direction(sums.act, d.act_dot);
          each(m.na, (i) => d.act.set(i, add(start.act.at(i), mul(m.timestep, rate(i)))));
          // the end of the step clamps activations; the points between do not
          when(last, () => {
            copyField(start.act, d.act);
            advanceActivations(m, d, (i) => sums.act.at(i));
          });
        }
        const keepAcceleration = () => copyField(d.qacc, d.qacc_warmstart);
        // the residual of PGS depends on its start, which MuJoCo takes once a step; others converge sooner from here
        if (m.opt.solver === mjtSolver.PGS) when(last, keepAcceleration);
        else keepAcceleration();
      });
    },
    { label: "rk4" },
  );
  when(moves, () => d.time.set(0, add(d.time.at(0), m.timestep)));
}
