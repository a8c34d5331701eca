// options that would do nothing, and paths that lead through a file: refused in one line
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { corralInside } from "../../support/cli-inside.ts";

const root = mkdtempSync(join(tmpdir(), "corral-in-vain-"));
afterAll(() => rmSync(root, { recursive: true }));
const file = join(root, "robot.xml");
writeFileSync(file, "<mujoco/>");

test.each([
  [["new-task", "walk", "--motion", "walk.csv"], "[usage] --motion is for a robot: pass --robot FILE.xml too."],
  [["new-task", "walk", "--cyclic"], "[usage] --cyclic is for a robot: pass --robot FILE.xml too."],
  [
    ["replay", join(root, "none"), "--out", "there"],
    "[usage] --out is 'there', the folder of a reproduction: pass --minimise too, or leave it out.",
  ],
  [["train", "CartPole", "--set", "numEnvs=3"], "[usage] --set is 'numEnvs=3', which the run decides: pass --envs."],
  [["train", "CartPole", "--set", "seed=3"], "which the run decides: pass --seed."],
  [["train", "CartPole", "--set", "autoreset=disabled"], "which the run decides: leave it out"],
  [["plan", "CartPole", "--train", "--set", "numEnvs=3"], "which the run decides: pass --envs."],
  [["play", join(file, "run")], `[no-run] ${join(file, "run")} is not there.`],
  [["evaluate", join(file, "run"), "--under", "mujoco"], "[no-run]"],
  [
    ["plan", "CartPole", "--envs", "4", "--device", "wasm", "--adapter", "embedded"],
    '[bad-option] adapter is "embedded"; device "wasm" has none: leave it out, or pass device: "gpu".',
  ],
  [["train", "CartPole", "--resume", ""], "[usage] --resume is '': pass the folder of a run."],
  [
    ["stress", "CartPole", "--factor", "1e99"],
    "[usage] --factor is '1e99': pass a number above 1 and at most 4294967296",
  ],
  [["stress", "CartPole", "--from", "1e10"], "[usage] --from is '1e10': pass an integer from 1 to 4294967296."],
  [["stress", "CartPole", "--threads", "1e99"], "[usage] --threads is '1e99': pass an integer from 1 to 256."],
  [["play", "a", "b"], "[usage] 'b' is one argument too many; one is expected. See --help."],
] as const)("corral %j", async (args, text) => {
  const { code, stderr } = await corralInside([...args]);
  expect(stderr).toContain(text);
  expect(stderr).not.toContain("    at ");
  expect(code).toBe(2);
});

test("the folder of a run in place of an environment is told of", async () => {
  writeFileSync(join(root, "config.json"), "{}");
  const { code, stderr } = await corralInside(["train", root]);
  expect(stderr).toContain(`[usage] '${root}' is a run: --resume ${root} goes on with it, --from ${root} from`);
  expect(code).toBe(2);
});

test("a motion that is a folder is told of in one line", async () => {
  writeFileSync(
    file,
    '<mujoco><worldbody><geom type="plane" size="1 1 .1"/><body pos="0 0 1"><joint name="hip"/><geom size=".1"/></body></worldbody><actuator><motor joint="hip"/></actuator></mujoco>',
  );
  const args = ["new-task", "walk", "--robot", file, "--kind", "track", "--motion", root, "--fps", "20"];
  const { code, stderr } = await corralInside(args);
  expect(stderr).toMatch(/^\[missing-file\] the motion .* cannot be read \(EISDIR\)/m);
  expect(code).toBe(2);
});
