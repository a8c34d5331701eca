// models beyond straight-line code: solved by bodies, one step of each state against MuJoCo in float64
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";
import { constraintBound } from "../../src/model/pairs.ts";
import { solvesByBodies } from "../../src/physics/smooth/inertia.ts";
import { defaultContacts, unrollByDefault } from "../../src/batch/kernel/form.ts";
import { planSimulation } from "../../src/batch/simulation.ts";

/** A chain of hinges that hangs from the world over a floor, and balls that it can sweep away. */
function chain(links: number, balls: number, self = true): string {
  const link = (i: number) =>
    `<body pos="${i ? 0.1 : 0} 0 0"><joint axis="${i % 2 ? "0 0 1" : "0 1 0"}" damping="0.02" armature="0.001" ` +
    `limited="true" range="-70 70"/><geom type="capsule" size="0.02" fromto="0 0 0 0.1 0 0" contype="${self ? 1 : 0}"/>`;
  const ball = (i: number) => `<body pos="${0.15 * i} 0.03 -0.1"><freejoint/><geom size="0.06" density="300"/></body>`;
  const of = (count: number, text: (i: number) => string) => Array.from({ length: count }, (_, i) => text(i)).join("");
  return (
    `<mujoco><option timestep="0.002"/><worldbody><geom type="plane" size="20 20 0.1" pos="0 0 -0.16"/>` +
    `${of(links, link)}${"</body>".repeat(links)}${of(balls, ball)}</worldbody></mujoco>`
  );
}

test.each([
  ["chain of 24 among 6 balls", chain(24, 6)],
  ["chain of 100 over a floor", chain(100, 0, false)],
])("%s equals MuJoCo", async (_, xml) => {
  const model = await loadModel(xml);
  expect(unrollByDefault(model)).toBe(false);
  expect(solvesByBodies(model)).toBe(true);
  const { verdict, contacts } = await compareWithMuJoCo(model, { device: "cpu-f64", steps: 20, envs: 1 });
  expect(verdict.reasons).toEqual([]);
  expect(contacts).toMatchObject({ equal: 20 });
});

/** Bodies of several geoms between two planes, with explicit pairs, one of them twice, and margins of all sizes. */
const MIXED = `<mujoco><option timestep="0.002"/><worldbody>
  <geom name="floor" type="plane" size="5 5 0.1" margin="0.01"/>
  <geom name="wall" type="plane" size="5 5 0.1" pos="-0.25 0 0" euler="0 90 0" gap="0.002"/>
  <body pos="-0.1 0 0.075"><freejoint/><geom name="a" size="0.08" margin="0.02"/><geom type="capsule" size="0.04" fromto="0 0 0 0.2 0 0"/></body>
  <body pos="0 0.05 0.19"><freejoint/><geom name="b" type="capsule" size="0.05" fromto="-0.1 0 0 0.1 0 0"/><geom size="0.06" pos="0.1 0 0"/></body>
  <body pos="0.1 0.02 0.29"><freejoint/><geom name="c" type="box" size="0.06 0.05 0.04"/><geom size="0.05" pos="0 0.08 0" condim="1"/></body>
</worldbody><contact>
  <pair geom1="a" geom2="b" condim="1" margin="0.01"/><pair geom1="b" geom2="a" condim="3"/><pair geom1="floor" geom2="c" condim="4"/>
</contact></mujoco>`;

test("finds contacts of mixed geoms in MuJoCo's order, and solves what they tie", async () => {
  const model = await loadModel(MIXED);
  const { verdict, contacts } = await compareWithMuJoCo(model, {
    device: "cpu-f64",
    steps: 100,
    envs: 1,
    unroll: false,
  });
  expect(verdict.reasons).toEqual([]);
  expect(contacts.equal).toBe(100);
  expect(contacts.most).toBeGreaterThan(4);
});

/** Fingers of mixed geoms that close on each other and a ball: many candidates, few dofs in a line. */
const HAND = `<mujoco><option timestep="0.002" cone="elliptic"/><default><geom margin="0.02"/></default><worldbody>
  <geom type="plane" size="5 5 0.1" pos="0 0 -0.05"/>
  <body pos="0.03 0.02 0.05"><freejoint/><geom size="0.04" condim="4"/><geom type="box" size="0.03 0.03 0.03" pos="0.03 0 0"/></body>
  ${[0, 1, 2, 3, 4]
    .map(
      (
        f,
      ) => `<body pos="${(0.05 * Math.cos(f)).toFixed(3)} ${(0.05 * Math.sin(f)).toFixed(3)} 0.02" euler="0 0 ${57.3 * f}">
    <geom type="box" size="0.02 0.01 0.01"/><geom type="capsule" size="0.01" fromto="0 0 0 0.03 0 0.02"/>
    <joint axis="0 1 0" range="-60 60" damping="0.02" armature="0.001"/>
    <body pos="0.03 0 0.02"><joint axis="0 1 0" range="-80 10" damping="0.02" armature="0.001" springref="-60" stiffness="0.3"/>
      <geom type="capsule" size="0.01" fromto="0 0 0 0 0 0.06"/><geom size="0.015" pos="0 0 0.03" margin="0.002"/>
      <geom type="box" size="0.01 0.01 0.02" pos="0.005 0 0.05"/></body></body>`,
    )
    .join("")}
</worldbody></mujoco>`;

test("straight-line kernels of many candidates keep contacts in a pool, in MuJoCo's order", async () => {
  const model = await loadModel(HAND);
  expect(constraintBound(model).nconmax).toBeGreaterThan(256);
  expect(unrollByDefault(model)).toBe(true);
  const { verdict, contacts } = await compareWithMuJoCo(model, { device: "cpu-f64", steps: 60, envs: 1 });
  expect(verdict.reasons).toEqual([]);
  expect(contacts.equal).toBe(60);
  expect(contacts.most).toBeGreaterThan(8);
});

test("keeps a pool of contacts that no candidate count makes larger", async () => {
  const model = await loadModel(chain(40, 10));
  expect(constraintBound(model).nconmax).toBeGreaterThan(1000);
  expect(defaultContacts(model)).toBe(256);
  const bytes = (nconmax?: number) => planSimulation(model, { numEnvs: 1, ...(nconmax ? { nconmax } : {}) }).totalBytes;
  expect(bytes()).toBe(bytes(4));
});

/** Two arms that sweep across a trunk and each other, driven by servos, in few iterations. */
function twoArms(): string {
  const joint = (name: string, axis: string) => `<joint name="${name}" axis="${axis}" armature=".003"/>`;
  const link = (to: string, mass: number, size = 0.03) =>
    `<geom type="capsule" size="${size}" fromto="0 0 0 ${to}" mass="${mass}"/>`;
  const arm = (side: number) => `<body pos="0 ${0.12 * side} 0.2">${joint(`pitch${side}`, "0 1 0")}
    ${link(`0 ${0.06 * side} 0`, 0.6)}<body pos="0 ${0.06 * side} 0">${joint(`roll${side}`, "1 0 0")}
    ${link("0 0 -.1", 0.6)}<body pos="0 0 -.1">${joint(`yaw${side}`, "0 0 1")}
    ${link("0 0 -.1", 0.6, 0.025)}<body pos="0 0 -.12">${joint(`elbow${side}`, "0 1 0")}
    ${link(".15 0 0", 0.4, 0.025)}<body pos=".18 0 0">${joint(`wrist${side}`, "1 0 0")}
    <geom size=".04" mass=".3"/></body></body></body></body></body>`;
  const servos = [1, -1].flatMap((side) =>
    ["pitch", "roll", "yaw", "elbow", "wrist"].map(
      (name) => `<position joint="${name}${side}" kp="80" kv="4" ctrlrange="-3 3"/>`,
    ),
  );
  return `<mujoco><option timestep=".005" integrator="implicitfast" iterations="10" ls_iterations="20"/><worldbody>
    <geom type="plane" size="9 9 .1"/><body pos="0 0 1.5"><freejoint/><geom type="box" size=".1 .1 .25" mass="15"/>
    ${arm(1)}${arm(-1)}</body></worldbody><actuator>${servos.join("")}</actuator></mujoco>`;
}

test("keeps float32's digits where arms touch, of forces that cancel and of stiff contacts", async () => {
  const model = await loadModel(twoArms());
  expect(solvesByBodies(model)).toBe(true);
  const { verdict, contacts } = await compareWithMuJoCo(model, { device: "cpu", steps: 40, envs: 2, unroll: false });
  expect(verdict.reasons).toEqual([]);
  expect(contacts.most).toBeGreaterThan(2);
});
