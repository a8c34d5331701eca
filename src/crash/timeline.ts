// a recorded control step of the worlds of a bundle: the state before it and its results
import type { Bundle } from "../record/bundle.ts";
import type { Words } from "../record/words.ts";

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
