// programs that draw random numbers, and what the host draws from the same words
import * as host from "../../src/core/rng.ts";
import * as philox from "../../src/trace/philox.ts";
import { toF32 } from "../../src/trace/scalar.ts";
import { program, type TestProgram } from "./trace-runner.ts";

/** (counter, key) to four words. */
export const wordProgram = (): TestProgram =>
  program(6, 4, ([a, b, c, d, k0, k1]) => philox.philox4x32([a, b, c, d], [k0, k1]), { kind: "u32" });

/** Two words to two uniforms, an integer below 1000 and two normals. */
export const drawProgram = (): TestProgram =>
  program(
    2,
    5,
    ([a, b]) => [
      philox.uniform01(a),
      philox.positiveUniform01(b),
      toF32(philox.integerFromBits(a, 1000)),
      ...philox.normalPair(a, b),
    ],
    { kind: "u32", outputKind: "f32" },
  );

export const hostDraws = ([a, b]: readonly number[]): number[] => [
  host.uniformFromBits(a),
  host.positiveUniformFromBits(b),
  host.integerFromBits(a, 1000),
  ...host.normalsFromBits(a, b),
];

/** Pairs of words: the ends of the range, and `count` random ones. */
export function drawRows(count: number): [number, number][] {
  const ends = [0, 1, 255, 256, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffeff, 0xffffff00, 0xffffffff];
  const stream = new host.RandomStream(11, 0, 0, 0);
  const random = Array.from({ length: count }, (_, i): [number, number] => [
    stream.word(2 * i),
    stream.word(2 * i + 1),
  ]);
  return [...ends.flatMap((a) => ends.map((b): [number, number] => [a, b])), ...random];
}
