// line searches along costs whose slope rises in one narrow place, as where a contact sticks
import { expect, test } from "vitest";
import { bracketedNewton, safeguardedNewton } from "../../../src/physics/solver/line-search.ts";
import { variable } from "../../../src/trace/control.ts";
import { abs, add, and, gt, lt, max, min, mul, select, sub, type Scalar } from "../../../src/trace/scalar.ts";
import { program, runJs } from "../../support/trace-runner.ts";

/** Where the slope rises, over what length, and by how much. */
const [PLACE, LENGTH, RISE] = [1e-4, 1e-4, 50];

/** How often a search evaluates the slope, and what is left of it, from a first guess of 1. */
function search(minimise: typeof bracketedNewton): readonly number[] {
  const p = program(1, 2, ([begin]: readonly Scalar[]) => {
    const [alpha, count] = [variable("alpha", 1), variable("count", 0)];
    const [cost, deriv0, deriv1] = [variable("cost", 0), variable("deriv0", 0), variable("deriv1", 0)];
    const evaluate = (a: Scalar) => {
      const along = mul(sub(a, PLACE), 1 / LENGTH);
      const rises = and(gt(along, 0), lt(along, 1));
      deriv0.set(add(sub(a, 1), mul(RISE, min(max(along, 0), 1))));
      deriv1.set(add(1, select(rises, RISE / LENGTH, 0)));
      count.set(add(count.get(), 1));
    };
    evaluate(add(begin, 1));
    minimise({ start: -1, evaluate, cost, deriv0, deriv1, alpha }, 50, 0.1, false);
    return [count.get(), abs(deriv0.get())];
  });
  return runJs(p, "f32", [[0]])[0];
}

test("slopes of both ends find it sooner than halving does", () => {
  const [halving, both] = [search(safeguardedNewton), search(bracketedNewton)];
  expect(both[1]).toBeLessThanOrEqual(0.1);
  expect(halving[1]).toBeLessThanOrEqual(0.1);
  expect(both[0]).toBeLessThan(halving[0]);
});
