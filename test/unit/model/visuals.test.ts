import { describe, expect, test } from "vitest";
import { fieldsOf } from "../../../src/model/fields.ts";
import { mjtObj } from "../../../src/model/enums.ts";
import { idOf, loadModel, type Model } from "../../../src/model/model.ts";
import { withMuJoCo } from "../../../src/model/oracle.ts";

/** A box with unequal sides: its inertial frame is not the file's. */
const box = (x: number, y: number, z: number): string => {
  const corners = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => [i & 1 ? x : 0, i & 2 ? y : 0, i & 4 ? z : 0]);
  const faces = [
    [1, 3, 4], [1, 4, 2], [5, 6, 8], [5, 8, 7], [1, 2, 6], [1, 6, 5],
    [3, 7, 8], [3, 8, 4], [1, 5, 7], [1, 7, 3], [2, 4, 8], [2, 8, 6],
  ]; // prettier-ignore
  return [...corners.map((c) => `v ${c.join(" ")}`), ...faces.map((f) => `f ${f.join(" ")}`)].join("\n");
};

const ASSETS = { "m/a.obj": box(0.1, 0.2, 0.3), "m/b.obj": box(0.3, 0.1, 0.1), "m/c.obj": box(0.2, 0.2, 0.1) };

/** A model whose bodies show meshes; `missing` stands in for files that are not there. */
const robot = (missing = ""): string => `<mujoco>
  <compiler meshdir="m" texturedir="t"/>
  <default>
    <default class="visual"><geom contype="0" conaffinity="0" group="2" material="skin"/></default>
    <default class="massless"><geom contype="0" conaffinity="0" density="0"/></default>
  </default>
  <asset>
    <texture name="checker" type="2d" builtin="checker" width="8" height="8"/>${missing && `<texture type="2d" file="gone.png" name="gone"/>`}
    <material name="skin" texture="${missing ? "gone" : "checker"}"/>
    <mesh file="a.obj"/><mesh name="bee" file="b.obj"/><mesh name="cee" file="c.obj"/>
    <mesh name="shown" file="${missing || "c.obj"}"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <geom name="scenery" class="visual" type="mesh" mesh="shown"/>
    <body name="trunk" pos="0 0 1"><freejoint/>
      <inertial pos="0 0 0.1" mass="2" diaginertia="0.1 0.1 0.1"/>
      <geom name="shell" class="visual" type="mesh" mesh="shown"/>
      <geom name="hull" type="box" size="0.1 0.1 0.1" pos="0.2 0 0"/>
      <geom name="fitted" class="visual" type="box" mesh="shown"/>
      <body name="arm" pos="0 0 0.3"><joint name="elbow" axis="0 1 0" range="-60 60"/>
        <geom name="weighs" class="visual" type="mesh" mesh="a"/>
        <geom name="light" class="massless" type="mesh" mesh="shown" pos="0 0 1"/>
        <geom name="seen" class="massless" type="mesh" mesh="bee"/>
        <geom name="paired" class="massless" type="mesh" mesh="bee" pos="0 3 0"/>
        <site name="tip"/>
      </body>
    </body>
    <body name="other" pos="1 0 1"><joint axis="1 0 0"/><geom type="mesh" mesh="cee"/></body>
  </worldbody>
  <contact><pair geom1="paired" geom2="floor"/></contact>
  <actuator><motor joint="elbow"/></actuator>
  <sensor><framepos objtype="geom" objname="seen"/><gyro site="tip"/></sensor>
</mujoco>`;

/** Numbers that MuJoCo makes of all geoms together, or that count geoms and meshes. */
const OF_ALL =
  /^(body_geomnum|body_geomadr|body_bvhadr|body_margin|dof_length|geom_dataid|pair_geom[12]|sensor_objid|mesh_.*)$/;

/** The numbers of one geom. */
const numbersOf = (model: Model, geom: number) =>
  Object.fromEntries(
    fieldsOf("model")
      .filter(({ name }) => name.startsWith("geom_") && !OF_ALL.test(name))
      .map(({ name }) => {
        const width = model[name].length / model.ngeom;
        return [name, Array.from(model[name].subarray(geom * width, (geom + 1) * width))];
      }),
  );

describe("what can only be looked at is left out", () => {
  test("and all numbers of what stays are those of the whole model", async () => {
    const whole = await loadModel(robot(), { assets: ASSETS, visuals: true });
    const model = await loadModel(robot(), { assets: ASSETS });
    expect(whole.leftOut).toBeUndefined();
    expect(model.leftOut).toEqual({ geom: ["scenery", "shell", "fitted", "light"], mesh: ["shown"] });
    expect(whole.ngeom - model.ngeom).toBe(4);
    expect(model.names.mesh).toEqual(["a", "bee", "cee"]);

    for (const { name } of fieldsOf("model"))
      if (!name.startsWith("geom_") && !OF_ALL.test(name)) expect([name, model[name]]).toEqual([name, whole[name]]);
    const kept = model.names.geom.map((name, id) => (name === "" ? whole.ngeom - 1 : id && idOf(whole, "geom", name)));
    for (let g = 0; g < model.ngeom; g++) expect(numbersOf(model, g)).toEqual(numbersOf(whole, kept[g]));
    expect(model.opt).toEqual(whole.opt);
    expect([model.stat.meaninertia, model.stat.meanmass]).toEqual([whole.stat.meaninertia, whole.stat.meanmass]);

    // what names a geom still means it
    const sensor = model.sensor_objtype.indexOf(mjtObj.GEOM);
    expect(model.names.geom[model.sensor_objid[sensor]]).toBe("seen");
    expect([model.pair_geom1[0], model.pair_geom2[0]].map((g) => model.names.geom[g]).sort()).toEqual([
      "floor",
      "paired",
    ]);
  });

  test("its files are not read, and MuJoCo compiles the source to the same again", async () => {
    const model = await loadModel(robot("gone.stl"), { assets: ASSETS });
    expect(model.leftOut?.mesh).toEqual(["shown"]);
    await withMuJoCo(model, ({ model: mj }) => expect([mj.ngeom, mj.nmesh, mj.ntex]).toEqual([model.ngeom, 3, 0]));
    await expect(loadModel(robot("gone.stl"), { assets: ASSETS, visuals: true })).rejects.toThrow("missing-file");
  });

  test("a name that was left out is told apart from a misspelt one", async () => {
    const model = await loadModel(robot(), { assets: ASSETS });
    expect(() => idOf(model, "geom", "shell")).toThrow(/\[left-out\] geom "shell" .* visuals: true/);
    expect(() => idOf(model, "geom", "shel")).toThrow("unknown-name");
  });

  test.each([
    ["inertia from geoms in place of the body's own", `<compiler inertiafromgeom="true"/>`, ""],
    ["a rangefinder, which sees every geom", "", `<sensor><rangefinder site="s"/></sensor>`],
    ["a distance measured from all geoms of a body", "", `<sensor><distance geom1="ball" body2="b"/></sensor>`],
    ["drag of the geom", `<option density="1.2"/><default><geom fluidshape="ellipsoid"/></default>`, ""],
    ["bits that meet another geom's", `<default><geom conaffinity="2"/></default>`, ""],
  ])("kept for %s", async (_, before, after) => {
    const model = await loadModel(
      `<mujoco>${before}<asset><mesh name="a" file="m/a.obj"/></asset><worldbody>
        <geom name="ball" size="0.1" contype="2"/>
        <body name="b" pos="0 0 1"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
          <site name="s"/><geom type="mesh" mesh="a" contype="0" ${before.includes("conaffinity") ? "" : `conaffinity="0"`}/></body>
      </worldbody>${after}</mujoco>`,
      { assets: ASSETS },
    );
    expect([model.nmesh, model.leftOut]).toEqual([1, { geom: [], mesh: [] }]);
  });

  test("two models whose meshes have one path are told apart", async () => {
    const model = (mesh: string) =>
      loadModel(
        `<mujoco><asset><mesh name="a" file="a.obj"/></asset><worldbody><body><freejoint/><geom type="mesh" mesh="a"/></body></worldbody></mujoco>`,
        { assets: { "a.obj": mesh } },
      );
    const [one, two] = [await model(box(1, 2, 3)), await model(box(2, 2, 3))];
    expect(two.body_mass[1]).toBeCloseTo(2 * one.body_mass[1], 6);
  });
});

test("what an attached model draws with does not keep the rest from being left out", async () => {
  const child = `<mujoco><asset>
      <texture name="checker" type="2d" builtin="checker" width="8" height="8"/>
      <material name="skin" texture="checker"/>
    </asset><worldbody><body name="ball"><freejoint/><geom size="0.1" material="skin"/></body></worldbody></mujoco>`;
  const model = await loadModel(
    `<mujoco><asset><model name="child" file="child.xml"/><mesh name="shown" file="gone.obj"/></asset>
      <worldbody><geom class="main" type="mesh" mesh="shown" contype="0" conaffinity="0"/>
        <attach model="child" body="ball" prefix="a_"/></worldbody></mujoco>`,
    { assets: { "child.xml": child } },
  );
  expect([model.names.body, model.ngeom]).toEqual([["world", "a_ball"], 1]);
});
