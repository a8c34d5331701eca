// four evaluations and their weighted sum (mj_RungeKutta)
import { breakIf, each, loop, when } from "../../trace/control.ts";
import { add, eq, mul, not, select, type Bool, type Int, type Scalar } from "../../trace/scalar.ts";
import { mjtIntegrator, mjtSolver } from "../../model/enums.ts";
import { copyField } from "../smooth/sparsity.ts";
import { FEW_ITERATIONS } from "../solver/precision.ts";
import { runStage } from "../stages.ts";
import { Field, type WorldData, type ModelView } from "../view.ts";
import { advanceActivations, integratePos } from "./integrate.ts";

/** How far the next evaluation lies, and how much this one counts. */
const AHEAD = [0.5, 0.5, 1, 0];
const WEIGHT = [1 / 6, 1 / 3, 1 / 3, 1 / 6];

/** Picks a constant by a runtime index. */
export function choose(values: readonly number[], index: Int): Scalar {
  return values.reduce<Scalar>((rest, v, k) => (k === 0 ? v : select(eq(index, k), v, rest)), values[0]);
}

export const usesRK4 = (m: ModelView): boolean => m.opt.integrator === mjtIntegrator.RK4;

export interface Evaluations {
  /** Called four times in a runtime loop, with the number from 0 on. */
  readonly evaluate: (k: Int) => void;
  /** Runs after the last, with the state of the start. */
  readonly atEnd?: () => void;
}

/** Advances the state by four evaluations; by the first alone, and not at all, where the state does not move. */
export function rungeKutta(m: ModelView, d: WorldData, moves: Bool, { evaluate, atEnd }: Evaluations): void {
  const keep = (f: Field) => {
    const copy = new Field(`${f.name}_0`, f.length);
    copyField(f, copy);
    return copy;
  };
  const start = { qpos: keep(d.qpos), qvel: keep(d.qvel), act: keep(d.act) };
  const sums = { vel: new Field("dX_vel", m.nv), acc: new Field("dX_acc", m.nv), act: new Field("dX_act", m.na) };
  for (const f of [sums.vel, sums.acc, sums.act]) each(f.length, (i) => f.set(i, 0));

  loop(
    4,
    (k: Int) => {
      evaluate(k);
      breakIf(not(moves));

      runStage("integrate", () => {
        const weight = choose(WEIGHT, k);
        const ahead = choose(AHEAD, k);
        const last = eq(k, 3);
        const collect = (sum: Field, rate: Field) =>
          each(sum.length, (i) => sum.set(i, add(sum.at(i), mul(weight, rate.at(i)))));
        collect(sums.vel, d.qvel);
        collect(sums.acc, d.qacc);
        collect(sums.act, d.act_dot);

        if (atEnd) {
          when(last, () => {
            copyField(start.qpos, d.qpos);
            copyField(start.qvel, d.qvel);
            copyField(start.act, d.act);
            atEnd();
          });
        }

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
        // MuJoCo's start is that of the whole step: where PGS and few iterations end depends on it, others converge sooner from here
        if (m.opt.solver === mjtSolver.PGS || m.opt.iterations < FEW_ITERATIONS) when(last, keepAcceleration);
        else keepAcceleration();
      });
    },
    { label: "rk4" },
  );
  when(moves, () => d.time.set(0, add(d.time.at(0), m.timestep)));
}
