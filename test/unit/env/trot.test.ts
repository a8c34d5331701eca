// the trot that policies of Go1Rough act about: without one it walks, lands its feet where a push takes it, and knows its ground
import { expect, test } from "vitest";
import { go1Rough } from "../../../envs/go1/rough.ts";
import { makeTerrain, makeVec, type StartScene } from "../../../src/env/index.ts";

const WORLDS = 8;
const PLACE = 2.4;
/** Where the observation has where feet land beside the command, and the ground's slopes along and across the trunk. */
const LANDINGS = { start: 54, size: 8 };
const SLOPES = 66;

/** Without draws, pushes and actions, on a plane or in the middle of a slope, facing uphill. */
function calm(wanted: readonly number[], angle = 0) {
  const { reset, terrain, ...task } = go1Rough;
  const { geom, priority, solref } = terrain!;
  const column = angle === 0 ? "flat" : ({ kind: "slope-up", angle } as const);
  const ground = makeTerrain({ rows: 1, columns: [column], cell: 0.2, middle: 1.6, border: 8 });
  const at = angle === 0 ? 0 : PLACE;
  const height = 0.29 + Math.tan(angle) * Math.max(at - 0.8, 0);
  return makeVec(
    {
      ...task,
      id: "Trotting",
      events: {},
      randomise: {},
      terrain: { ground, geom, priority, solref },
      values: { ...task.values, wanted: () => [...wanted] },
      info: { ahead: "linear.x", left: "linear.y", turn: "angular.z" },
      reset: (s: StartScene) => ({ qpos: [at, 0, height, 1, 0, 0, 0, ...reset!(s).qpos!.slice(7)] }),
    },
    { numEnvs: WORLDS, device: "wasm", threads: 1, recorder: false },
  );
}

const still = new Float32Array(WORLDS * 12);
type Env = Awaited<ReturnType<typeof calm>>;
const seen = (env: Env, world: number) => {
  const size = env.observations.length / WORLDS;
  return Array.from(env.observations.slice(world * size, (world + 1) * size), Number);
};

test.each([
  { wanted: [0.6, 0, 0], name: "ahead", least: 0.3 },
  { wanted: [0, 0.4, 0], name: "left", least: 0.2 },
  { wanted: [0, 0, 0.8], name: "turn", least: 0.4 },
])("without a policy it goes where it is told: $name", async ({ wanted, name, least }) => {
  await using env = await calm(wanted);
  await env.reset({ seed: 1 });
  const [sums, fell] = [Array.from({ length: WORLDS }, () => 0), new Set<number>()];
  for (let t = 0; t < 100; t++) {
    const { infos, terminated } = await env.step(still);
    for (let w = 0; w < WORLDS; w++) {
      if (terminated[w]) fell.add(w);
      if (t >= 50) sums[w] += infos.get(name)!.values[w] / 50;
    }
  }
  const walked = sums.filter((_, w) => !fell.has(w));
  expect(walked.length).toBeGreaterThanOrEqual(WORLDS / 2);
  expect(walked.reduce((a, b) => a + b, 0) / walked.length).toBeGreaterThan(least);
});

test("feet are to land farther where it is pushed", async () => {
  await using env = await calm([0.4, 0, 0]);
  await env.reset({ seed: 1 });
  for (let t = 0; t < 25; t++) await env.step(still);
  const { qvel } = await env.getState(["qvel"]);
  const pushed = Float64Array.from(qvel as ArrayLike<number>);
  pushed[1] += 1;
  await env.setState({ qvel: pushed });
  for (let t = 0; t < 9; t++) await env.step(still);
  const left = (w: number) =>
    Math.max(
      ...seen(env, w)
        .slice(LANDINGS.start, LANDINGS.start + LANDINGS.size)
        .filter((_, i) => i % 2 === 1),
    );
  expect(left(0)).toBeGreaterThan(left(1) + 0.03);
  expect(left(0)).toBeLessThanOrEqual(0.2);
});

test("it sees the slope under its feet", async () => {
  const angle = 0.2;
  await using env = await calm([0, 0, 0], angle);
  await env.reset({ seed: 1 });
  for (let t = 0; t < 10; t++) await env.step(still);
  for (let w = 0; w < WORLDS; w++) {
    const [along, across] = seen(env, w).slice(SLOPES, SLOPES + 2);
    expect(Math.abs(along - Math.tan(angle))).toBeLessThan(0.03);
    expect(Math.abs(across)).toBeLessThan(0.03);
  }
});

test("feet start above their ground, however poses are drawn: a field holds feet that begin in it", async () => {
  const [worlds, thigh, radius, out] = [256, 0.213, 0.023, 0.08];
  const ground = makeTerrain({ rows: 1, columns: ["flat"], cell: 0.2, middle: 1.6, border: 8 });
  const level = { ...go1Rough, id: "Starting", terrain: { ground, geom: go1Rough.terrain!.geom } };
  await using env = await makeVec(level, { numEnvs: worlds, device: "wasm", threads: 1, recorder: false });
  await env.reset({ seed: 1 });
  const { qpos } = await env.getState(["qpos"]);
  const all = Array.from(qpos as ArrayLike<number>);
  const lowest = Array.from({ length: 4 * worlds }, (_, i) => {
    const [world, leg] = [19 * (i >> 2), i & 3];
    const [hip, upper, lower] = all.slice(world + 7 + 3 * leg);
    const long = thigh * (Math.cos(upper) + Math.cos(upper + lower));
    const outward = (leg % 2 === 0 ? -1 : 1) * out;
    return all[world + 2] - Math.cos(hip) * long + Math.sin(hip) * outward - radius;
  });
  expect(Math.min(...lowest)).toBeGreaterThan(0);
});
