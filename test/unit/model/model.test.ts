import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CorralError } from "../../../src/core/errors.ts";
import * as enums from "../../../src/model/enums.ts";
import { fieldsOf } from "../../../src/model/fields.ts";
import { describe as describeObject, idOf, loadModel, nameOf, withOptions } from "../../../src/model/model.ts";
import { getMuJoCo, MUJOCO_VERSION } from "../../../src/model/mujoco.ts";
import { createOracle, withMuJoCo, type Oracle } from "../../../src/model/oracle.ts";
import { loadTestModel } from "../../support/mjcf.ts";

/** The error of a promise that must reject with a code. */
async function refusal(code: string, call: Promise<unknown>): Promise<CorralError> {
  const error = await call.then(
    () => undefined,
    (e: unknown) => e,
  );
  expect(error).toBeInstanceOf(CorralError);
  expect((error as CorralError).code).toBe(code);
  return error as CorralError;
}

/** The error of a call that must throw. */
function thrown(call: () => unknown): CorralError {
  try {
    call();
  } catch (error) {
    return error as CorralError;
  }
  throw new Error("nothing was thrown");
}

const TET = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
const INCLUDE = `<mujocoinclude><asset><mesh name="tet" file="tet.obj"/></asset></mujocoinclude>`;
const MAIN = `<mujoco model="mesh"><compiler meshdir="../meshes"/><include file="parts/inc.xml"/>
  <worldbody><body><freejoint/><geom type="mesh" mesh="tet"/></body></worldbody></mujoco>`;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "corral-model-"));
  mkdirSync(join(folder, "meshes"));
  mkdirSync(join(folder, "xml", "parts"), { recursive: true });
  writeFileSync(join(folder, "meshes", "tet.obj"), TET);
  writeFileSync(join(folder, "xml", "parts", "inc.xml"), INCLUDE);
  writeFileSync(join(folder, "xml", "main.xml"), MAIN);
  writeFileSync(join(folder, "empty.xml"), "");
  writeFileSync(join(folder, "blank.xml"), " \n\t");
  writeFileSync(join(folder, "lines.jsonl"), `{"a":1}\n{"a":2}\n`);
  writeFileSync(join(folder, "latin1.xml"), Buffer.from([0x3c, 0x6d, 0xe9, 0x3e]));
  writeFileSync(join(folder, "binary.mjb"), Buffer.from([0x3c, 0x00, 0x01, 0x02]));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the numbers of mjModel", () => {
  test("the package is the release whose layout is read", async () => {
    expect((await getMuJoCo()).mj_versionString()).toContain(`${MUJOCO_VERSION}.`);
  });

  test("enums are MuJoCo's", async () => {
    const mujoco = (await getMuJoCo()) as unknown as Record<string, Record<string, { value: number }>>;
    const ours = Object.entries(enums).filter(([name]) => name.startsWith("mjt")) as [string, Record<string, number>][];
    expect(ours.length).toBeGreaterThan(15);
    for (const [name, values] of ours) {
      for (const [key, value] of Object.entries(values)) {
        // mjtJoint.FREE is mjtJoint.mjJNT_FREE; a prefix ends at the first underscore
        const theirs = Object.keys(mujoco[name]).find((k) => k.slice(k.indexOf("_") + 1) === key);
        expect([name, key, value]).toEqual([name, key, mujoco[name][theirs ?? ""]?.value]);
      }
    }
  });

  test("bool arrays are read in place", async () => {
    const model = await loadModel(`<mujoco>
      <worldbody><body name="w"/><body>
        <joint name="a" axis="0 1 0" limited="true" range="-1 1"/>
        <joint name="b" actuatorfrclimited="true" actuatorfrcrange="-1 1"/>
        <joint name="c" axis="1 0 0" actuatorgravcomp="true"/><geom size="1"/></body></worldbody>
      <equality><joint joint1="a" active="false"/><joint joint1="b"/></equality>
      <tendon><fixed limited="true" range="0 1"><joint joint="a" coef="1"/></fixed>
        <fixed actuatorfrclimited="true" actuatorfrcrange="-1 1"><joint joint="b" coef="1"/></fixed></tendon>
      <actuator><motor joint="a" ctrllimited="true" ctrlrange="0 1"/><motor joint="a" forcelimited="true" forcerange="0 1"/>
        <general joint="a" dyntype="integrator" actlimited="true" actrange="0 1"/>
        <general joint="a" dyntype="integrator" actearly="true"/></actuator>
    </mujoco>`);
    const read = Object.fromEntries(
      fieldsOf("model")
        .filter((f) => f.type === "u32" && /limited|active0|actearly|actgravcomp/.test(f.name))
        .map((f) => [f.name, [...model[f.name]]]),
    );
    expect(read).toEqual({
      jnt_limited: [1, 0, 0],
      jnt_actfrclimited: [0, 1, 0],
      jnt_actgravcomp: [0, 0, 1],
      eq_active0: [0, 1],
      tendon_limited: [1, 0],
      tendon_actfrclimited: [0, 1],
      actuator_ctrllimited: [1, 0, 0, 0],
      actuator_forcelimited: [0, 1, 0, 0],
      actuator_actlimited: [0, 0, 1, 0],
      actuator_actearly: [0, 0, 0, 1],
    });
  });

  test("arrays are copies: they outlive MuJoCo's model and its heap", async () => {
    const model = await loadTestModel("envs/ant");
    const before = model.body_mass.slice();
    const others = await Promise.all(Array.from({ length: 6 }, () => createOracle(model)));
    for (const oracle of others) oracle.delete();
    expect(model.body_mass).toEqual(before);
    expect(model.body_mass.buffer.byteLength).toBe(model.body_mass.byteLength);
  });

  test("a model is plain data", async () => {
    const model = await loadTestModel("sensors");
    expect(structuredClone(model)).toEqual(model);
  });
});

describe("loading", () => {
  test("a path, a URL and a text give the same model", async () => {
    const url = new URL("../../models/joint_hinge.xml", import.meta.url);
    const [fromUrl, fromPath] = [await loadModel(url), await loadModel(url.pathname)];
    const fromText = await loadModel(`\n${fromUrl.source.xml}`);
    for (const { name } of fieldsOf("model")) {
      expect(fromPath[name]).toEqual(fromUrl[name]);
      expect(fromText[name]).toEqual(fromUrl[name]);
    }
  });

  test("exactly the files that MuJoCo reads become the source, and compile again without the disk", async () => {
    const model = await loadModel(join(folder, "xml", "main.xml"));
    expect(model.source.file).toBe("xml/main.xml");
    expect(Object.keys(model.source.assets).sort()).toEqual(["meshes/tet.obj", "xml/parts/inc.xml"]);
    expect(model.nmesh).toBe(1);
    await withMuJoCo(model, (oracle) => expect(oracle.model.nmesh).toBe(1));
    const again = await loadModel(pathToFileURL(join(folder, "xml", "main.xml")));
    expect(again.body_mass).toEqual(model.body_mass);
  });

  test("assets go with a text", async () => {
    const assets = { "./parts/inc.xml": INCLUDE, "meshes/tet.obj": new TextEncoder().encode(TET) };
    const model = await loadModel(MAIN.replace("../meshes", "meshes"), { assets });
    expect(model.nmesh).toBe(1);
    assets["meshes/tet.obj"].fill(0);
    await withMuJoCo(model, (oracle) => expect(oracle.model.nmesh).toBe(1));
  });

  test("a name with a UTF-8 letter and a byte order mark are read", async () => {
    const model = await loadModel(`\uFEFF<mujoco model="Pferd"><worldbody><body name="hüfte"/></worldbody></mujoco>`);
    expect(idOf(model, "body", "hüfte")).toBe(1);
  });

  test("a missing file, a folder, an empty file, bytes that are no text", async () => {
    const missing = await refusal("missing-file", loadModel(join(folder, "nope.xml")));
    expect(missing.message).toContain("nope.xml");
    await refusal("is-directory", loadModel(folder));
    await refusal("empty-file", loadModel(join(folder, "empty.xml")));
    await refusal("empty-file", loadModel(join(folder, "blank.xml")));
    await refusal("empty-file", loadModel(""));
    await refusal("not-utf8", loadModel(join(folder, "latin1.xml")));
    await refusal("not-utf8", loadModel(join(folder, "binary.mjb")));
    const lines = await refusal("not-xml", loadModel(join(folder, "lines.jsonl")));
    expect(lines.message).toContain('begins with "{"');
    await refusal("bad-option", loadModel(join(folder, "xml", "main.xml"), { assets: {} }));
    await refusal("bad-option", loadModel(undefined as never));
    await refusal("bad-option", loadModel(new URL("https://example.org/ant.xml")));
    await refusal("missing-file", loadModel(join(folder, "empty.xml", "inside.xml")));
    await refusal("missing-file", loadModel("nothing\0at all"));
    expect((await refusal("missing-file", loadModel("x".repeat(9000)))).message.length).toBeLessThan(500);
  });

  test.each([
    ["model-compile", "<mujoco", "XML_ERROR"],
    ["model-compile", "<robots/>", "Unrecognized XML model type"],
    [
      "model-compile",
      `<mujoco><worldbody><body><joint type="knee"/></body></worldbody></mujoco>`,
      "invalid keyword: 'knee'",
    ],
    ["model-compile", `<mujoco><option speed="3"/></mujoco>`, "unrecognized attribute: 'speed'"],
    ["model-compile", `<mujoco><worldbody><body><freejoint/></body></worldbody></mujoco>`, "mass and inertia"],
    ["missing-file", `<mujoco><include file="away.xml"/></mujoco>`, "away.xml"],
    [
      "missing-file",
      `<mujoco><asset><mesh name="m" file="away.stl"/></asset><worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>`,
      "away.stl",
    ],
  ])("%s: %s", async (code, xml, text) => {
    const error = await refusal(code, loadModel(xml));
    expect(error.message).toContain(text);
    // no path of our own making is shown
    expect(error.message).not.toContain("/files");
    // the module lives on
    expect((await loadTestModel("joint_hinge")).nv).toBe(3);
  });
});

describe("a model that MuJoCo's WebAssembly build cannot hold", () => {
  const body = (n: number) => `<body><joint axis="0 1 0"/><geom size="0.1"/>`.repeat(n) + "</body>".repeat(n);

  test.each([
    ["nested too deeply", `<mujoco><worldbody>${body(400)}</worldbody></mujoco>`],
    ["too large", `<mujoco><size memory="3G"/></mujoco>`],
  ])("%s: is refused, and the next one loads", async (_, xml) => {
    const live = await createOracle(await loadTestModel("joint_hinge"));
    await refusal("mujoco-memory", loadModel(xml));
    await withMuJoCo(await loadTestModel("joint_hinge"), (oracle) => expect(oracle.read("qpos").length).toBe(3));
    live.delete();
  });

  test("a module that has refused a model compiles no other: its memory may be damaged", async () => {
    const first = await getMuJoCo();
    await refusal("model-compile", loadModel("<mujoco><option apirate='1'/></mujoco>"));
    expect(await getMuJoCo()).not.toBe(first);
  });

  test("a module that has crashed is left for a fresh one", async () => {
    await loadTestModel("joint_hinge");
    const crashed = await getMuJoCo();
    const crash = () => {
      throw new TypeError("getWasmTableEntry(...) is not a function");
    };
    Object.assign(crashed, { parseXMLString: crash, MjModel: { from_xml_path: crash } });
    expect((await loadModel("<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>")).ngeom).toBe(1);
    expect(await getMuJoCo()).not.toBe(crashed);
  });

  test("MuJoCo's own model and data are made in a fresh module too", async () => {
    const model = await loadTestModel("joint_hinge");
    const crashed = await getMuJoCo();
    const crash = () => {
      throw new TypeError("getWasmTableEntry(...) is not a function");
    };
    Object.assign(crashed, { parseXMLString: crash, MjModel: { from_xml_path: crash } });
    await withMuJoCo(model, (oracle) => expect(oracle.read("qpos").length).toBe(3));
    expect(await getMuJoCo()).not.toBe(crashed);
  });

  test("a model has a fresh module where one that made MuJoCo's own data has no memory left", async () => {
    const model = await loadTestModel("joint_hinge");
    const crash = () => {
      throw new TypeError("getWasmTableEntry(...) is not a function");
    };
    Object.assign(await getMuJoCo(), { parseXMLString: crash, MjModel: { from_xml_path: crash } });
    await withMuJoCo(model, (oracle) => expect(oracle.read("qpos").length).toBe(3));
    // a fresh one by now, in which no model was read
    const full = await getMuJoCo();
    Object.assign(full, { parseXMLString: crash, MjModel: { from_xml_path: crash } });
    expect((await loadModel("<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>")).ngeom).toBe(1);
    expect(await getMuJoCo()).not.toBe(full);
  });

  test.each([
    ["that nothing is returned", () => null],
    [
      "that a file cannot be read",
      () => {
        throw new Error("Loading error: ParseXML: Error opening file 'scene.xml'");
      },
    ],
  ])("a module that is short of memory and says %s is left for a fresh one", async (_, answer) => {
    await loadTestModel("joint_hinge");
    const mujoco = await getMuJoCo();
    // nearly all of the 2 GiB, of which some are used
    const short = () => expect(() => new mujoco.DoubleBuffer(2 ** 28 - 2 ** 20)).toThrow(/./);
    const parseXMLString = () => {
      short();
      throw new Error("Error: qhull error");
    };
    const from_xml_path = () => {
      short();
      return answer();
    };
    Object.assign(mujoco, { parseXMLString, MjModel: { from_xml_path } });
    expect((await loadModel("<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>")).ngeom).toBe(1);
    expect(await getMuJoCo()).not.toBe(mujoco);
  });

  test("data that has no room are refused, those alive go on", async () => {
    const model = await loadModel(
      `<mujoco><size memory="300M"/><worldbody><body><joint/><geom size="1"/></body></worldbody></mujoco>`,
    );
    const live: Oracle[] = [];
    const error = await (async () => {
      for (;;) live.push(await createOracle(model));
    })().catch((e: unknown) => e as CorralError);
    expect(error.code).toBe("mujoco-memory");
    expect(live.length).toBeGreaterThan(2);
    for (const oracle of live) {
      oracle.mujoco.mj_step(oracle.model, oracle.data);
      expect(oracle.data.time).toBe(0.002);
      oracle.delete();
    }
    await withMuJoCo(model, (oracle) => expect(oracle.data.time).toBe(0));
  });
});

describe("names", () => {
  test("look-ups go both ways and suggest what may have been meant", async () => {
    const model = await loadTestModel("envs/ant");
    expect(idOf(model, "joint", "hip_2")).toBe(3);
    expect(nameOf(model, "joint", 3)).toBe("hip_2");
    expect(nameOf(model, "body", 4)).toBe("");
    expect(describeObject(model, "joint", 3)).toBe(`joint "hip_2"`);
    expect(describeObject(model, "actuator", 3)).toBe("actuator 3");
    const error = thrown(() => idOf(model, "body", "toros"));
    expect(error.code).toBe("unknown-name");
    expect(error.message).toContain("nearest: torso");
    expect(thrown(() => idOf(model, "body", "")).code).toBe("unknown-name");
    expect(thrown(() => idOf(model, "sensor", "gyro")).message).toContain("there are none");
  });
});

describe("options", () => {
  test("overrides make a new model, and reach MuJoCo", async () => {
    const model = await loadTestModel("envs/ant");
    const other = withOptions(model, {
      timestep: 0.004,
      integrator: "implicitfast",
      cone: "elliptic",
      solver: "CG",
      gravity: [0, 1, -2],
      iterations: 7,
      tolerance: 0,
    });
    expect(model.opt.timestep).toBe(0.01);
    expect(other.opt).toMatchObject({ timestep: 0.004, integrator: 3, cone: 1, solver: 1, iterations: 7 });
    expect(other.body_mass).toBe(model.body_mass);
    await withMuJoCo(other, (oracle) => {
      const { opt } = oracle.model;
      expect([opt.timestep, opt.integrator, opt.cone, opt.solver, opt.iterations]).toEqual([0.004, 3, 1, 1, 7]);
      expect([...opt.gravity]).toEqual([0, 1, -2]);
      oracle.mujoco.mj_step(oracle.model, oracle.data);
      expect(oracle.data.time).toBe(0.004);
    });
  });

  test.each([
    [{ timestep: 0 }, "pass a finite number above 0"],
    [{ timestep: Number.NaN }, "finite"],
    [{ timestep: "0.01" }, "finite"],
    [{ tolerance: -1 }, "at least 0"],
    [{ iterations: 1.5 }, "pass an integer from 0"],
    [{ iterations: -1 }, "pass an integer from 0"],
    [{ integrator: "euler" }, `"Euler"`],
    [{ integrator: 9 }, `"RK4"`],
    [{ gravity: [0, 0] }, "3 finite numbers"],
    [{ gravity: [0, 0, Infinity] }, "3 finite numbers"],
  ])("bad-option: %o", async (overrides, text) => {
    const model = await loadTestModel("static");
    const error = thrown(() => withOptions(model, overrides as never));
    expect(error.code).toBe("bad-option");
    expect(error.message).toContain(text);
  });

  test("unknown-option names the nearest", async () => {
    const model = await loadTestModel("static");
    const error = thrown(() => withOptions(model, { timstep: 0.01 } as never));
    expect(error.code).toBe("unknown-option");
    expect(error.message).toContain("timestep");
  });
});

describe("the oracle", () => {
  test("reads copies, refuses arrays of the wrong length, and is deleted once", async () => {
    const model = await loadTestModel("joint_hinge");
    const oracle = await createOracle(model);
    oracle.write("qpos", [0.1, 0.2, 0.3]);
    const copy = oracle.read("qpos");
    oracle.write("qpos", [0, 0, 0]);
    expect([...copy]).toEqual([0.1, 0.2, 0.3]);
    expect(thrown(() => oracle.write("qpos", [1])).code).toBe("oracle-size");
    oracle.delete();
    oracle.delete();
  });
});
