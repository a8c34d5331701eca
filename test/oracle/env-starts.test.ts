// start states of Gymnasium's suite have the documented distributions, entry by entry, and are independent of each other.
// The environments whose kernels are slow to make, with `test:full`.
import { describe, expect, test } from "vitest";
import { makeVec } from "../../src/env/index.ts";
import "../../envs/index.ts";
import { loadModel } from "../../src/model/model.ts";
import { ksBound, ksBound2, ksDistance, ksDistance2, normalCdf, uniformCdf } from "../support/ks.ts";
import { createRandom } from "../support/mjcf-random.ts";

const WORLDS = 4000;
const full = process.env.CORRAL_FULL === "1";
const SLOW = new Set(["Ant-v5", "HalfCheetah-v5", "Walker2d-v5", "Humanoid-v5", "HumanoidStandup-v5"]);

type Draw = "normal" | "uniform" | "zero";

/** Scale of the noise around qpos0, and what velocities are drawn from. */
const STARTS: [id: string, folder: string, scale: number, velocity: Draw][] = [
  ["Ant-v5", "ant", 0.1, "normal"],
  ["HalfCheetah-v5", "half_cheetah", 0.1, "normal"],
  ["Hopper-v5", "hopper", 0.005, "uniform"],
  ["Walker2d-v5", "walker2d", 0.005, "uniform"],
  ["Humanoid-v5", "humanoid", 0.01, "uniform"],
  ["HumanoidStandup-v5", "humanoid_standup", 0.01, "uniform"],
  ["InvertedPendulum-v5", "inverted_pendulum", 0.01, "uniform"],
  ["InvertedDoublePendulum-v5", "inverted_double_pendulum", 0.1, "normal"],
  ["Swimmer-v5", "swimmer", 0.1, "uniform"],
];

async function starts(id: string): Promise<{ qpos: number[][]; qvel: number[][] }> {
  await using env = await makeVec(id, { numEnvs: WORLDS, seed: 11, device: "cpu" });
  await env.reset();
  const { qpos, qvel } = await env.getState(["qpos", "qvel"]);
  const columns = (values: Float64Array) => {
    const width = values.length / WORLDS;
    return Array.from({ length: width }, (_, i) => Array.from({ length: WORLDS }, (_w, w) => values[width * w + i]));
  };
  return { qpos: columns(qpos), qvel: columns(qvel) };
}

function expectDrawn(values: readonly number[], draw: Draw, scale: number, name: string): void {
  if (draw === "zero") {
    expect([name, ...new Set(values)]).toEqual([name, 0]);
    return;
  }
  const cdf = draw === "normal" ? normalCdf(scale) : uniformCdf(-scale, scale);
  expect(ksDistance(values, cdf), name).toBeLessThan(ksBound(values.length));
}

/** Neighbouring entries are not correlated: their product has mean zero. */
function expectIndependent(columns: readonly (readonly number[])[], scale: number): void {
  for (let i = 1; i < columns.length; i++) {
    const mean = columns[i].reduce((sum, x, w) => sum + (x * columns[i - 1][w]) / WORLDS, 0);
    expect(Math.abs(mean), `entries ${i - 1} and ${i}`).toBeLessThan((5 * scale ** 2) / Math.sqrt(WORLDS));
  }
}

describe("starts around qpos0", () => {
  test.each(STARTS.filter(([id]) => full || !SLOW.has(id)))("%s", async (id, folder, scale, velocity) => {
    const model = await loadModel(new URL(`../../envs/${folder}/model.xml`, import.meta.url));
    const { qpos, qvel } = await starts(id);
    const noise = qpos.map((column, i) => column.map((x) => x - model.qpos0[i]));
    noise.forEach((column, i) => expectDrawn(column, "uniform", scale, `qpos ${i}`));
    qvel.forEach((column, i) => expectDrawn(column, velocity, scale, `qvel ${i}`));
    expectIndependent([...noise, ...qvel], scale);
  });
});

test("Reacher-v5: the target lies evenly in a disc", async () => {
  const { qpos, qvel } = await starts("Reacher-v5");
  for (const i of [0, 1]) {
    expectDrawn(qpos[i], "uniform", 0.1, `qpos ${i}`);
    expectDrawn(qvel[i], "uniform", 0.005, `qvel ${i}`);
    expectDrawn(qvel[2 + i], "zero", 0, `qvel ${2 + i}`);
  }
  const radius2 = qpos[2].map((x, w) => x ** 2 + qpos[3][w] ** 2);
  const angle = qpos[2].map((x, w) => Math.atan2(qpos[3][w], x));
  expect(Math.max(...radius2)).toBeLessThan(0.2 ** 2 * (1 + 1e-6));
  expect(ksDistance(radius2, uniformCdf(0, 0.2 ** 2))).toBeLessThan(ksBound(WORLDS));
  expect(ksDistance(angle, uniformCdf(-Math.PI, Math.PI))).toBeLessThan(ksBound(WORLDS));
});

test("Pusher-v5: the cylinder lies evenly where it is not near the goal", async () => {
  const { qpos, qvel } = await starts("Pusher-v5");
  for (let i = 0; i < 7; i++) expectDrawn(qvel[i], "uniform", 0.005, `qvel ${i}`);
  for (const i of [7, 8, 9, 10]) expectDrawn(qvel[i], "zero", 0, `qvel ${i}`);
  for (const i of [0, 1, 2, 3, 4, 5, 6, 9, 10]) expectDrawn(qpos[i], "zero", 0, `qpos ${i}`);

  // as Gymnasium draws: again, until it is far enough
  const random = createRandom(5);
  const reference = Array.from({ length: WORLDS }, () => {
    for (;;) {
      const place = [random.between(-0.3, 0), random.between(-0.2, 0.2)];
      if (Math.hypot(...place) > 0.17) return place;
    }
  });
  const distances = qpos[7].map((y, w) => Math.hypot(y, qpos[8][w]));
  expect(Math.min(...distances)).toBeGreaterThan(0.17 * (1 - 1e-6));
  const pairs: [number[], number[]][] = [
    [qpos[7], reference.map(([y]) => y)],
    [qpos[8], reference.map(([, x]) => x)],
    [distances, reference.map((p) => Math.hypot(...p))],
  ];
  for (const [ours, theirs] of pairs) expect(ksDistance2(ours, theirs)).toBeLessThan(ksBound2(WORLDS, WORLDS));
});
