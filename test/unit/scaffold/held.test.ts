// fingers of a robot that learns to walk stay where they are at the start
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeVec, type Task } from "../../../src/env/index.ts";
import { loadModel } from "../../../src/model/model.ts";
import { heldOf } from "../../../src/scaffold/held.ts";
import { baseOf, robotOf } from "../../../src/scaffold/robot.ts";
import { velocityTask } from "../../../src/scaffold/robot-tasks.ts";
import { worldsOnWasm } from "../../support/on-wasm.ts";

worldsOnWasm();

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "corral-held-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const finger = (name: string, y: number, mass: number) => `<body name="${name}" pos="0 ${y} .1">
  <joint name="${name}" axis="0 1 0" range="-40 40" armature=".01"/><geom type="capsule" size=".01" fromto="0 0 0 0 0 .05" mass="${mass}"/></body>`;

/** A trunk of 5 kg on four legs, with fingers that are moved first. */
const grasping = (mass: number, names = true) => `<mujoco><worldbody><geom type="plane" size="0 0 1"/>
  <body name="trunk" pos="0 0 .35"><freejoint name="root"/><geom type="box" size=".2 .15 .05" mass="5"/>
    ${finger("thumb", -0.05, mass)}${finger("index", 0.05, mass)}
    ${[-0.15, 0.15]
      .flatMap((x) => [-0.15, 0.15].map((y) => [x, y]))
      .map(
        ([x, y], i) => `<body pos="${x} ${y} -.05"><joint name="leg${i}" axis="0 1 0" range="-60 60"/>
      <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.27" mass=".5"/></body>`,
      )
      .join("")}
  </body></worldbody>
  <actuator>${["thumb", "leg0", "leg1", "index", "leg2", "leg3"]
    .map((name) => `<position ${names ? `name="${name}"` : ""} joint="${name}" kp="20" kv="1"/>`)
    .join("")}</actuator>
  <keyframe><key name="home" qpos="0 0 .35 1 0 0 0 0.2 -0.1 0 0 0 0"/></keyframe></mujoco>`;

const held = async (xml: string): Promise<number[]> => {
  const robot = await robotOf(await loadModel(xml));
  return [...heldOf(robot, baseOf(robot))];
};

test("light limbs are held that no foot hangs from", async () => {
  expect(await held(grasping(0.02))).toEqual([0, 3]);
  // nor does what is no part of it move
  const dial = '<body name="dial" pos="0 0 20"><joint name="dial"/><geom size=".05"/></body></worldbody>';
  const beside = grasping(0.2)
    .replace("</worldbody>", dial)
    .replace("</actuator>", '<motor name="dial" joint="dial"/></actuator>');
  expect(await held(beside.replace('-0.1 0 0 0 0"', '-0.1 0 0 0 0 0"'))).toEqual([6]);
  // another robot is left to who writes terms for it
  const other = beside.replace(
    '<body name="dial" pos="0 0 20">',
    '<body pos="0 9 1"><freejoint/><geom size=".1"/><body>',
  );
  const floats = other.replace("</body></worldbody>", "</body></body></worldbody>");
  expect(await held(floats.replace('-0.1 0 0 0 0"', '-0.1 0 0 0 0 0 9 1 1 0 0 0 0"'))).toEqual([]);
  // heavy ones help it walk, and without names a task could not say which
  expect(await held(grasping(0.2))).toEqual([]);
  expect(await held(grasping(0.02, false))).toEqual([0, 3]);
  expect(await held(grasping(0.02, false).replace('joint="index"', 'joint="index" name="leg3"'))).toEqual([]);
});

test("its task acts on the legs, and its fingers stay", async () => {
  const path = join(folder, "grasping.xml");
  writeFileSync(path, grasping(0.02));
  const robot = await robotOf(await loadModel(path));
  const library = new URL("../../../src/index.ts", import.meta.url).href;
  const text = velocityTask("grasping", robot, { library, model: pathToFileURL(path).href });
  expect(text).toContain("others: [0.2, -0.1],");
  expect(text).toContain("joints: `qpos[9:13] - ${HOME}`");
  const file = join(folder, "grasping.mts");
  writeFileSync(file, text);
  const { default: task } = (await import(file)) as { default: Task };
  const told = { ...task, info: { thumb: "ctrl[0]", leg: "ctrl[1]", index: "ctrl[3]" } };
  await using env = await makeVec(told, { numEnvs: 2, seed: 1, device: "wasm", recorder: false });
  expect(env.actionSpace.shape).toEqual([2, 4]);
  await env.reset();
  await env.step(new Float32Array(8).fill(1));
  const [thumb, leg, index] = ["thumb", "leg", "index"].map((name) => env.infos.get(name)!.values[1]);
  expect([thumb, index]).toEqual([Math.fround(0.2), Math.fround(-0.1)]);
  expect(leg).toBeGreaterThan(0.4);
});
