// check-env tells of few iterations of the solver that leave forces unsolved, and only of those
import { expect, test } from "vitest";
import { checkEnv } from "../../../src/env/check-env.ts";
import { unsolvedOf } from "../../../src/env/check-solver.ts";
import { defineTask, makeVec } from "../../../src/env/index.ts";

/** A pile of boxes on a shelf that is pushed: nothing of it is solved in one iteration. */
const pile = (option: string) => `<mujoco><option ${option}/><worldbody><geom type="plane" size="0 0 1"/>
  <body pos="0 0 .05"><joint name="slide" type="slide" axis="1 0 0"/><geom type="box" size=".2 .2 .05" mass="1"/></body>
  ${[0, 1, 2].map((i) => `<body pos="0 0 ${0.15 + 0.0999 * i}"><freejoint/><geom type="box" size=".05 .05 .05" mass="${1 + 4 * i}"/></body>`).join("")}
  </worldbody><actuator><motor joint="slide" gear="60" ctrlrange="-1 1"/></actuator></mujoco>`;

const task = (option: string) =>
  defineTask({
    id: "PileOfBoxes",
    model: pile(option),
    frameSkip: 4,
    maxEpisodeSteps: 50,
    observe: { x: "qpos[0]" },
    reward: { still: "-qvel[0] * qvel[0]" },
  });

const WHERE = { device: "wasm", threads: 1, numEnvs: 2, recorder: false } as const;

test.each([
  [
    "one iteration leaves most of a pile unsolved",
    'iterations="1" ls_iterations="4"',
    { states: 20, off: expect.any(Number) },
  ],
  ["twenty solve it", 'iterations="20" ls_iterations="20"', { states: 20, off: 0 }],
  ["MuJoCo's own number is not looked at", "", undefined],
])("%s", async (_, option, expected) => {
  await using env = await makeVec(task(option), WHERE);
  const found = await unsolvedOf(env, 0, 50);
  expect(found).toEqual(expected);
  if (option.includes('"1"')) expect(found!.off).toBeGreaterThan(0);
});

test("check-env says so, with the remedy, and passes", async () => {
  const { passed, results } = await checkEnv(task('iterations="1" ls_iterations="4"'), {
    steps: 50,
    worlds: 2,
    batch: { device: "wasm", threads: 1 },
  });
  const told = results.find(({ name }) => name.includes("iterations"));
  expect([passed, told?.ok]).toEqual([true, "note"]);
  expect(told?.detail).toMatch(
    /in \d+ % of 20 states .* after 1 iteration \(4 of a line search\).*up to MuJoCo's 100 and 50/,
  );
});

test("check-env tells what it makes and steps while it does", async () => {
  const told: string[] = [];
  const steps: string[] = [];
  await checkEnv(task(""), {
    steps: 2,
    worlds: 2,
    batch: { device: "wasm", threads: 1 },
    onProgress: (text, isStep) => (isStep ? steps : told).push(text),
  });
  expect(told).toEqual(["making 2 worlds of PileOfBoxes", "making 1 world of PileOfBoxes"]);
  expect(steps.slice(0, 3)).toEqual([
    "random actions: control step 1 of 2",
    "random actions: control step 2 of 2",
    "the same actions again: control step 1 of 2",
  ]);
});
