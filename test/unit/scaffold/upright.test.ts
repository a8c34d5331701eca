// robots whose base has a frame that does not stand upright walk along axes of their own
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { makeVec, type Task } from "../../../src/env/index.ts";
import { writeUrdfScene } from "../../../src/cli/write-urdf-scene.ts";
import { loadModel } from "../../../src/model/model.ts";
import { baseOf, robotOf } from "../../../src/scaffold/robot.ts";
import { velocityTask } from "../../../src/scaffold/robot-tasks.ts";
import { axesOf } from "../../../src/scaffold/upright.ts";
import { worldsOnWasm } from "../../support/on-wasm.ts";

worldsOnWasm();

const folder = mkdtempSync(join(tmpdir(), "corral-upright-"));
afterAll(() => rmSync(folder, { recursive: true }));

type Quat = readonly [number, number, number, number];

const turned = ([w, x, y, z]: Quat, v: readonly number[]): number[] => {
  const [a, b, c] = v;
  const t = [2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)];
  return [a + w * t[0] + y * t[2] - z * t[1], b + w * t[1] + z * t[0] - x * t[2], c + w * t[2] + x * t[1] - y * t[0]];
};
const back = ([w, x, y, z]: Quat): Quat => [w, -x, -y, -z];

/** As MJCF reads them: not too small. */
const numbers = (list: readonly number[]): string => list.map((x) => x.toFixed(9)).join(" ");

/** Legs below a trunk that is drawn upright, and whose frame has the quaternion; toes point along the angle from x (rad). */
function standing(quat: Quat, feet: readonly (readonly [number, number])[], toes: number): string {
  const at = (v: readonly number[]) =>
    turned(back(quat), v)
      .map((x) => x.toFixed(9))
      .join(" ");
  const legs = feet.map(
    ([x, y], i) => `<body name="leg${i}" pos="${at([x, y, -0.03])}" quat="${numbers(back(quat))}">
      <joint name="hip${i}" axis="0 1 0" range="-60 60"/><geom type="capsule" size=".03" fromto="0 0 0 0 0 -.27" mass=".5"/>
      <geom type="capsule" size=".03" fromto="0 0 -.27 ${0.08 * Math.cos(toes)} ${0.08 * Math.sin(toes)} -.27" mass=".1"/></body>`,
  );
  return `<mujoco><worldbody><geom type="plane" size="0 0 1"/>
    <body name="trunk" pos="0 0 .33" quat="${numbers(quat)}"><freejoint name="root"/><geom type="sphere" size=".12" mass="5"/>${legs.join("")}</body></worldbody>
    <actuator>${feet.map((_, i) => `<position name="hip${i}" joint="hip${i}" kp="60" kv="2"/>`).join("")}</actuator></mujoco>`;
}

const CORNERS = [-0.2, 0.2].flatMap((x) => [-0.15, 0.15].map((y) => [x, y] as const));
const Y_UP: Quat = [Math.SQRT1_2, Math.SQRT1_2, 0, 0];

test("axes of a base that stands upright are its own", async () => {
  const robot = await robotOf(await loadModel(standing([1, 0, 0, 0], CORNERS, 0)));
  expect(axesOf(robot, baseOf(robot))).toBeUndefined();
});

test("of others they are where it goes in the world as it stands", async () => {
  const number = fc.double({ min: -1, max: 1, noNaN: true });
  const quats = fc.tuple(number, number, number, number).filter((q) => Math.hypot(...q) > 0.1);
  await fc.assert(
    fc.asyncProperty(quats, fc.integer({ min: 0, max: 3 }), async (q, quarter) => {
      const quat = q.map((x) => x / Math.hypot(...q)) as unknown as Quat;
      const robot = await robotOf(await loadModel(standing(quat, CORNERS, 0)));
      const axes = axesOf(robot, baseOf(robot));
      if (turned(quat, [0, 0, 1])[2] > Math.cos(0.5)) expect(axes).toBeUndefined();
      else
        for (const [axis, wanted] of [
          [axes!.ahead, [1, 0, 0]],
          [axes!.left, [0, 1, 0]],
          [axes!.up, [0, 0, 1]],
        ] as const)
          turned(quat, axis).forEach((x, i) => expect(x).toBeCloseTo(wanted[i], 5));
      // on two feet it goes where its toes are
      const toes = (quarter * Math.PI) / 2;
      const side = [-Math.sin(toes), Math.cos(toes)].map((x) => 0.12 * x);
      const feet = [side, side.map((x) => -x)].map(([x, y]) => [x, y] as const);
      const biped = await robotOf(await loadModel(standing(Y_UP, feet, toes)));
      const goes = turned(Y_UP, axesOf(biped, baseOf(biped))!.ahead);
      [Math.cos(toes), Math.sin(toes), 0].forEach((x, i) => expect(goes[i]).toBeCloseTo(x, 5));
    }),
    { numRuns: 20 },
  );
});

test("one whose frame looks back goes where what is called left is on its left", async () => {
  const biped = (left: number) => {
    const feet = [left, 1 - left].map((i) => [0, i === 0 ? 0.12 : -0.12] as const);
    return standing([1, 0, 0, 0], feet, 0)
      .replace('name="leg0"', 'name="l_foot"')
      .replace('name="leg1"', 'name="r_foot"');
  };
  const [ahead, back] = await Promise.all([0, 1].map(async (left) => robotOf(await loadModel(biped(left)))));
  expect(axesOf(ahead, baseOf(ahead))).toBeUndefined();
  expect(axesOf(back, baseOf(back))).toEqual({ ahead: [-1, 0, 0], left: [0, -1, 0], up: [0, 0, 1] });
});

test.each([1, -1])(
  "where nothing tells left from right, and feet have no toes, it goes where its knees are, %d",
  async (way) => {
    const leg = (x: number, i: number) => `<body pos="${x} 0 -.05"><joint name="hip${i}" axis="1 0 0" range="-60 60"/>
    <geom type="capsule" size=".03" fromto="0 0 0 0 ${0.1 * way} -.2"/>
    <body pos="0 ${0.1 * way} -.2"><joint name="knee${i}" axis="1 0 0" range="-60 60"/><geom type="capsule" size=".03" fromto="0 0 0 0 ${-0.1 * way} -.2"/>
    <body pos="0 ${-0.1 * way} -.2"><joint name="ankle${i}" axis="1 0 0" range="-60 60"/><geom size=".04"/></body></body></body>`;
    const joints = [0, 1].flatMap((i) => ["hip", "knee", "ankle"].map((name) => `${name}${i}`));
    const robot = await robotOf(
      await loadModel(`<mujoco><worldbody><geom type="plane" size="0 0 1"/><body pos="0 0 .49"><freejoint name="root"/>
      <geom type="box" size=".1 .06 .06"/>${[0.08, -0.08].map(leg).join("")}</body></worldbody>
      <actuator>${joints.map((joint) => `<position joint="${joint}" kp="60"/>`).join("")}</actuator></mujoco>`),
    );
    expect(axesOf(robot, baseOf(robot))!.ahead).toEqual([0, way, 0]);
  },
);

test("its task does not end where it stands, and measures along them", async () => {
  const path = join(folder, "lying.xml");
  writeFileSync(path, standing(Y_UP, CORNERS, 0));
  const file = join(folder, "lying.mts");
  const library = new URL("../../../src/index.ts", import.meta.url).href;
  const robot = await robotOf(await loadModel(path));
  writeFileSync(file, velocityTask("lying", robot, { library, model: pathToFileURL(path).href }));
  const { default: task } = (await import(file)) as { default: Task };
  const told = {
    ...task,
    info: { ahead: "linear.x", lean: "leans", off: "distance(linear, [qvel[0], qvel[1], qvel[2]])" },
  };
  await using env = await makeVec(told, { numEnvs: 4, seed: 3, device: "wasm", recorder: false });
  await env.reset();
  for (let t = 0; t < 40; t++) {
    const { terminated } = await env.step(new Float32Array(16));
    expect([...terminated]).toEqual([0, 0, 0, 0]);
  }
  const of = (name: string) => [...env.infos.get(name)!.values];
  expect(Math.max(...of("lean"))).toBeLessThan(0.2);
  // it hardly turned: along its axes it moves as in the world
  expect(Math.max(...of("off"))).toBeLessThan(0.05);
});

/** A URDF that begins with the world: two legs beside each other along x, the first called left, toes as long as heels. */
const facing = (left: string, right: string) => {
  const link = (name: string, shape: string, at: string) => `<link name="${name}">
    <inertial><origin xyz="${at}"/><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="${at}"/><geometry>${shape}</geometry></collision></link>`;
  const leg = (name: string, x: number) =>
    link(`${name}_thigh`, `<box size=".05 .05 .2"/>`, "0 0 -.15") +
    link(`${name}_foot`, `<box size=".06 .2 .3"/>`, "0 0 -.15") +
    `<joint name="${name}_hip" type="revolute"><parent link="torso"/><child link="${name}_thigh"/><origin xyz="${x} 0 0"/><axis xyz="1 0 0"/>
      <limit lower="-1" upper="1" effort="50" velocity="20"/></joint>
     <joint name="${name}_knee" type="revolute"><parent link="${name}_thigh"/><child link="${name}_foot"/><origin xyz="0 0 -.3"/><axis xyz="1 0 0"/>
      <limit lower="-2" upper="2" effort="50" velocity="20"/></joint>`;
  return `<robot name="aside"><link name="world"/><joint name="fixed" type="fixed"><parent link="world"/><child link="torso"/><origin xyz="0 0 1"/></joint>
    ${link("torso", `<box size=".3 .2 .2"/>`, "0 0 .1")}${leg(left, 0.12)}${leg(right, -0.12)}</robot>`;
};

test.each([
  ["l", "r", -1],
  ["r", "l", 1],
  ["left", "right", -1],
  ["a", "b", 1],
])(
  "two legs beside each other along x, %s and %s, go along y; what is called left is on the left",
  async (first, second, ahead) => {
    const name = `aside-${first}`;
    writeFileSync(join(folder, `${name}.urdf`), facing(first, second));
    const { model, notes } = await writeUrdfScene(
      name,
      join(folder, `${name}.xml`),
      { model: await loadModel(join(folder, `${name}.urdf`)), file: `${name}.urdf` },
      true,
    );
    const robot = await robotOf(model);
    const base = baseOf(robot);
    // the frame that floats is the torso's, not the world's, which is below its feet
    expect(base.height).toBeCloseTo(0.6, 1);
    expect(base.feet).toHaveLength(2);
    expect(axesOf(robot, base)).toEqual({ ahead: [0, ahead, 0], left: [-ahead, 0, 0], up: [0, 0, 1] });
    expect(notes).toBeDefined();
  },
);
