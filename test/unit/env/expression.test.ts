import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CorralError } from "../../../src/core/errors.ts";
import { makeVec, type Scene, type Task, type VectorEnv } from "../../../src/env/index.ts";
import { evaluate } from "../../../src/env/task/expression/index.ts";
import { add, and, div, gt, mul, sub, type Scalar } from "../../../src/trace/scalar.ts";
import { rover } from "../../support/rover.ts";

/** An expression on plain numbers: `action` is all it may read. */
const number = (text: string, action: readonly number[] = []): unknown[] => {
  const scene = { action, values: { names: [], read: () => undefined } } as unknown as Scene;
  return [...evaluate({ text, name: "test" }, scene).items];
};

async function refusal(task: Partial<Task<object>>): Promise<CorralError> {
  try {
    await using env = await makeVec(rover(task), { numEnvs: 1, device: "cpu" });
    throw new Error(`nothing was refused: ${env.id}`);
  } catch (error) {
    return error as CorralError;
  }
}

describe("arithmetic", () => {
  test.each<[string, readonly (number | boolean)[]]>([
    ["1 + 2 * 3", [7]],
    ["(1 + 2) * 3", [9]],
    ["2 - 3 - 4", [-5]],
    ["8 / 4 / 2", [1]],
    ["-2 * -3", [6]],
    ["- -2", [2]],
    ["7 % 3", [1]],
    ["-7 % 3", [-1]],
    ["1e3 + .5 + 2.", [1002.5]],
    ["1.5f", [1.5]],
    ["exp(-square(0.0) / 0.25)", [1]],
    ["1 < 2 && 2 <= 2 || false", [true]],
    ["!(1 > 2)", [true]],
    ["(1 < 2) == (3 < 4)", [true]],
    ["1 < 2 ? 5 : 6", [5]],
    ["1 > 2 ? 5 : 2 > 1 ? 7 : 8", [7]],
    ["select(1.0, 2.0, 3 > 2)", [2]],
    ["clamp(5, -1, 1)", [1]],
    ["mix(2, 4, 0.25)", [2.5]],
    ["step(0.5, 0.4)", [0]],
    ["smoothstep(0, 1, 0.5)", [0.5]],
    ["fract(2.75)", [0.75]],
    ["ceil(1.2)", [2]],
    ["wrap(3 * pi)", [-Math.PI]],
    ["vec3(1, 2, 3).zyx", [3, 2, 1]],
    ["vec2(1, 2) + 3", [4, 5]],
    ["vec3(2).x", [2]],
    ["[1, 2, 3][1]", [2]],
    ["[1, 2, 3, 4][1:3]", [2, 3]],
    ["[1, 2, 3][1:]", [2, 3]],
    ["[1, 2, 3][:2]", [1, 2]],
    ["dot(vec3(1, 2, 3), vec3(4, 5, 6))", [32]],
    ["cross(vec3(1, 0, 0), vec3(0, 1, 0))", [0, 0, 1]],
    ["length(vec2(3, 4))", [5]],
    ["distance(vec2(1, 1), vec2(4, 5))", [5]],
    ["normalize(vec2(0, 2))", [0, 1]],
    ["sum([1, 2, 3]) + mean([1, 3])", [8]],
    ["min(3, 1, 2) + max([4, 9, 5])", [10]],
    ["all([1, 2] > 0)", [true]],
    ["any([1, 2] > 1.5)", [true]],
    ["inside(2, 1, 3)", [true]],
    ["rotate(vec4(0, 0, 0, 1), vec3(1, 0, 0))", [-1, 0, 0]],
    ["unrotate(vec4(0.5, 0.5, 0.5, 0.5), rotate(vec4(0.5, 0.5, 0.5, 0.5), vec3(1, 2, 3)))", [1, 2, 3]],
    ["action[0] * action[1]", [6]],
  ])("%s", (text, expected) => {
    const values = number(text, [2, 3]);
    expect(values).toHaveLength(expected.length);
    values.forEach((x, i) =>
      typeof x === "number" ? expect(x).toBeCloseTo(expected[i] as number, 12) : expect(x).toBe(expected[i]),
    );
  });

  test("random expressions are worth what JavaScript makes of them", () => {
    const leaf = fc.oneof(fc.integer({ min: 1, max: 9 }).map(String), fc.constantFrom("action[0]", "action[1]"));
    const tree: fc.Memo<string> = fc.memo((depth) =>
      depth <= 1
        ? leaf
        : fc.oneof(
            leaf,
            fc.tuple(tree(depth - 1), fc.constantFrom("+", "-", "*"), tree(depth - 1)).map((t) => t.join(" ")),
            tree(depth - 1).map((x) => `(${x})`),
            tree(depth - 1).map((x) => `- ${x}`),
            fc.tuple(tree(depth - 1), tree(depth - 1)).map(([a, b]) => `(${a} < ${b} ? ${a} : ${b})`),
          ),
    );
    fc.assert(
      fc.property(
        tree(5),
        fc.tuple(fc.integer({ min: -9, max: 9 }), fc.integer({ min: -9, max: 9 })),
        (text, action) => {
          // eslint-disable-next-line typescript/no-implied-eval -- the host's own arithmetic is the oracle
          const expected = new Function("action", `return ${text};`)(action) as number;
          fc.pre(Number.isFinite(expected) && Math.abs(expected) < 2 ** 50);
          expect(number(text, action)[0]).toBeCloseTo(expected, 6);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("names of the model", () => {
  let env: VectorEnv;
  const at = (s: Scene, field: "xpos" | "qpos" | "qvel" | "sensordata", i: number): Scalar => s.d[field].at(i);
  // each expression beside the same thing as a function
  const cases: Record<string, [string, (s: Scene) => Scalar]> = {
    height: ["xpos(body.torso).z", (s) => at(s, "xpos", 5)],
    quoted: ['xpos(body["left leg"]).y', (s) => at(s, "xpos", 7)],
    bare: ["qpos(hip_left)", (s) => at(s, "qpos", 7)],
    by_id: ["xpos(1).x", (s) => at(s, "xpos", 3)],
    whole: ["sum(square(qvel))", (s) => s.d.qvel.all().reduce<Scalar>((n, x) => add(n, mul(x, x)), 0)],
    pattern: ['sum(qpos(joint["hip_*"]))', (s) => add(at(s, "qpos", 7), at(s, "qpos", 8))],
    several: ["sum(qvel(joint.hip_left, joint.hip_right))", (s) => add(at(s, "qvel", 6), at(s, "qvel", 7))],
    slice: ["qvel(joint.root)[3:6].y", (s) => at(s, "qvel", 4)],
    sensor: ["sensor(velocity).x", (s) => at(s, "sensordata", 3)],
    contact: ["sensor(sensor.contact_left)", (s) => at(s, "sensordata", 6)],
    ctrl: ["ctrl(actuator.right)", (s) => s.action[1]],
    action: ["action[1]", (s) => s.action[1]],
    mass: ["body_mass(body.torso)", (s) => s.m.body_mass.at(1)],
    friction: ["geom_friction(geom.floor).x", (s) => s.m.geom_friction.at(0)],
    tendon: ["ten_length(tendon.stride)", (s) => s.d.ten_length.at(0)],
    parameter: ['param["höhe 1"]', (s) => s.params["höhe 1"][0]],
    option: ["option.weight * dt", (s) => mul(2.5, s.dt)],
    word: ["xpos(option.main_body).z", (s) => at(s, "xpos", 5)],
    range: ["inside(qpos[2], option.range) ? 1 : 0", () => 1],
    before: ["qpos(joint.hip_left) - before.qpos(joint.hip_left)", (s) => sub(at(s, "qpos", 7), s.before.qpos[7])],
    speed: [
      "(xpos(body.torso).x - before.xpos(body.torso).x) / dt",
      (s) => div(sub(at(s, "xpos", 3), s.previous("x", (t) => [at(t, "xpos", 3)])[0]), s.dt),
    ],
    rate: [
      "sum(square(action - before.action))",
      (s) => {
        const last = s.previous("last", (t) => t.action);
        return s.action.reduce<Scalar>((n, x, i) => add(n, mul(sub(x, last[i]), sub(x, last[i]))), 0);
      },
    ],
    clock: ["episode_length + 100 * episode + time - time", (s) => add(s.length, mul(100, s.episode))],
  };
  const options = { weight: 2.5, main_body: "torso", range: [-Infinity, 5] as const };

  beforeAll(async () => {
    const info = (which: 0 | 1) => Object.entries(cases).map(([name, pair]) => [`${name}_${which}`, pair[which]]);
    env = await makeVec(
      rover<object>({
        defaults: options,
        params: { "höhe 1": 4 },
        info: Object.fromEntries([...info(0), ...info(1)]) as Record<string, string>,
        terminated: { upright: "xpos(body.torso).z > 100 && all(qpos > -1000)" },
        // derived fields are found by themselves, where an episode starts too
        observe: { height: "xpos(body.torso).z", velocity: "sensor(velocity)", moved: "before.xpos(body.torso)" },
        reset: (s) => ({ qvel: s.random.normals(s.model.nv) }),
      }),
      { numEnvs: 2, device: "cpu-f64" },
    );
    const { observations } = await env.reset({ seed: 3 });
    expect(observations[0]).toBeCloseTo(0.35, 6);
    expect([...observations.subarray(4, 7)]).toEqual([0, 0, expect.closeTo(0.35, 6)]);
    for (let t = 0; t < 5; t++) await env.step([0.1 * t, -0.2, 0.3, 0.5 * t]);
  });
  afterAll(() => env.close());

  test.each(Object.keys(cases))("%s", (name) => {
    const [text, plain] = [0, 1].map((which) => env.infos.get(`${name}_${which}`)!.values[1]);
    expect(text).toBeCloseTo(plain, 12);
    expect(Number.isFinite(text)).toBe(true);
  });
});

describe("what is refused", () => {
  test.each<[string, Partial<Task<object>>, string]>([
    [
      "a joint that is not there",
      { reward: { forward: "exp(-square(qvel(joint.hip_lef) - 1.0) / 0.25)" } },
      `[unknown-name] task Rover, reward.forward, line 1, column 24: the model has no joint named "hip_lef"; nearest: hip_left.
  exp(-square(qvel(joint.hip_lef) - 1.0) / 0.25)
                         ^`,
    ],
    [
      "a function that is not there",
      { reward: { a: "sqare(1)" } },
      `[unknown-name] task Rover, reward.a, line 1, column 1: no function or field is named "sqare"; nearest: square, sqrt.
  sqare(1)
  ^`,
    ],
    [
      "what every object of JavaScript has",
      { reward: { r: "param.__proto__" } },
      `[unknown-name] task Rover, reward.r, line 1, column 7: the task has no parameter named "__proto__"; there are none.
  param.__proto__
        ^`,
    ],
    [
      "a name of other letters",
      { observe: { a: "xpos(body.плечо)" } },
      `[term-syntax] task Rover, observe.a, line 1, column 11: "п" is no letter of a plain name; quote it, as in body["п..."].
  xpos(body.плечо)
            ^`,
    ],
    [
      "a field that is not there",
      { observe: { a: "qpos + qvell" } },
      `[unknown-name] task Rover, observe.a, line 1, column 8: nothing is named "qvell"; nearest: qvel, cvel.
  qpos + qvell
         ^`,
    ],
    [
      "a second line",
      { info: { a: "1 +\n  qpoz" } },
      `[unknown-name] task Rover, info.a, line 2, column 3: nothing is named "qpoz"; nearest: qpos, xpos, qpos0.
    qpoz
    ^`,
    ],
    [
      "shapes that differ",
      { reward: { a: "sum(qpos - qvel)" } },
      `[term-shape] task Rover, reward.a, line 1, column 10: - joins 9 numbers with 8 numbers.
  sum(qpos - qvel)
           ^`,
    ],
    [
      "several numbers for one",
      { reward: { a: "qpos" } },
      "[term-shape] task Rover, reward.a: it gives 9 numbers; it is one. Join them with sum(...), mean(...) or length(...).",
    ],
    [
      "a number for a condition",
      { terminated: { a: "qpos[2]" } },
      "[term-shape] task Rover, terminated.a: it gives one number; it is one condition. Compare, as in x > 0.",
    ],
    [
      "a condition for a number",
      { reward: { a: "qpos[2] > 1" } },
      "[term-shape] task Rover, reward.a: it gives one truth value; it is a number. Choose one, as in x > 0 ? 1 : 0.",
    ],
    [
      "several conditions for one",
      { terminated: { a: "qpos > 0" } },
      "[term-shape] task Rover, terminated.a: it gives 9 truth values; it is one condition. Join them with any(...) or all(...).",
    ],
    [
      "another kind of object",
      { reward: { a: "xpos(joint.hip_left).z" } },
      `[term-shape] task Rover, reward.a, line 1, column 6: xpos is of each body, not of a joint; write body.NAME.
  xpos(joint.hip_left).z
       ^`,
    ],
    [
      "an option that is not there",
      { defaults: { weight: 1 }, reward: { a: "option.wieght" } },
      `[unknown-name] task Rover, reward.a, line 1, column 8: the task has no option named "wieght"; nearest: weight.
  option.wieght
         ^`,
    ],
    [
      "a swizzle beyond the end",
      { reward: { a: "sensor(contact_left).z" } },
      `[term-shape] task Rover, reward.a, line 1, column 22: .z of one number.
  sensor(contact_left).z
                       ^`,
    ],
    [
      "an element of a name",
      { reward: { a: 'qpos["x"]' } },
      '[term-shape] task Rover, reward.a, line 1, column 6: "x"',
    ],
    [
      "an element beyond the end",
      { reward: { a: "action[2]" } },
      `[term-shape] task Rover, reward.a, line 1, column 8: element 2 of 2; they are 0 to 1.
  action[2]
         ^`,
    ],
    [
      "the wrong number of arguments",
      { reward: { a: "clamp(1, 2)" } },
      `[term-shape] task Rover, reward.a, line 1, column 1: clamp(x, low, high): takes 3 and was given 2 arguments.
  clamp(1, 2)
  ^`,
    ],
    [
      "an end that is missing",
      { reward: { a: "sum(qpos" } },
      `[term-syntax] task Rover, reward.a, line 1, column 9: the expression ends where ")" at the end of a list is expected.
  sum(qpos
          ^`,
    ],
    [
      "comparisons in a row",
      { terminated: { a: "0 < qpos[2] < 1" } },
      `[term-syntax] task Rover, terminated.a, line 1, column 13: comparisons do not chain; join two with &&, as in 0 < x && x < 1.
  0 < qpos[2] < 1
              ^`,
    ],
    [
      "an assignment",
      { reward: { a: "qpos[0] = 1" } },
      `[term-syntax] task Rover, reward.a, line 1, column 9: an expression assigns nothing; write == to compare.
  qpos[0] = 1
          ^`,
    ],
    [
      "nothing",
      { reward: { a: "  " } },
      `[term-syntax] task Rover, reward.a, line 1, column 3: the expression is empty.
    
    ^`,
    ],
    [
      "a division by zero",
      { reward: { a: "qpos[0] / (1 - 1)" } },
      `[trace-non-finite] task Rover, reward.a, line 1, column 9: division by the constant 0 in a kernel.
  qpos[0] / (1 - 1)
          ^`,
    ],
    [
      "a constant beside the domain, in a list",
      { reward: { a: "sum([1, -pow(-2, 0.5)])" } },
      `[trace-non-finite] task Rover, reward.a, line 1, column 10: of -2 it has no value. Write another number.
  sum([1, -pow(-2, 0.5)])
           ^`,
    ],
    [
      "a logarithm of 0",
      { terminated: { a: "qpos[0] > log(0)" } },
      `[trace-non-finite] task Rover, terminated.a, line 1, column 11: of 0 it has no value. Write another number.
  qpos[0] > log(0)
            ^`,
    ],
    [
      "a number that float32 has not",
      { reward: { a: "1e39" } },
      "[bad-term] task Rover, reward.a: it gives 1e+39, which is infinite in float32; a term is finite.",
    ],
    [
      "too much nesting",
      { reward: { a: `${"(".repeat(500)}1${")".repeat(500)}` } },
      "[term-syntax] task Rover, reward.a, line 1, column 101: the expression is nested more than 100 deep; split it.",
    ],
    [
      "an option of a term that is not there",
      { reward: { a: { value: 1, wieght: 2 } as never } },
      '[bad-term] task Rover, reward.a: it has no option "wieght"; it takes value, clip, scale, weight.',
    ],
    [
      "noise that float32 has not",
      { observe: { a: { value: 1, noise: 1e39 } } },
      "[bad-term] task Rover, observe.a: noise is 1e+39; it is a standard deviation, or { uniform: [low, high] }.",
    ],
    [
      "a delay that ends before it begins",
      { observe: { a: { value: 1, delay: [3, 1] } } },
      "[bad-term] task Rover, observe.a: delay is [3,1]; it is control steps, 0 to 100, or [least, most] of them.",
    ],
    [
      "a delay of half a step",
      { observe: { a: { value: 1, delay: 0.5 } } },
      "[bad-term] task Rover, observe.a: delay is 0.5; it is control steps, 0 to 100, or [least, most] of them.",
    ],
    [
      "an option that means nothing there",
      { reward: { a: { value: 1, history: 2 } } },
      "[bad-term] task Rover, reward.a: history means nothing here; it takes value, clip, scale, weight.",
    ],
    [
      "a clip upside down",
      { observe: { a: { value: "qpos", clip: [1, -1] } } },
      "[bad-term] task Rover, observe.a: clip is [1,-1]; it is [low, high], finite, low <= high.",
    ],
    [
      "a scale of another size",
      { observe: { a: { value: "qpos", scale: [1, 2] } } },
      "[bad-term] task Rover, observe.a: scale has 2 numbers; the term has 9.",
    ],
    [
      "what a function returns",
      { reward: { a: () => undefined as never } },
      "[bad-term] task Rover, reward.a: it gives undefined. Fields are read as d.qpos.at(0), d.xpos.vec3(body).",
    ],
    [
      "a control of what physics makes",
      { control: "vec2(xpos(body.torso).z)" },
      "[bad-term] task Rover, control: it reads xpos, which the physics of the step makes later; read state, or before.xpos(...).",
    ],
  ])("%s", async (_, task, text) => {
    const error = await refusal(task);
    expect(error.message.startsWith(text) ? text : error.message).toBe(text);
    expect(error.details.term ?? error.details.id).toBeDefined();
  });

  test("says it when functions say it", async () => {
    const error = await refusal({ reward: { a: (s) => and(gt(s.d.qpos.at(99), 0), true) } });
    expect(error.message).toBe("[trace-index] task Rover, reward.a: qpos[99] is outside its 9 elements.");
  });
});
