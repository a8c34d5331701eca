import { expect, test } from "vitest";
import { loadModel } from "../../../src/model/model.ts";

const message = (xml: string, assets: Record<string, string> = {}): Promise<string> =>
  loadModel(xml, { assets }).then(
    () => "",
    (error: unknown) => (error as Error).message,
  );

test.each([
  [
    `<option apirate="50"/>`,
    `apirate="50" in line 2 of`,
    "MuJoCo 3.3.7 and newer do not have it. It did nothing: delete it.",
  ],
  [`<option timestep="0.01"\n collision="all"/>`, `collision="all" in line 3 of`, "MuJoCo 3.0.0 and newer"],
  [`<compiler convexhull="false"/>`, `convexhull="false"`, "MuJoCo 3.2.5"],
  [`<option><flag passive="disable"/></option>`, `passive="disable"`, "Write spring and damper in its place."],
])("%s of an older release: where it is, and what became of it", async (markup, where, what) => {
  const said = await message(`<mujoco>\n${markup}</mujoco>`);
  expect(said).toContain(`That is ${where}`);
  expect(said).toContain(what);
});

test("what is refused in an included file is named with file and line, comments aside", async () => {
  const part = `<mujocoinclude>\n<!-- <site size="1, 2"/>\n--><body><site size="0.1 0.1"/>\n<site size="0.005, 0.005"/></body></mujocoinclude>`;
  const said = await message(`<mujoco><worldbody><include file="a/part.xml"/></worldbody></mujoco>`, {
    "a/part.xml": part,
  });
  expect(said).toContain(
    `That is size="0.005, 0.005" in line 4 of a/part.xml. MuJoCo reads numbers with spaces between them there.`,
  );
});

test.each([
  [`<asset><texture name="a" type="2d" builtin="flat" width="37.5" height="8"/></asset>`, `width="37.5"`],
  [`<worldbody><geom size="1" conaffinity="0xff"/></worldbody>`, `conaffinity="0xff"`],
])("%s: whole numbers are asked for", async (markup, where) => {
  const said = await message(`<mujoco>${markup}</mujoco>`);
  expect(said).toContain(`That is ${where} in line 1 of`);
  expect(said).toContain("MuJoCo reads whole numbers there.");
});

test("of attributes that never were nothing more is said than where they are", async () => {
  expect(await message(`<mujoco><option speed="1"/></mujoco>`)).toMatch(
    /That is speed="1" in line 1 of the XML text\.$/,
  );
});

test.each([
  ["mujoco.elasticity.cable", "stiffness="],
  ["mujoco.pid", "kp="],
  ["mujoco.sdf.nut", "hull"],
  ["mine.own", "mine.own"],
])("a model of plugin %s is told that there are none, and what does its work", async (plugin, instead) => {
  const said = await message(`<mujoco><extension><plugin plugin="${plugin}"/></extension></mujoco>`);
  expect(said).toContain(`plugin ${plugin} not found`);
  expect(said).toContain("has no plugins: delete <extension>");
  expect(said).toContain(instead);
});

test("a path of another machine's drive is absolute here too", async () => {
  expect(await message(`<mujoco><include file="C:\\robots/hand.xml"/></mujoco>`)).toContain(
    "Absolute paths are not followed: make it relative to the model.",
  );
});

test.each([
  [`<redmax/>`, "Unrecognized XML model type: 'redmax'", "Models are MJCF (<mujoco>) or URDF (<robot>)."],
  [
    `<mujoco><default class="arm"><geom size="1"/></default></mujoco>`,
    "cannot be renamed",
    "Delete its class: that is main, wherever it is named.",
  ],
])("%s is told what to do", async (xml, said, remedy) => {
  const told = await message(xml);
  expect(told).toContain(said);
  expect(told).toContain(remedy);
});

test("a default class that is deleted is main", async () => {
  const parts = (attribute: string, name: string) =>
    `<mujoco><default${attribute}><geom size="0.3"/></default><worldbody><geom class="${name}"/></worldbody></mujoco>`;
  expect((await loadModel(parts("", "main"))).geom_size[0]).toBe(0.3);
  expect(await message(parts(` class="arm"`, "arm"))).toContain("that is main");
});
