// motions in tasks that use little of them, on terrain, and of other models than their own
import { expect, test } from "vitest";
import { defineTask, loadMotion, makeTerrain, makeVec, type Motion } from "../../src/index.ts";

const FLOOR = '<geom name="floor" type="plane" size="5 5 .1"/>';
const ARM = `<mujoco><worldbody>${FLOOR}<body name="upper" pos="0 0 1"><joint name="hip" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/>
  <body name="lower" pos=".4 0 0"><joint name="knee" axis="0 1 0"/><geom size=".1"/></body></body>
  </worldbody><actuator><motor joint="hip"/></actuator></mujoco>`;
const ROWS = Array.from({ length: 20 }, (_, f) => [Math.sin(f / 5), Math.cos(f / 5)]);
const HOW = { model: ARM, fps: 20 };

const task = (motion: Motion, more: object = {}) =>
  defineTask({
    id: "Swing",
    model: ARM,
    frameSkip: 5,
    maxEpisodeSteps: 30,
    observe: { qpos: "qpos" },
    reward: { none: 0 },
    reset: motion.start(),
    ...more,
  });

/** First observations of a task. */
async function seen(of: object): Promise<number[]> {
  await using env = await makeVec(of as never, { numEnvs: 4, device: "wasm", threads: 1, recorder: false } as never);
  return Array.from((await env.reset({ seed: 1 })).observations);
}

test("starts alone take their motion, whose failures they remember too", async () => {
  const motion = await loadMotion(ROWS, HOW);
  const wanted = await seen(task(motion, { info: { phase: motion.phase } }));
  expect(await seen(task(motion))).toEqual(wanted);
  // all worlds lie on the circle that the frames go along
  for (let w = 0; w < 4; w++) expect(Math.hypot(wanted[2 * w], wanted[2 * w + 1])).toBeCloseTo(1, 2);
  const learns = await loadMotion(ROWS, { ...HOW, failed: "abs(qpos(joint.hip)) > 0.9" });
  expect(await seen(task(learns))).toHaveLength(8);
});

test("places of bodies are those of their names where a terrain of boxes stands before them", async () => {
  const motion = await loadMotion(ROWS, HOW);
  const ground = makeTerrain({ seed: 1, rows: 1, columns: ["stairs-up"], patch: 3, border: 0.5, as: "boxes" });
  const observe = { lower: motion.xpos("lower"), turned: motion.xquat("upper") };
  const level = await seen(task(motion, { observe }));
  expect(await seen(task(motion, { observe, terrain: { ground, geom: "floor" } }))).toEqual(level);
  expect(level[2]).not.toBe(0);
});

test.each<[string, (motion: Motion) => object, string]>([
  ["a name in place of a list", (m) => ({ observe: { q: m.qpos("hip" as never) } }), 'joints is "hip"; it is a list'],
  ["a name for velocities", (m) => ({ observe: { v: m.qvel("hip" as never) } }), 'joints is "hip"; it is a list'],
  [
    "joints in another order",
    (m) => ({ model: ARM.replace("hip", "x").replace("knee", "hip").replace("x", "knee"), observe: { q: m.qpos() } }),
    'the list of joints of the task is ["knee","hip"]; it is ["hip","knee"], as the motion\'s model has them',
  ],
  [
    "a body that its model lacks",
    (m) => ({ model: ARM.replaceAll("lower", "shin"), observe: { x: m.xpos("shin") } }),
    'a body of a motion is "shin"; it is one of its model\'s: world, upper, lower',
  ],
])("%s is refused", async (_, more, text) => {
  const motion = await loadMotion(ROWS, HOW);
  await expect(seen(task(motion, more(motion)))).rejects.toThrow(text);
});

test("options that would mean nothing are refused, and quoted cells are read", async () => {
  const load = (more: object) => loadMotion(ROWS, { ...HOW, ...more });
  await expect(load({ parts: 4 })).rejects.toThrow("parts of a motion without failed is 4; it is left out");
  await expect(load({ fromStart: "yes" })).rejects.toThrow('fromStart of a motion is "yes"; it is true or false');
  const both = load({ fromStart: true, failed: "qpos[0] > 1" });
  await expect(both).rejects.toThrow("failed of a motion with fromStart");
  expect((await loadMotion('"hip","knee"\n"0","1"\n"1","2"\n', HOW)).duration).toBe(0.05);
});
