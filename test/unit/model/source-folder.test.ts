import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadModel } from "../../../src/model/model.ts";
import { compileSourceHere } from "../../../src/model/read-model.ts";
import { sourceFolder } from "../../../src/model/source-folder.ts";

const root = mkdtempSync(join(tmpdir(), "corral-source-folder-"));
afterAll(() => rmSync(root, { recursive: true }));

const FILES = {
  "robot/scene/robot.xml": `<mujoco><compiler meshdir=".."/><include file="../parts/assets.xml"/>
    <worldbody><body><freejoint/><geom type="mesh" mesh="ball"/></body></worldbody></mujoco>`,
  "robot/parts/assets.xml": `<mujocoinclude><asset><mesh name="ball" file="../robot/meshes/ball.obj"/></asset></mujocoinclude>`,
  "robot/meshes/ball.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4",
};

describe("a model whose files are named by way of a folder above all of them", () => {
  beforeAll(() => {
    for (const [path, text] of Object.entries(FILES)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
  });

  // compare, replays and threads compile the source again
  test("compiles again from its source", async () => {
    const model = await loadModel(join(root, "robot/scene/robot.xml"));
    expect(model.source.file).toBe("robot/scene/robot.xml");
    expect((await compileSourceHere(model.source)).nmesh).toBe(1);
  });
});

const folderOf = (texts: Record<string, string>, model: string): string =>
  sourceFolder(new Map(Object.entries(texts).map(([path, text]) => [path, new TextEncoder().encode(text)])), model);

describe("the folder of a source", () => {
  test("is the deepest one where names stay within it", () => {
    const texts = { "a/b/c/m.xml": `<mesh file="../meshes/x.stl"/>`, "a/b/meshes/x.stl": "" };
    expect(folderOf(texts, "a/b/c/m.xml")).toBe("a/b/");
  });

  test("is as high as a name climbs on its way down again", () => {
    const texts = { "a/b/c/m.xml": `<mesh file='../../b/c/x.stl'/>`, "a/b/c/x.stl": "" };
    expect(folderOf(texts, "a/b/c/m.xml")).toBe("a/");
  });

  test("is none the higher for names of files that were not read", () => {
    const texts = { "a/b/m.xml": `<texture file="../../other/x.png"/>`, "a/b/x.png": "" };
    expect(folderOf(texts, "a/b/m.xml")).toBe("a/b/");
  });
});

test("a missing file beside the model's folder is told by its way there, not as an absolute path", async () => {
  mkdirSync(join(root, "lone"));
  const file = join(root, "lone/robot.xml");
  writeFileSync(file, `<mujoco><include file="../parts/hand.xml"/></mujoco>`);
  const error = (await loadModel(file).catch((e: unknown) => e)) as Error;
  expect(error.message).toContain('names the file "../parts/hand.xml"');
  expect(error.message).toContain("Put it there");
});

test("a missing file with a quote in its name is told whole", async () => {
  const mesh = (file: string) => `<mesh name="m" file="${file}"/>`;
  const xml = `<mujoco><asset>${mesh("it's there.stl")}</asset><worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>`;
  await expect(loadModel(xml)).rejects.toMatchObject({ code: "missing-file", details: { file: "it's there.stl" } });
});
