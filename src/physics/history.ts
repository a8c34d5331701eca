// samples of controls and sensors, kept for delays and intervals (mju_historyRead, mju_historyInsert)
import { increase, loop, variable, when } from "../trace/control.ts";
import {
  add,
  and,
  clamp,
  div,
  eq,
  gt,
  le,
  mul,
  select,
  sub,
  type Bool,
  type Int,
  type Scalar,
} from "../trace/scalar.ts";
import { historyBuffers, type HistoryBuffer } from "../model/history.ts";
import type { ModelView, WorldData } from "./view.ts";

/** Time steps that rounding may move a tick or a delay by: what is this near to a sample's time is at it. */
const NEAR = 1e-3;

/** The buffer of an actuator or a sensor. */
export const historyOf = (m: ModelView, of: HistoryBuffer["of"], id: number): HistoryBuffer | undefined =>
  historyBuffers(m.model).find((b) => b.of === of && b.id === id);

/** Runs `body` for the samples from `start` on: in a runtime loop where the field is an array. */
function overSamples(d: WorldData, count: number, body: (j: Int) => void): void {
  if (d.history.isIndexed && count > 1) loop(count, body, { label: "history" });
  else for (let j = 0; j < count; j++) body(j);
}

/** Element `start + j * stride` of the field, at a runtime `j` below `count`. */
function pick(d: WorldData, start: number, count: number, stride: number, j: Int): Scalar {
  if (d.history.isIndexed) return d.history.at(add(start, mul(j, stride)));
  let value = d.history.at(start);
  for (let k = 1; k < count; k++) value = select(eq(j, k), d.history.at(start + k * stride), value);
  return value;
}

/** The sample at `delay` before the time of the evaluation, between samples as the buffer interpolates. */
export function readHistory(m: ModelView, d: WorldData, buffer: HistoryBuffer): Scalar[] {
  const { times, values, samples, dim, interp, delay } = buffer;
  const at = div(-delay, m.timestep);
  const last = samples - 1;
  // samples no later than the time asked for
  const count = variable("history_count", 0, "i32");
  overSamples(d, samples, (j) => {
    const isBefore = le(sub(d.history.at(add(times, j)), at), NEAR);
    increase(count, select(isBefore, 1, 0, "i32"));
  });
  const before = count.get();
  const low = clampIndex(sub(before, 1), last);
  const time = (j: Int) => pick(d, times, samples, 1, j);
  const value = (j: Int, k: number) => pick(d, values + k, samples, dim, j);
  const components = Array.from({ length: dim }, (_, k) => k);
  if (interp === "zoh" || samples === 1) return components.map((k) => value(low, k));

  const [from, to] = [low, clampIndex(add(low, 1), last)];
  const [t0, t1] = [time(from), time(to)];
  const span = sub(t1, t0);
  const inside = and(gt(before, 0), gt(span, 0));
  const length = select(inside, span, 1);
  const a = select(inside, div(sub(at, t0), length), 0);
  return components.map((k) => {
    const [y0, y1] = [value(from, k), value(to, k)];
    if (interp === "linear") return add(y0, mul(a, sub(y1, y0)));
    // slopes through the neighbours, none at the ends
    const [p, n] = [clampIndex(sub(from, 1), last), clampIndex(add(to, 1), last)];
    const slope = (cond: Bool, i: Int, j: Int): Scalar => {
      const rise = sub(time(j), time(i));
      return select(cond, div(sub(value(j, k), value(i, k)), select(cond, rise, 1)), 0);
    };
    const m0 = slope(and(inside, gt(from, 0)), p, to);
    const m1 = slope(and(inside, gt(sub(last, to), 0)), from, n);
    const [a2, a3] = [mul(a, a), mul(a, mul(a, a))];
    const h11 = sub(a3, a2);
    const h01 = sub(mul(3, a2), mul(2, a3));
    const h10 = add(sub(h11, a2), a);
    const rise = add(mul(h01, sub(y1, y0)), mul(length, add(mul(h10, m0), mul(h11, m1))));
    return add(y0, rise);
  });
}

const clampIndex = (j: Int, last: number): Int => clamp(j, 0, last);

/** Whether a buffer with an interval takes a sample at a time, in steps from now. */
export const isDue = (m: ModelView, d: WorldData, { tick, period }: HistoryBuffer, at = 0): Bool =>
  le(sub(add(d.history.at(tick), div(period, m.timestep)), at), NEAR);

/** Moves the times of all samples into the past, by so many steps. */
export function ageHistory(m: ModelView, d: WorldData, by: Scalar): void {
  for (const { tick, times, samples, period } of historyBuffers(m.model)) {
    if (period > 0) d.history.set(tick, sub(d.history.at(tick), by));
    overSamples(d, samples, (j) => d.history.set(add(times, j), sub(d.history.at(add(times, j)), by)));
  }
}

/** Keeps a sample, and drops the oldest. `at`: its time, in steps from now. */
function insertHistory(m: ModelView, d: WorldData, buffer: HistoryBuffer, sample: readonly Scalar[], at: number): void {
  const { tick, times, values, samples, dim, period } = buffer;
  const insert = () => {
    const last = samples - 1;
    overSamples(d, last, (j) => d.history.set(add(times, j), d.history.at(add(add(times, j), 1))));
    overSamples(d, last * dim, (j) => d.history.set(add(values, j), d.history.at(add(add(values, j), dim))));
    d.history.set(times + last, at);
    sample.forEach((x, k) => d.history.set(values + last * dim + k, x));
  };
  if (period === 0) return insert();
  when(isDue(m, d, buffer, at), () => {
    d.history.set(tick, add(d.history.at(tick), div(period, m.timestep)));
    insert();
  });
}

/** Stage: keeps the samples of a step: of actuators their controls. */
export function history(
  m: ModelView,
  d: WorldData,
  sensors: ReadonlyMap<number, { readonly all: () => Scalar[] }>,
  at: number,
): void {
  for (const buffer of historyBuffers(m.model)) {
    const { of, id } = buffer;
    const values = of === "actuator" ? [d.ctrl.at(m.model.actuator_ctrladr[id])] : sensors.get(id)!.all();
    insertHistory(m, d, buffer, values, at);
  }
}
