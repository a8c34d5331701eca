// many contacts between moving bodies where a model starts, on a driver whose arrays lie in an arena
import { expect, test } from "vitest";
import { emissionFor } from "../../src/batch/kernel/emission.ts";
import { planKernels } from "../../src/batch/simulation-spec.ts";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { loadModel } from "../../src/model/model.ts";

const grid = (columns: number, rows: number, step: number, geom: (x: number, y: number) => string) =>
  Array.from({ length: columns * rows }, (_, i) =>
    geom(step * ((i % columns) - (columns - 1) / 2), step * (Math.floor(i / columns) - (rows - 1) / 2)),
  ).join("");

/** A tray on springs, and a plate that rests on it by eighty feet. */
const crowded = `<mujoco><worldbody>
  <body pos="0 0 0.1">
    <joint type="slide" axis="0 0 1" stiffness="4000" damping="60"/>
    <joint axis="1 0 0" stiffness="100" damping="4"/>
    ${grid(2, 2, 0.25, (x, y) => `<geom type="box" size=".13 .13 .02" pos="${x} ${y} 0"/>`)}
  </body>
  <body pos="0 0 0.139">
    <joint type="slide" axis="0 0 1"/><joint type="slide" axis="1 0 0"/><joint axis="0 1 0"/>
    ${grid(10, 8, 0.05, (x, y) => `<geom size=".02" pos="${x} ${y} 0"/>`)}
  </body>
</worldbody></mujoco>`;

test("a Hessian over dofs solves for many contacts where an arena has room for it", async () => {
  const model = await loadModel(crowded);
  expect(model.restContacts).toBe(80);
  const solvesOverDofs = (driver: string, kind: "software" | "gpu") => {
    const emission = emissionFor({ kind, driver } as never);
    const { traces } = planKernels(model, { numEnvs: 1, unroll: false }, { emission });
    return traces.get("step")!.arrays.some(({ name }) => name.startsWith("rooted"));
  };
  expect(solvesOverDofs("SwiftShader driver", "software")).toBe(true);
  // other drivers compile such arrays too long, and GPUs have less memory for each world
  expect(solvesOverDofs("llvmpipe", "software")).toBe(false);
  expect(solvesOverDofs("", "gpu")).toBe(false);
  const { verdict } = await compareWithMuJoCo(model, { adapter: "embedded", unroll: false, steps: 20, envs: 2 });
  expect(verdict).toMatchObject({ reasons: [], passed: true });
});
