// variables and long-lived values in arrays, for a driver whose compiler takes longest over what lives across much code
import { expect, test } from "vitest";
import { compileOnNull } from "../../../src/gpu/compile-on-null.ts";
import { flag, load4, loop, store4, variable, when } from "../../../src/trace/control.ts";
import { trace } from "../../../src/trace/graph.ts";
import { add, gt, mul, sub, toF32, type Scalar } from "../../../src/trace/scalar.ts";
import { toWgsl } from "../../../src/trace/wgsl.ts";

/** A value that lives across a loop, which carries a variable, and one that is used at once. */
const program = (unroll: boolean) =>
  trace(
    () => {
      const [far, x] = load4("state", 0);
      const long: Scalar = mul(far, far);
      const sum = variable("sum", x);
      const is = flag("is", gt(x, 0));
      loop(8, (turn) => {
        const near = sub(toF32(turn), sum.get());
        when(is.get(), () => sum.set(mul(near, near)));
        sum.set(add(sum.get(), long));
        is.set(gt(sum.get(), long));
      });
      store4("state", 0, [sum.get(), long, sub(long, sum.get()), 0]);
    },
    { unroll },
  );

test("rolled kernels keep variables, and values that live longer, in arrays that a runtime index reaches", async () => {
  const { code } = toWgsl(program(false), { workgroupSize: 32, longLived: 6 });
  for (const [type, length] of [
    ["f32", 2],
    ["bool", 2],
  ]) {
    expect(code).toContain(`  var kept_${type} = array<${type}, ${length}>();`);
    expect(code).toContain(`  kept_${type}[U.zero] = ${type}(0);`);
  }
  expect(code).toMatch(/^ {2}kept_f32\[1\] = t_\d+\.x \* t_\d+\.x;$/m);
  expect(code).not.toMatch(/\bvar v\d+_|let kept_/);
  await compileOnNull(code);
});

test("straight-line kernels, and those of other drivers, have variables", () => {
  const whole = toWgsl(program(false), { workgroupSize: 32 });
  expect(whole.code).toMatch(/var v\d+_sum: f32;/);
  const straight = toWgsl(program(true), { workgroupSize: 32, longLived: 6 });
  expect(straight.code).toBe(toWgsl(program(true), { workgroupSize: 32 }).code);
});
