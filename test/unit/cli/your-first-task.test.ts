// the tutorial, run as it stands
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtProgram } from "../../support/built.ts";
import { openCli } from "../../support/cli-process.ts";
import { ROOT } from "../../support/imports.ts";
import { PATIENCE_MS } from "../../support/patience.ts";
import { worldsOnWasm } from "../../support/on-wasm.ts";

worldsOnWasm();

const text = readFileSync(join(ROOT, "docs/your-first-task.md"), "utf8");
const blocks = [...text.matchAll(/```ts file=(\S+)\n([\s\S]*?)```/g)].map(([, file, code]) => ({ file, code }));
const library = JSON.stringify(new URL("../../../src/index.ts", import.meta.url).href);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "corral-tutorial-"));
  for (const { file, code } of blocks) writeFileSync(join(folder, file), code.replace('"corral"', library));
  cli = openCli(folder);
});
afterAll(() => {
  cli.close();
  rmSync(folder, { recursive: true });
});

const node = (args: string[], cwd = folder) =>
  spawnSync(process.execPath, args, { cwd, encoding: "utf8", timeout: PATIENCE_MS });
let cli: ReturnType<typeof openCli>;
const corral = (...args: string[]) => cli.run(...args);

describe("the tutorial", () => {
  test("runs", async () => {
    expect(blocks.map(({ file }) => file)).toEqual([
      "swing-up.mts",
      "run.mts",
      "own.mts",
      "reach.mts",
      "choices.mts",
      "sway.mts",
    ]);
    const run = async (file: string) => {
      const { stdout, stderr, status } = node([await builtProgram(join(folder, file))]);
      expect(stderr).toBe("");
      expect(status).toBe(0);
      return stdout;
    };
    expect(await run("reach.mts")).toMatch(/missing Float32Array\(4\) \[/);
    expect(await run("own.mts")).toMatch(/^spins \[ \d[^]*\]\n$/);
    expect(await run("choices.mts")).toBe("three Discrete(3)\ntwo MultiDiscrete([2, 5])\n");
    expect(await run("sway.mts")).toMatch(/rewards \[(\s+[\d.]+,?){4}\s+\]/);
    expect(await run("run.mts")).toMatch(/height \d.* ended by \[ 'max_episode_steps' \]/);
  });

  test("shows the error that is thrown", async () => {
    const { makeVec } = await import("../../../src/env/index.ts");
    const { default: task } = (await import(join(folder, "swing-up.mts"))) as { default: { reward: object } };
    const reward = { height: "exp(-square(site_xpos(site.tipp).z - param.goal) / 0.1)" };
    const wrong = makeVec({ ...task, reward } as never, { numEnvs: 1, device: "cpu" } as never);
    const shown = /```text\n([\s\S]*?)\n```/.exec(text)![1];
    await expect(wrong).rejects.toThrow(shown);
  });
});

describe("corral new-task and check-env", () => {
  test("what a task prints is no part of --json", async () => {
    const loud = `import task from "./swing-up.mts"; console.table([1]); process.stdout.write("loud\\n");`;
    writeFileSync(join(folder, "loud.mts"), `${loud} export default { ...task, id: "loud" };`);
    const { stdout, stderr } = await corral("plan", "./loud.mts", "--envs", "2", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ numEnvs: 2 });
    expect(stderr).toContain("loud");
    expect((await corral("plan", "./loud.mts", "--envs", "2")).stdout).toContain("2 worlds");
  });

  test("what is written passes the checks, and is a target of other commands", async () => {
    const written = await corral("new-task", "hold");
    expect(written.code).toBe(0);
    expect(written.stdout).toContain("Next: corral check-env ./hold.mts, then corral train ./hold.mts --view");
    expect(readFileSync(join(folder, "hold.mts"), "utf8").split("\n").length).toBeLessThan(45);
    const checked = await corral("check-env", "./hold.mts", "--steps", "60", "--json");
    const { device, passed, results } = JSON.parse(checked.stdout) as {
      device: string;
      passed: boolean;
      results: { ok: unknown }[];
    };
    // CORRAL_DEVICE holds for commands that have a default of their own, too
    expect(device).toContain("WebAssembly");
    expect(checked.code).toBe(0);
    expect(passed).toBe(true);
    expect(results.length).toBeGreaterThan(10);
    expect((await corral("plan", "./hold.mts", "--envs", "10")).stdout).toContain("per_world");
    expect((await corral("new-task", "hold")).stderr).toMatch(/is there already/);
  });

  test("what a task does wrong is told", async () => {
    const task = `import { defineTask, scalar } from ${library};
      export default defineTask({ id: "odd", model: "<mujoco><worldbody><body><joint type='slide' name='x'/><geom size='1'/></body></worldbody><actuator><motor joint='x'/></actuator></mujoco>",
        frameSkip: 1, maxEpisodeSteps: 20, observe: { x: "qpos", bad: (s) => scalar.div(1, scalar.sub(s.d.qpos.at(0), s.d.qpos.at(0))) }, reward: { log: "1 / (episode_length - 5)" } });`;
    writeFileSync(join(folder, "odd.mts"), task);
    const bad = await corral("check-env", "./odd.mts");
    expect(bad.stderr).toContain("[trace-non-finite] task odd, observe.bad");
    expect(bad.code).toBe(2);
    writeFileSync(join(folder, "odd2.mts"), task.replace(/bad: .*? \},/, "},").replace('"odd"', '"my/odd.xml"'));
    const failed = await corral("check-env", "./odd2.mts", "--device", "cpu");
    // nothing of its start is drawn
    expect(failed.stdout).toContain("note  another seed starts otherwise");
    expect(failed.stdout).toMatch(
      /^my\/odd\.xml:\n {2}ok {4}builds[^]*FAIL {2}rewards are finite[^]*\nChecks failed on cpu \(JavaScript f32\)\.\n$/,
    );
    expect(failed.code).toBe(1);
  });

  test("files that are no tasks are refused", async () => {
    writeFileSync(join(folder, "none.mts"), "export const task = 1;");
    expect((await corral("check-env", "./none.mts")).stderr).toContain("[bad-task-file] ./none.mts exports no task.");
    expect((await corral("check-env", "./missing.mts")).stderr).toContain(
      "[bad-task-file] ./missing.mts is not there.",
    );
    // what new-task wrote where Node reads no TypeScript
    writeFileSync(join(folder, "written.mjs"), "export default 1;");
    expect((await corral("check-env", "./written.mts")).stderr).toBe(
      "[bad-task-file] ./written.mts is not there. Pass ./written.mjs.\n",
    );
    const mistakes: [string, string, string][] = [
      ["nothing.mts", "export default null;", "exports no task"],
      ["function.mts", "export default () => ({ id: 'Mine' });", "exports a function by default"],
      ["js-env.mts", "export default { makeWorld: () => ({}) };", "exports an environment in JavaScript"],
      ["throws.mts", "\nthrow new Error('mine');", "throws.mts cannot be loaded: mine (line 2). Mend it there."],
      ["throws-null.mts", "throw null;", "throws-null.mts cannot be loaded: null. Mend it there."],
      ["syntax.mts", "export default {;", "syntax.mts cannot be loaded: Transform failed with 1 error: "],
      ["import.mts", 'import "./none-such.mjs";', "import.mts cannot be loaded: Cannot find module"],
      [
        "alone.mjs",
        'import "corral";',
        "alone.mjs imports corral, which is not installed where it lies. Run npm install",
      ],
    ];
    for (const [file, program, said] of mistakes) {
      writeFileSync(join(folder, file), program);
      const { stderr, code } = await corral("check-env", `./${file}`);
      expect(stderr).toMatch(/^\[bad-task-file\] [^\n]*\n$/);
      expect(stderr).toContain(said);
      expect(code).toBe(2);
    }
    expect((await corral("new-task", "1x")).stderr).toContain("'1x' is no name of a task");
  });

  test("a task in a clone that is not built is told how to build it", async () => {
    const clone = join(folder, "clone");
    mkdirSync(join(clone, "src"), { recursive: true });
    writeFileSync(
      join(clone, "package.json"),
      '{ "name": "corral", "type": "module", "exports": "./dist/src/index.js" }',
    );
    writeFileSync(join(clone, "src/index.ts"), "");
    writeFileSync(join(clone, "task.mjs"), 'import "corral";');
    expect((await corral("check-env", "./clone/task.mjs")).stderr).toContain(
      `Run npm run build in ${realpathSync(clone)}.`,
    );
  });

  test("a motion that does not say how fast it is, is asked for it", async () => {
    const [path, motion] = [join(ROOT, "envs/arm_table/model.xml"), join(folder, "motion.csv")];
    writeFileSync(motion, "0,0,0\n0.1,0,0\n");
    const { code, stderr } = await corral("new-task", "Wave", "--robot", path, "--kind", "track", "--motion", motion);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/does not say how many frames.*Pass --fps/)]);
  });

  test("a motion with quaternions whose w comes last", async () => {
    const [robot, motion] = [join(folder, "ball.xml"), join(folder, "rolls.csv")];
    writeFileSync(
      robot,
      '<mujoco><worldbody><geom type="plane" size="5 5 .1"/><body name="trunk" pos="0 0 .2"><freejoint/><geom size=".2"/><body><joint name="arm"/><geom size=".05" pos="0 0 .4"/></body></body></worldbody><actuator><motor joint="arm"/></actuator></mujoco>',
    );
    writeFileSync(motion, "0,0,.2,0,0,0,1,0\n0.1,0,.2,0,0,0.1,0.995,0\n");
    const track = ["--robot", robot, "--kind", "track", "--motion", motion, "--fps", "10"];
    const { code, stdout } = await corral("new-task", "Roll", ...track, "--quaternions", "xyzw");
    expect([code, stdout]).toEqual([0, expect.not.stringContaining("turned by half")]);
    expect(readFileSync(join(folder, "Roll.mts"), "utf8")).toContain('fps: 10,\n  quaternions: "xyzw",\n');
    const wrong = await corral("new-task", "Roll2", ...track, "--quaternions", "last");
    expect([wrong.code, wrong.stderr]).toEqual([2, "[usage] --quaternions is 'last': pass wxyz or xyzw.\n"]);
  });

  test("reach for a robot that floats is told so", async () => {
    const path = join(ROOT, "envs/quadruped/model.xml");
    const { stdout } = await corral("new-task", "Fetch", "--robot", path, "--kind", "reach");
    expect(stdout).toContain('It floats (joint "root"), and nothing in this task keeps it from falling');
    const arm = await corral(
      "new-task",
      "Grasp",
      "--robot",
      join(ROOT, "envs/pick_and_place/model.xml"),
      "--kind",
      "reach",
    );
    expect([arm.code, arm.stdout]).toEqual([0, expect.not.stringContaining("floats")]);
  });
});
