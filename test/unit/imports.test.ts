import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cyclesIn, importsOf, repositoryFiles, ROOT } from "../support/imports.ts";

const LONGEST_FILE = 400;

const BELOW_ENV = ["core", "gpu", "memory", "model", "trace", "physics", "batch"];

/** Which folders of `src` a folder may import, itself aside. The public API and the command line stand above all. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  gpu: ["core"],
  memory: ["core", "gpu"],
  model: ["core", "memory"],
  trace: ["core"],
  physics: ["core", "model", "trace"],
  batch: ["core", "gpu", "memory", "model", "trace", "physics"],
  record: BELOW_ENV,
  monitor: BELOW_ENV,
  env: [...BELOW_ENV, "record", "monitor", "io"],
  report: ["core"],
  crash: [...BELOW_ENV, "record", "monitor"],
  compare: [...BELOW_ENV, "monitor", "env"],
  bench: [...BELOW_ENV, "monitor", "env", "compare", "report"],
  sizing: [...BELOW_ENV, "record", "env", "bench", "report"],
  wgsl: ["core", "trace"],
  rl: ["core", "gpu", "memory", "wgsl"],
  io: ["core"],
  scaffold: ["core", "model"],
  export: ["core", "rl", "io", "runs"],
  serve: [...BELOW_ENV, "env", "sizing", "render", "runs"],
  render: ["core", "gpu", "memory", "model", "io"],
  view: [...BELOW_ENV, "record", "monitor", "crash", "env", "io", "render", "rl", "runs"],
  runs: [...BELOW_ENV, "render", "record", "env", "crash", "report", "bench", "sizing", "rl", "io"],
};

/** What environments may use: the doors of the folders, and the words that a task's terms are written in. */
const PUBLIC = /^src\/(index|[^/]+\/index|trace\/(scalar|vector|math))\.ts$/;

/** The folders inside a folder, each of which may import those before it and itself; files beside them import them all. */
const INSIDE: Readonly<Record<string, readonly string[]>> = {
  env: ["space", "task", "kernel", "host"],
  rl: ["tables", "networks", "device", "replay", "ppo", "sac", "dqn", "sac-discrete"],
};

/** Edges that may carry types only. */
const TYPES_ONLY: Readonly<Record<string, readonly string[]>> = { rl: ["env"] };

const sources = repositoryFiles("src", "envs").filter((file) => file.endsWith(".ts"));

function layerOf(path: string): string | undefined {
  return /^src\/([^/]+)\//.exec(path)?.[1];
}

describe("imports", () => {
  test("no stage asks how its kernel is unrolled: it takes what follows from src/physics/form.ts", () => {
    const asking = repositoryFiles("src/physics").filter((file) =>
      /\bunroll(?:ing|ed)?\b/.test(readFileSync(join(ROOT, file), "utf8")),
    );
    expect(asking).toEqual(["src/physics/form.ts"]);
  });

  test("there are sources to read", () => {
    expect(sources.length).toBeGreaterThan(20);
    expect(importsOf("src/gpu/device.ts").map(({ to }) => to)).toContain("src/core/errors.ts");
  });

  test("every folder of src is in the table of layers", () => {
    const folders = new Set(sources.map(layerOf).filter((layer) => layer !== undefined && layer !== "cli"));
    expect([...folders].filter((layer) => !((layer as string) in LAYERS))).toEqual([]);
  });

  test("imports go down the layers only", () => {
    const wrong: string[] = [];
    for (const file of sources) {
      const layer = layerOf(file);
      if (layer === undefined || layer === "cli") continue;
      for (const { to, typesOnly } of importsOf(file)) {
        const other = layerOf(to);
        const inside =
          to.startsWith("src/") || to.startsWith("envs/") || to.startsWith("test/") || to.startsWith("tools/");
        if (!inside || other === layer) continue;
        const allowed = [...(LAYERS[layer] ?? []), ...(typesOnly ? (TYPES_ONLY[layer] ?? []) : [])];
        if (other === undefined || !allowed.includes(other)) wrong.push(`${file} imports ${to}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test("inside a folder imports go down too", () => {
    const wrong: string[] = [];
    for (const [folder, order] of Object.entries(INSIDE)) {
      const folderOf = (path: string) => new RegExp(`^src/${folder}/([^/]+)/`).exec(path)?.[1];
      const inside = sources.filter((file) => file.startsWith(`src/${folder}/`) && folderOf(file) !== undefined);
      expect(new Set(inside.map(folderOf))).toEqual(new Set(order));
      for (const { from, to } of inside.flatMap(importsOf)) {
        if (!to.startsWith(`src/${folder}/`)) continue;
        const up = order.indexOf(folderOf(to) ?? "") > order.indexOf(folderOf(from)!);
        if (up || folderOf(to) === undefined) wrong.push(`${from} imports ${to}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test("environments use the public API and each other", () => {
    const wrong = sources
      .filter((file) => file.startsWith("envs/"))
      .flatMap(importsOf)
      .filter(({ to }) => to.startsWith("src/") && !PUBLIC.test(to))
      .map(({ from, to }) => `${from} imports ${to}`);
    expect(wrong).toEqual([]);
  });

  test("relative imports name a file with its ending", () => {
    const wrong = sources
      .flatMap(importsOf)
      .filter(({ to }) => to.startsWith("src/") || to.startsWith("envs/"))
      .filter(({ to }) => !sources.includes(to))
      .map(({ from, to }) => `${from} imports ${to}`);
    expect(wrong).toEqual([]);
  });

  test("no cycles, of types neither", () => {
    expect(cyclesIn(sources)).toEqual([]);
  });

  test(`no file has more than ${LONGEST_FILE} lines`, () => {
    const written = (file: string) => /\.(ts|mjs|wgsl)$/.test(file) && !file.startsWith("shaders/emitted/");
    const shipped = repositoryFiles("src", "shaders", "envs", "viewer", "test", "bench", "tools", "examples").filter(
      written,
    );
    const long = shipped
      .map((file) => ({ file, lines: readFileSync(join(ROOT, file), "utf8").split("\n").length - 1 }))
      .filter(({ lines }) => lines > LONGEST_FILE);
    expect(long).toEqual([]);
  });
});
