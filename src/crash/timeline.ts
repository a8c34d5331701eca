// the recorded steps of one world, made again one by one: where it was before each, and what came of it
import type { Bundle } from "../record/bundle.ts";
import type { Words } from "../record/recorder.ts";
import { layoutsOf } from "../batch/batch.ts";
import { interpret, type InterpretOptions, type Interpretation } from "../trace/interpret.ts";
import type { Precision } from "../trace/javascript.ts";
import { packedIndex } from "../record/recorder.ts";
import { numbersOf, Reexecution, segmentsOf, type ReexecuteOptions } from "./reexecute.ts";

/** One control step of all worlds of a bundle. */
export interface Moment {
  /** Control step of the batch, counted from 1. */
  readonly step: number;
  /** Words of all worlds before it, by arena, and its actions. */
  readonly before: Readonly<Record<string, Words>>;
  readonly actions: Words;
  readonly params: Readonly<Record<string, number>>;
  /** Whether the state before it was set by a call. */
  readonly cut: boolean;
  /** Results of all worlds, row by row. */
  readonly results: Float64Array;
}

/** Makes the recorded steps again and keeps all that each started from. */
export async function timelineOf(bundle: Bundle, options: ReexecuteOptions = {}): Promise<Moment[]> {
  await using run = await Reexecution.create(bundle, options);
  const moments: Moment[] = [];
  for (const [i, segment] of segmentsOf(bundle).entries()) {
    const isPut = i === 0 || segment.cut;
    if (isPut) await run.put(segment.states, segment.params);
    const stride = segment.actions.length / segment.steps;
    for (let k = 0; k < segment.steps; k++) {
      const before: Record<string, Words> = {};
      for (const arena of Object.keys(segment.states)) before[arena] = await run.read(arena);
      await run.step(segment, k);
      moments.push({
        step: segment.start + k + 1,
        before,
        actions: segment.actions.subarray(k * stride, (k + 1) * stride),
        params: segment.params,
        cut: isPut && k === 0,
        results: numbersOf(run.layout("result"), await run.read("result")),
      });
    }
  }
  return moments;
}

/** A named number of a world's result. */
export function resultOf(bundle: Bundle, moment: Moment, row: number, name: string): number {
  const stride = moment.results.length / bundle.recording.worlds.length;
  return moment.results[row * stride + bundle.about.env.result[name]];
}

/** A field of a world's state before a step. */
export function fieldBefore(bundle: Bundle, moment: Moment, row: number, name: string): Float64Array {
  for (const [arena, words] of Object.entries(moment.before)) {
    const request = bundle.about.batch.arenas.find((a) => a.name === arena)!;
    const at = request.fields.findIndex((f) => f.name === name);
    if (at < 0) continue;
    const sizes = request.fields.map((f) => f.perWorld ?? 0);
    const size = sizes.reduce((a, b) => a + b, 0);
    const start = row * size + sizes.slice(0, at).reduce((a, b) => a + b, 0);
    const part = words.subarray(start, start + sizes[at]);
    if (part instanceof Float64Array) return part.slice();
    const bits = Uint32Array.from(part);
    return request.fields[at].type === "f32"
      ? Float64Array.from(new Float32Array(bits.buffer))
      : Float64Array.from(bits);
  }
  return new Float64Array();
}

/** Runs the program of a bundle over one step of one world, operation by operation. */
export class Interpreter {
  readonly #bundle: Bundle;
  readonly #run: Reexecution;

  private constructor(bundle: Bundle, run: Reexecution) {
    this.#bundle = bundle;
    this.#run = run;
  }

  static async create(bundle: Bundle, options: Pick<ReexecuteOptions, "seconds"> = {}): Promise<Interpreter> {
    // the layout of a batch on the CPU, whatever the recording ran on
    const device = bundle.about.device.precision === "f64" ? "cpu-f64" : "cpu";
    return new Interpreter(bundle, await Reexecution.create(bundle, { ...options, device }));
  }

  /** The precision that comes closest to the recording's. */
  get precision(): Precision {
    return this.#bundle.about.device.precision === "f64" ? "f64" : "f32";
  }

  step(moment: Moment, row: number, options: Partial<InterpretOptions> = {}): Interpretation {
    const { plan, spec } = this.#run.batch.planned;
    const layouts = layoutsOf(plan);
    const [{ paddedWorlds }] = plan.shards;
    const buffers: Record<string, Float64Array> = {};
    for (const { name } of spec.arenas) {
      const layout = layouts[name];
      buffers[name] = new Float64Array((layout.sharedBytes + layout.bytesPerWorld * paddedWorlds) / 4);
      const given = name === "action" ? moment.actions : moment.before[name];
      if (!given) continue;
      const numbers = numbersOf(layout, given);
      const size = numbers.length / this.#run.worlds;
      packedIndex(layout, paddedWorlds, row).forEach((at, k) => (buffers[name][at] = numbers[row * size + k]));
    }
    const params = Float64Array.of(
      this.#run.worlds,
      0,
      ...spec.params.map(({ name, initial }) => moment.params[name] ?? initial),
    );
    const { onTurns } = this.#run;
    return interpret(
      this.#bundle.trace,
      { buffers, params, onTurns },
      { precision: this.precision, world: row, ...options },
    );
  }
}
