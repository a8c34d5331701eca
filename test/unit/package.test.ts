// the package as npm packs it, installed into an empty folder: what a user has
import { execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, posix } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtUrl } from "../support/built.ts";
import { repositoryFiles, ROOT } from "../support/imports.ts";
import { PATIENCE_MS } from "../support/patience.ts";

interface Manifest {
  readonly version: string;
  readonly private?: boolean;
  readonly dependencies: Record<string, string>;
  readonly optionalDependencies: Record<string, string>;
}

let folder: string;
let project: string;
let packed: Set<string>;
const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest;

function run(command: string, args: string[], cwd = project) {
  const shell = process.platform === "win32";
  const env = { ...process.env, npm_config_loglevel: "error" };
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    shell,
    env,
    encoding: "utf8",
    timeout: PATIENCE_MS,
  });
  return { status, stdout, stderr };
}
const corral = (...args: string[]) => run(process.execPath, ["node_modules/corral/bin/corral.js", ...args]);

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "corral-package-")));
  project = join(folder, "project");
  const clone = join(folder, "clone");
  mkdirSync(project);

  // packed in a copy, since packing builds anew what other tests may be reading
  for (const file of repositoryFiles(".").filter((path) => !/^(test|bench)\//.test(path)))
    cpSync(join(ROOT, file), join(clone, file));
  symlinkSync(join(ROOT, "node_modules"), join(clone, "node_modules"), "junction");
  const [{ filename, files }] = JSON.parse(
    execFileSync("npm", ["pack", "--json", "--loglevel=error", "--pack-destination", folder], {
      cwd: clone,
      encoding: "utf8",
      shell: process.platform === "win32",
    }),
  ) as { filename: string; files: { path: string }[] }[];
  packed = new Set(files.map(({ path }) => path));

  // what it depends on is what this clone has: no registry is asked
  const needed = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
  const overrides = Object.fromEntries(needed.map((name) => [name, `file:${join(ROOT, "node_modules", name)}`]));
  const dependencies = { corral: `file:${join(folder, basename(filename))}` };
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, dependencies, overrides }));
  const installed = run("npm", ["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund"]);
  expect(installed.status, installed.stderr).toBe(0);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("what is packed", () => {
  test("may be published, and holds no sources, tests or tools", () => {
    expect(manifest.private).toBeUndefined();
    const strange = [...packed].filter(
      (path) =>
        !/^(bin|dist|docs|envs|examples)\/|^(python\/)?(README|FEATURES|CHANGELOG)\.md$|^(LICENSE|package\.json)$/.test(
          path,
        ),
    );
    expect(strange).toEqual([]);
  });

  test("every link of its pages leads to a file in it", () => {
    const pages = [...packed].filter((path) => path.endsWith(".md") && !path.startsWith("dist/"));
    expect(pages).toContain("docs/your-first-task.md");
    const has = (path: string) => packed.has(path) || [...packed].some((file) => file.startsWith(`${path}/`));
    const dead = pages.flatMap((page) =>
      [...readFileSync(join(project, "node_modules/corral", page), "utf8").matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
        .map(([, to]) => posix.normalize(posix.join(dirname(page), to)))
        .filter((to) => !has(to))
        .map((to) => `${page}: ${to}`),
    );
    expect(dead).toEqual([]);
  });
});

describe("in an empty project", () => {
  const program = `import { createSimulation, defineTask, loadModel, makeVec, openDevice } from "corral";
    export async function main(): Promise<ArrayLike<number>> {
      using gpu = await openDevice({ adapter: 0 });
      const task = defineTask({ id: "t", model: "", frameSkip: 1, maxEpisodeSteps: 9, observe: { x: "qpos" }, reward: { r: "1" } });
      await using envs = await makeVec(task, { numEnvs: 4, device: gpu });
      const buffer: GPUBuffer = envs.gpu!.observations.shards[0].buffer;
      await using sim = await createSimulation(await loadModel("m.xml"), { numEnvs: buffer.size });
      sim.step(1);
      return (await envs.step(new Float32Array(4))).rewards;
    }`;

  test.each([[undefined], [["es2022"]], [["es2022", "dom"]]])(
    "types check with all libraries checked and none named in the project: lib %s",
    (lib) => {
      writeFileSync(join(project, "program.ts"), program);
      const compilerOptions = { target: "es2022", module: "nodenext", strict: true, skipLibCheck: false, noEmit: true };
      const config = { compilerOptions: { ...compilerOptions, types: [], lib }, files: ["program.ts"] };
      writeFileSync(join(project, "tsconfig.json"), JSON.stringify(config));
      const { stdout, status } = run(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", project]);
      expect(stdout.split("\n").slice(0, 10).join("\n")).toBe("");
      expect(status).toBe(0);
    },
  );

  test("a new task is of a kind that this Node reads, and passes the checks", () => {
    const written = corral("new-task", "hold", "--json");
    const { file } = JSON.parse(written.stdout) as { file: string };
    const native = Boolean((process.features as { typescript?: unknown }).typescript);
    expect(file.endsWith(native ? ".mts" : ".mjs")).toBe(true);
    const { status, stdout, stderr } = corral("check-env", `./${basename(file)}`, "--steps", "20");
    expect(status, stdout + stderr).toBe(0);

    // TypeScript goes through the project's tsx, and if there is none the error names it
    const typed = join(project, "typed.mts");
    writeFileSync(typed, readFileSync(file, "utf8").replace("const model =", "const model: string ="));
    if (!native) {
      const refused = corral("check-env", "./typed.mts", "--steps", "20");
      expect([refused.status, refused.stderr]).toEqual([
        2,
        expect.stringMatching(
          /^\[bad-task-file\] .* does not read\. Run npm install --save-dev tsx beside it, use Node/,
        ),
      ]);
      symlinkSync(join(ROOT, "node_modules/tsx"), join(project, "node_modules/tsx"), "junction");
    }
    const checked = corral("check-env", "./typed.mts", "--steps", "20");
    expect(checked.status, checked.stdout + checked.stderr).toBe(0);
  });

  test("a task for a robot of one's own names the robot beside it, and passes the checks", () => {
    const arm = `<mujoco><worldbody><body pos="0 0 1"><joint name="j" axis="0 1 0"/><geom size="0.05" fromto="0 0 0 0 0 0.5" type="capsule"/>
      <site name="hand" pos="0 0 0.5"/></body></worldbody><actuator><motor joint="j"/></actuator></mujoco>`;
    writeFileSync(join(project, "arm.xml"), arm);
    const written = corral("new-task", "arm", "--robot", "arm.xml", "--kind", "reach", "--json");
    const { file } = JSON.parse(written.stdout) as { file: string };
    expect(readFileSync(file, "utf8")).toContain('new URL("./arm.xml", import.meta.url)');
    const { status, stdout, stderr } = corral("check-env", `./${basename(file)}`, "--steps", "20");
    expect(status, stdout + stderr).toBe(0);
  });

  test("programs that it writes find files by where they lie themselves", () => {
    const texts = readdirSync(join(project, "node_modules/corral/dist/src"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".js"))
      .map((name) => readFileSync(join(project, "node_modules/corral/dist/src", name), "utf8"));
    const reproductions = texts.flatMap((text) => text.match(/await loadModel\(new URL\(.*/g) ?? []);
    expect(reproductions).toEqual([expect.stringMatching(/source\.file}`\)}, import\.meta\.url\)\)`;$/)]);
  });

  test("a global command runs the project's own copy", () => {
    const version = join(project, "node_modules/corral/package.json");
    const was = readFileSync(version, "utf8");
    writeFileSync(version, was.replace(manifest.version, "9.9.9"));
    const global = run(process.execPath, [join(ROOT, "bin/corral.js"), "--version"]);
    writeFileSync(version, was);
    expect(global.stdout).toBe("9.9.9\n");
  });

  test("two copies in one process are told from a misused operator", () => {
    const program = `import { makeVec } from ${JSON.stringify(builtUrl(join(ROOT, "src/index.ts")))};
      import { defineTask, scalar, startAround } from "corral";
      const model = '<mujoco><worldbody><body><joint name="x" type="slide"/><geom size="1"/></body></worldbody><actuator><motor joint="x"/></actuator></mujoco>';
      const task = { id: "T", model, frameSkip: 1, maxEpisodeSteps: 9, observe: { x: "qpos" }, reward: { r: "1" } };
      const terms = [{ reset: startAround({ qpos: 1, qvel: 1 }) }, { reward: { r: (s) => scalar.mul(2, s.d.qpos.at(0)) } }];
      for (const more of terms)
        await makeVec(defineTask({ ...task, ...more }), { numEnvs: 1, device: "cpu" }).catch((e) => console.log(e.message));`;
    writeFileSync(join(project, "two.mjs"), program);
    const { stdout, stderr } = run(process.execPath, ["two.mjs"]);
    expect(stderr).toBe("");
    const lines = stdout.trim().split("\n");
    expect(lines).toHaveLength(2);
    for (const line of lines)
      expect(line).toMatch(/^\[two-copies\] task T, .*: 2 copies of corral are loaded \(.*project/);
  });

  test("it works: an environment steps, and the commands know their files", () => {
    const program = `import { makeVec } from "corral";
      await using envs = await makeVec("CartPole", { numEnvs: 3, device: "cpu" });
      await envs.reset({ seed: 1 });
      console.log((await envs.step(new Int32Array(3))).rewards.join());`;
    writeFileSync(join(project, "step.mjs"), program.replace("await using", "const"));
    expect(run(process.execPath, ["step.mjs"]).stdout).toBe("1,1,1\n");
    const { stdout } = corral("list");
    expect(stdout).toContain("Ant-v5");
    // bounds of twelve joints would make every row 200 wide
    expect(stdout).toContain("Box([-1.726, ...], [1.726, ...], [12], float32)");
    expect(existsSync(join(project, "node_modules/corral/src"))).toBe(false);
  });
});
