// the guides' commands and programs and the example run as they are printed, with fewer steps
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { builtProgram } from "../../support/built.ts";
import { corralInside } from "../../support/cli-inside.ts";
import { ROOT } from "../../support/imports.ts";
import { worldsOnWasm } from "../../support/on-wasm.ts";

worldsOnWasm();

const guide = readFileSync(join(ROOT, "docs/train-your-first-agent.md"), "utf8");

const programs = mkdtempSync(join(tmpdir(), "corral-guides-"));
afterAll(() => rmSync(programs, { recursive: true }));

/** A printed program as a file. */
function fileOf(name: string, program: string): string {
  const file = join(programs, name);
  writeFileSync(file, program);
  return file;
}

async function run(file: string, ...args: string[]): Promise<string> {
  return execFileSync(process.execPath, [await builtProgram(file), ...args], { cwd: ROOT, encoding: "utf8" });
}

test("the guide's commands, one after the other: train, the same again, go on, play", async () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-guide-"));
  mkdirSync(join(folder, "runs"));
  const blocks = [...guide.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) => block.split("\n"));
  const commands = blocks.filter((line) => line.startsWith("npx corral ")).map((line) => line.replace(/\s+#.*/, ""));
  const done: string[] = [];
  try {
    for (const command of commands) {
      const args = command.replaceAll("runs/", `${folder}/runs/`).replace(/--record (?!\/)/, `--record ${folder}/`);
      const words = args.replace("--until 475", "--steps 4096").split(" ").slice(2);
      const trains = words[0] === "train" && !words.includes("--resume");
      const small = trains && /CartPole/.test(command);
      // larger bodies are asked for as they are, and refused before they are compiled
      if (trains && !small) words.push("--budget", "1KiB");
      if (small && !words.includes("--out")) words.push("--out", join(folder, "runs/CartPole-ppo-seed0"));
      const { code, stderr } = await corralInside(words);
      expect(code, `${command}: ${stderr}`).toBe(trains && !small ? 3 : 0);
      done.push(words[0] + (words.includes("--resume") ? " --resume" : ""));
    }
    expect(done.slice(0, 4)).toEqual(["train", "train", "train --resume", "play"]);
    const [first, again] = ["CartPole-ppo-seed0", "again"].map((run) =>
      readFileSync(join(folder, "runs", run, "log.jsonl"), "utf8")
        .split("\n")
        .slice(0, 2)
        .map(policyLoss),
    );
    expect(again).toEqual(first);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const policyLoss = (line: string): unknown => (JSON.parse(line) as { policyLoss?: number }).policyLoss;

test("the guide's program", async () => {
  const [, program] = /```ts\n([\s\S]*?)```/.exec(guide)!;
  const short = program.replace("60_000", "4_096");
  expect(short).toContain("4_096");
  const lines = (await run(fileOf("guide.mts", short))).trim().split("\n");
  expect(lines).toHaveLength(3);
  expect(lines[0]).toMatch(/^2048 \d+\.\d+ /);
  expect(lines[2]).toMatch(/^solved: (true|false)$/);
});

test("examples/ppo-minimal.ts", async () => {
  const lines = (await run(join(ROOT, "examples/ppo-minimal.ts"), "2")).trim().split("\n");
  expect(lines.map((line) => line.slice(0, 9))).toEqual(["update 1:", "update 2:"]);
});

test("docs/export-a-policy.md", async () => {
  const guide = readFileSync(join(ROOT, "docs/export-a-policy.md"), "utf8");
  const [, program] = /```ts\n([\s\S]*?)```/.exec(guide)!;
  const folder = mkdtempSync(join(tmpdir(), "corral-export-guide-"));
  const short = program.replace("60_000", "2_048").replaceAll("cartpole/", `${folder}/`);
  try {
    const names = (await run(fileOf("export.mts", short))).trim().split(" ");
    expect(names.sort()).toEqual(readdirSync(join(folder, "web")).sort());
    expect(readdirSync(folder).sort()).toEqual(["policy.onnx", "policy.safetensors", "web"]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("docs/off-policy-and-collectors.md", async () => {
  const guide = readFileSync(join(ROOT, "docs/off-policy-and-collectors.md"), "utf8");
  const printed = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, program]) =>
    program.replace("20_000", program.includes("Collector.create") ? "600" : "1_280").replace("10_000", "1_280"),
  );
  // the last two are files of one program
  expect(printed).toHaveLength(5);
  fileOf("corridor.mjs", printed[3]);
  const outputs: string[][] = [];
  for (const at of [0, 1, 2, 4])
    outputs.push((await run(fileOf(`off-policy-${at}.mts`, printed[at]))).trim().split("\n"));
  expect(outputs[0].map((line) => line.split(" ")[0])).toEqual(["640", "1280", "replay:"]);
  expect(outputs.slice(1, 3)).toEqual([[""], [""]]);
  expect(outputs[3]).toEqual([expect.stringMatching(/^-?\d/)]);
});
