// controls of actions on the host, as benchmarks and monitors give them to MuJoCo
import { expect, test } from "vitest";
import { armTable } from "../../../envs/arm_table/task.ts";
import { pickAndPlace } from "../../../envs/pick_and_place/task.ts";
import { quadruped } from "../../../envs/quadruped/task.ts";
import { controlsOf } from "../../../src/compare/task-controls.ts";
import { defineTarget } from "../../../src/env/describe.ts";
import type { Task } from "../../../src/env/index.ts";
import { rover } from "../../support/rover.ts";

const specOf = async (task: unknown) => (await defineTarget(task as Task, { numEnvs: 1 })).definition.spec;

test("rows of an action table", async () => {
  const last = [...controlsOf(await specOf(armTable), [0, 26_999], 1)];
  expect(last).toEqual([-1, -1, -1, 1, 1, 1]);
});

test("clipped, scaled, and about the angles of standing", async () => {
  const controls = controlsOf(await specOf(quadruped), [2, 0, -0.5, 0, 0, 0, 0, 0], 8);
  [0.95, -1.1, 0.35, -1.1].forEach((x, i) => expect(controls[i]).toBeCloseTo(x, 12));
});

test("about the state", async () => {
  const spec = await specOf(pickAndPlace);
  const qpos = Float64Array.from({ length: spec.model.nq }, (_, i) => i / 10);
  const controls = controlsOf(spec, [1, 0, 0, 0, -1, 1], 6, { qpos });
  [0.2, 0.1, 0.2, 0.3, 0.2, 0.04, 0.04].forEach((x, i) => expect(controls[i]).toBeCloseTo(x, 12));
});

test("what a world remembers or draws is refused", async () => {
  const left = (control: string | ((s: never) => never)) => rover({ control: control as string });
  const code = async (task: unknown) => {
    const spec = await specOf(task);
    return () => controlsOf(spec, [0, 0], 2);
  };
  expect(await code(left("before.qvel[0:2]"))).toThrow("[control-remembers]");
  expect(await code(left("vec2(episode_length)"))).toThrow(
    /\[control-remembers\].*random numbers, time or the episode/,
  );
});
