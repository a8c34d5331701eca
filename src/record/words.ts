// words of a device as numbers
import type { ArenaLayout } from "../memory/layout.ts";

/** Numbers as a device holds them: words of 32 bits, or on the CPU numbers. */
export type Words = Uint32Array | Float64Array;

/** Decodes words of a device: floats, and counts as they are. */
export function numbersOf(layout: ArenaLayout, words: Words): Float64Array {
  if (words instanceof Float64Array) return words;
  const floats = new Float32Array(words.buffer, words.byteOffset, words.length);
  const types = layout.fields.flatMap((f) => Array.from({ length: f.perWorld }, () => f.type));
  return Float64Array.from(words, (w, i) => (types[i % types.length] === "f32" ? floats[i] : w));
}
