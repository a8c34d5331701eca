// tasks for walkers of two dimensions, whose base slides along and up and leans, and for what tendons move
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeVec, type Task } from "../../../src/env/index.ts";
import { loadModel } from "../../../src/model/model.ts";
import { planarRoot } from "../../../src/scaffold/planar.ts";
import { planarTask } from "../../../src/scaffold/planar-task.ts";
import { baseOf, robotOf } from "../../../src/scaffold/robot.ts";
import { velocityTask } from "../../../src/scaffold/robot-tasks.ts";
import { worldsOnWasm } from "../../support/on-wasm.ts";

worldsOnWasm();

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "corral-planar-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const library = new URL("../../../src/index.ts", import.meta.url).href;
const floor = `<geom name="floor" type="plane" size="0 0 1"/>`;
const leg = (name: string, x: number, toe: number) => `<body name="${name}" pos="${x} 0 0">
  <joint name="${name}_hip" axis="0 1 0" range="-60 60"/><geom type="capsule" size=".03" fromto="0 0 0 0 0 -.2"/>
  <body name="${name}_foot" pos="${toe} 0 -.2"><joint name="${name}_knee" pos="${-toe} 0 0" axis="0 1 0" range="-90 90"/>
    <geom type="capsule" size=".03" fromto="${-toe} 0 0 ${toe / 2} 0 -.2"/></body></body>`;
const motors = ["front_hip", "front_knee", "back_hip", "back_knee"].map(
  (j) => `<motor joint="${j}" gear="30" ctrlrange="-1 1"/>`,
);
const slides = '<joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>';
const walker = (joints: string, { toe = 0.06, drives = "", turned = "" } = {}) => `<mujoco><worldbody>${floor}
  <body name="trunk" pos="0 0 .45" ${turned}>${joints}<geom type="box" size=".3 .08 .04" mass="4"/>${leg("front", 0.2, toe)}${leg("back", -0.2, toe)}</body>
  </worldbody><actuator>${motors.join("")}${drives}</actuator></mujoco>`;

async function textOf(name: string, xml: string): Promise<string> {
  const path = join(folder, `${name}.xml`);
  writeFileSync(path, xml);
  const model = await loadModel(path);
  return planarTask(name, await robotOf(model), planarRoot(model)!, { library, model: pathToFileURL(path).href });
}

test("a walker in a plane goes ahead as it is commanded, and starts on its feet", async () => {
  const text = await textOf("walker", walker(`${slides}<joint name="lean" axis="0 1 0"/>`));
  const file = join(folder, "walker.mts");
  writeFileSync(file, text);
  const { default: task } = (await import(file)) as { default: Task };
  await using env = await makeVec(task, { numEnvs: 4, seed: 1, device: "wasm", recorder: false });
  await env.reset();
  const none = new Float32Array(4 * 4);
  let ended = 0;
  for (let t = 0; t < 20; t++) ended += (await env.step(none)).terminated.reduce((sum, x) => sum + x, 0);
  expect(ended).toBe(0);
  const off = () => Array.from(env.infos.get("off")!.values);
  // who goes ahead as it is told is rewarded for it
  await env.setParams({ speed: 0 });
  await env.reset({ seed: 2 });
  await env.step(none);
  const [still] = [Math.max(...off())];
  await env.setState({ qvel: Array.from({ length: 4 }, () => [1, 0, 0, 0, 0, 0, 0]).flat() });
  await env.step(none);
  expect(still).toBeLessThan(0.3);
  expect(Math.min(...off())).toBeGreaterThan(0.5);
});

test.each([
  [
    "along y",
    `<joint name="x" type="slide" axis="0 1 0"/><joint name="z" type="slide" axis="0 0 1"/><joint axis="1 0 0"/>`,
    {},
    "qvel[0]",
  ],
  [
    "back along x",
    `<joint name="x" type="slide" axis="-1 0 0"/><joint name="z" type="slide" axis="0 0 1"/><joint axis="0 1 0"/>`,
    {},
    "-qvel[0]",
  ],
  ["toes behind", `${slides}<joint axis="0 1 0"/>`, { toe: -0.06 }, "-qvel[0]"],
  ["upright", slides, {}, "qvel[0]"],
  ["turned half about z", `${slides}<joint axis="0 1 0"/>`, { turned: 'euler="0 0 180"' }, "qvel[0]"],
] as const)("%s", async (name, joints, options, ahead) => {
  const text = await textOf(name.replaceAll(" ", "-"), walker(joints, options));
  expect(text).toContain(`ahead: "${ahead}"`);
  expect(text.includes("TIPPED")).toBe(name !== "upright");
});

test("a slide that points down is raised the other way", async () => {
  const down = `<joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 -1"/><joint axis="0 1 0"/>`;
  const [up, other] = [
    await textOf("up", walker(`${slides}<joint axis="0 1 0"/>`)),
    await textOf("down", walker(down)),
  ];
  const raised = (text: string) => JSON.parse(/raise: \["z", (\[[^\]]*\])/.exec(text)![1]) as number[];
  const [least, most] = raised(up);
  expect(raised(other)).toEqual([-most, 0 - least]);
  expect(other).toContain('rises: "-qvel[1]"');
});

test.each([
  ["over the floor", `<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint axis="0 0 1"/>`, ""],
  ["driven along", `${slides}<joint axis="0 1 0"/>`, '<motor joint="x"/>'],
  ["a lean out of the plane", `${slides}<joint axis="1 0 0"/>`, ""],
  ["fixed", "", ""],
] as const)("none is what goes otherwise: %s", async (_, joints, drives) => {
  const model = await loadModel(walker(joints, { drives }));
  expect(planarRoot(model)).toBeUndefined();
  const robot = await robotOf(model);
  // MuJoCo takes a free joint alone
  const where =
    joints === "" ? 'put <freejoint/> into body "trunk"' : 'put <freejoint/> in place of the joints of body "trunk"';
  expect(() => velocityTask("x", robot, { library, model: "./x.xml" })).toThrow(
    new RegExp(`^\\[no-free-base\\] .*${where}; .*--kind reach`),
  );
});

test("limbs that hang on the world want a trunk", async () => {
  const leg = (name: string, y: number) =>
    `<body name="${name}" pos="0 ${y} 1"><joint name="${name}" axis="0 1 0" range="-1 1" limited="true"/><geom type="capsule" size=".03" fromto="0 0 0 0 0 -.4"/></body>`;
  const robot = await robotOf(
    await loadModel(`<mujoco><worldbody><geom type="plane" size="0 0 1"/>${leg("left", 0.1)}${leg("right", -0.1)}</worldbody>
      <actuator><motor joint="left"/><motor joint="right"/></actuator></mujoco>`),
  );
  expect(() => velocityTask("x", robot, { library, model: "./x.xml" })).toThrow(
    /^\[no-free-base\] .* 2 limbs hang on the world, as body "left" and body "right"\..*<freejoint\/>/,
  );
});

test("what tendons turn is a leg, not what leans; what rotors carry is no walker", async () => {
  const hips = ["front_hip", "back_hip"];
  const pulled = walker(slides)
    .replaceAll(/<motor joint="(\w+_hip)"/g, '<motor tendon="$1"')
    .replace(
      "<actuator>",
      `<tendon>${hips.map((j) => `<fixed name="${j}"><joint joint="${j}" coef="1"/></fixed>`).join("")}</tendon><actuator>`,
    );
  const model = await loadModel(pulled);
  expect(model.names.body[planarRoot(model)!.body]).toBe("trunk");
  const rotor = (name: string, x: number) => `<body pos="${x} 0 0"><geom size=".02"/><site name="${name}"/></body>`;
  const drone = `<mujoco><worldbody>${floor}<body pos="0 0 .5">${slides}<joint axis="0 1 0"/><geom size=".05"/>${rotor("a", 0.1)}${rotor("b", -0.1)}</body></worldbody>
    <actuator>${["a", "b"].map((s) => `<motor site="${s}" gear="0 0 1 0 0 0" ctrlrange="0 5"/>`).join("")}</actuator></mujoco>`;
  expect(planarRoot(await loadModel(drone))).toBeUndefined();
});

test("what tendons turn walks, and does not fly; a boat neither walks nor flies", async () => {
  const tendons = ["front_hip", "front_knee", "back_hip", "back_knee"];
  const pulled = walker("<freejoint/>").replace(
    /<actuator>.*<\/actuator>/,
    `<tendon>${tendons.map((j) => `<fixed name="${j}"><joint joint="${j}" coef="1"/></fixed>`).join("")}</tendon>
     <actuator>${tendons.map((j) => `<motor name="${j}" tendon="${j}" ctrlrange="-9 9"/>`).join("")}</actuator>`,
  );
  expect(baseOf(await robotOf(await loadModel(pulled)))).toMatchObject({ flies: false, feet: [3, 5] });
  const boat = `<mujoco><worldbody>${floor}<body name="boat" pos="0 0 1"><freejoint/><geom type="box" size=".5 .2 .1"/>
    <site name="s" pos="-.5 0 0"/></body></worldbody><actuator><motor site="s" gear="1 0 0 0 0 0" ctrlrange="-9 9"/></actuator></mujoco>`;
  const robot = await robotOf(await loadModel(boat));
  expect(() => baseOf(robot)).toThrow(/^\[no-lift\] .*body "boat"/);
});
