// the polytope of the search: what its loops share between worlds where private memory is a CPU's
import { expect, test } from "vitest";
import { polytope } from "../../../src/physics/collision/convex/polytope.ts";
import type { Vertex } from "../../../src/physics/collision/convex/simplex.ts";
import { param, variable } from "../../../src/trace/control.ts";
import { trace } from "../../../src/trace/graph.ts";
import type { Block } from "../../../src/trace/nodes.ts";
import type { Vec3 } from "../../../src/trace/vector.ts";

/** The labels of all loops, with those around each. */
function labels(block: Block, around: string[] = []): string[][] {
  return block.statements.flatMap((s) => {
    if (s.kind === "loop") return [[...around, s.label], ...labels(s.block, [...around, s.label])];
    return s.kind === "when" ? [...labels(s.then, around), ...labels(s.otherwise, around)] : [];
  });
}

test.each([
  [true, ["loop", "horizon"]],
  [false, ["horizon"]],
])("words of the horizon have indices of their own where there is room (%s)", (roomy, path) => {
  const { root } = trace(
    () => {
      const vertex = (k: number): Vertex => {
        const w = ["x", "y", "z"].map((c) => param(`${c}${k}`)) as unknown as Vec3;
        return { w, a: w, ids: [k, k, k] };
      };
      const p = polytope();
      p.begin([0, 1, 2].map(vertex));
      p.expand(vertex(3), 1e-7);
      variable("kept").set(p.distance());
    },
    { unroll: false, roomy },
  );
  const horizons = labels(root).filter((at) => at.at(-1) === "horizon");
  expect(horizons).toEqual([path]);
});
