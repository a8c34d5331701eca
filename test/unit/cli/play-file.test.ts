// a policy that left as a file plays as it did in its run, and leaves again
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { worldsOnWasm } from "../../support/on-wasm.ts";
import "../../../envs/index.ts";
import { decodeSafetensors, encodeSafetensors, type Tensor } from "../../../src/io/safetensors.ts";
import { viewTarget } from "../../../src/cli/view-target.ts";
import { corralInside as corral } from "../../support/cli-inside.ts";
import { exportBounds } from "../../support/tolerances.ts";
import { trainInto } from "../../support/runs.ts";

worldsOnWasm();

const root = mkdtempSync(join(tmpdir(), "corral-play-file-"));
afterAll(() => rmSync(root, { recursive: true }));

const run = join(root, "run");
const file = join(root, "policy.safetensors");
const firstOf = (path: string) => JSON.parse(readFileSync(path, "utf8").split("\n")[0]) as { actions: number[][] };

async function recorded(name: string, ...args: string[]): Promise<{ actions: number[][] }> {
  const to = join(root, name);
  const { code, stderr } = await corral(["play", ...args, "--episodes", "2", "--device", "wasm", "--record", to]);
  expect(code, stderr).toBe(0);
  return firstOf(to);
}

test("plays what its run plays, and is exported to the same ONNX", async () => {
  const config = { hidden: [8, 8], rolloutSteps: 8, squash: true, activation: "elu" } as const;
  await trainInto(run, "InvertedPendulum-v5", { numEnvs: 8, steps: 256, evalEnvs: 2, config });
  for (const format of ["safetensors", "onnx"])
    expect((await corral(["export", run, "--format", format, "--to", join(root, `policy.${format}`)])).code).toBe(0);

  const [ours, theirs] = [await recorded("file.jsonl", file), await recorded("run.jsonl", run)];
  // episodes of two that differ in their last bits part with time
  for (let t = 0; t < 4; t++) {
    const [[action], [wanted]] = [ours.actions[t], theirs.actions[t]];
    expect(Math.abs(action - wanted)).toBeLessThan(exportBounds.action.value * Math.max(1, Math.abs(wanted)));
  }

  const again = join(root, "again.onnx");
  const exported = await corral(["export", file, "--format", "onnx", "--to", again]);
  expect(exported.code, exported.stderr).toBe(0);
  expect(readFileSync(again).equals(readFileSync(join(root, "policy.onnx")))).toBe(true);
});

test("acts in its environment where worlds are shown, by itself or beside the id", async () => {
  const shown = async (target: string, values: object = {}) => {
    await using subject = await viewTarget(target, { device: "wasm", threads: "1", seed: "3", ...values });
    for (let t = 0; t < 3; t++) await subject.forward();
    return [subject.facts.actors[0], subject.actor, Array.from((await subject.poses()).bodies)] as const;
  };
  const [own, named] = [await shown(file), await shown("InvertedPendulum-v5", { policy: file })];
  expect(own.slice(0, 2)).toEqual(["policy", "policy"]);
  expect(named).toEqual(own);
  expect((await shown(file, { actions: "none" }))[2]).not.toEqual(own[2]);

  const page = join(root, "acts.html");
  const rendered = await corral(["render", file, "--steps", "2", "--out", page]);
  expect(rendered.code, rendered.stderr).toBe(0);
  expect(readFileSync(page, "utf8")).toContain("InvertedPendulum-v5");

  await expect(viewTarget(run, { policy: file })).rejects.toThrow(/has a policy of its own/);
  await expect(viewTarget("CartPole", { policy: file })).rejects.toMatchObject({ code: "bad-policy" });
  await expect(viewTarget("CartPole", { actions: "policy" })).rejects.toThrow(/--policy FILE/);
});

test("refuses what is no policy, or one of something else", async () => {
  const { tensors, metadata } = decodeSafetensors(readFileSync(file), file);
  const variant = (name: string, changes: Record<string, Tensor | undefined>, facts: object = {}): string => {
    const path = join(root, `${name}.safetensors`);
    const all = Object.entries({ ...Object.fromEntries(tensors), ...changes }).filter(
      ([, tensor]) => tensor !== undefined,
    );
    writeFileSync(
      path,
      encodeSafetensors(Object.fromEntries(all) as Record<string, Tensor>, { ...metadata, ...facts }),
    );
    return path;
  };
  const bias = { shape: [7], data: new Float32Array(7) };
  const wide = variant("wide", { "policy.0.weight": { shape: [8, 5], data: new Float32Array(40) } });
  const cases: [string[], number, string][] = [
    [[join(root, "none.safetensors")], 2, "[no-policy]"],
    [[file, "--env", "Ant-v5"], 2, "[bad-policy]"],
    [[file, "--env", "Ants"], 2, "[unknown-env]"],
    [[variant("mine", {}, { env: "NobodysTask" })], 2, 'a policy of "NobodysTask", which is no environment here'],
    [[file, "--sample"], 2, "deterministic"],
    [[run, "--env", "Ant-v5"], 2, "--env is for a policy of a file"],
    [[variant("gap", { "policy.1.weight": undefined })], 2, "[bad-policy]"],
    [[variant("bias", { "policy.0.bias": bias })], 2, "7 numbers for 8 rows"],
    [[wide], 2, "sees 5 numbers"],
    [[variant("mean", { "normalizer.mean": { shape: [3], data: new Float32Array(3) } })], 2, "normalises 3 numbers"],
    [[variant("activation", {}, { activation: "gelu" })], 2, "none of none, tanh, relu, elu, silu"],
    [[variant("clip", {}, { clip_observations: "-1" })], 2, "no bound"],
    [[variant("nan", { "policy.0.bias": { shape: [8], data: new Float32Array(8).fill(NaN) } })], 2, "bias[0] is NaN"],
    [[variant("double", { "policy.0.bias": { shape: [8], data: new Float64Array(8) } })], 2, "no float32"],
  ];
  for (const args of [
    [file, "--env", "Ant-v5"],
    [wide, "--env", "InvertedPendulum-v5"],
  ])
    for (const grid of [
      ["--under", "mujoco"],
      ["--sweep", "mass=1,2"],
      ["--sweep", "mass=1,2", "--under", "mujoco"],
    ]) {
      const { code, stdout, stderr } = await corral(["evaluate", ...args, ...grid, "--device", "wasm"]);
      expect([code, stdout], `${args.join(" ")} ${grid.join(" ")}`).toEqual([2, ""]);
      // before anything is said to play
      expect(stderr).toMatch(/^\[bad-policy\] .* Pass the environment that it was trained in\./);
    }
  for (const [args, code, text] of cases) {
    const ended = await corral(["play", ...args, "--device", "wasm"]);
    expect(ended.stderr, args.join(" ")).toContain(text);
    expect(ended.code, args.join(" ")).toBe(code);
  }
});

test("is a teacher's, and what it played is cloned; others are refused before a run begins", async () => {
  const train = (name: string, ...args: string[]) =>
    corral(
      `train InvertedPendulum-v5 --envs 8 --steps 128 --rollout-steps 8 --hidden 8 --eval-envs 2 --seed 2 --device wasm`
        .split(" ")
        .concat("--out", join(root, name), args),
    );
  const demonstrations = join(root, "demonstrations.jsonl");
  await recorded("demonstrations.jsonl", file);
  for (const args of [
    ["--teacher", file],
    ["--demonstrations", demonstrations],
  ]) {
    const name = `student${args[0]}`;
    const { code, stderr } = await train(name, ...args);
    expect(code, stderr).toBe(0);
    const lines = readFileSync(join(root, name, "log.jsonl"), "utf8")
      .trim()
      .split("\n");
    const losses = lines.map((line) => (JSON.parse(line) as { policyLoss?: number }).policyLoss).filter((x) => x);
    expect(losses.at(-1)!).toBeLessThan(losses[0]!);
  }
  const elsewhere = join(root, "elsewhere.jsonl");
  writeFileSync(elsewhere, readFileSync(demonstrations, "utf8").replaceAll('"InvertedPendulum-v5"', '"Other"'));
  expect((await train("other", "--demonstrations", elsewhere)).stderr).toContain('was recorded in "Other": what its');
  const refused: [string[], string][] = [
    [["--teacher", file, "--demonstrations", demonstrations], "a run imitates one of them"],
    [["--teacher", join(root, "none")], "cannot be read"],
    [["--teacher", ""], '[no-policy] "" cannot be read'],
    [
      ["--teacher", root],
      `Pass the path of a policy: corral export ${root} --format safetensors writes that of a run.`,
    ],
    [["--demonstrations", file], "has no JSON on line 1"],
    [["--collect", "async", "--collect-threads", "1", "--teacher", file], "PPO's policy imitates"],
  ];
  for (const [args, text] of refused) {
    const { code, stderr } = await train("refused", ...args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(text)]);
  }
});
