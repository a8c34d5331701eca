// `corral replay` on planted crashes, on the CPU: what it prints, what it writes, its exit codes
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { BisectReport } from "../../../src/crash/bisect.ts";
import { Reexecution } from "../../../src/crash/reexecute.ts";
import type { ReplayReport } from "../../../src/crash/replay.ts";
import type { SecondOpinion } from "../../../src/crash/second-opinion.ts";
import { corralInside } from "../../support/cli-inside.ts";
import { PLANTS, runPlant } from "../../support/crashes.ts";
import { ROOT } from "../../support/imports.ts";

const directory = mkdtempSync(join(tmpdir(), "corral-replay-"));
const bundles = new Map<string, string>();

beforeAll(async () => {
  for (const name of ["stiff spring", "external force", "reward division"]) {
    const i = PLANTS.findIndex((plant) => plant.name === name);
    const { health } = await runPlant(i, [3, 9], true, { numEnvs: 16, device: "cpu", recorder: { directory } });
    bundles.set(name, health.bundles[0]);
  }
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test("identical, with the first bad field, its cause and MuJoCo's opinion", async () => {
  const { code, stdout } = await corralInside([
    "replay",
    bundles.get("stiff spring")!,
    "--bisect",
    "--against",
    "mujoco",
  ]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^identical: \d+ control steps, hash [0-9a-f]{64}$/m);
  expect(stdout).toMatch(/^ {2}stage {10}passive$/m);
  expect(stdout).toMatch(/^ {2}first bad {6}qfrc_spring\[0\] \(joint "slide"\) = -\d/m);
  expect(stdout).toMatch(/^certain: the timestep is too large for the stiffness of joint "slide"/m);
  expect(stdout).toMatch(/^against MuJoCo in float64: MuJoCo blows up too: the physics\./m);
});

test("one JSON document, of the world that is asked for", async () => {
  const args = ["replay", bundles.get("reward division")!, "--bisect", "--against", "mujoco", "--world", "9", "--json"];
  const { code, stdout } = await corralInside(args);
  expect(code).toBe(0);
  const found = JSON.parse(stdout) as { replay: ReplayReport; bisect: BisectReport; against: SecondOpinion };
  expect(found.replay).toMatchObject({ identical: true, differences: [] });
  expect(found.bisect).toMatchObject({ id: 9, status: ["BAD_REWARD"], blame: { stage: "task", op: "div" } });
  expect(found.against.verdict).toBe("task");
});

test("--world is the id of a world, not its place", async () => {
  // the ids of the two that crash are each other's places
  const worldIds = Array.from({ length: 16 }, (_, place) => 15 - place);
  const i = PLANTS.findIndex((plant) => plant.name === "stiff spring");
  const options = { numEnvs: 16, device: "cpu", recorder: { directory }, worldIds } as const;
  const [path] = (await runPlant(i, [3, 12], true, options)).health.bundles;
  for (const id of [3, 12]) {
    const { stdout } = await corralInside(["replay", path, "--bisect", "--world", `${id}`, "--json"]);
    const found = JSON.parse(stdout) as { bisect: BisectReport };
    expect(found.bisect).toMatchObject({ id, world: 15 - id });
  }
  const { code, stderr } = await corralInside(["replay", path, "--bisect", "--world", "4"]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/\[unknown-world\].* holds no world of id 4; its ids are 12 \(place 3\), 3 \(place 12\)\./);
});

test("a bundle is executed once, whatever is asked of it", async () => {
  const create = vi.spyOn(Reexecution, "create");
  const args = ["replay", bundles.get("stiff spring")!, "--bisect", "--against", "mujoco", "--minimise"];
  expect((await corralInside([...args, "--out", join(directory, "once")])).code).toBe(0);
  expect(create).toHaveBeenCalledTimes(1);
  create.mockRestore();
});

test("in another precision it says what differs, and how far it is", async () => {
  const { code, stdout } = await corralInside(["replay", bundles.get("stiff spring")!, "--device", "cpu-f64"]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^NOT identical: /m);
  expect(stdout).toMatch(/^ {2}driver: recorded with cpu \(JavaScript f32\), here cpu \(JavaScript f64\)$/m);
  expect(stdout).toMatch(/^drift at the end/m);
});

test("in threads of wasm the bits are those of one", async () => {
  const hashes = [];
  for (const threads of ["1", "3"]) {
    const args = ["replay", bundles.get("stiff spring")!, "--device", "wasm", "--threads", threads, "--json"];
    hashes.push((JSON.parse((await corralInside(args)).stdout) as { replay: ReplayReport }).replay.hash);
  }
  expect(hashes[1]).toBe(hashes[0]);
});

/** Runs a reproduction, which must fail. Returns its text. */
async function failsAgain(folder: string): Promise<string> {
  const file = join(folder, "reproduction.mts");
  const text = readFileSync(file, "utf8");
  const index = pathToFileURL(join(ROOT, "src/index.ts")).href;
  writeFileSync(file, text.replace('from "corral"', `from ${JSON.stringify(index)}`));
  await import(/* @vite-ignore */ pathToFileURL(file).href);
  expect(process.exitCode).toBe(1);
  process.exitCode = 0;
  return text;
}

describe("--minimise", () => {
  test("finds the smallest change that helps, and writes a program that shows the failure", async () => {
    const out = join(directory, "out");
    const { code, stdout } = await corralInside(["replay", bundles.get("stiff spring")!, "--minimise", "--out", out]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^smallest change that helps: timestep 0\.000125 \(1\/16\), frameSkip x 16$/m);
    await failsAgain(out);
  });

  test("takes a force that an event makes infinite for the largest there is, and tells that it alone is to blame", async () => {
    const out = join(directory, "force");
    const { code, stdout } = await corralInside(["replay", bundles.get("external force")!, "--minimise", "--out", out]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^shortest: control step 16, of \d+ recorded/m);
    expect(stdout).toMatch(/^forces that were not finite are as large as float32 goes/m);
    expect(stdout).toMatch(/^smallest change that helps: no forces and changes of velocity from events$/m);
    expect(stdout).toMatch(/^ {2}solver CG +still fails$/m);
    expect(await failsAgain(out)).toContain("qfrc_applied: [3.4028234663852886e+38]");
  });

  test("says that it cannot write the program, as other commands do", async () => {
    const out = join(bundles.get("stiff spring")!, "tables.json", "below");
    const { code, stderr } = await corralInside(["replay", bundles.get("stiff spring")!, "--minimise", "--out", out]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("[reproduction-not-written]")]);
  });

  test("has nothing to do where the physics is not what failed", async () => {
    const path = bundles.get("reward division")!;
    const { code, stdout, stderr } = await corralInside(["replay", path, "--bisect", "--minimise"]);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^\[nothing-to-minimise\]/m)]);
    expect(stdout).toMatch(/^certain: reward term .* by 0/m);
  });
});

test("bad usage", async () => {
  const path = bundles.get("stiff spring")!;
  for (const args of [[], [path, "--against", "brax"], [path, "--world", "77"], [path, "--wrold", "3"]])
    expect((await corralInside(["replay", ...args])).code).toBe(2);
});
