// values that a task names once, for all its terms
import { describe, expect, test } from "vitest";
import { command, makeVec, tracking, valueOf, type Task } from "../../../src/env/index.ts";
import { rover } from "../../support/rover.ts";

const values: Task["values"] = {
  hips: "qpos(hip_left, hip_right)",
  target: command([[-0.5, 0.5]]),
  both: "hips - target",
  far: "length(both) > 10",
  lowest: (s) => [...valueOf(s, "hips"), 1],
};

test("are read by expressions, library functions and functions, in every group of terms", async () => {
  const task = rover({
    values,
    control: "both",
    observe: { hips: "hips", target: "target", was: "before.hips", lowest: "lowest" },
    reward: { near: tracking("hips", "vec2(target)", 0.5) },
    terminated: { far: "far" },
    info: { sum: "sum(both)", ctrl: "ctrl(actuator.left)" },
  });
  await using env = await makeVec(task, { numEnvs: 3, device: "cpu-f64", autoreset: "disabled" });
  await env.reset({ seed: 1 });
  await env.step(new Float32Array(6));
  const { observations, infos } = await env.step(new Float32Array(6));
  for (let w = 0; w < 3; w++) {
    const [left, right, target, wasLeft, , again] = observations.subarray(8 * w, 8 * (w + 1));
    expect(again).toBe(left);
    expect(infos.get("sum")!.values[w]).toBeCloseTo(left + right - 2 * target, 6);
    const distance = (left - target) ** 2 + (right - target) ** 2;
    expect(infos.get("near")!.values[w]).toBeCloseTo(Math.exp(-distance / 0.25), 6);
    expect(infos.get("ctrl")!.values[w]).toBeCloseTo(wasLeft - target, 6);
  }
});

describe("are refused", () => {
  const message = (task: object) =>
    makeVec(rover(task), { numEnvs: 1, device: "cpu" }).then(
      () => "nothing was refused",
      (error: Error) => error.message,
    );

  test.each<[string, object, string]>([
    [
      "a name that means something already",
      { values: { qpos: "1" } },
      "[bad-term] task Rover, values.qpos: qpos means something in expressions already; give it another name.",
    ],
    [
      "a name that cannot be read",
      { values: { "left hip": "1" } },
      "[bad-term] task Rover, values.left hip: its name is none that an expression can read; use letters, digits and _.",
    ],
    [
      "a value that is made of itself",
      { values: { a: "b + 1", b: "2 * a" }, reward: { r: "a" } },
      "[bad-term] task Rover, reward.r, in values.a, in values.b, in values.a: it is made of itself: a, then b, then a.",
    ],
    [
      "a misspelt value",
      { values: { target: "1" }, reward: { r: "tagret + 1" } },
      '[unknown-name] task Rover, reward.r, line 1, column 1: nothing is named "tagret"; nearest: target.\n  tagret + 1\n  ^',
    ],
    [
      "a mistake within a value",
      { values: { tip: "site_xpos(site.sole_lef).z" }, reward: { r: "tip" } },
      '[unknown-name] task Rover, reward.r, in values.tip, line 1, column 16: the model has no site named "sole_lef"; nearest: sole_left.\n  site_xpos(site.sole_lef).z\n                 ^',
    ],
    [
      "a value of the physics where controls are made",
      { values: { tip: "site_xpos(site.imu)" }, control: "tip.xy" },
      "[bad-term] task Rover, control: it reads site_xpos, which the physics of the step makes later; read state, or before.site_xpos(...).",
    ],
    [
      "an action where a number of the model is drawn",
      { randomise: { m: { field: "body_mass", of: "torso", set: { value: "2 + action[0]", within: [1, 3] } } } },
      "[bad-term] task Rover, randomise.m: it reads action; numbers of the model are drawn before the episode has a state or an action.",
    ],
  ])("%s", async (_, task, text) => {
    expect(await message(task)).toBe(text);
  });
});
