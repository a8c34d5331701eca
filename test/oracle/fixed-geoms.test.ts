// scenes of many geoms that nothing moves, which the broad phase meets in groups: contacts are MuJoCo's, whatever the order
import { expect, test } from "vitest";
import { defineTask, loadModel, makeVec, rays } from "../../src/index.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { stepAsMuJoCo } from "../support/contacts-as-mujocos.ts";

/** Their frames are kept, or left out where there is room too. */
const [FEW, FIXED] = [90, 150];
const STEPS = 60;
const WORLDS = 4;

/** Geoms whose contacts have formulas, on turned static bodies, before and after three bodies that fall on them. */
function scene(seed: number, count: number): string {
  const r = createRandom(seed);
  const numbers = (count: number, low: number, high: number) =>
    Array.from({ length: count }, () => r.between(low, high).toFixed(4)).join(" ");
  const kinds = [
    () => `type="sphere" size="${numbers(1, 0.05, 0.15)}"`,
    () => `type="capsule" size="${numbers(2, 0.05, 0.12)}"`,
    () => `type="box" size="${numbers(3, 0.05, 0.15)}"`,
  ];
  const geoms = Array.from({ length: count }, (_, i) => {
    const geom = `<geom ${kinds[i % kinds.length]()} pos="${numbers(2, -0.8, 0.8)} ${numbers(1, -0.1, 0.1)}" quat="${numbers(4, -1, 1)}"/>`;
    if (i % 3 === 0) return geom;
    return `<body pos="${numbers(3, -0.1, 0.1)}" quat="1 ${numbers(3, -0.2, 0.2)}">${geom}</body>`;
  });
  const falling = [-0.4, 0, 0.4].map(
    (x, i) => `<body pos="${x} 0.1 0.4"><freejoint/><geom name="f${i}" ${kinds[i]()} density="300"/></body>`,
  );
  const half = count / 2;
  return `<mujoco><option timestep="0.004"/><worldbody><geom type="plane" size="3 3 1" pos="0 0 -0.4"/>
    ${geoms.slice(0, half).join("\n")}${falling.join("\n")}${geoms.slice(half).join("\n")}</worldbody></mujoco>`;
}

test.each([
  [1, undefined, FEW],
  [2, false, FIXED],
  [3, undefined, FIXED],
] as const)("scene %i, unroll %s, %i geoms", async (seed, unroll, count) => {
  const model = await loadModel(scene(seed, count));
  const r = createRandom(seed + 10);
  const start = Float64Array.from({ length: WORLDS * model.nq }, (_, i) => {
    const at = model.qpos0[i % model.nq];
    return i % 7 < 3 ? at + r.between(-0.15, 0.15) : at;
  });
  const met = await stepAsMuJoCo(model, start, { steps: STEPS, unroll });
  expect(met).toBeGreaterThan(STEPS * WORLDS);
});

test.each([true, false])(
  "worlds that put them each elsewhere read them there after resets and steps, unroll %s",
  async (unroll) => {
    const many = Array.from({ length: FIXED }, (_, i) => `<geom pos="0 ${i} 0" type="box" size=".3 .3 .1"/>`).join("");
    const down = [{ origin: [0, 0, 0], direction: [0, 0, -1] }] as const;
    const task = defineTask({
      id: "Shelves",
      model: `<mujoco><worldbody><body name="shelf" pos="0 0 -1"><geom name="board" type="box" size=".3 .3 .1"/>${many}</body>
      <body name="arm"><joint name="hinge" axis="0 0 1"/><geom name="ball" size=".05"/></body></worldbody>
      <actuator><motor joint="hinge"/></actuator></mujoco>`,
      frameSkip: 2,
      maxEpisodeSteps: 3,
      observe: {
        board: "geom_xpos(geom.board)",
        height: rays("arm", { pattern: down, most: 9, gives: "height" }),
        shelf: "xpos(body.shelf)",
      },
      reward: { none: 0 },
      terminated: {},
      randomise: {
        aside: { field: "body_pos", of: "shelf", element: 0, add: [-0.2, 0.2] },
        up: { field: "body_pos", of: "shelf", element: 2, add: [-0.5, 0.5] },
      },
    });
    await using env = await makeVec(task, { numEnvs: WORLDS, device: "cpu", unroll, recorder: false });
    let { observations } = await env.reset({ seed: 1 });
    const heights = new Set<number>();
    for (let t = 0; t < 9; t++) {
      for (let w = 0; w < WORLDS; w++) {
        const [x, y, z, height, ...shelf] = observations.subarray(7 * w, 7 * w + 7);
        expect([x, y, z, height], `step ${t}, world ${w}`).toEqual([...shelf, expect.closeTo(shelf[2] + 0.1, 5)]);
        heights.add(height);
      }
      ({ observations } = await env.step(new Float32Array(WORLDS)));
    }
    expect(heights.size).toBeGreaterThan(2 * WORLDS);
  },
);
