// numbers of mjOption that a task has beside its MJCF's
import { describe, expect, test } from "vitest";
import { makeVec, type Task } from "../../../src/env/index.ts";
import { rover } from "../../support/rover.ts";

/** Where a world is after some steps. */
async function after(task: Partial<Task<object>>, options: object = {}) {
  await using env = await makeVec(rover(task), { numEnvs: 1, device: "cpu", ...options });
  await env.reset({ seed: 1 });
  for (let t = 0; t < 5; t++) await env.step(new Float32Array(env.actionSpace.size));
  return { timestep: env.model.opt.timestep, observations: [...(await env.step([0, 0])).observations] };
}

describe("physics of a task", () => {
  test("stands beside the MJCF's, and options of the batch override it", async () => {
    const own = await after({ physics: { timestep: 0.004, solver: "CG" } });
    expect(own.timestep).toBe(0.004);
    expect(own).toEqual(await after({}, { timestep: 0.004, solver: "CG" }));
    expect((await after({ physics: { timestep: 0.004 } }, { timestep: 0.002 })).timestep).toBe(0.002);
  });

  test("refuses what no option of MuJoCo is", async () => {
    await expect(after({ physics: { timestop: 1 } as never })).rejects.toThrow("timestop");
    await expect(after({ physics: { timestep: 0 } })).rejects.toThrow("timestep");
  });
});
