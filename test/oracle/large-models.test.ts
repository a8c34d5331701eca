/** Models beyond straight-line code: solved by bodies, one step of each state against MuJoCo in float64. */
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/forensics/compare.ts";
import { loadModel } from "../../src/model/model.ts";
import { constraintBound } from "../../src/model/pairs.ts";
import { solvesByBodies } from "../../src/sim/inertia.ts";
import { defaultContacts, unrollByDefault } from "../../src/sim/policy.ts";
import { planSimulation } from "../../src/sim/simulation.ts";

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

test("keeps a pool of contacts that no candidate count makes larger", async () => {
  const model = await loadModel(chain(40, 10));
  expect(constraintBound(model).nconmax).toBeGreaterThan(1000);
  expect(defaultContacts(model, false)).toBe(256);
  const bytes = (nconmax?: number) => planSimulation(model, { numEnvs: 1, ...(nconmax ? { nconmax } : {}) }).totalBytes;
  expect(bytes()).toBe(bytes(4));
});
