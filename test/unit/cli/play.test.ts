import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { worldsOnWasm } from "../../support/on-wasm.ts";
import "../../../envs/index.ts";
import { cartpole } from "../../../envs/cartpole/task.ts";
import { makeVec, register, type Scene, type Task } from "../../../src/env/index.ts";
import { readRecording, rowOf } from "../../../src/render/recording.ts";
import { corralInside as corral } from "../../support/cli-inside.ts";
import { TINY, trainInto } from "../../support/runs.ts";

worldsOnWasm();

const root = mkdtempSync(join(tmpdir(), "corral-play-"));
afterAll(() => rmSync(root, { recursive: true }));

interface Episode {
  readonly seed: number;
  readonly world: number;
  readonly return: number;
  readonly length: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
  readonly observations: number[][];
  readonly actions: (number | number[])[];
  readonly rewards: number[];
}

const episodesOf = (file: string): Episode[] =>
  readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Episode);

const run = join(root, "run");

test("plays the saved policy, and records what the environment does again", async () => {
  await trainInto(run, "CartPole", TINY);
  const file = join(root, "episodes.jsonl");
  const { code, stdout, stderr } = await corral(["play", run, "--episodes", "5", "--seed", "9", "--record", file]);
  expect(code, stderr).toBe(0);
  expect(stdout).toContain("after 768 env steps");
  expect(stdout).toContain(": 5 episodes");

  const episodes = episodesOf(file);
  expect(episodes.map(({ world }) => world)).toEqual([0, 1, 2, 3, 4]);
  for (const { observations, actions, rewards, length, terminated, truncated, ...episode } of episodes) {
    expect([observations.length, actions.length, rewards.length]).toEqual([length + 1, length, length]);
    expect(rewards.reduce((sum, x) => sum + x, 0)).toBe(episode.return);
    expect(terminated !== truncated).toBe(true);
    expect(actions.every((action) => action === 0 || action === 1)).toBe(true);
  }

  // the recorded actions from the recorded seed, without the policy
  await using env = await makeVec("CartPole", { numEnvs: 5, seed: 9 });
  await env.reset({ seed: 9 });
  const steps = Math.min(...episodes.map(({ length }) => length));
  for (let t = 0; t < steps; t++) {
    const rows = episodes.flatMap(({ observations }) => observations[t]);
    expect([...env.observations]).toEqual(rows);
    await env.step(Int32Array.from(episodes, ({ actions }) => actions[t] as number));
  }

  // the same worlds, whatever their number; more of them than play at a time
  const fewer = await corral(["play", run, "--episodes", "3", "--seed", "9", "--json"]);
  const { returns } = JSON.parse(fewer.stdout) as { returns: number[] };
  expect(returns).toEqual(episodes.slice(0, 3).map((episode) => episode.return));
  const more = await corral(["play", run, "--episodes", "70", "--sample", "--json"]);
  expect(JSON.parse(more.stdout)).toMatchObject({ episodes: 70, id: "CartPole", algo: "ppo" });
});

test("records whole episodes with their model, which pictures show and NumPy reads", async () => {
  const file = join(root, "episodes.npz");
  const { code, stderr } = await corral(["play", run, "--episodes", "3", "--seed", "9", "--record", file]);
  expect(code, stderr).toBe(0);
  const recording = readRecording(file);
  const lines = episodesOf(join(root, "episodes.jsonl")).slice(0, 3);
  expect(recording.about).toMatchObject({ id: "CartPole", control_dt: 0.02 });
  expect(recording.lengths).toEqual(lines.map(({ length }) => length + 1));
  // CartPole shows its whole state: (x, v, angle, rate)
  lines.forEach(({ observations, rewards, actions }, episode) => {
    observations.forEach((observed, t) => {
      const [qpos, qvel] = ["qpos", "qvel"].map((name) => [...(rowOf(recording, name, t, episode) as Float64Array)]);
      expect([qpos[0], qvel[0], qpos[1], qvel[1]]).toEqual(observed);
      if (t === 0) return;
      expect(rowOf(recording, "reward", t, episode)[0]).toBe(rewards[t - 1]);
      expect(rowOf(recording, "action", t, episode)[0]).toBe(actions[t - 1]);
    });
  });
  const again = await corral(["play", run, "--record", file]);
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining("[record-exists]")]);

  for (const [out, start] of [
    ["clip.gif", "GIF89a"],
    ["clip.png", "\u0089PNG"],
    ["clip.mp4", "ftyp"],
  ]) {
    const to = join(root, out);
    const drawn = await corral(["render", file, "--out", to, "--size", "64x48", "--steps", "4", "--worlds", "2"]);
    expect(drawn.code, drawn.stderr).toBe(0);
    expect(readFileSync(to).subarray(0, 16).toString("latin1")).toContain(start);
  }
  // a model that does not load leaves no file
  const out = join(root, "none.png");
  const none = await corral(["render", join(root, "none.xml"), "--out", out]);
  expect([none.code, existsSync(out)]).toEqual([2, false]);
  const shown = '<geom type="mesh" mesh="m" contype="0" conaffinity="0" group="2"/>';
  const scene = join(root, "scene.xml");
  writeFileSync(
    scene,
    `<mujoco><asset><mesh name="m" file="gone.stl"/></asset><worldbody><geom size="1"/>${shown}</worldbody></mujoco>`,
  );
  const lacks = await corral(["render", scene, "--out", out]);
  expect([lacks.code, existsSync(out)]).toEqual([2, false]);
  expect(lacks.stderr).toMatch(/^\[missing-file\] \S*scene\.xml names the file "gone\.stl"/);
});

test.each([
  ["SAC, without its replay and its batches", {}],
  ["SAC with a memory", { recurrent: "lstm", recurrentSize: 8, recurrentSteps: 4, nSteps: 1 }],
])("plays continuous actions of %s", async (name, memory) => {
  const folder = join(root, name);
  await trainInto(folder, "InvertedPendulum-v5", {
    algo: "sac",
    numEnvs: 4,
    steps: 100,
    evalEnvs: 2,
    // more steps of a batch than rows of two worlds that play
    config: { batchSize: 64, bufferSize: 160, learningStarts: 64, hidden: [8], ...memory },
  });
  const file = join(root, `${name}.jsonl`);
  const { code, stderr } = await corral(["play", folder, "--episodes", "2", "--record", file]);
  expect(code, stderr).toBe(0);
  for (const { actions } of episodesOf(file)) expect(actions.flat().every((x) => Math.abs(x) <= 3)).toBe(true);
});

test("refuses in words", async () => {
  const cases: [string[], number, string][] = [
    [[], 2, "DIR is missing"],
    [[join(root, "none")], 2, "[no-run]"],
    [[run, "--episodes", "0"], 2, "at least 1"],
    [[run, "--record", join(root, "episodes.jsonl")], 2, "[record-exists]"],
    [[run, "--record", join(root, "episodes.foo")], 2, "ends in .npz (a recording) or .jsonl"],
    [[run, "--record", join(root, "none/episodes.jsonl")], 1, "[record-not-written]"],
    [[run, "--at-least", "much"], 2, "pass a finite number"],
    [[run, "--budget", "1KiB"], 3, "budget"],
  ];
  for (const [args, code, text] of cases) {
    const ended = await corral(["play", ...args]);
    expect(ended.stderr, args.join(" ")).toContain(text);
    expect(ended.code, args.join(" ")).toBe(code);
  }
  expect((await corral(["play", run, "--episodes", "1", "--at-least", "501"])).code).toBe(1);
});

test("folders that hold no run, and runs whose settings or environment are others now", async () => {
  const none = await corral(["play", join(root, "none")]);
  expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("[no-run]")]);
  const onnx = join(root, "policy.onnx");
  writeFileSync(onnx, "");
  const file = await corral(["play", onnx]);
  expect([file.code, file.stderr]).toEqual([
    2,
    expect.stringContaining("is a file. Pass the folder of a run, or a policy"),
  ]);
  const one = await corral(["play", run, "--episodes", "1"]);
  expect(one.stdout).toContain(": 1 episode\n");

  const other = join(root, "other");
  cpSync(run, other, { recursive: true });
  const config = JSON.parse(readFileSync(join(other, "config.json"), "utf8")) as object;
  writeFileSync(join(other, "config.json"), JSON.stringify({ ...config, hidden: [16] }));
  const settings = await corral(["play", other]);
  expect([settings.code, settings.stderr]).toEqual([2, expect.stringContaining("[other-run]")]);
  expect(settings.stderr).toContain("hidden was 8 and is 16");

  // a task whose observations have changed since
  const task = { ...cartpole, id: "Mine" };
  register(task as unknown as Task);
  const trained = join(root, "mine");
  await trainInto(trained, "Mine", TINY);
  Object.assign(task, { observe: ({ d }: Scene) => ({ all: [d.qpos.at(0)] }) });
  const worlds = await corral(["play", trained]);
  expect([worlds.code, worlds.stderr]).toEqual([2, expect.stringContaining("[other-run]")]);
  expect(worlds.stderr).toContain("does not fit Mine as it is now");
});
