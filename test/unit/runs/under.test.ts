// a policy in the same worlds on corral's physics, on MuJoCo's, and as the exported ONNX
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import "../../../envs/index.ts";
import { run as evaluate } from "../../../src/cli/evaluate.ts";
import { register, taskOf } from "../../../src/env/registry.ts";
import { defineTask } from "../../../src/env/index.ts";
import { exportPolicy } from "../../../src/export/index.ts";
import { encodePolicyOnnx } from "../../../src/export/onnx.ts";
import { evaluateUnder } from "../../../src/runs/under.ts";
import { play } from "../../../src/runs/play.ts";
import { corralInside } from "../../support/cli-inside.ts";
import { TINY, trainInto } from "../../support/runs.ts";

const env = { device: "wasm" };
let folder: string;
const runOf = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "corral-under-"));
  await trainInto(runOf("pendulum"), "InvertedPendulum-v5", { ...TINY, env });
});
afterAll(() => rmSync(folder, { recursive: true }));

test("the same episodes, whose gap is float32's", async () => {
  const report = await evaluateUnder(runOf("pendulum"), { episodes: 3, seed: 5, env, encode: encodePolicyOnnx });
  const [corral, mujoco, onnx] = report.results;
  expect(report.results.map(({ under }) => under)).toEqual(["corral", "mujoco", "onnx"]);
  const { meanReturn, meanLength } = await play(runOf("pendulum"), { episodes: 3, seed: 5, env });
  expect([corral.meanReturn, corral.meanLength]).toEqual([meanReturn, meanLength]);
  // a pole falls within few steps: none of them is decided by rounding
  for (const other of [mujoco, onnx]) {
    expect(other.returns).toEqual(corral.returns);
    expect(other.gap).toEqual({ mean: 0, stderr: 0 });
    expect(other.terminated).toBe(corral.terminated);
  }
  expect(onnx.actions).toBeLessThan(1e-5);
  expect(corral.gap).toBeUndefined();
});

test("worlds that play in turns have the starts and draws that they have side by side", async () => {
  const given = { under: ["corral", "mujoco"], episodes: 3, seed: 5, env, encode: encodePolicyOnnx } as const;
  const all = await evaluateUnder(runOf("pendulum"), given);
  const parts = await evaluateUnder(runOf("pendulum"), { ...given, worlds: 2 });
  expect(parts.results.map(({ returns }) => returns)).toEqual(all.results.map(({ returns }) => returns));
  expect(parts.results[1].gap).toEqual(all.results[1].gap);
});

test("means of what a task reports", async () => {
  await trainInto(runOf("hopper"), "Hopper-v5", { ...TINY, env });
  const { results } = await evaluateUnder(runOf("hopper"), {
    under: ["corral", "mujoco"],
    episodes: 3,
    seed: 5,
    env,
    encode: encodePolicyOnnx,
  });
  for (const { infos, lasts, meanLength } of results) {
    expect(Object.keys(infos)).toEqual(["x_position", "z_distance_from_origin", "x_velocity"]);
    expect(meanLength).toBeGreaterThan(0);
    // m/s; both make the same few steps, but for float32
    expect(Math.abs(infos.x_velocity - results[0].infos.x_velocity)).toBeLessThan(0.05);
    expect(Object.keys(lasts)).toEqual(Object.keys(infos));
  }
});

test("what plays is told with each control step, episodes that are over too", async () => {
  const told: [string, number, number | undefined][] = [];
  await evaluateUnder(runOf("pendulum"), {
    under: ["corral", "mujoco"],
    episodes: 3,
    seed: 5,
    worlds: 2,
    env,
    encode: encodePolicyOnnx,
    onProgress: (under, done, playing) => {
      told.push([under, done, playing?.steps]);
      if (playing) expect(playing.most).toBe(1000);
    },
  });
  for (const one of ["corral", "mujoco"]) {
    const mine = told.filter(([under]) => under === one);
    expect(mine[0]).toEqual([one, 0, undefined]);
    expect(mine[1]).toEqual([one, 0, 1]);
    expect(mine.at(-2)).toEqual([one, 3, expect.any(Number)]);
    expect(mine.at(-1)).toEqual([one, 3, undefined]);
    expect(mine.map(([, done]) => done)).toEqual(mine.map(([, done]) => done).toSorted((a, b) => a - b));
  }
});

test("which condition ended episodes, where several may", async () => {
  const task = defineTask({
    ...taskOf("InvertedPendulum-v5"),
    id: "EndedBy",
    terminated: { left: "qpos[1] > 0.1", right: "qpos[1] < -0.1", never: "qpos[0] > 9" },
  });
  register(task as never);
  const policy = join(folder, "ended.safetensors");
  await exportPolicy(runOf("pendulum"), { format: "safetensors", to: policy });
  const given = { under: ["corral", "mujoco"], episodes: 6, seed: 5, env: { ...env, env: "EndedBy" } } as const;
  for (const worlds of [undefined, 4]) {
    const { results } = await evaluateUnder(policy, { ...given, worlds, encode: encodePolicyOnnx });
    for (const { endedBy, terminated } of results) {
      expect(Object.keys(endedBy)).toEqual(["left", "right", "never"]);
      expect([endedBy.left + endedBy.right, endedBy.never]).toEqual([terminated, 0]);
      expect(terminated).toBe(1);
    }
  }
  const flags = ["--env", "EndedBy", "--under", "corral", "--episodes", "4", "--device", "wasm"];
  const { stdout } = await corralInside(["evaluate", policy, ...flags]);
  expect(stdout).toMatch(/what ended episodes early\n +under +left +right +never\n +corral +\d+ % +\d+ % +0 %/);
});

test("what sums up is read at the ends of episodes", async () => {
  const task = defineTask({
    ...taskOf("InvertedPendulum-v5"),
    id: "Counted",
    info: { steps: "episode_length", odd: "episode_length % 2" },
  });
  register(task as never);
  const given = { under: ["corral", "mujoco"], episodes: 3, seed: 5, env: { ...env, env: "Counted" } } as const;
  const policy = join(folder, "pendulum.safetensors");
  await exportPolicy(runOf("pendulum"), { format: "safetensors", to: policy });
  for (const worlds of [undefined, 2]) {
    const { results } = await evaluateUnder(policy, { ...given, worlds, encode: encodePolicyOnnx });
    for (const { infos, lasts, meanLength } of results) {
      expect(lasts.steps).toBeCloseTo(meanLength, 10);
      expect(infos.steps).toBeLessThan(meanLength);
      expect(lasts.odd).not.toBe(infos.odd);
    }
  }
  const { stdout } = await corralInside([
    "evaluate",
    policy,
    "--env",
    "Counted",
    "--under",
    "corral",
    "--device",
    "wasm",
  ]);
  expect(stdout).toMatch(
    /what the task reports, means\n +under +of +steps +odd\n +corral +all steps .*\n +corral +last steps /,
  );
});

test("the command says what it takes", async () => {
  await expect(evaluate([runOf("pendulum"), "--under", "mujoko"])).rejects.toThrow(
    /--under is 'mujoko': pass some of corral,mujoco,onnx/,
  );
  await expect(evaluate([runOf("pendulum"), "--under", "mujoco", "--out", join(folder, "x.html")])).rejects.toThrow(
    /--out goes with --under only beside --sweep/,
  );
});

test("what MuJoCo cannot step is refused before an episode is played", async () => {
  const told: string[] = [];
  const limits = { slider: { velocity: 3 } };
  const refused = evaluateUnder(runOf("pendulum"), {
    under: ["corral", "mujoco"],
    episodes: 2,
    env: { ...env, limits },
    encode: encodePolicyOnnx,
    onProgress: (one) => told.push(one),
  });
  await expect(refused).rejects.toThrow(
    /^\[not-under-mujoco\] .*Leave "mujoco" out; device: "cpu-f64" is float64 too\.$/,
  );
  expect(told).toEqual([]);
});

test("MuJoCo's worlds come to the same in any number of threads", async () => {
  const given = { under: ["corral", "mujoco"], episodes: 19, seed: 5, encode: encodePolicyOnnx } as const;
  const modules = () => [];
  const over: number[] = [];
  const one = await evaluateUnder(runOf("pendulum"), { ...given, env: { ...env, threads: 1 }, modules });
  const two = await evaluateUnder(runOf("pendulum"), {
    ...given,
    env: { ...env, threads: 2 },
    modules,
    onProgress: (under, done) => under === "mujoco" && over.push(done),
  });
  expect(two).toEqual(one);
  expect(over.at(-1)).toBe(19);
  expect(over).toEqual(over.toSorted((a, b) => a - b));
});

test("an error of a thread is the one that it would be here", async () => {
  const given = {
    under: ["mujoco"],
    episodes: 16,
    encode: encodePolicyOnnx,
    modules: () => ["corral-nowhere"],
  } as const;
  await expect(evaluateUnder(runOf("pendulum"), { ...given, env: { ...env, threads: 2 } })).rejects.toThrow(
    "corral-nowhere",
  );
});
