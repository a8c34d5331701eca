// a policy on a grid of what worlds differ by: each point is what a batch of such worlds plays, whatever lies beside it
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import "../../../envs/index.ts";
import { run as evaluate } from "../../../src/cli/evaluate.ts";
import { encodePolicyOnnx } from "../../../src/export/onnx.ts";
import { loadModel } from "../../../src/model/model.ts";
import { play } from "../../../src/runs/play.ts";
import { sweep, type SweepAxis } from "../../../src/runs/sweep.ts";
import { sweptTask } from "../../../src/runs/swept-task.ts";
import { rowsOf } from "../../../src/cli/evaluate-sweep.ts";
import { register, taskOf } from "../../../src/env/registry.ts";
import { loadTaskModel } from "../../../src/env/task/load.ts";
import { TINY, trainInto } from "../../support/runs.ts";

const env = { device: "wasm" };
let folder: string;
const runOf = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "corral-sweep-"));
  await trainInto(runOf("pole"), "CartPole", { ...TINY, env });
});
afterAll(() => rmSync(folder, { recursive: true }));

const swept = (axes: readonly SweepAxis[], others: object = {}) =>
  sweep(runOf("pole"), { axes, episodes: 4, seed: 5, env, ...others });

describe("a point", () => {
  test("where nothing differs is what play plays", async () => {
    const { points } = await swept([{ name: "mass", values: [1] }]);
    const { meanReturn, meanLength } = await play(runOf("pole"), { episodes: 4, seed: 5, env });
    expect(points).toEqual([expect.objectContaining({ meanReturn, meanLength, values: [1] })]);
  });

  test("has the numbers of its factor", async () => {
    const { points } = await swept([{ name: "gravity", values: [3] }]);
    const randomise = { pull: { field: "gravity", scale: [3, 3], shared: true } };
    const { meanReturn } = await play(runOf("pole"), { episodes: 4, seed: 5, env: { ...env, randomise } });
    expect(points[0].meanReturn).toBe(meanReturn);
  });

  test("of a delay is a batch of that delay", async () => {
    const { points } = await swept([{ name: "delay", values: [0, 2] }]);
    const { meanReturn } = await play(runOf("pole"), { episodes: 4, seed: 5, env: { ...env, action: { delay: 2 } } });
    expect(points.map(({ values }) => values)).toEqual([[0], [2]]);
    expect(points[1].meanReturn).toBe(meanReturn);
  });
});

test("points that play are told with each control step", async () => {
  const told: (number | undefined)[] = [];
  const onProgress = (_: number, __: number, ___: string, playing?: { readonly steps: number }) =>
    told.push(playing?.steps);
  await swept([{ name: "mass", values: [1] }], { onProgress, under: ["mujoco"] });
  const [ours, theirs] = [told.indexOf(undefined), told.lastIndexOf(undefined)];
  expect(theirs).toBe(told.length - 1);
  for (const steps of [told.slice(0, ours), told.slice(ours + 1, theirs)])
    expect(steps).toEqual(Array.from({ length: steps.length }, (_, t) => t + 1));
});

test("points are the same however many worlds play at a time", async () => {
  const axes = [
    { name: "mass", values: [0.5, 4] },
    { name: "gravity", values: [0.5, 1, 2] },
  ];
  const one = await swept(axes, { worlds: 4 });
  expect(one.points.map(({ values }) => values)).toEqual([
    [0.5, 0.5],
    [0.5, 1],
    [0.5, 2],
    [4, 0.5],
    [4, 1],
    [4, 2],
  ]);
  expect((await swept(axes, { worlds: 24 })).points).toEqual(one.points);
});

test("points have the same starts and draws, so that a value twice is one point twice", async () => {
  const { points, under } = await swept([{ name: "gravity", values: [1, 1] }], { under: ["mujoco"] });
  expect(points[1]).toEqual(points[0]);
  expect(under[0].points[1]).toEqual(under[0].points[0]);
});

test("points have the same episodes under MuJoCo and as ONNX, whose gap is float32's", async () => {
  const axes = [{ name: "gravity", values: [0.5, 2] }];
  const under = ["mujoco", "onnx"] as const;
  const { points, under: others } = await swept(axes, { under, encode: encodePolicyOnnx });
  expect(others.map((one) => one.under)).toEqual(under);
  expect(points[0].meanReturn).not.toBe(points[1].meanReturn);
  // a pole falls within few steps: none of them is decided by rounding
  for (const one of others)
    expect(one.points).toEqual(points.map((point) => ({ ...point, gap: { mean: 0, stderr: 0 } })));
  // three at a time, so that a point's worlds play in two parts
  const parts = await swept(axes, { under: ["mujoco"], worlds: 3 });
  expect(parts.under[0].points).toEqual(parts.points.map((point) => ({ ...point, gap: { mean: 0, stderr: 0 } })));
  // a number that the task draws is MuJoCo's too, and so is a delay
  const heavy = {
    axes: [
      { name: "mass", values: [8] },
      { name: "delay", values: [0, 3] },
    ],
  };
  const [mujoco] = (await swept(heavy.axes, { under: ["mujoco"] })).under;
  expect(mujoco.points.map(({ gap }) => gap.mean)).toEqual([0, 0]);
  expect(mujoco.points[0].meanReturn).not.toBe(mujoco.points[1].meanReturn);
  await expect(swept(axes, { under: ["onnx"] })).rejects.toMatchObject({ code: "bad-option" });
  await expect(swept(axes, { under: ["mujoco"], sample: true })).rejects.toMatchObject({ code: "bad-option" });
});

describe("what cannot be swept is refused", () => {
  test.each([
    [[{ name: "masss", values: [1] }], "nearest: mass"],
    [[{ name: "mass", values: [] }], "pass finite numbers"],
    [[{ name: "mass" } as SweepAxis], "values of mass are undefined; pass finite numbers"],
    [["mass" as unknown as SweepAxis], "an axis is called undefined"],
    [[{ name: "mass", values: [Number.NaN] }], "pass finite numbers"],
    [[{ name: "delay", values: [0.5] }], "whole control steps"],
    [[{ name: "push", values: [1, -1] }], "at least 0"],
    [[{ name: "strength", values: [1, -0.5] }], "at least 0"],
    [[{ name: "armature", values: [2] }], "a factor of dof_armature, which this model has none of that is not 0"],
    [[{ name: "param.height", values: [1] }], 'no parameter "height"'],
    [[{ name: "push", values: [1] }], "no free joint"],
    [
      [
        { name: "mass", values: [1] },
        { name: "mass", values: [2] },
      ],
      "swept twice",
    ],
    [[], "nothing to sweep"],
    [[0, 1, 2].map((k) => ({ name: `a${k}`, values: Array<number>(100).fill(1) })), "1000000 points"],
  ])("%j", async (axes, text) => {
    await expect(swept(axes)).rejects.toMatchObject({ code: "bad-sweep", message: expect.stringContaining(text) });
  });

  test("numbers that the task draws itself are swept under its own name", async () => {
    const task = taskOf("Go1Velocity");
    const model = await loadTaskModel(task);
    expect(() => sweptTask(task, model, [{ name: "friction", values: [1] }])).toThrow(
      "sweep randomise.floor in place of friction",
    );
    const { options, params } = sweptTask(task, model, [
      { name: "randomise.floor", values: [0.2, 0.9] },
      { name: "push", values: [0, 1] },
      { name: "param.forward", values: [1] },
    ]);
    expect(options.randomise.floor).toMatchObject({
      set: { value: "param.sweep_0", within: [0.2, 0.9] },
      shared: true,
    });
    expect([...params]).toEqual([
      ["randomise.floor", "sweep_0"],
      ["push", "sweep_1"],
      ["param.forward", "forward"],
    ]);
  });
});

test("friction is that of explicit pairs too, along both of their tangents", async () => {
  const model = await loadModel(`<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
    <body pos="0 0 .1"><freejoint/><geom name="puck" size=".1"/></body></worldbody>
    <contact><pair geom1="floor" geom2="puck" friction="0.4 0.3 0.01 0.001 0.001"/></contact></mujoco>`);
  const { id, observe, reward } = taskOf("CartPole");
  const task = { id, model: "", frameSkip: 1, maxEpisodeSteps: 9, observe, reward };
  const { options } = sweptTask(task, model, [{ name: "friction", values: [0.5, 2] }]);
  const value = { value: "param.sweep_0", within: [0.5, 2] };
  expect(Object.values(options.randomise)).toEqual([
    { field: "geom_friction", element: 0, scale: value, shared: true },
    { field: "pair_friction", element: [0, 1], scale: value, shared: true },
  ]);
  const randomise = { slippery: { field: "pair_friction", scale: [0.5, 1] } } as const;
  expect(() => sweptTask({ ...task, randomise }, model, [{ name: "friction", values: [1] }])).toThrow(
    "sweep randomise.slippery in place of friction",
  );
});

test("damping with terms that no world draws is refused", async () => {
  const model =
    await loadModel(`<mujoco><worldbody><body><joint name="j" damping="1 2 0"/><geom size=".1"/></body></worldbody>
    <actuator><motor joint="j" armature="0.1"/></actuator></mujoco>`);
  const { id, observe, reward } = taskOf("CartPole");
  const task = { id, model: "", frameSkip: 1, maxEpisodeSteps: 9, observe, reward };
  for (const [name, field] of Object.entries({ damping: "dof_dampingpoly", armature: "actuator_armature" }))
    expect(() => sweptTask(task, model, [{ name, values: [1, 2] }])).toThrow(`this model has ${field} too`);
});

test("points whose worlds fail say so, in corral's worlds and in MuJoCo's", async () => {
  const id = "FailingPole";
  const cartPole = taskOf("CartPole");
  register({ ...cartPole, id, params: { p: 1 }, reward: { alive: "sqrt(1.5 - param.p)" } });
  await trainInto(runOf("failing"), id, { ...TINY, env });
  const axes = [{ name: "param.p", values: [1, 2] }];
  const failing = { ...env, recorder: false };
  const result = await sweep(runOf("failing"), { axes, episodes: 2, env: failing, under: ["mujoco"] });
  for (const points of [result.points, result.under[0].points]) expect(points.map((p) => p.failed)).toEqual([0, 1]);
  expect(rowsOf(result)[0]).toEqual(expect.arrayContaining(["failed", "mujoco failed"]));
});

test("corral evaluate writes a page and a table", async () => {
  const out = { html: join(folder, "grid.html"), csv: join(folder, "grid.csv") };
  const grid = ["--sweep", "mass=0.5,2", "--sweep", "gravity=0.5:2:4", "--episodes", "2", "--device", "wasm"];
  expect(await evaluate([runOf("pole"), ...grid, "--out", out.csv, "--json"])).toBe(0);
  const lines = readFileSync(out.csv, "utf8").trim().split("\n");
  expect(lines[0]).toBe("mass,gravity,return,stderr,length,terminated");
  expect(lines.slice(1).map((line) => line.split(",").slice(0, 2).join(" "))).toEqual(
    ["0.5", "2"].flatMap((m) => ["0.5", "1", "1.5", "2"].map((g) => `${m} ${g}`)),
  );
  expect(await evaluate([runOf("pole"), ...grid, "--out", out.html])).toBe(0);
  const page = readFileSync(out.html, "utf8");
  expect(page.match(/<svg /g)).toHaveLength(2);
  expect(page).toContain("gravity 1.5");
  const beside = ["--sweep", "mass=0.5,2", "--under", "mujoco", "--episodes", "2", "--device", "wasm"];
  const svg = join(folder, "grid.svg");
  expect(await evaluate([runOf("pole"), ...beside, "--out", svg])).toBe(0);
  const picture = readFileSync(svg, "utf8");
  expect(picture).toMatch(/^<svg xmlns=/);
  for (const title of ["return", "terminated", "mujoco return", "mujoco terminated", "mujoco gap"])
    expect(picture).toContain(`aria-label="${title}"`);
  expect(await evaluate([runOf("pole"), ...beside, "--out", out.csv])).toBe(0);
  expect(readFileSync(out.csv, "utf8")).toContain(
    ",mujoco return,mujoco stderr,mujoco length,mujoco terminated,mujoco gap,",
  );
  for (const bad of ["mass", "mass=", "mass=1:2", "mass=1:2:1", "mass=1:2:1001", "=1", "mass=x"])
    await expect(evaluate([runOf("pole"), "--sweep", bad])).rejects.toThrow(/^\[usage\].*, COUNT from 2 to 1000\./);
});
