// `corral export` writes what the learner's own export does
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { worldsOnWasm } from "../../support/on-wasm.ts";
import "../../../envs/index.ts";
import { exportPolicy } from "../../../src/export/index.ts";
import { decodeSafetensors } from "../../../src/io/safetensors.ts";
import { listCheckpoints } from "../../../src/runs/checkpoints.ts";
import { corralInside as corral } from "../../support/cli-inside.ts";

worldsOnWasm();

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "corral-cli-export-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const SMALL = "--envs 8 --steps 128 --rollout-steps 8 --hidden 8,4 --eval-envs 2".split(" ");

test("each format, from the last checkpoint", async () => {
  const run = join(folder, "run");
  const trained = await corral(["train", "InvertedPendulum-v5", ...SMALL, "--squash", "true", "--out", run]);
  expect(trained.code, trained.stderr).toBe(0);

  const { code, stdout, stderr } = await corral(["export", run, "--format", "onnx"]);
  expect(code, stderr).toBe(0);
  expect(stdout).toContain("the policy of InvertedPendulum-v5 after 128 env steps");
  expect(readFileSync(join(run, "policy.onnx")).includes("InvertedPendulum-v5")).toBe(true);

  const to = join(folder, "policy.safetensors");
  const told = await corral(["export", run, "--format", "safetensors", "--to", to, "--json"]);
  expect(JSON.parse(told.stdout)).toMatchObject({
    format: "safetensors",
    to,
    env: "InvertedPendulum-v5",
    iteration: 2,
  });
  const { tensors, metadata } = decodeSafetensors(readFileSync(to), to);
  expect(metadata).toMatchObject({ squash: "true", layers: "8,4,1", low: "-3", high: "3", clip_observations: "10" });
  const saved = decodeSafetensors(readFileSync(listCheckpoints(run)[0]), "checkpoint").tensors;
  for (const [name, tensor] of tensors) expect(tensor).toEqual(saved.get(name));

  expect((await corral(["export", run, "--format", "wgsl"])).code).toBe(0);
  expect(readdirSync(join(run, "policy-web"))).toContain("policy.wgsl");
});

test("bad input", async () => {
  const cases: [string[], string][] = [
    [["export"], "DIR is missing"],
    [["export", folder], "--format is missing"],
    [["export", folder, "--format", "onnx", "--out", "policy.onnx"], "Unknown option '--out'. (nearest: --to)"],
    [["export", folder, "--format", "onnx", "-o", "policy.onnx"], "Unknown option '-o'. (nearest: --to)"],
    [["export", folder, "--format", "h5"], "pass one of onnx, safetensors, wgsl"],
    [["export", join(folder, "none"), "--format", "onnx"], "none is not there. Pass the folder of a run"],
  ];
  for (const [args, text] of cases) {
    const { code, stderr } = await corral(args);
    expect(stderr).toContain(text);
    expect(code).toBe(2);
  }
  const file = join(folder, "a-file");
  writeFileSync(file, "");
  for (const [format, to] of [
    ["onnx", join(file, "policy.onnx")],
    ["onnx", folder],
    ["wgsl", file],
    ["safetensors", join(file, "below", "policy.safetensors")],
  ] as const) {
    const { code, stderr } = await corral(["export", join(folder, "run"), "--format", format, "--to", to]);
    expect(stderr, to).toContain(`[export-not-written] ${to} cannot be written`);
    expect(code).toBe(1);
  }
  mkdirSync(join(folder, "bare"));
  for (const [source, text] of [
    ["none", "is not there. Pass the folder of a run"],
    ["a-file", "is a file. Pass the folder of a run"],
    ["bare", "holds no checkpoint. Pass the folder of a run"],
  ] as const)
    await expect(exportPolicy(join(folder, source), { format: "onnx", to: join(folder, "x.onnx") })).rejects.toThrow(
      `[no-checkpoint] ${join(folder, source)} ${text}`,
    );
  expect(existsSync(join(folder, "x.onnx"))).toBe(false);
});
