import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CorralError } from "../../../src/core/errors.ts";
import { modelIn } from "../../../src/model/archive.ts";
import { loadModel } from "../../../src/model/model.ts";
import { createOracle } from "../../../src/model/oracle.ts";

const root = mkdtempSync(join(tmpdir(), "corral-packages-"));
const TET = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
const SCENE = `<mujoco model="scene"><include file="robot.xml"/></mujoco>`;
const ROBOT = `<mujoco><compiler meshdir="assets"/><asset><mesh file="a.obj"/></asset>
  <worldbody><body><freejoint/><geom type="mesh" mesh="a"/></body></worldbody></mujoco>`;
const OTHER = `<mujoco model="other"/>`;
const FILES = { "bot/scene.xml": SCENE, "bot/robot.xml": ROBOT, "bot/assets/a.obj": TET };

const urdf = (mesh: string, more = "") => `<?xml version="1.0"?><robot name="r">${more}
  <link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><mesh filename="package://r_description/meshes/visual/a.dae"/></geometry></visual>
    <collision><geometry><mesh filename="${mesh}"/></geometry></collision></link></robot>`;

/** A zip of files, deflated but for every second. */
function zip(files: Readonly<Record<string, string>>): Uint8Array {
  const [parts, directory]: [Buffer[], Buffer[]] = [[], []];
  let at = 0;
  Object.entries(files).forEach(([path, text], i) => {
    const [name, content] = [Buffer.from(path), Buffer.from(text)];
    const data = i % 2 ? content : deflateRawSync(content);
    const head = Buffer.alloc(26);
    head.writeUInt16LE(20, 0);
    head.writeUInt16LE(i % 2 ? 0 : 8, 4);
    head.writeUInt32LE(crc32 ? crc32(content) : 0, 10);
    head.writeUInt32LE(data.length, 14);
    head.writeUInt32LE(content.length, 18);
    head.writeUInt16LE(name.length, 22);
    const [local, entry, tail] = [Buffer.from("PK\x03\x04"), Buffer.from("PK\x01\x02\x14\0"), Buffer.alloc(14)];
    tail.writeUInt32LE(at, 10);
    parts.push(local, head, name, data);
    directory.push(entry, head, tail, name);
    at += 30 + name.length + data.length;
  });
  const size = directory.reduce((n, b) => n + b.length, 0);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(Object.keys(files).length, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, ...directory, end]);
}

function put(path: string, content: string | Uint8Array): string {
  const at = join(root, path);
  mkdirSync(dirname(at), { recursive: true });
  writeFileSync(at, content);
  return at;
}

async function refusal(loading: Promise<unknown>): Promise<CorralError> {
  const error = await loading.catch((e: unknown) => e);
  expect(error).toBeInstanceOf(CorralError);
  return error as CorralError;
}

beforeAll(() => {
  for (const [path, text] of Object.entries(FILES)) put(`plain/${path}`, text);
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe("a model in a zip", () => {
  test("is the file that no other includes, with what it names", async () => {
    const model = await loadModel(put("bot.zip", zip(FILES)));
    expect(model.name).toBe("scene");
    expect(model.nmesh).toBe(1);
    expect(Object.keys(model.source.assets).sort()).toEqual(["assets/a.obj", "robot.xml"]);
    // and can be compiled again from what is kept
    using oracle = await createOracle(model);
    expect(oracle.model.ngeom).toBe(1);
  });

  test("is chosen by its path where there are several", async () => {
    const path = put("two.zip", zip({ "bot/deep/far.xml": OTHER, ...FILES, "bot/other.xml": OTHER }));
    const error = await refusal(loadModel(path));
    expect(error.code).toBe("several-models");
    expect(error.message).toContain("2 models: bot/scene.xml, bot/other.xml.");
    expect((await loadModel(`${path}/bot/other.xml`)).name).toBe("other");
    // one nearer to the root than the others is taken: packages hold parts of robots deeper
    expect((await loadModel(put("further.zip", zip({ ...FILES, "bot/deep/far.xml": OTHER })))).name).toBe("scene");
    expect((await refusal(loadModel(`${path}/bot/none.xml`))).code).toBe("missing-file");
  });

  test.each([
    ["cut short", (bytes: Uint8Array) => bytes.slice(0, -30)],
    ["damaged", (bytes: Uint8Array) => bytes.map((b, i) => (i > 40 && i < 60 ? 255 - b : b))],
    ["leading out", () => zip({ "../scene.xml": SCENE })],
  ])("that is %s is refused", async (label, change) => {
    const path = put(`bad ${label}.zip`, change(zip(FILES)));
    expect((await refusal(loadModel(path))).code).toBe("bad-archive");
  });

  test("whose bytes were altered, or whose XML is larger than a text, is refused", async () => {
    const bytes = zip(FILES);
    // of the second file, which is stored
    bytes[Buffer.from(bytes).indexOf("<compiler")] ^= 1;
    const error = await refusal(loadModel(put("altered.zip", bytes)));
    expect([error.code, error.message]).toEqual([
      "bad-archive",
      expect.stringContaining("has other bytes than were packed"),
    ]);
    const large = { "scene.xml": new Uint8Array(2 ** 28 + 1) };
    expect(() => modelIn(large, "large.zip")).toThrow(/^\[bad-archive\].*scene\.xml has .*, an XML at most 256 MiB/);
  });

  test("without a model is refused", async () => {
    expect((await refusal(loadModel(put("none.zip", zip({ "a.txt": "a" }))))).code).toBe("missing-file");
  });
});

describe("a URDF", () => {
  test.each([
    ["in its package", "ws/r_description/urdf/r.urdf", "ws/r_description/meshes/collision/a.obj"],
    ["beside its package", "ws2/r.urdf", "ws2/r_description/meshes/collision/a.obj"],
    ["of a package that was installed elsewhere", "ws3/r.urdf", "ws3/r_description/meshes/collision/a.obj"],
    ["in a package further down", "ws4/arms/one/arm/r.urdf", "ws4/hands/two/r_description/meshes/collision/a.obj"],
    ["with a third slash", "ws5/other/urdf/r.urdf", "ws5/other/meshes/collision/a.obj"],
    ["with a third slash, further down", "ws6/one/r.urdf", "ws6/two/three/r_description/meshes/collision/a.obj"],
  ])("finds meshes of package:// %s", async (where, file, mesh) => {
    put(mesh, TET);
    const root = where.startsWith("of")
      ? "file:///home/someone/install/share"
      : where.startsWith("with a third")
        ? "package://"
        : "package:/";
    const model = await loadModel(put(file, urdf(`${root}/r_description/meshes/collision/a.obj`)));
    expect([model.nmesh, model.ngeom]).toEqual([1, 1]);
    using oracle = await createOracle(model);
    expect(oracle.model.nmesh).toBe(1);
  });

  test("finds meshes of relative paths, those that lie beside it, and those where it says", async () => {
    put("flat/meshes/a.obj", TET);
    put("flat/a.obj", TET);
    for (const [mesh, more] of [
      ["meshes/a.obj", ""],
      ["gone/a.obj", ""],
      ["a.obj", `<mujoco><compiler meshdir="meshes"/></mujoco>`],
      ["meshes/a.obj", `<mujoco><compiler balanceinertia="true"/></mujoco>`],
      // as MuJoCo had them until 3.6: the last part of the path, in the folder
      ["meshes/a.obj", `<mujoco><compiler meshdir="meshes"/></mujoco>`],
      [
        "package://r_description/meshes/a.obj",
        `<mujoco><compiler balanceinertia="true" meshdir='./meshes/'/></mujoco>`,
      ],
      ["meshes/a.obj", `<mujoco><compiler assetdir="gone"/></mujoco>`],
    ])
      expect((await loadModel(put("flat/r.urdf", urdf(mesh, more)))).nmesh).toBe(1);
  });

  test.each(["package://r_description/meshes/a.obj", "../meshes/a.obj"])(
    "that an MJCF attaches finds %s, each time it is loaded, and what it was made of is kept",
    async (mesh) => {
      put("attached/r_description/meshes/a.obj", TET);
      put("attached/r_description/urdf/r.urdf", urdf(mesh));
      const scene = `<mujoco><asset><model name="r" file="../r_description/urdf/r.urdf"/></asset>
        <worldbody><body><freejoint/><attach model="r" prefix=""/></body></worldbody></mujoco>`;
      const path = put("attached/mine/scene.xml", scene);
      for (let n = 0; n < 2; n++) {
        const model = await loadModel(path);
        expect(model.nmesh).toBe(1);
        using oracle = await createOracle(model);
        expect(oracle.model.nmesh).toBe(1);
      }
      const { geom_rbound } = await loadModel(path);
      put("attached/r_description/meshes/a.obj", TET.replaceAll("1 0 0", "9 0 0"));
      expect((await loadModel(path)).geom_rbound[0]).toBeGreaterThan(2 * geom_rbound[0]);
    },
  );

  test("that xacro is yet to make is refused, one that it made is not", async () => {
    const made = urdf("a.obj", `<!-- <xacro:include/> -->`).replace(
      `"r">`,
      `"r" xmlns:xacro="http://ros.org/wiki/xacro">`,
    );
    put("xacro/a.obj", TET);
    expect((await loadModel(put("xacro/r.urdf", made))).nmesh).toBe(1);
    const error = await refusal(loadModel(put("xacro/r.xacro", made.replace("<link", `<xacro:macro name="m"/><link`))));
    expect([error.code, error.message]).toEqual(["unexpanded-xacro", expect.stringContaining("> robot.urdf")]);
    const part = await refusal(loadModel(put("xacro/p.urdf", urdf("$(arg meshes)/a.obj"))));
    expect(part.code).toBe("unexpanded-xacro");
    const elsewhere = await refusal(loadModel(put("xacro/f.urdf", urdf("file:///somewhere/b.obj"))));
    expect(elsewhere.message).toContain("Absolute paths are not followed");
  });

  test("as text finds them in its assets", async () => {
    const assets = { "r_description/meshes/a.obj": TET };
    expect((await loadModel(urdf("package://r_description/meshes/a.obj"), { assets })).nmesh).toBe(1);
  });

  test("that names a mesh that is nowhere is refused by that name", async () => {
    const error = await refusal(loadModel(put("gone/r.urdf", urdf("package://gone/a.obj"))));
    expect(error.code).toBe("missing-file");
    expect(error.message).toContain(`"package://gone/a.obj"`);
    expect(error.message).toContain("ROS_PACKAGE_PATH");
    for (const root of ["package://gone", "file:///gone"]) {
      const files = ["a.obj", "b.stl", "c.obj"].map((name) => `${root}/${name}`);
      const [more, others] = files
        .slice(1)
        .map((name) => `<collision><geometry><mesh filename="${name}"/></geometry></collision>`);
      const several = urdf(files[0]).replace("</link>", `${more}${others}</link>`);
      expect((await refusal(loadModel(put("gone/r.urdf", several)))).details.files).toEqual(files);
    }
  });
});

describe("what MuJoCo does not compile is refused with what to do about it:", () => {
  const POINTER = `version https://git-lfs.github.com/spec/v1\noid sha256:${"0".repeat(64)}\nsize 123456\n`;
  const arm = (mass: number, [x, y, z]: number[]) => `<robot name="r"><link name="base"/>
    <joint name="j" type="continuous"><parent link="base"/><child link="arm"/></joint>
    <link name="arm"><inertial><mass value="${mass}"/><inertia ixx="${x}" iyy="${y}" izz="${z}" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>`;

  const ball = '<collision><geometry><sphere radius="0.1"/></geometry></collision>';
  const massAlone = (name: string) =>
    `<link name="${name}"><inertial><mass value="1"/><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/></inertial>${ball}</link>`;
  // a link that another is fixed to: MuJoCo makes one body of both
  const fixed = `${arm(1, [1, 1, 1])
    .replace(/<link name="arm">.*<\/link>/, massAlone("arm"))
    .replace("</robot>", "")}
    ${massAlone("tip")}<joint name="k" type="fixed"><parent link="arm"/><child link="tip"/></joint></robot>`;

  test("pointers of Git LFS in place of meshes, and of the model", async () => {
    for (const name of ["a.stl", "a.obj"]) {
      put(`lfs/meshes/${name}`, POINTER);
      const error = await refusal(loadModel(put("lfs/r.urdf", urdf(`meshes/${name}`))));
      expect([error.code, error.details.file]).toEqual(["missing-file", `meshes/${name}`]);
      expect(error.message).toContain("git lfs pull");
    }
    const error = await refusal(loadModel(put("lfs/scene.xml", POINTER)));
    expect([error.code, error.message.includes("git lfs pull")]).toEqual(["missing-file", true]);
  });

  test("meshes of formats that it does not read, there or not", async () => {
    put("dae/there.dae", "<COLLADA/>");
    for (const [mesh, code] of [
      ["there.dae", "model-compile"],
      ["gone.DAE", "missing-file"],
    ]) {
      const error = await refusal(loadModel(put("dae/r.urdf", urdf(mesh))));
      expect(error.code).toBe(code);
      expect(error.message).toContain("MuJoCo does not read .dae: convert it to STL or OBJ");
    }
  });

  test("an STL that is text", async () => {
    const facet = "facet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n";
    for (const facets of ["", facet]) {
      put("text/a.stl", `solid a\n${facets}endsolid\n`);
      const error = await refusal(loadModel(put("text/r.urdf", urdf("a.stl"))));
      expect(error.code).toBe("model-compile");
      expect(error.message).toContain("MuJoCo reads binary STL alone: save a text as that, or as OBJ");
    }
  });

  test.each(["package://meshes/a.OBJ", "meshes/a.OBJ"])("%s, whose ending is of another case", async (mesh) => {
    put("case/meshes/a.obj", TET);
    const error = await refusal(loadModel(put("case/r.urdf", urdf(mesh))));
    expect(error.message).toContain("There is one that ends in .obj: here the case of letters counts.");
  });

  test.each([
    ["boundmass", arm(0, [0, 0, 0])],
    ["balanceinertia", arm(1, [1, 1, 9])],
    ["inertiafromgeom", fixed],
  ])("links that want %s", async (option, xml) => {
    const error = await refusal(loadModel(xml));
    expect(error.message).toContain(option);
    const [, given] = /(<mujoco>.*<\/mujoco>) within <robot>/.exec(error.message)!;
    expect((await loadModel(xml.replace(`"r">`, `"r">${given}`))).nv).toBe(1);
  });
});

test("a missing picture is named where it is read, and what is missing beside it too", async () => {
  const xml = `<mujoco><compiler meshdir="m"/><asset><hfield name="h" file="h.png" size="1 1 1 1"/><hfield name="i" file="i.png" size="1 1 1 1"/></asset>
    <worldbody><geom type="hfield" hfield="h"/><geom type="hfield" hfield="i"/></worldbody></mujoco>`;
  const error = await refusal(loadModel(put("pictures/scene.xml", xml)));
  expect(error.details.files).toEqual(["m/h.png", "m/i.png"]);
});

test("every file that is missing is named, each on a line", async () => {
  const xml = `<mujoco><include file="parts.xml"/><asset><mesh name="a" file="m/a.stl"/><mesh name="b" file="m/b.obj"/>
    <mesh name="c" file="m/c.stl"/><mesh name="seen" file="m/seen.stl"/></asset>
    <worldbody><geom type="mesh" mesh="seen" contype="0" conaffinity="0"/>
      <body><freejoint/><geom type="mesh" mesh="a"/><geom type="mesh" mesh="b"/><geom type="mesh" mesh="c"/></body></worldbody></mujoco>`;
  const error = await refusal(loadModel(xml, { assets: { "m/b.obj": TET } }));
  expect(error.code).toBe("missing-file");
  expect(error.details.files).toEqual(["parts.xml", "m/a.stl", "m/c.stl"]);
  expect(error.message).toContain("\n  m/a.stl\n  m/c.stl\n");
});

test("a file that is missing is named where MuJoCo looks first, from the model's folder on", async () => {
  const part = `<mujoco><compiler meshdir="../assets"/><asset><mesh name="a" file="a.stl"/><mesh name="b" file="x/b.stl"/></asset>
    <worldbody><body><freejoint/><geom type="mesh" mesh="a"/><geom type="mesh" mesh="b"/></body></worldbody></mujoco>`;
  put("scenes/sub/part.xml", part.replaceAll(".stl", ".obj"));
  const scene = put("scenes/scene.xml", `<mujoco><include file="sub/part.xml"/></mujoco>`);
  const error = await refusal(loadModel(scene));
  expect(error.details.files).toEqual(["../assets/a.obj", "../assets/x/b.obj"]);
  for (const file of ["assets/a.obj", "assets/x/b.obj"]) put(file, TET);
  expect((await loadModel(scene)).nmesh).toBe(2);
});

test("a large count of contacts in an old file does not exhaust MuJoCo", async () => {
  const xml = `<mujoco><size njmax="20000" nconmax="8000"/><worldbody><body><freejoint/><geom size="1"/></body></worldbody></mujoco>`;
  const model = await loadModel(xml);
  using oracle = await createOracle(model);
  expect(oracle.model.nv).toBe(6);
});
