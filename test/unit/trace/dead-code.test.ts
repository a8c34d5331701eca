// the text that back ends emit has nothing in it that has no effect
import { describe, expect, test } from "vitest";
import { array, breakIf, load4, loop, store4, table, variable, when, world } from "../../../src/trace/control.ts";
import { trace, type Trace } from "../../../src/trace/graph.ts";
import * as t from "../../../src/trace/scalar.ts";
import { toWgsl } from "../../../src/trace/wgsl.ts";

const wgsl = (made: Trace): string => toWgsl(made, { workgroupSize: 32 }).code;
/** The lines of the entry point after the world's index. */
const body = (made: Trace): string => {
  const code = wgsl(made);
  return code.slice(code.indexOf("return; }") + 10);
};
const out = (...values: t.Scalar[]) => {
  const at = (k: number) => values[k] ?? 0;
  store4("out", world(), [at(0), at(1), at(2), at(3)]);
};

describe("what has no effect is left out", () => {
  test("values, variables, arrays, branches and loops that nothing reads", () => {
    const made = trace(() => {
      const x = load4("state", world());
      const unused = variable("unused", 0);
      const list = array("list", 3);
      list.set(0, x[0]);
      when(t.lt(x[0], 0), () => unused.set(x[1]));
      loop(3, (i) => {
        breakIf(t.lt(x[0], 0));
        list.set(i, unused.get());
      });
      load4("other", world());
      table("weights", [1, 2])(t.toI32(x[1]));
      out(x[0]);
    });
    expect(body(made)).toMatchInlineSnapshot(`
      "  let t_0 = world;
        let t_1 = bitcast<vec4<f32>>(state[t_0]);
        out[t_0] = bitcast<vec4<u32>>(vec4<f32>(t_1.x, 0.0, 0.0, 0.0));
      }
      "
    `);
    expect(toWgsl(made, { workgroupSize: 32 })).toMatchObject({
      buffers: [{ name: "state" }, { name: "out" }],
      tables: {},
    });
  });

  test("a branch keeps what is read of it", () => {
    const made = trace(() => {
      const [x] = load4("state", world());
      const [v, w] = [variable("v", 0), variable("w", 0)];
      when(
        t.lt(x, 0),
        () => w.set(x),
        () => v.set(x),
      );
      out(v.get());
    });
    expect(body(made)).toMatchInlineSnapshot(`
      "  var v0_v: f32;
        let t_0 = world;
        let t_1 = bitcast<vec4<f32>>(state[t_0]);
        v0_v = 0.0;
        if (t_1.x < 0.0) {
        } else {
          v0_v = t_1.x;
        }
        let t_7 = v0_v;
        out[t_0] = bitcast<vec4<u32>>(vec4<f32>(t_7, 0.0, 0.0, 0.0));
      }
      "
    `);
  });

  test("a variable set once is its value", () => {
    const made = trace(() => {
      const [x, n] = load4("state", world());
      const v = variable("v");
      const sum = variable("sum", 0);
      v.set(t.sqrt(x));
      loop(t.toI32(n), () => sum.set(t.add(sum.get(), v.get())));
      out(sum.get());
    });
    expect(wgsl(made)).not.toContain("v0_v");
  });
});
