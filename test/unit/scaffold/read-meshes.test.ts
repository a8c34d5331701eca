// URDFs whose links collide as meshes that MuJoCo has no reader for get a copy with these as OBJ, of the same size and place
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadModel } from "../../../src/model/model.ts";
import { isForAssimp, meshAsObj } from "../../../src/scaffold/mesh-as-obj.ts";
import { cliInFolder } from "../../support/cli-process.ts";

const { folder, ...cli } = cliInFolder("corral-meshes-", { isBuilt: true });

/** A box from corner to corner, as its eight corners and twelve triangles. */
const box = ([x, y, z]: readonly number[], [u, v, w]: readonly number[]) => ({
  corners: [x, u].flatMap((a) => [y, v].flatMap((b) => [z, w].map((c) => [a, b, c]))),
  faces: ["013", "032", "467", "475", "041", "145", "236", "637", "026", "064", "157", "173"].map((face) =>
    face.split("").map(Number),
  ),
});
const LOW = [-0.1, -0.2, -0.4];
const HIGH = [0.1, 0.3, 0.05];
const { corners, faces } = box(LOW, HIGH);

const ply = `ply
format ascii 1.0
element vertex 8
property float x
property float y
property float z
element face 12
property list uchar int vertex_indices
end_header
${corners.map((corner) => corner.join(" ")).join("\n")}
${faces.map((face) => `3 ${face.join(" ")}`).join("\n")}
`;
const stl = `solid box
${faces
  .map(
    (face) =>
      `facet normal 0 0 0\nouter loop\n${face.map((i) => `vertex ${corners[i].join(" ")}`).join("\n")}\nendloop\nendfacet`,
  )
  .join("\n")}
endsolid box
`;
/** In centimetres, and half as large in the node that shows it; `up` is what its author's program drew upwards. */
const dae = (up: string, meter = 0.01) => `<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="u" meter="${meter}"/><up_axis>${up}</up_axis></asset>
<library_geometries><geometry id="g" name="g"><mesh>
<source id="p"><float_array id="a" count="24">${corners
  .flat()
  .map((x) => (2 * x) / meter)
  .join(" ")}</float_array>
<technique_common><accessor source="#a" count="8" stride="3"><param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="12"><input semantic="VERTEX" source="#v" offset="0"/><p>${faces.flat().join(" ")}</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s" name="s"><node id="n" name="n"><matrix>0.5 0 0 0 0 0.5 0 0 0 0 0.5 0 0 0 0 1</matrix>
<instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>`;

const inertial = `<inertial><mass value="2"/><inertia ixx=".1" ixy="0" ixz="0" iyy=".1" iyz="0" izz=".1"/></inertial>`;
const urdf = (mesh: string) => `<robot name="r">
  <link name="base">${inertial}<collision><geometry><box size=".4 .3 .1"/></geometry></collision></link>
  <link name="leg">${inertial}<visual><geometry><mesh filename="gone.dae"/></geometry></visual>
    <collision><geometry><mesh filename="${mesh}"/></geometry></collision></link>
  <joint name="hip" type="revolute"><parent link="base"/><child link="leg"/><origin xyz="0 .2 0"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="9" velocity="5"/></joint></robot>`;

test.each([
  ["zup", "box.dae", dae("Z_UP")],
  ["yup", "box.DAE", dae("Y_UP", 0.001)],
  ["points", "box.ply", ply],
  ["text", "box.stl", stl],
  ["capitals", "BOX.STL", stl.toUpperCase()],
  ["mark", "box.stl", `\uFEFF ${stl}`],
])("a mesh of %s", async (name, mesh, bytes) => {
  writeFileSync(join(folder, mesh), bytes);
  writeFileSync(join(folder, `${name}-given.urdf`), urdf(mesh));
  const { code, stdout, stderr } = await cli.run("new-task", name, "--robot", `${name}-given.urdf`, "--kind", "reach");
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain(`a mesh that MuJoCo does not read is in ${name}-meshes, as OBJ.`);
  expect(existsSync(join(folder, `${name}-meshes/${mesh.slice(0, 3)}.obj`))).toBe(true);
  const model = await loadModel(join(folder, `${name}.xml`));
  const geom = model.geom_dataid.indexOf(0);
  const size = HIGH.map((high, i) => high - LOW[i]);
  const center = HIGH.map((high, i) => (high + LOW[i]) / 2);
  // MuJoCo turns a mesh to the axes of its inertia
  const sorted = (x: ArrayLike<number>) => Array.from(x).sort((a, b) => a - b);
  const half = Array.from(model.geom_aabb.subarray(6 * geom + 3, 6 * geom + 6));
  sorted(half).forEach((x, i) => expect(x).toBeCloseTo(sorted(size)[i] / 2, 5));
  center.forEach((x, i) => expect(model.geom_pos[3 * geom + i]).toBeCloseTo(x, 5));
});

const lines = faces.map((face) => `f ${face.map((i) => `${i + 1}//1`).join(" ")}`);
const objects = `${corners.map((corner) => `v ${corner.join(" ")}`).join("\n")}\nvn 0 0 1\no side\n${lines[0]}\no rest\n${lines.slice(1).join("\n")}\n`;

test.each([
  ["objects", "several", objects],
  ["groups", "groups", objects.replaceAll("\no ", "\ng ")],
  ["blanks in its name", "of several", objects],
  ["lines that end as in Windows, and begin with blanks", "lines", objects.replaceAll("\n", "\r\n  ")],
  ["lines that end as on old Macs", "macs", objects.replaceAll("\n", "\r")],
  [
    "corners that are counted from the end",
    "ends",
    objects.replaceAll(/(\d+)\/\/1/g, (_, i: string) => `${Number(i) - corners.length - 1}//-1`),
  ],
])("an OBJ of several objects, of which MuJoCo measures the first, is one: %s", async (_, name, text) => {
  writeFileSync(join(folder, `${name}.obj`), text);
  writeFileSync(join(folder, "several.urdf"), urdf(`${name}.obj`));
  await expect(loadModel(join(folder, "several.urdf"))).rejects.toMatchObject({ code: "model-compile" });
  const task = `one-${name.replace(" ", "-")}`;
  const { code, stdout } = await cli.run("new-task", task, "--robot", "several.urdf", "--kind", "velocity");
  expect(code).toBe(0);
  expect(stdout).toContain(`a copy that MuJoCo compiles: a mesh of several objects is one in ${task}-meshes, as OBJ.`);
  const model = await loadModel(join(folder, `${task}.xml`));
  const geom = model.geom_type.indexOf(7);
  const half = [...model.geom_aabb.subarray(6 * geom + 3, 6 * geom + 6)].sort((a, b) => a - b);
  HIGH.map((x, k) => (x - LOW[k]) / 2)
    .sort((a, b) => a - b)
    .forEach((x, k) => expect(half[k]).toBeCloseTo(x, 6));
});

test("two of one name are two files, one that is not there or no mesh is named, and nothing is left", async () => {
  const two = urdf("a/box.dae").replace('box size=".4 .3 .1"', 'mesh filename="box.dae"');
  writeFileSync(join(folder, "two-given.urdf"), two.replace("a/box.dae", "./box.ply"));
  writeFileSync(join(folder, "box.dae"), dae("Z_UP"));
  writeFileSync(join(folder, "box.ply"), ply);
  expect((await cli.run("new-task", "two", "--robot", "two-given.urdf", "--kind", "reach")).code).toBe(0);
  expect(readFileSync(join(folder, "two.urdf"), "utf8")).toMatch(/two-meshes\/box\.obj[^]*two-meshes\/box-2\.obj/);
  writeFileSync(join(folder, "bad.dae"), "<COLLADA>");
  for (const [mesh, code, words] of [
    ["gone2.dae", "missing-file", `the file "gone2.dae"`],
    ["bad.dae", "bad-mesh", "bad.dae cannot be read as a mesh"],
  ]) {
    writeFileSync(join(folder, "refused-given.urdf"), urdf(mesh));
    const refused = await cli.run("new-task", "refused", "--robot", "refused-given.urdf", "--kind", "reach");
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(`[${code}] `)]);
    expect(refused.stderr).toContain(words);
    for (const left of ["refused.urdf", "refused-meshes", "refused.xml"])
      expect(existsSync(join(folder, left))).toBe(false);
  }
});

test("meshes are where MuJoCo has them: names with entities and other separators, and paths that are cut", async () => {
  mkdirSync(join(folder, "it's & more"));
  for (const mesh of ["it's & more/leg & foot.dae", "cut.dae"]) writeFileSync(join(folder, mesh), dae("Z_UP"));
  const cut = `<mujoco><compiler strippath="true"/></mujoco>`;
  for (const [name, mesh, compiler] of [
    ["entities", "it&apos;s &amp; more/leg &amp; foot.dae", ""],
    ["separators", "it&apos;s &amp; more\\leg &amp; foot.dae", ""],
    ["quoted", "it's &amp; more/leg &amp; foot.dae", ""],
    ["quoted-folder", "leg &amp; foot.dae", `<mujoco><compiler meshdir="it's &amp; more"/></mujoco>`],
    ["cut", "not/there/cut.dae", cut],
    ["cut-folder", "not/there/leg &amp; foot.dae", cut.replace("/>", ` meshdir="it&apos;s &amp; more"/>`)],
  ]) {
    writeFileSync(join(folder, `${name}-given.urdf`), urdf(mesh).replace("<link", `${compiler}<link`));
    const { code, stderr } = await cli.run("new-task", name, "--robot", `${name}-given.urdf`, "--kind", "reach");
    expect([name, code, stderr]).toEqual([name, 0, ""]);
    expect((await loadModel(join(folder, `${name}.xml`))).nmesh).toBe(1);
  }
});

test("files that are there stay as they are, and what cannot be read or compiled as OBJ is told as such", async () => {
  writeFileSync(join(folder, "box.ply"), ply);
  writeFileSync(join(folder, "kept-given.urdf"), urdf("box.ply"));
  mkdirSync(join(folder, "kept-meshes"));
  writeFileSync(join(folder, "kept-meshes/box.obj"), "mine");
  const kept = await cli.run("new-task", "kept", "--robot", "kept-given.urdf", "--kind", "reach");
  expect([kept.code, kept.stderr]).toEqual([2, expect.stringContaining("kept-meshes is there already")]);
  expect(readFileSync(join(folder, "kept-meshes/box.obj"), "utf8")).toBe("mine");

  mkdirSync(join(folder, "folder.dae"));
  const deep = dae("Z_UP").replace("<node ", `${"<node>".repeat(20_000)}<node `);
  writeFileSync(
    join(folder, "deep.dae"),
    deep.replace("</visual_scene>", `${"</node>".repeat(20_000)}</visual_scene>`),
  );
  writeFileSync(join(folder, "flat.ply"), ply.replaceAll(" 0.05", " -0.4"));
  for (const [mesh, code, words] of [
    ["folder.dae", "missing-file", `the file "folder.dae"`],
    ["deep.dae", "bad-mesh", "deep.dae cannot be read as a mesh"],
    ["flat.ply", "model-compile", "coplanar"],
  ]) {
    writeFileSync(join(folder, "odd-given.urdf"), urdf(mesh));
    const refused = await cli.run("new-task", "odd", "--robot", "odd-given.urdf", "--kind", "reach");
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(`[${code}] `)]);
    expect(refused.stderr).toContain(words);
    expect(refused.stderr).not.toContain("corral new-task converts");
    for (const left of ["odd.urdf", "odd-meshes", "odd.xml"]) expect(existsSync(join(folder, left))).toBe(false);
  }
});

test("a mesh that MuJoCo reads stays another, called alike but for folder and ending", async () => {
  const large = corners.map((corner) => `v ${corner.map((x) => 3 * x).join(" ")}`);
  const obj = [...large, ...faces.map((face) => `f ${face.map((i) => i + 1).join(" ")}`)].join("\n");
  mkdirSync(join(folder, "other"));
  writeFileSync(join(folder, "other/box.obj"), obj);
  writeFileSync(join(folder, "box.ply"), ply);
  writeFileSync(
    join(folder, "alike-given.urdf"),
    urdf("other/box.obj").replace('box size=".4 .3 .1"', 'mesh filename="box.ply"'),
  );
  expect((await cli.run("new-task", "alike", "--robot", "alike-given.urdf", "--kind", "reach")).code).toBe(0);
  const { nmesh, geom_dataid, geom_rbound } = await loadModel(join(folder, "alike.xml"));
  const [first, second] = Array.from(geom_rbound).filter((_, geom) => geom_dataid[geom] >= 0);
  expect([nmesh, second / first]).toEqual([2, expect.closeTo(3, 5)]);
});

test("binary STL is MuJoCo's to read, and points without faces are no mesh", async () => {
  const binary = new Uint8Array(84 + 50);
  binary.set(new TextEncoder().encode("solid by a program"));
  new DataView(binary.buffer).setUint32(80, 1, true);
  expect(isForAssimp("a.stl", binary)).toBe(false);
  expect(isForAssimp("a.STL", new TextEncoder().encode(stl))).toBe(true);
  expect(isForAssimp("a.stl", new TextEncoder().encode(stl.replaceAll("solid", "SOLIDS")))).toBe(false);
  expect(isForAssimp("a.obj", new Uint8Array())).toBe(false);
  const cloud = ply.replace("element face 12", "element face 0").split("\n3 ")[0];
  await expect(meshAsObj("cloud.ply", new TextEncoder().encode(cloud))).rejects.toMatchObject({ code: "bad-mesh" });
});
