// friction that worlds draw may be as little as MuJoCo's least, 1e-5: contacts are then far stiffer than with the model's own
import { expect, test } from "vitest";
import { makeVec } from "../../src/env/index.ts";
import { rover } from "../support/rover.ts";
import { envBounds } from "../support/tolerances.ts";

const WORLDS = 4;

/** Speeds of a robot that slides sideways, whose friction is drawn. */
async function slides(device: "wasm" | "cpu-f64", cone: string, unroll: boolean | undefined): Promise<number[]> {
  const task = rover({
    observe: { v: "qvel[0:3]" },
    randomise: { slips: { field: "geom_friction", of: ["floor", "foot_*"], element: 0, set: [0, 0] } },
    reset: () => ({ qpos: [0, 0, 0.25, 1, 0, 0, 0, 0, 0], qvel: [0, 1, 0, 0, 0, 0, 0, 0] }),
  });
  const model = String(task.model).replace("<option ", `<option cone="${cone}" `);
  const made = { numEnvs: WORLDS, device, recorder: false, ...(unroll === undefined ? {} : { unroll }) };
  await using env = await makeVec({ ...task, model }, made);
  await env.reset({ seed: 1 });
  for (let t = 0; t < 8; t++) {
    const { terminated } = await env.step(new Float32Array(2 * WORLDS));
    expect(Array.from(terminated), `step ${t}`).toEqual(Array(WORLDS).fill(0));
  }
  return Array.from(env.observations, Number);
}

test.each([
  ["pyramidal", undefined],
  ["pyramidal", false],
  ["elliptic", undefined],
] as const)("%s cones, unroll %s", async (cone, unroll) => {
  const [ours, exact] = [await slides("wasm", cone, unroll), await slides("cpu-f64", cone, unroll)];
  exact.forEach((v, i) => expect(Math.abs(ours[i] - v), `number ${i}`).toBeLessThan(envBounds.qvel.value));
  expect(ours[1]).toBeGreaterThan(0.99);
});
