// history buffers of actuators and sensors: where they lie, what they hold at the start, how MuJoCo holds them
import type { Model } from "./model.ts";

/**
 * A buffer of samples in the field `history`, laid out as MuJoCo's: the last tick, an unused number, the times of the
 * samples, their values. Here samples are in the order of their times, and times are counted in time steps from now, in
 * whole numbers: exact in float32 however long a buffer is or a world lives.
 */
export interface HistoryBuffer {
  readonly of: "actuator" | "sensor";
  readonly id: number;
  /** Where the last tick is; an interval passes from one to the next. */
  readonly tick: number;
  /** First time, first value. */
  readonly times: number;
  readonly values: number;
  /** Samples, and numbers of one. */
  readonly samples: number;
  readonly dim: number;
  /** How values between samples are read (mju_historyRead). */
  readonly interp: "zoh" | "linear" | "cubic";
  /** s; 0: none. */
  readonly delay: number;
  /** s; 0: every step. */
  readonly period: number;
}

type Buffered = Pick<
  Model,
  | "opt"
  | "nactuator"
  | "nsensor"
  | "sensor_dim"
  | "actuator_history"
  | "sensor_history"
  | "actuator_delay"
  | "sensor_delay"
  | "sensor_interval"
>;

const INTERP = ["zoh", "linear", "cubic"] as const;

/** The buffers of a model in MuJoCo's order: actuators, then sensors. */
export function historyBuffers(model: Buffered): HistoryBuffer[] {
  const all: HistoryBuffer[] = [];
  let start = 0;
  const place = (of: HistoryBuffer["of"], id: number, dim: number, delay: number, period: number) => {
    const history = of === "actuator" ? model.actuator_history : model.sensor_history;
    const samples = history[2 * id];
    if (samples === 0) return;
    const interp = INTERP[Math.min(2, history[2 * id + 1])];
    const times = start + 2;
    all.push({ of, id, tick: start, times, values: times + samples, samples, dim, interp, delay, period });
    start += 2 + samples * (1 + dim);
  };
  for (let a = 0; a < model.nactuator; a++) place("actuator", a, 1, model.actuator_delay[a], 0);
  for (let s = 0; s < model.nsensor; s++)
    place("sensor", s, model.sensor_dim[s], model.sensor_delay[s], model.sensor_interval[2 * s]);
  return all;
}

/** What `history` holds at the start (mj_resetData): zeros, at the times when samples would have been taken. */
export function initialHistory(model: Model): number[] {
  const all: number[] = Array(model.nhistory).fill(0);
  const { timestep } = model.opt;
  for (const { of, id, tick, times, samples, period } of historyBuffers(model)) {
    const phase = of === "sensor" ? model.sensor_interval[2 * id + 1] : 0;
    const last = phase === 0 ? -period : phase;
    if (period > 0) all[tick] = last / timestep;
    for (let j = 0; j < samples; j++) {
      const before = samples - 1 - j;
      // a sample can be taken at a step only
      all[times + j] = period > 0 ? Math.ceil((last - before * period) / timestep) : -(before + 1);
    }
  }
  return all;
}

/**
 * The part of a time step by which MuJoCo's mjData holds ticks, and samples that are held, earlier: its comparisons
 * allow for 1e-15 s, and times that were added to `time` are not as exact.
 */
const EARLIER = 1e-6;
/** Samples this near to a step, in steps, were taken at it. */
const AT_STEP = 1e-3;

/** A time relative to now in steps, whole where it is that of a step. */
function inSteps(time: number, timestep: number): number {
  const steps = time / timestep;
  const whole = Math.round(steps);
  return Math.abs(steps - whole) < AT_STEP ? whole : steps;
}

/** `history` of MuJoCo's mjData at a time. */
export function fromMuJoCoHistory(model: Buffered, held: ArrayLike<number>, time: number): Float64Array {
  const all = Float64Array.from(held);
  const { timestep } = model.opt;
  for (const { tick, times, values, samples, dim, period } of historyBuffers(model)) {
    const newest = held[tick + 1];
    all[tick] = period > 0 ? (held[tick] - time) / timestep + EARLIER : 0;
    all[tick + 1] = 0;
    for (let j = 0; j < samples; j++) {
      const from = (newest + 1 + j) % samples;
      all[times + j] = inSteps(held[times + from] - time, timestep);
      for (let k = 0; k < dim; k++) all[values + j * dim + k] = held[values + from * dim + k];
    }
  }
  return all;
}

/** The same in MuJoCo's form; the newest sample is the last. */
export function toMuJoCoHistory(model: Buffered, held: ArrayLike<number>, time: number): Float64Array {
  const all = Float64Array.from(held);
  const at = (steps: number, earlier: number) => time + (steps - earlier) * model.opt.timestep;
  for (const { tick, times, samples, period, interp } of historyBuffers(model)) {
    if (period > 0) all[tick] = at(all[tick], EARLIER);
    all[tick + 1] = samples - 1;
    for (let j = 0; j < samples; j++) all[times + j] = at(all[times + j], interp === "zoh" ? EARLIER : 0);
  }
  return all;
}
