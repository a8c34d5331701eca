// actions for some of the actuators: the others keep the controls that they are given
import { expect, test } from "vitest";
import { defineTask, Discrete, makeVec, type Box, type Task, type VecOptions } from "../../../src/env/index.ts";
import { makeMuJoCoVec } from "../../../src/env/mujoco-vec.ts";
import { plainTask } from "../../../src/env/plain-task.ts";
import { loadModel } from "../../../src/model/model.ts";
import { info, message } from "../../support/rover-env.ts";
import { envBounds } from "../../support/tolerances.ts";

const link = (name: string, inner: string) =>
  `<body pos="0.3 0 0"><joint name="${name}" axis="0 1 0" damping="1"/><geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0"/>${inner}</body>`;

const MODEL = `<mujoco>
  <worldbody>${link("arm_a", link("hand", link("arm_b", "")))}</worldbody>
  <actuator>
    <motor name="arm_a" joint="arm_a" ctrlrange="-1 1"/>
    <motor name="hand" joint="hand" ctrlrange="-2 2"/>
    <motor name="arm_b" joint="arm_b" ctrlrange="-3 3"/>
  </actuator>
</mujoco>`;

const task = (more: Partial<Task<object>> = {}) =>
  defineTask({
    id: "part",
    model: MODEL,
    frameSkip: 2,
    maxEpisodeSteps: 50,
    observe: { qpos: "qpos", qvel: "qvel", last: "action", before: "before.action" },
    reward: { effort: "dot(action, action)" },
    info: { first: "ctrl[0]", second: "ctrl[1]", third: "ctrl[2]" },
    ...more,
  });

const arms: VecOptions["action"] = { actuators: ["arm_*"], others: 0.5 };

/** The controls after a step with these actions. */
async function controlled(given: Task<object>, options: Partial<VecOptions>, actions: number[]) {
  await using env = await makeVec(given, { numEnvs: 1, device: "cpu-f64", seed: 1, ...options });
  await env.reset();
  const { observations, rewards } = await env.step([actions]);
  const controls = ["first", "second", "third"].map((name) => info(env, name));
  return { controls, observations, reward: rewards[0], space: env.singleActionSpace as Box };
}

test("numbers go to the actuators that are named, in the model's order", async () => {
  const { controls, observations, reward, space } = await controlled(task(), { action: arms }, [0.25, -2]);
  expect(controls).toEqual([0.25, 0.5, -2]);
  expect([[...space.low], [...space.high]]).toEqual([
    [-1, -3],
    [1, 3],
  ]);
  // what is observed and rewarded is the action as it was given
  expect(Array.from(observations.slice(6))).toEqual([0.25, -2, 0, 0]);
  expect(reward).toBe(0.25 * 0.25 + 4);
});

test("they are delayed, clipped and scaled as actions for all are", async () => {
  const { controls } = await controlled(
    task(),
    { action: { ...arms, actuators: ["arm_b", "arm_a"], clip: [-1, 1], scale: [0.5, 2], offset: [0, 1] } },
    [4, -0.25],
  );
  expect(controls).toEqual([0.5, 0.5, 0.5]);
  const ranged = await controlled(task(), { action: { actuators: ["arm_*"], scale: "ctrlrange" } }, [0.5, 0.5]);
  expect(ranged.controls).toEqual([0.5, 0, 1.5]);
  expect([...ranged.space.high]).toEqual([1, 1]);
});

test("the task's own control gets a number for each actuator", async () => {
  const own = task({ control: "[action[0], 2 * action[1], action[2] - 1]", action: arms });
  expect((await controlled(own, {}, [0.25, -2])).controls).toEqual([0.25, 1, -3]);
});

test("a plain model takes them too", async () => {
  await using env = await makeVec(plainTask(await loadModel(MODEL), MODEL), {
    numEnvs: 1,
    device: "cpu-f64",
    action: { actuators: ["hand"] },
  });
  expect(String(env.singleActionSpace)).toBe("Box(-2, 2, [1], float32)");
});

test("steps are MuJoCo's with those controls, and those of a task that writes them itself", async () => {
  const whole = task({ control: "[action[0], 0.5, action[2]]", observe: { qpos: "qpos", qvel: "qvel" } });
  const part = task({ observe: { qpos: "qpos", qvel: "qvel" }, action: arms });
  const options = { numEnvs: 2, seed: 3 } as const;
  await using theirs = await makeMuJoCoVec(part, options);
  await using ours = await makeVec(part, { ...options, device: "cpu-f64", recorder: false });
  await using all = await makeVec(whole, { ...options, device: "cpu-f64", recorder: false });
  for (const env of [theirs.env, ours, all]) await env.reset({ seed: 3 });
  for (let t = 0; t < 5; t++) {
    const actions = ours.actionSpace.sample(5, { draw: t }) as Float32Array;
    const wide = Float32Array.of(actions[0], 9, actions[1], actions[2], 9, actions[3]);
    const [x, y, z] = [await theirs.env.step(actions), await ours.step(actions), await all.step(wide)];
    expect([...y.observations]).toEqual([...z.observations]);
    y.observations.forEach((v, i) =>
      expect(Math.abs(x.observations[i] - v)).toBeLessThanOrEqual(
        envBounds.qvel64.value * (t + 1) * Math.max(1, Math.abs(v)),
      ),
    );
  }
});

test.each<[VecOptions["action"], Partial<Task<object>>, string]>([
  [
    { actuators: ["arm_c"] },
    {},
    '[unknown-name] actuators: the model has no actuator named "arm_c"; nearest: arm_a, arm_b.',
  ],
  [{ actuators: [] }, {}, "[bad-option] action.actuators is []; pass a list, items from 1 to 16777216."],
  [{ others: 1 }, {}, "[bad-option] action.others is 1; pass actuators too, which says what actions are for."],
  [{ actuators: ["hand"], others: [1] }, {}, "[bad-option] action.others is [1]; pass a finite number, or 2 of them."],
  [
    { actuators: ["hand"], scale: [1, 2] },
    {},
    "[bad-option] action.scale is [1,2]; pass a finite number, or 1 of them.",
  ],
  [
    { actuators: ["hand"] },
    { actionSpace: () => new Discrete(2), control: "[action[0], 0, 0]" },
    '[bad-option] action.actuators is ["hand"]; pass it to Box actions only; these are whole numbers.',
  ],
])("%j is refused", async (action, more, text) => {
  expect(await message(() => makeVec(task(more), { numEnvs: 1, device: "cpu", action }))).toBe(text);
});
