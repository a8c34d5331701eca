// `corral check-model`: quiet on good models, telling on planted faults
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { checkModel, type ModelReport } from "../../../src/crash/check-model.ts";
import { taskOf } from "../../../src/env/registry.ts";
import { loadModel } from "../../../src/model/model.ts";
import { corralInside } from "../../support/cli-inside.ts";
import { SHIPPED } from "../../support/shipped.ts";

const folder = mkdtempSync(join(tmpdir(), "corral-check-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const rod = (joint: string, actuator: string, more = "") =>
  `<worldbody><body name="rod"><joint name="hinge" axis="0 1 0" ${joint}/>
   <geom name="rod" type="capsule" size=".02" fromto="0 0 0 .3 0 0"/>${more}</body></worldbody><actuator>${actuator}</actuator>`;
const MOTOR = '<motor name="m" joint="hinge" ctrlrange="-1 1"/>';
const ELBOW = `<body name="arm" pos=".3 0 0"><joint name="elbow" axis="0 1 0" range="-1 1" limited="true"/>
  <geom name="arm" type="capsule" size=".02" fromto="0 0 0 .3 0 0"/></body>`;
const balls = (more: string, first = "0 0 0", second = "1 0 0") => `<worldbody>
  <body name="a" pos="${first}"><freejoint/><geom name="a" size=".1" ${more}/></body>
  <body name="b" pos="${second}"><freejoint/><geom name="b" size=".1"/></body></worldbody>`;

/** What is planted, and what is told of it. */
const PLANTS: readonly (readonly [
  name: string,
  xml: string,
  finding: string,
  text: RegExp,
  grade: "hurts" | "note",
])[] = [
  [
    "an actuator of a callback",
    rod("", '<general name="m" joint="hinge" gaintype="user"/>'),
    "user-actuator",
    /what actuator "m" does is left to callbacks.*gain of 1/,
    "hurts",
  ],
  [
    "a stiff spring",
    rod('stiffness="1e6"', MOTOR),
    "timestep-stiffness",
    /joint "hinge".*Take|"hinge": a spring of/,
    "hurts",
  ],
  [
    "a servo that is damped beyond the timestep",
    rod("", '<position name="servo" joint="hinge" kp="10" kv="1000"/>'),
    "timestep-damping",
    /actuator "servo": 1000 on an inertia/,
    "hurts",
  ],
  [
    "damping that RK4 takes explicitly",
    `<option integrator="RK4"/>${rod('damping="100"', MOTOR)}`,
    "timestep-damping",
    /joint "hinge": 100/,
    "hurts",
  ],
  [
    "a contact of a solref that nothing follows, not touching yet",
    balls('solref="-1e9 -1"'),
    "constraint-stiffness",
    /solref of the contact of geom "a" and geom "b"/,
    "hurts",
  ],
  [
    "a feather against an anvil",
    balls('mass="1e7"').replace('name="b" size', 'name="b" mass="1e-3" size'),
    "mass-ratio",
    /body "a" weighs/,
    "hurts",
  ],
  [
    "an inertia of nothing",
    '<worldbody><body><joint name="s" type="slide"/><inertial pos="0 0 0" mass="1e-14" diaginertia="1e-14 1e-14 1e-14"/></body></worldbody>',
    "zero-inertia",
    /joint "s" moves an inertia of/,
    "hurts",
  ],
  [
    "an equality beyond a range",
    `${rod("", MOTOR, ELBOW)}<equality><joint name="lock" joint1="elbow" polycoef="2 0 0 0 0"/></equality>`,
    "contradiction",
    /equality "lock" holds joint "elbow" at 2, and its range is \[-1, 1\]/,
    "hurts",
  ],
  [
    "an equality that follows a joint out of a range",
    `${rod('range="3 4" limited="true" ref="3.5"', MOTOR, ELBOW)}<equality><joint name="lock" joint1="elbow" joint2="hinge" polycoef="3 0.1 0 0 0"/></equality>`,
    "contradiction",
    /at 2\.95 to 3\.05, wherever joint "hinge" is in its range/,
    "hurts",
  ],
  [
    "two equalities that hold a joint at two places",
    `${rod("", MOTOR)}<equality><joint name="one" joint1="hinge" polycoef="0.2 0 0 0 0"/><joint name="two" joint1="hinge" polycoef="-0.2 0 0 0 0"/></equality>`,
    "contradiction",
    /equality "one" and equality "two" cannot hold together/,
    "hurts",
  ],
  [
    "welds that hold a body at two places",
    `<worldbody><body name="a"><freejoint/><geom size=".1"/></body></worldbody><equality>
     <weld name="one" body1="a" relpose="0 0 0 1 0 0 0"/><weld name="two" body1="a" relpose="0.5 0 0 1 0 0 0"/></equality>`,
    "contradiction",
    /equality "one" and equality "two"/,
    "hurts",
  ],
  [
    "balls inside each other",
    balls("", "0 0 0", "0.01 0 0"),
    "initial-penetration",
    /geom "a" and geom "b" overlap by 0\.19 m at qpos0/,
    "hurts",
  ],
  [
    "damping of the wrong sign",
    rod('damping="-5"', MOTOR),
    "negative-damping",
    /joint "hinge" has a damping of -5/,
    "hurts",
  ],
  [
    "a servo whose damping has the wrong sign",
    rod("", '<general name="servo" joint="hinge" gear="2" biastype="affine" gainprm="1" biasprm="0 -10 3"/>'),
    "unstable-feedback",
    /actuator "servo" adds 12 times the velocity \(12 on its joint.*: a damper of negative damping/,
    "hurts",
  ],
  [
    "a servo that pushes away from where it is to be",
    rod('damping="1"', '<general name="servo" joint="hinge" biastype="affine" gainprm="10" biasprm="0 10 -1"/>'),
    "unstable-feedback",
    /actuator "servo" adds 10 times the position .*: a spring of negative stiffness/,
    "hurts",
  ],
  [
    "a tendon's servo of the wrong sign",
    `${rod("", '<general name="pull" tendon="t" biastype="affine" gainprm="1" biasprm="0 0 2"/>')}<tendon><fixed name="t"><joint joint="hinge" coef="2"/></fixed></tendon>`,
    "unstable-feedback",
    /actuator "pull" adds 2 times the velocity: a damper/,
    "hurts",
  ],
  [
    "a brake that a control of its range lets go",
    rod("", '<general name="brake" joint="hinge" gaintype="affine" gainprm="0 0 -5" ctrlrange="-1 1"/>'),
    "unstable-feedback",
    /actuator "brake" adds 5 times the velocity/,
    "hurts",
  ],
  [
    "a gear of 1e9",
    rod("", '<motor joint="hinge" gear="1e9"/>'),
    "actuator-force",
    /the actuators push joint "hinge"/,
    "hurts",
  ],
  ["a gravity of 1e6", `<option gravity="0 0 -1e6"/>${rod("", MOTOR)}`, "gravity", /gravity is 1000000/, "hurts"],
  [
    "an arm that never reaches a wall",
    rod("", MOTOR, ELBOW).replace("<worldbody>", '<worldbody><geom name="wall" type="box" size=".1 1 1" pos="5 0 0"/>'),
    "never-touch",
    /2 of 2 pairs of geoms can never touch.*geom "(rod|arm)" and geom "wall"/,
    "note",
  ],
  [
    "an arm that never reaches the floor",
    rod("", MOTOR, ELBOW).replace(
      "<worldbody>",
      '<worldbody><geom name="floor" type="plane" size="5 5 .1" pos="0 0 -1"/>',
    ),
    "never-touch",
    /geom "floor" and geom "rod"/,
    "note",
  ],
  [
    "a joint that starts outside its range",
    rod('range="1 2" limited="true"', MOTOR),
    "start-outside-range",
    /at qpos0 joint "hinge" is at 0, its range is \[1, 2\]/,
    "note",
  ],
];

const check = async (xml: string): Promise<ModelReport> =>
  checkModel(await loadModel(`<mujoco><compiler angle="radian"/>${xml}</mujoco>`));

describe("planted faults", () => {
  test.each(PLANTS)("%s", async (_, xml, name, text, grade) => {
    const { findings } = await check(xml);
    const found = findings.find((f) => f.name === name);
    expect(findings.map((f) => f.name)).toContain(name);
    expect(found).toMatchObject({ grade });
    expect(found!.text).toMatch(text);
    expect(found!.remedy).not.toBe("");
  });
});

describe("good models", () => {
  test.each(SHIPPED)("nothing hurts in %s", async (id) => {
    const { findings, hurting } = await checkModel(await loadModel(taskOf(id).model));
    expect(findings.filter((f) => f.grade === "hurts")).toEqual([]);
    expect(hurting).toBe(0);
  });

  const reference = new URL("../../../../shared/reference/", import.meta.url);
  const files = ["gymnasium", "mujoco_warp"].flatMap((set) => {
    const at = new URL(`${set}/`, reference);
    return existsSync(at)
      ? readdirSync(at)
          .filter((f) => f.endsWith(".xml"))
          .map((f) => new URL(f, at))
      : [];
  });
  test.skipIf(files.length === 0)("nothing hurts in the reference models", async () => {
    for (const file of files) {
      const { findings } = await checkModel(await loadModel(file));
      expect([file.pathname, findings.filter((f) => f.grade === "hurts")]).toEqual([file.pathname, []]);
    }
  });

  test.each([
    ["less than its joint's damping", rod('damping="5"', '<general joint="hinge" biastype="affine" biasprm="0 0 3"/>')],
    [
      "beside a servo that holds more",
      rod("", '<general joint="hinge" biastype="affine" biasprm="0 2 0.5"/><position joint="hinge" kp="5" kv="1"/>'),
    ],
    ["a damper", rod("", '<damper joint="hinge" kv="5" ctrlrange="0 1"/>')],
    ["a spring that gives way", rod('stiffness="9"', '<general joint="hinge" biastype="affine" biasprm="0 4 -1"/>')],
  ])("feedback with the motion is no finding: %s", async (_, xml) => {
    const { findings } = await check(xml);
    expect(findings.map(({ name }) => name)).not.toContain("unstable-feedback");
  });

  test("a feather that is welded to an anvil is a part of it", async () => {
    const { findings } = await check(`<worldbody><body name="anvil"><freejoint/><geom size="0.1" mass="10"/>
      <body name="feather" pos="0 0 .1"><inertial pos="0 0 0" mass="1e-6" diaginertia="1e-12 1e-12 1e-12"/></body></body></worldbody>`);
    expect(findings).toEqual([]);
  });

  test("an actuator whose group is disabled pushes nothing", async () => {
    const actuator = '<general joint="hinge" group="3" biastype="affine" biasprm="0 0 3"/>';
    const { findings } = await check(`<option actuatorgroupdisable="3"/>${rod("", actuator)}`);
    expect(findings.map(({ name }) => name)).not.toContain("unstable-feedback");
  });

  test("a closed chain, a servo within the timestep and far pairs that swing are no findings", async () => {
    const { findings } = await check(
      `${rod("", '<position joint="hinge" kp="10" kv="1"/>', ELBOW)}<equality><connect body1="arm" anchor=".3 0 0" body2="world"/></equality>`,
    );
    expect(findings).toEqual([]);
  });
});

describe("cost", () => {
  test("counts pairs, places and rows by geom, and operations by sensor", async () => {
    const { cost } = await check(
      `${balls("")}<sensor><framepos objtype="body" objname="a"/><framepos objtype="body" objname="b"/><subtreeangmom body="a"/></sensor>`,
    );
    expect(cost.geoms).toEqual([
      { geom: 'geom "a"', pairs: 1, contacts: 1, rows: 4 },
      { geom: 'geom "b"', pairs: 1, contacts: 1, rows: 4 },
    ]);
    expect(cost.operations).toBeGreaterThan(100);
    expect(cost.sensors).toHaveLength(3);
    expect(cost.sensors[0].sensor).toBe("sensor 2");
    expect(cost.sensors[1].operations).toBe(cost.sensors[2].operations);
  });
});

test("numbers that are none are named by field and object", async () => {
  const body = (pos: string) => `<body name="box" pos="${pos}"><freejoint/><geom size=".1"/></body>`;
  const { findings } = await checkModel(await loadModel(`<mujoco><worldbody>${body("0 nan 1")}</worldbody></mujoco>`));
  expect(findings.map(({ certainty, text }) => `${certainty}: ${text}`)).toContain(
    'certain: body_pos of body "box" is NaN',
  );
});

test.each([
  [`<option gravity="nan 0 0"/>`, "certain: option gravity is NaN"],
  [`<option wind="0 inf 0"/>`, "certain: option wind is Infinity"],
  [`<custom><numeric name="n" data="nan"/></custom>`, "possible: numeric_data[0] is NaN"],
])("so are options, and what nothing computes with is a note: %s", async (more, told) => {
  const body = `<body><freejoint/><geom size=".1"/></body>`;
  const { findings } = await checkModel(await loadModel(`<mujoco>${more}<worldbody>${body}</worldbody></mujoco>`));
  expect(findings.map(({ certainty, text }) => `${certainty}: ${text}`)).toEqual([told]);
});

test.each([
  ['damping="inf"', 'dof_damping of joint "hinge" is Infinity'],
  ['armature="1e300"', 'dof_armature of joint "hinge" is 1e+300, beyond float32'],
  // a bound that is none
  ['limited="true" range="-1 inf"', undefined],
])("so is what a float32 does not hold, without what MuJoCo made of it: %s", async (joint, told) => {
  const { findings } = await checkModel(await loadModel(`<mujoco>${rod(joint, MOTOR)}</mujoco>`));
  const found = findings.filter(({ name }) => name.startsWith("not-"));
  expect(found.map(({ text }) => text)).toEqual(told === undefined ? [] : [told]);
});

test.each([
  ['<geom size=".1" pos="0 0 nan"/>', ["geom_pos of geom 0 is NaN"]],
  ['<geom size="inf"/>', ["geom_size of geom 0 is Infinity"]],
  ['<inertial pos="0 0 inf" mass="1" diaginertia="1 1 1"/>', ['body_ipos of body "box" is Infinity']],
])("the number that was written is named: %s", async (inside, told) => {
  const body = `<body name="box"><joint name="h"/>${inside}</body>`;
  const { findings } = await checkModel(await loadModel(`<mujoco><worldbody>${body}</worldbody></mujoco>`));
  expect(findings.filter(({ name }) => name.startsWith("not-")).map(({ text }) => text)).toEqual(told);
});

describe("the command", () => {
  test("names of a model stay in their lines", async () => {
    const file = join(folder, "lines.xml");
    const forged = "hinge&#10;certain: nothing&#9;is wrong&#x2028;";
    writeFileSync(file, `<mujoco>${rod('damping="-5"', MOTOR).replaceAll('"hinge"', `"${forged}"`)}</mujoco>`);
    const { stdout } = await corralInside(["check-model", file]);
    expect(stdout).toContain('joint "hinge\\ncertain: nothing\\tis wrong\\u2028" has a damping of -5');
    expect(stdout).not.toMatch(/^certain: nothing/m);
  });

  test("exit codes tell what was found", async () => {
    const file = join(folder, "stiff.xml");
    writeFileSync(file, `<mujoco>${rod('stiffness="1e6"', MOTOR)}</mujoco>`);
    const hurt = await corralInside(["check-model", file]);
    expect(hurt.code).toBe(1);
    expect(hurt.stdout).toMatch(/: 1 finding that will hurt$/m);
    expect(hurt.stdout).toMatch(/^certain: the timestep is too large for the stiffness of joint "hinge"/m);
    const mended = await corralInside(["check-model", file, "--set", "timestep=1e-5", "--json"]);
    expect(mended.code).toBe(0);
    expect(JSON.parse(mended.stdout)).toMatchObject({ model: file, timestep: 1e-5, findings: [], hurting: 0 });
    expect((await corralInside(["check-model", "Ant-v5"])).stdout).toMatch(/1 note\n/);
    for (const args of [[], [join(folder, "none.xml")], [file, "--device", "cpu"]])
      expect((await corralInside(["check-model", ...args])).code).toBe(2);
  });
});
