// knees that are straight are found and bent: of bipeds with torsos, either way round, and of nothing else
import { expect, test } from "vitest";
import { loadModel, nameOf } from "../../../src/model/model.ts";
import { bentOf } from "../../../src/scaffold/bent.ts";
import { robotOf, standsOn } from "../../../src/scaffold/robot.ts";

interface Leg {
  /** Range of the ankle (rad). */
  readonly ankle?: string;
  /** Range of the knee (rad), its axis, and where the shin ends. */
  readonly range: string;
  readonly axis?: string;
  readonly shin?: string;
  /** Axis of the hip, and its range. */
  readonly hip?: string;
  readonly lifts?: string;
}

const SIDES = ["left", "right"] as const;
const leg = (
  side: string,
  y: number,
  { range, axis = "0 1 0", shin = "0 0 -.4", ankle = "-.9 .9", hip = "0 1 0", lifts = "-1.5 1.5" }: Leg,
) => `<body pos="0 ${y} -.1">
  <joint name="${side}_roll" axis="1 0 0" range="-.5 .5"/><geom type="sphere" size=".05"/>
  <body><joint name="${side}_hip" axis="${hip}" range="${lifts}"/><geom type="capsule" size=".04" fromto="0 0 0 0 0 -.4"/>
  <body pos="0 0 -.4"><joint name="${side}_knee" axis="${axis}" range="${range}"/><geom type="capsule" size=".04" fromto="0 0 0 ${shin}"/>
  <body pos="${shin}"><joint name="${side}_ankle" axis="0 1 0" range="${ankle}"/><geom type="sphere" size=".03"/>
  <body pos="0 0 -.1"><joint name="${side}_sole" axis="1 0 0" range="-.5 .5"/><geom type="box" size=".1 .04 .02" pos=".03 0 -.04"/>
  </body></body></body></body></body>`;

/** A biped below a waist that turns as hips and knees do. */
const biped = (...legs: readonly [Leg, Leg]) => `<mujoco><compiler angle="radian"/>
  <default><geom contype="1" conaffinity="0"/></default>
  <worldbody><geom type="plane" size="0 0 1" conaffinity="1"/><body name="chest" pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .2" pos="0 0 .3"/>
  <body><joint name="waist" axis="0 1 0" range="-1 1"/><geom type="box" size=".1 .15 .05"/>
  ${legs.map((each, i) => leg(SIDES[i], i === 0 ? 0.1 : -0.1, each)).join("")}</body></body></worldbody>
  <actuator>${SIDES.map((side) => ["roll", "hip", "knee", "ankle"].map((name) => `<motor joint="${side}_${name}" ctrlrange="-1 1"/>`).join("")).join("")}</actuator></mujoco>`;

const bentKnees = async (xml: string) => {
  const robot = await robotOf(await loadModel(xml));
  const bent = await bentOf(robot.model, standsOn(robot));
  const { names, jnt_qposadr: place } = robot.model;
  return Object.fromEntries(
    names.joint.flatMap((name, j) => {
      const by = bent === undefined || name === null ? 0 : bent.qpos[place[j]] - robot.model.qpos0[place[j]];
      return Math.abs(by) > 1e-9 ? [[nameOf(robot.model, "joint", j), Number(by.toFixed(3))]] : [];
    }),
  );
};

test("knees that bend either way bend as hips lift thighs, which turn further one way", async () => {
  const either = (lifts: string): Leg => ({ range: "-1.5 1.5", lifts });
  for (const [lifts, way] of [
    ["-.4 1.5", 1],
    ["-1.5 .4", -1],
    ["-1 1.5", -1],
  ] as const) {
    const bent = await bentKnees(biped(either(lifts), either(lifts)));
    expect([bent.left_hip, bent.left_knee, bent.right_knee]).toEqual([0.35 * way, -0.7 * way, -0.7 * way]);
  }
});

test("knees bend towards where they have room, hips and ankles half of it back", async () => {
  expect(await bentKnees(biped({ range: "-.2 2" }, { range: "-2 .1", axis: "0 -1 0" }))).toEqual({
    left_hip: -0.35,
    left_knee: 0.7,
    left_ankle: -0.35,
    right_hip: -0.35,
    right_knee: -0.7,
    right_ankle: -0.35,
  });
});

test("hips may be canted, as of a Berkeley Humanoid Lite", async () => {
  const canted = (x: number) => ({ range: "0 2", hip: `${x} 1 0` });
  expect(await bentKnees(biped(canted(0.2), canted(-0.2)))).toMatchObject({
    left_hip: -0.35,
    left_knee: 0.7,
    right_hip: -0.35,
    right_knee: 0.7,
  });
});

test("where a knee has as much room either way the foot goes back", async () => {
  const either = { range: "-2 2" };
  expect(await bentKnees(biped(either, { ...either, axis: "0 -1 0" }))).toMatchObject({
    left_knee: 0.7,
    right_knee: -0.7,
  });
});

test("where legs are drawn a little bent they bend that way further", async () => {
  const [front, hind] = [".1 0 -.39", "-.1 0 -.39"].map((shin) => ({ range: "-9 9", shin }));
  expect(await bentKnees(biped(front, hind))).toMatchObject({ left_knee: -0.7, right_knee: 0.7 });
});

test("knees bend no further than hips and ankles can turn back", async () => {
  const stiff = { range: "-.2 2", ankle: "-.3 .1" };
  expect(await bentKnees(biped(stiff, stiff))).toMatchObject({ left_knee: 0.54, left_ankle: -0.27, left_hip: -0.27 });
  const fixed = { range: "-.2 2", ankle: "-.05 .9" };
  expect(await bentKnees(biped(fixed, fixed))).toEqual({});
});

test("legs that are bent, that hardly turn, or of which one is straight alone stay as they are", async () => {
  const straight = { range: "-.2 2" };
  const slanting = { ...straight, shin: "-.2 0 -.35" };
  expect(await bentKnees(biped(slanting, slanting))).toEqual({});
  expect(await bentKnees(biped(straight, slanting))).toEqual({});
  expect(await bentKnees(biped({ range: "-.3 .3" }, straight))).toEqual({});
});

test("legs that end in a foot of its own, fixed to the shin, are bent as those whose shin touches", async () => {
  const pogo = (side: string, y: number) => `<body pos="0 ${y} 0"><joint name="${side}_hip" axis="0 1 0" range="-2 2"/>
    <inertial pos="0 0 -.1" mass="1" diaginertia=".01 .01 .01"/>
    <body pos="0 0 -.3"><joint name="${side}_knee" axis="0 1 0" range="-.1 2"/><inertial pos="0 0 -.1" mass="1" diaginertia=".01 .01 .01"/>
    <body pos=".05 0 -.3"><geom type="sphere" size=".03"/></body></body></body>`;
  const robot = `<mujoco><compiler angle="radian"/><worldbody><geom type="plane" size="0 0 1"/>
    <body name="trunk" pos="0 0 .6"><freejoint/><geom type="box" size=".2 .1 .05"/>${pogo("left", 0.1)}${pogo("right", -0.1)}</body></worldbody>
    <actuator>${SIDES.map((side) => ["hip", "knee"].map((name) => `<motor joint="${side}_${name}" ctrlrange="-1 1"/>`).join("")).join("")}</actuator></mujoco>`;
  expect(await bentKnees(robot)).toMatchObject({ left_hip: -0.35, left_knee: 0.7, right_knee: 0.7 });
});

test("hips may be canted by thirty degrees, as they are drawn", async () => {
  const canted = (sign: number): Leg => ({
    range: "0 2.5",
    hip: `0 ${Math.cos(Math.PI / 6)} ${sign * Math.sin(Math.PI / 6)}`,
  });
  const bent = await bentKnees(biped(canted(-1), canted(1)));
  expect([bent.left_knee, bent.right_knee]).toEqual([0.7, 0.7]);
});
