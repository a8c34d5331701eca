// models that are kept on disk, and found there by a process that comes later
// alone in its process, since whether compiling was slow is known by the process: @vitest-environment-options {"alone":"model-cache"}
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { cacheModel, modelKey, readCachedModel, watched, type ModelKey } from "../../../src/model/model-cache.ts";
import { loadModel, type Model } from "../../../src/model/model.ts";
import { getMuJoCo } from "../../../src/model/mujoco.ts";
import { compileFile, readModelFile } from "../../../src/model/model-file.ts";
import { onBuild } from "../../support/built.ts";

const root = mkdtempSync(join(tmpdir(), "corral-kept-"));
const cache = join(root, "cache");
const folder = join(root, "model");
const file = join(folder, "main.xml");
const part = join(folder, "part.xml");

const BODY = `<mujocoinclude><body name="ball"><freejoint/><geom size="0.1"/></body></mujocoinclude>`;

beforeEach(() => {
  vi.stubEnv("CORRAL_MODEL_CACHE", cache);
  rmSync(cache, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, `<mujoco model="kept"><worldbody><include file="part.xml"/></worldbody></mujoco>`);
  writeFileSync(part, BODY);
});

afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true, force: true });
});

const keyOfFile = (): ModelKey => modelKey(file, { xml: readFileSync(file) })!;

/** What a process does that finds nothing. */
async function keep(): Promise<Model> {
  const key = keyOfFile();
  expect(readCachedModel(key)).toBeUndefined();
  compileFile(await getMuJoCo(), readModelFile(file), (tree) => watched(tree, key)).model.delete();
  const model = await loadModel(file);
  cacheModel(key, model);
  return model;
}

test("a kept model is the one that was compiled, with arrays of its own", async () => {
  const model = await keep();
  const kept = readCachedModel(keyOfFile())!;
  expect(kept).toEqual(model);
  expect(kept.body_pos.buffer.byteLength).toBe(model.body_pos.byteLength);
  expect(kept.source.assets["part.xml"]).toBeInstanceOf(Uint8Array);
});

test("other files, and other sources, are another model", async () => {
  await keep();
  const changed: [string, () => void][] = [
    ["its XML", () => writeFileSync(file, readFileSync(file, "utf8").replace("kept", "cept"))],
    ["a file that it includes", () => writeFileSync(part, BODY.replace("0.1", "0.2"))],
    ["an included file that is gone", () => rmSync(part)],
    ["an included file that is a folder", () => (rmSync(part), mkdirSync(part))],
  ];
  for (const [what, change] of changed) {
    change();
    expect(readCachedModel(keyOfFile()), what).toBeUndefined();
    rmSync(folder, { recursive: true });
    mkdirSync(folder);
    writeFileSync(file, `<mujoco model="kept"><worldbody><include file="part.xml"/></worldbody></mujoco>`);
    writeFileSync(part, BODY);
    expect(readCachedModel(keyOfFile()), `${what}, as it was`).toBeDefined();
  }
  const xml = "<mujoco/>";
  const keys = [
    modelKey("", { xml }),
    modelKey("a", { xml }),
    modelKey("", { xml, "asset a": "b" }),
    modelKey("", { xml, "asset ab": "" }),
  ].map((key) => key!.file);
  expect(new Set(keys).size).toBe(keys.length);
});

test("packages that ROS finds elsewhere, or in another folder, are another model", async () => {
  // so far down that no folder above it holds the packages
  const urdf = join(folder, "a/b/c/d/e/robot.urdf");
  mkdirSync(dirname(urdf), { recursive: true });
  writeFileSync(
    urdf,
    `<robot name="kept"><link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
    </inertial><collision><geometry><mesh filename="package://corral_kept/a.obj"/></geometry></collision></link></robot>`,
  );
  const put = (at: string, size: number) => {
    mkdirSync(join(root, at, "corral_kept"), { recursive: true });
    const corners = ["0 0 0", `${size} 0 0`, `0 ${size} 0`, `0 0 ${size}`].map((v) => `v ${v}`);
    writeFileSync(
      join(root, at, "corral_kept", "a.obj"),
      [...corners, "f 1 3 2", "f 1 2 4", "f 1 4 3", "f 2 3 4"].join("\n"),
    );
  };
  put("first", 1);
  put("second/c/d", 2);
  const keyAt = (at: string): ModelKey => {
    vi.stubEnv("ROS_PACKAGE_PATH", join(root, at));
    return modelKey(urdf, { xml: readFileSync(urdf) })!;
  };
  const keepAt = async (at: string) => {
    const key = keyAt(at);
    compileFile(await getMuJoCo(), readModelFile(urdf), (tree) => watched(tree, key)).model.delete();
    const model = await loadModel(urdf);
    cacheModel(key, model);
    return model.geom_rbound[0];
  };
  const first = await keepAt("first");
  expect(readCachedModel(keyAt("second"))).toBeUndefined();
  expect(await keepAt("second")).toBeCloseTo(2 * first, 6);
  expect(readCachedModel(keyAt("first"))!.geom_rbound[0]).toBe(first);
  expect(readCachedModel(keyAt("second"))!.geom_rbound[0]).toBeCloseTo(2 * first, 6);
  // a package less far down is found before it
  put("second/b", 3);
  expect(readCachedModel(keyAt("second"))).toBeUndefined();
  expect(await keepAt("second")).toBeCloseTo(3 * first, 6);
});

test("a damaged file is as if it were not there", async () => {
  await keep();
  const { file: at } = keyOfFile();
  const whole = readFileSync(at);
  const damaged = [
    whole.subarray(0, 0),
    whole.subarray(0, 70),
    whole.subarray(0, whole.length - 1),
    Buffer.from(whole.map((b, i) => (i === 400 ? b ^ 1 : b))),
    Buffer.from(whole.map((b, i) => (i === 3 ? b ^ 1 : b))),
  ];
  for (const bytes of damaged) {
    writeFileSync(at, bytes);
    expect(readCachedModel(keyOfFile())).toBeUndefined();
  }
  writeFileSync(at, whole);
  expect(readCachedModel(keyOfFile())).toBeDefined();
});

test("the oldest go where there are many, and nothing fails where nothing can be written", async () => {
  const model = await keep();
  for (let i = 0; i < 80; i++) {
    writeFileSync(join(cache, `old${i}`), "");
    utimesSync(join(cache, `old${i}`), i, i);
  }
  cacheModel(keyOfFile(), model);
  const names = readdirSync(cache);
  expect(names).toHaveLength(64);
  expect(names).toContain("old79");
  expect(names).not.toContain("old16");
  expect(readCachedModel(keyOfFile())).toBeDefined();

  vi.stubEnv("CORRAL_MODEL_CACHE", "off");
  expect(modelKey(file, {})).toBeUndefined();
  vi.stubEnv("CORRAL_MODEL_CACHE", "/proc/nothing");
  cacheModel(modelKey(file, {})!, model);
  expect(readCachedModel(modelKey(file, {})!)).toBeUndefined();
});

test("a process that finds its model does not start MuJoCo", () => {
  const script = onBuild(`
    const { loadModel } = await import("./src/model/model.ts");
    const { isMuJoCoLoaded } = await import("./src/model/mujoco.ts");
    const { nq, name } = await loadModel(${JSON.stringify(file)});
    console.log(JSON.stringify([nq, name, isMuJoCoLoaded()]));`);
  const run = () => {
    const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], {
      encoding: "utf8",
      cwd: process.cwd(),
    });
    expect(stderr).toBe("");
    return JSON.parse(stdout) as unknown;
  };
  expect(run()).toEqual([7, "kept", true]);
  expect(run()).toEqual([7, "kept", false]);
});

test("where compiling took long, a process whose MuJoCo runs looks for models too", async () => {
  await loadModel(file);
  expect(existsSync(cache)).toBe(false);
  let now = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 2000));
  const model = await loadModel(file);
  clock.mockRestore();
  await loadModel(file);
  const [kept] = readdirSync(cache);
  expect(await loadModel(file)).toEqual(model);
  expect(readdirSync(cache)).toEqual([kept]);
});
