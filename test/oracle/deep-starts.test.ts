// models that start deep in the ground: forces that cancel leave float32 nothing, so that simulations compute in float64
import { expect, test } from "vitest";
import { isWide } from "../../src/batch/kernel/wide.ts";
import { createSimulation } from "../../src/batch/simulation.ts";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";

/** A trunk with arms of three light links, its middle at a height. */
const walker = (
  height: number,
): string => `<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="3 3 .1"/>
<body pos="0 0 ${height}"><freejoint/><geom type="box" size=".15 .1 .1" mass="60"/>
${[0, 1, 2, 3]
  .map((k) => {
    const [x, y] = [k % 2 ? 0.2 : -0.2, k < 2 ? 0.2 : -0.2];
    return `<body pos="${x} ${y} 0"><joint name="a${k}" axis="0 1 0"/><geom type="box" size=".03 .03 .1" mass=".2"/>
  <body pos="0 0 -.25"><joint axis="0 1 0"/><geom type="box" size=".03 .03 .1" mass=".02"/>
    <body pos="0 0 -.25"><joint axis="1 0 0"/><geom type="box" size=".03 .03 .1" mass=".003"/></body></body></body>`;
  })
  .join("\n")}
</body></worldbody><actuator>${[0, 1, 2, 3].map((k) => `<motor joint="a${k}"/>`).join("")}</actuator></mujoco>`;

test("a model that starts deep in the ground is stepped in float64, and one that stands is not", async () => {
  const deep = await loadModel(walker(0));
  expect(deep.restRounding).toBeGreaterThan(1e-4);
  // a task may start it elsewhere
  expect(isWide(deep, undefined, "none")).toBe(false);
  const { arithmetic, verdict } = await compareWithMuJoCo(deep, { steps: 10, envs: 2, device: "wasm" });
  expect(arithmetic).toBe("float64");
  expect(verdict.reasons).toEqual([]);

  const standing = await loadModel(walker(0.6));
  expect(standing.restRounding).toBeLessThan(1e-4);
  expect((await loadModel(walker(2))).restRounding).toBeUndefined();
  await using simulation = await createSimulation(standing, { numEnvs: 1, device: "wasm", threads: 1 });
  expect(simulation.arithmetic).toBe("float32");
});
