// which numbers of worlds are measured where nobody said
import { expect, test } from "vitest";
import { affordable } from "../../../src/bench/counts.ts";

test("counts whose steps would take long are left out", () => {
  // a quarter of a second a world
  const ahead = { numEnvs: 4, slowest: 1 };
  expect(affordable([1024, 16, 4], ahead, 5)).toEqual({ counts: [4, 16], left: { numEnvs: [1024], seconds: 256 } });
  expect(affordable([4, 16], ahead, 5)).toEqual({ counts: [4, 16] });
});

test.each([
  [1, 16],
  [4.9, 4],
  [5.1, 2],
  [80, 1],
])("where no count is bearable fewer worlds are measured: 4 worlds in %f s, %i", (slowest, worlds) => {
  const { counts, left } = affordable([64, 1024], { numEnvs: 4, slowest }, 5);
  expect(counts).toEqual([worlds]);
  expect(left!.numEnvs).toEqual([64, 1024]);
});
