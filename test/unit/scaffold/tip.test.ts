// what a reach task of one of several arms moves
import { expect, test } from "vitest";
import { loadModel } from "../../../src/model/model.ts";
import { robotOf } from "../../../src/scaffold/robot.ts";
import { reachTask } from "../../../src/scaffold/reach-task.ts";
import { apartFrom, tipOf } from "../../../src/scaffold/tip.ts";

const arm = (name: string, x: number, site = "") => `<body name="${name}1" pos="${x} 0 .5">
  <joint name="${name}1" axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 .2 0 0"/>
  <body name="${name}2" pos=".2 0 0"><joint name="${name}2" axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 .2 0 0"/>${site}</body></body>`;

const SITE = '<site name="tip" pos=".2 0 0"/>';

const table = (bodies: string, joints: readonly string[], names = true) => `<mujoco><worldbody>
  <body name="cube" pos="0 0 2"><freejoint/><geom size=".02"/><body pos=".1 0 0"><geom size=".02"/><body pos=".1 0 0"><joint name="lid"/><geom size=".02"/></body></body></body>
  <site name="toolbox" pos="3 0 0"/>${bodies}</worldbody>
  <actuator>${joints.map((j) => `<position ${names ? `name="${j}"` : ""} joint="${j}" kp="20" kv="1" ctrlrange="-1 1"/>`).join("")}</actuator></mujoco>`;

const robotIn = async (xml: string) => robotOf(await loadModel(xml));

test("the end is of what actuators move, and its reach from its own arm", async () => {
  const both = arm("left", -1) + arm("right", 1, SITE);
  const robot = await robotIn(table(both, ["left1", "left2", "right1", "right2"]));
  const tip = tipOf(robot);
  // neither the site of the world nor the cube, whose lid is as deep
  expect(tip.expression).toBe('site_xpos(site["tip"])');
  expect(tip.at[0]).toBeCloseTo(1.4, 6);
  expect(tip.reach).toBeCloseTo(0.4, 6);
  const bare = await robotIn(table(arm("one", 0), ["one1", "one2"]));
  expect(tipOf(bare)).toMatchObject({ expression: 'xpos(body["one2"])', body: bare.model.names.body.indexOf("one2") });
  expect(tipOf(bare).reach).toBeCloseTo(0.2, 6);
});

test("another arm stays where it is at the start", async () => {
  const both = arm("left", -1) + arm("right", 1, SITE);
  const robot = await robotIn(table(both, ["left1", "right1", "left2", "right2"]));
  expect([...apartFrom(tipOf(robot), robot)]).toEqual([0, 2]);
  const text = reachTask("arms", robot, { library: "corral", model: "arms.xml" });
  expect(text).toMatch(/actuators: \[\s*"right1",\s*"right2",\s*\],/);
  expect(text).toContain("what the end is not on stays there");
  // one arm alone is told as before
  const alone = await robotIn(table(arm("one", 0), ["one1", "one2"]));
  expect(reachTask("arm", alone, { library: "corral", model: "arm.xml" })).not.toContain("actuators: [");
});

test("tendons that drive all of a hand reach with its last body", async () => {
  const finger = await robotIn(
    table(arm("one", 0), []).replace(
      "<actuator></actuator>",
      '<tendon><fixed name="pull"><joint joint="one1" coef="1"/></fixed></tendon><actuator><position tendon="pull" kp="5"/></actuator>',
    ),
  );
  expect(tipOf(finger).reach).toBeGreaterThan(0);
  expect([...apartFrom(tipOf(finger), finger)]).toEqual([]);
});
