// URDFs that MuJoCo refuses for what an exporter wrote get a copy that it compiles, the rest of them as it was
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { loadModel } from "../../../src/model/model.ts";
import { namesakes } from "../../../src/model/urdf.ts";
import { collidingUrdf, mendUrdf } from "../../../src/scaffold/mended-urdf.ts";
import { cliInFolder } from "../../support/cli-process.ts";

const { folder, ...cli } = cliInFolder("corral-mended-", { isBuilt: true });
beforeAll(() => {
  mkdirSync(join(folder, "cad/urdf"), { recursive: true });
  mkdirSync(join(folder, "cad/meshes"));
  writeFileSync(
    join(folder, "cad/meshes/foot.obj"),
    "v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n",
  );
});

const inertial = (mass: number, [x, y, z]: number[]) =>
  `<inertial><mass value="${mass}"/><inertia ixx="${x}" ixy="0" ixz="0" iyy="${y}" iyz="0" izz="${z}"/></inertial>`;
const joint = (child: string, type: string, xyz: string) =>
  `<joint name="${child}_joint" type="${type}"><parent link="base"/><child link="${child}"/><origin xyz="${xyz}"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="9" velocity="5"/></joint>`;
const box = `<collision><geometry><box size=".4 .3 .1"/></geometry></collision>`;
const urdf = (parts: string, compiler = "") => `<robot name="r">${compiler}
  <link name="base">${inertial(4, [0.1, 0.1, 0.1])}${box}</link>
  <link name="leg">${inertial(1, [0.02, 0.03, 0.04])}
    <collision><geometry><mesh filename="package://cad/meshes/foot.obj"/></geometry></collision></link>
  ${joint("leg", "revolute", "0 .2 0")}${parts}</robot>`;

const lidar = `<link name="lidar">${inertial(4e-15, [1e-27, 1e-27, 1e-27])}</link>${joint("lidar", "fixed", "0 0 .1")}`;
const camera = `<link name="camera">${inertial(0.2, [1e-4, 1e-4, 9e-4])}</link>${joint("camera", "fixed", ".2 0 0")}`;
const wheel = `<link name="wheel"><collision><geometry><sphere radius="0.0"/></geometry></collision>${inertial(0.1, [1e-3, 1e-3, 1e-3])}</link>${joint("wheel", "fixed", "0 0 -.2")}`;
const arm = `<link name="arm">${inertial(0.2, [1e-3, 1e-3, 1e-3])}</link>${joint("arm", "fixed", "0, -.2,0")}`;
const twice = `<link name="twice">${inertial(0.2, [1e-3, 1e-3, 1e-3]).replace("</inertial>", '<inertia ixx="9" ixy="0" ixz="0" iyy="9" iyz="0" izz="9"/></inertial>')}</link>${joint("twice", "fixed", "0 0 .2")}`;
// names that the scene would give too
const idle = `<link name="idle"/>${joint("idle", "continuous", "0 -.2 0").replace("idle_joint", "root")}`;

test.each([
  ["lidar", lidar, "lidar has that of a ball of 5 cm, where its inertia was not positive"],
  ["camera", camera, "inertias that no body can have are balanced (balanceinertia)"],
  ["wheel", wheel, "1 of what collides had no size, and has 1 mm"],
  ["arm", arm, "numbers have blanks between them, and no commas"],
  ["twice", twice, "1 repeated <inertia> left out: the first counts"],
  ["idle", idle, "what moves has at least 1 g and 1e-6 kg m^2 (boundmass, boundinertia)"],
])("a %s", async (name, part, note) => {
  const path = join(folder, "cad/urdf", `${name}.urdf`);
  writeFileSync(path, urdf(part));
  await expect(loadModel(path)).rejects.toMatchObject({ code: "model-compile" });
  const { code, stdout, stderr } = await cli.run("new-task", name, "--robot", path, "--kind", "velocity");
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain(`${join(folder, `${name}.urdf`)}, a copy that MuJoCo compiles: ${note}.`);
  const mended = await loadModel(join(folder, `${name}.xml`));
  // what was right is as it was
  const leg = mended.names.body.indexOf("leg");
  expect(mended.body_mass[leg]).toBe(1);
  expect([...mended.body_inertia.subarray(3 * leg, 3 * leg + 3)].sort((a, b) => a - b)).toEqual([0.02, 0.03, 0.04]);
  expect(mended.body_mass[mended.names.body.indexOf(name)] ?? 0).toBeLessThan(0.3);
});

test("joints that say of too little effort to hold it say of none, and get what carries it", async () => {
  const note = "its joints say of no effort, as what they said could not hold it";
  for (const [name, part, mends] of [
    ["weak", "", note],
    ["weaker", lidar, `lidar has that of a ball of 5 cm, where its inertia was not positive; ${note}`],
  ]) {
    const path = join(folder, "cad/urdf", `${name}.urdf`);
    writeFileSync(path, urdf(part).replaceAll(`effort="9"`, `effort="0.05"`));
    const { code, stdout } = await cli.run("new-task", name, "--robot", path, "--kind", "velocity");
    expect(code).toBe(0);
    expect(stdout).toContain(`a copy that MuJoCo compiles: ${mends}.`);
    const model = await loadModel(join(folder, `${name}.xml`));
    expect(model.jnt_actfrclimited[1]).toBe(0);
    expect(model.actuator_forcerange[1]).toBeGreaterThan(1);
  }
  const path = join(folder, "cad/urdf", "strong.urdf");
  writeFileSync(path, urdf(""));
  expect((await cli.run("new-task", "strong", "--robot", path, "--kind", "velocity")).code).toBe(0);
  expect(existsSync(join(folder, "strong.urdf"))).toBe(false);
});

test("a URDF that lies where its copy would be written is left as it is", async () => {
  const path = join(folder, "own.urdf");
  const text = urdf("").replaceAll(`effort="9"`, `effort="0.05"`).replaceAll("package://cad/meshes", "cad/meshes");
  writeFileSync(path, text);
  for (const robot of [path, "own.urdf"]) {
    const { code, stderr } = await cli.run("new-task", "own", "--robot", robot, "--kind", "velocity");
    expect([code, stderr]).toEqual([2, expect.stringContaining("own.urdf is there already")]);
    expect(readFileSync(path, "utf8")).toBe(text);
    expect(["own.xml", "own.mts"].filter((name) => existsSync(join(folder, name)))).toEqual([]);
  }
});

test("wheels hold nothing up, whatever effort they say", async () => {
  const inertial = (mass: number) =>
    `<inertial><mass value="${mass}"/><inertia ixx="0.05" ixy="0" ixz="0" iyy="0.05" iyz="0" izz="0.05"/></inertial>`;
  const places = [0.2, -0.2].flatMap((x) => [0.2, -0.2].map((y) => `${x} ${y} 0`));
  const wheels = places.map(
    (xyz, i) => `<link name="w${i}">${inertial(0.5)}<collision><origin rpy="1.5708 0 0"/>
      <geometry><cylinder radius="0.1" length="0.05"/></geometry></collision></link>
      <joint name="w${i}" type="continuous"><parent link="base"/><child link="w${i}"/><origin xyz="${xyz}"/>
      <axis xyz="0 1 0"/><limit effort="1" velocity="20"/></joint>`,
  );
  const base = `<link name="base">${inertial(30)}<collision><origin xyz="0 0 0.2"/>
    <geometry><box size="0.4 0.3 0.3"/></geometry></collision></link>`;
  writeFileSync(join(folder, "rover.urdf"), `<robot name="rover">${base}${wheels.join("")}</robot>`);
  const { code } = await cli.run("new-task", "drives", "--robot", "rover.urdf", "--kind", "velocity");
  expect(code).toBe(0);
  expect(existsSync(join(folder, "drives.urdf"))).toBe(false);
  expect((await loadModel(join(folder, "drives.xml"))).actuator_forcerange[1]).toBe(1);
});

test("several at once, and folders and parts of paths that a URDF names are those that it meant", async () => {
  for (const [name, compiler, mesh] of [
    ["folders", `<mujoco><compiler meshdir="../meshes/"/></mujoco>`, "foot.obj"],
    ["whole", `<mujoco><compiler strippath="false"/></mujoco>`, "../meshes/foot.obj"],
  ]) {
    const path = join(folder, "cad/urdf", `${name}.urdf`);
    writeFileSync(path, urdf(lidar + camera + wheel + idle, compiler).replace("package://cad/meshes/foot.obj", mesh));
    const { code, stdout } = await cli.run("new-task", name, "--robot", path, "--kind", "velocity");
    expect(code).toBe(0);
    expect(stdout.match(/a copy that MuJoCo compiles: (.*)/)![1].split("; ")).toHaveLength(4);
  }
});

test("a folder may be called as XML writes things", async () => {
  const where = join(folder, "R&D 'a' #1/x &amp; y");
  mkdirSync(join(where, "urdf"), { recursive: true });
  mkdirSync(join(where, "m & n"));
  writeFileSync(join(where, "m & n/b&c.obj"), readFileSync(join(folder, "cad/meshes/foot.obj")));
  for (const [name, compiler, mesh] of [
    ["said", `<mujoco><compiler meshdir="../m &amp; n/"/></mujoco>`, "b&amp;c.obj"],
    ["numbered", `<mujoco><compiler meshdir="../m &#38; n/"/></mujoco>`, "b&#x26;c.obj"],
    ["package", "", "package://m &amp; n/b&amp;c.obj"],
  ]) {
    const path = join(where, "urdf", `${name}.urdf`);
    writeFileSync(path, urdf(lidar, compiler).replace("package://cad/meshes/foot.obj", mesh));
    const { code, stderr } = await cli.run("new-task", name, "--robot", path, "--kind", "velocity");
    expect([code, stderr]).toEqual([0, ""]);
    expect((await loadModel(join(folder, `${name}.xml`))).nmesh).toBe(1);
  }
});

test("what no mend helps is refused in MuJoCo's words on the file that was given, and nothing is left", async () => {
  const path = join(folder, "cad/urdf/bad.urdf");
  writeFileSync(path, urdf(lidar).replace("foot.obj", "gone.obj"));
  const gone = await cli.run("new-task", "gone", "--robot", path, "--kind", "velocity");
  expect(gone.code).toBe(2);
  expect(gone.stderr).toContain("cad/meshes/gone.obj");
  writeFileSync(path, urdf(lidar).replace("revolute", "bogus"));
  const bad = await cli.run("new-task", "bad", "--robot", path, "--kind", "velocity");
  expect(bad.code).not.toBe(0);
  expect(bad.stderr).toContain(path);
  for (const name of ["gone", "bad"])
    for (const ending of ["urdf", "xml", "mts"]) expect(existsSync(join(folder, `${name}.${ending}`))).toBe(false);
});

test("what has no mass cannot float, and what lies in itself too often is no robot", async () => {
  const slider = `<robot name="r"><link name="world"/><link name="leg">${inertial(1, [0.1, 0.1, 0.1])}${box}</link>${joint("leg", "revolute", "0 0 0").replace("base", "world")}</robot>`;
  writeFileSync(join(folder, "slider.urdf"), slider);
  const { code, stderr } = await cli.run("new-task", "slide", "--robot", "slider.urdf", "--kind", "velocity");
  expect([code, stderr]).toEqual([2, expect.stringMatching(/^\[no-free-base\] .* Pass --kind reach/)]);
  expect((await cli.run("new-task", "mounted", "--robot", "slider.urdf", "--kind", "reach")).code).toBe(0);
  // 3,000 contacts of boxes that are all in one place
  const one = (i: number) =>
    `<link name="l${i}">${inertial(1, [0.1, 0.1, 0.1])}${box.repeat(20)}</link>${joint(`l${i}`, "revolute", "0 0 0")}`;
  writeFileSync(join(folder, "many.urdf"), urdf(Array.from({ length: 12 }, (_, i) => one(i)).join("")));
  const many = await cli.run("new-task", "many", "--robot", "many.urdf", "--kind", "velocity");
  expect([many.code, many.stderr]).toEqual([2, expect.stringContaining("[mujoco-memory] links of the URDF lie in")]);
});

test("a copy is not written over a file, and a reader of what MuJoCo says reads no more than that", async () => {
  const path = join(folder, "cad/urdf/there.urdf");
  writeFileSync(path, urdf(lidar));
  writeFileSync(join(folder, "there.urdf"), "mine");
  const { code, stderr } = await cli.run("new-task", "there", "--robot", path, "--kind", "velocity");
  expect([code, stderr]).toEqual([2, expect.stringContaining("there.urdf is there already")]);
  expect(readFileSync(join(folder, "there.urdf"), "utf8")).toBe("mine");
  // a folder of meshes that none are written into is no matter
  mkdirSync(join(folder, "other-meshes"));
  const other = await cli.run("new-task", "other", "--robot", path, "--kind", "velocity");
  expect([other.code, other.stderr, existsSync(join(folder, "other-meshes"))]).toEqual([0, "", true]);
  expect(mendUrdf(urdf(camera), "Error: unknown joint")).toBeUndefined();
  expect(mendUrdf(urdf(""), "Error: inertia must have positive eigenvalues")).toBeUndefined();
});

test("what a comment says neither collides nor is seen, and an empty visual ends where it stands", () => {
  const ball = `<geometry><sphere radius=".1"/></geometry>`;
  const text = `<link name="a"><visual/><!-- <collision>${ball}</collision> --></link><link name="b"><visual>${ball}</visual></link>`;
  expect(collidingUrdf(text)?.text).toBe(
    `<link name="a"><visual/></link><link name="b"><visual>${ball}</visual><collision>${ball}</collision></link>`,
  );
  expect(collidingUrdf(`<link name="a"><!-- <visual>${ball}</visual> --></link>`)).toBeUndefined();
});

test("a URDF nothing of which collides stands on what is seen of its links; one that something does is left as it is", async () => {
  const seen = urdf(
    arm
      .replaceAll(",", " ")
      .replace(
        '<link name="arm">',
        `<link name="arm"><visual><origin xyz="0 0 -.2"/><geometry><sphere radius=".05"/></geometry><material name="red"><color rgba="1 0 0 1"/></material></visual>`,
      ),
  )
    .replaceAll("<collision>", "<visual>")
    .replaceAll("</collision>", "</visual>");
  const path = join(folder, "cad/urdf/seen.urdf");
  writeFileSync(path, seen);
  const { code, stdout, stderr } = await cli.run("new-task", "seen", "--robot", path, "--kind", "velocity");
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("nothing of it collided: links collide as they are seen");
  const model = await loadModel(join(folder, "seen.xml"));
  expect(Array.from(model.geom_contype).filter((bits) => bits > 0)).toHaveLength(4);
  // what is mounted needs no ground
  const bolted = await cli.run("new-task", "bolted", "--robot", path, "--kind", "reach");
  expect([bolted.code, bolted.stderr, existsSync(join(folder, "bolted.urdf"))]).toEqual([0, "", false]);
  // a mesh that is not there is no reason to refuse in other words
  writeFileSync(path, seen.replaceAll("foot.obj", "gone.obj"));
  const gone = await cli.run("new-task", "gone", "--robot", path, "--kind", "velocity");
  expect([gone.code, gone.stderr, existsSync(join(folder, "gone.urdf"))]).toEqual([
    2,
    expect.stringContaining("no-contact"),
    false,
  ]);
  expect(collidingUrdf(urdf(""))).toBeUndefined();
});

test("meshes in files of one name, of which MuJoCo reads the first for all, are told", async () => {
  const cube = (size: number) => {
    const corners = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => `v ${[1, 2, 4].map((bit) => (i & bit ? size : 0)).join(" ")}`);
    return `${corners.join("\n")}\nf 1 3 4 2\nf 5 6 8 7\nf 1 2 6 5\nf 3 7 8 4\nf 1 5 7 3\nf 2 4 8 6\n`;
  };
  for (const [side, size] of [
    ["left", 0.1],
    ["right", 0.2],
  ] as const) {
    mkdirSync(join(folder, side));
    writeFileSync(join(folder, side, "shin.obj"), cube(size));
  }
  const shin = (side: string, y: string, scale = "") =>
    `<link name="${side}">${inertial(1, [0.02, 0.03, 0.04])}<collision><geometry><mesh ${scale} filename="${side}/shin.obj"/></geometry></collision></link>${joint(side, "revolute", `0 ${y} 0`)}`;
  writeFileSync(
    join(folder, "sides.urdf"),
    urdf(shin("left", ".3") + shin("right", "-.3")).replace("package://cad", "cad"),
  );
  const { code, stdout } = await cli.run("new-task", "sides", "--robot", "sides.urdf", "--kind", "velocity");
  expect(code).toBe(0);
  expect(stdout).toContain("it reads left/shin.obj, and takes it for right/shin.obj too.");
  // so it does
  const { names, geom_rbound } = await loadModel(join(folder, "sides.urdf"));
  expect(names.mesh.filter((name) => name === "shin")).toHaveLength(1);
  expect(new Set(geom_rbound.slice(-2)).size).toBe(1);
  // one that is scaled in another way has its own file
  const scaled = (scale: string) =>
    urdf(shin("left", ".3", 'scale="1.0 1 1e0"') + shin("right", "-.3", scale)).replace("package://cad", "cad");
  writeFileSync(join(folder, "mirrored.urdf"), scaled('scale="1 -1 1"'));
  expect(new Set((await loadModel(join(folder, "mirrored.urdf"))).geom_rbound.slice(-2)).size).toBe(2);
  expect(namesakes(scaled('scale="1 -1 1"'))).toEqual([]);
  expect(namesakes(scaled(""))).toEqual([["left/shin.obj", "right/shin.obj"]]);
});

// the first in the text need not be the first that is said
test("repeated elements are told by what holds them, and comments and transmissions hold nothing", () => {
  const kept = `<transmission name="t"><joint name="a"/></transmission>
    <link name="b"><!-- <inertial> --><inertial><origin xyz="1 0 0"/><mass value="1"/></inertial>
    <visual><origin xyz="2 0 0"/><geometry><sphere radius="1"/></geometry></visual></link>
    <joint name="c" type="fixed"><!-- <origin xyz="3 0 0"/> --><origin xyz="4 0 0"/>`;
  const text = (again: string) => `<robot name="r">${kept}${again}</joint></robot>`;
  const said = "XML Error: repeated element: 'origin'";
  for (const again of ['<origin xyz="5 0 0"/>', '<origin xyz="5 0 0"></origin>', '<origin a=">">\n<x/></origin>'])
    expect(mendUrdf(text(again), said)).toEqual({
      text: text("").replace(/<!--.*?-->/g, ""),
      note: "1 repeated <origin> left out: the first counts",
    });
  expect(mendUrdf(text(""), said)).toBeUndefined();
  const link = (more: string) => `<robot><link name="a"><inertial><mass value="1"/></inertial>${more}</link></robot>`;
  const second = "<inertial><mass value='2'/><mass value='3'/></inertial>";
  expect(mendUrdf(link(second + second), "repeated element: 'inertial'")?.text).toBe(link(""));
});

test("inertias that are mended are those that are said, of the links that have them", () => {
  const good = inertial(1, [1, 1, 1]);
  const links = (inertia: string) =>
    `<robot name="r"><link name="a"/><link name="b" /><link name="c"><!-- ${good} -->${inertia}</link></robot>`;
  const { text, note } = mendUrdf(links(inertial(2.5, [0, 0, 0])), "inertia must have positive eigenvalues")!;
  expect(note).toMatch(/^c has that of a ball/);
  expect(text).toBe(links(inertial(2.5, Array(3).fill(0.4 * 2.5 * 0.05 ** 2))).replace(`<!-- ${good} -->`, ""));
});
