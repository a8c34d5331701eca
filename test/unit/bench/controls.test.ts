// the controls that MuJoCo's worlds take in a benchmark
import { expect, test } from "vitest";
import { ActionPool, PHASES } from "../../../src/bench/actions.ts";
import { controlTable } from "../../../src/bench/controls.ts";
import { defineTarget } from "../../../src/env/describe.ts";
import { rover } from "../../support/rover.ts";

const tableOf = async (control: string, motion?: "swing") => {
  const task = rover({ control });
  const { definition } = await defineTarget(task, { numEnvs: 1 });
  const pool = new ActionPool(definition.spec.action, 3, motion);
  const pace = { seed: 3, seconds: 0.01, maxEpisodeSteps: 50 };
  return { pool, ...(await controlTable(task, definition.spec, pool, pace, { device: "cpu" })) };
};

test("are computed of the pool's actions where these are all that they depend on", async () => {
  const { pool, controls, phases } = await tableOf("0.5 * action");
  expect(phases).toBe(1);
  expect(controls).toEqual(Float64Array.from(pool.values, (x) => 0.5 * x));
  expect((await tableOf("0.5 * action", "swing")).phases).toBe(PHASES);
});

test("are recorded of worlds that run where they depend on the episode", async () => {
  const { controls, phases } = await tableOf("vec2(episode_length)");
  expect(phases).toBe(PHASES);
  const worlds = controls.length / (2 * PHASES);
  const first = Array.from({ length: worlds }, (_, world) => controls[world * 2 * PHASES]);
  expect(new Set(first).size).toBeGreaterThan(2);
  for (let world = 0; world < worlds; world++)
    for (let phase = 1; phase < PHASES; phase++) {
      const [before, after] = [controls[2 * (world * PHASES + phase - 1)], controls[2 * (world * PHASES + phase)]];
      // lengths go on, or a new episode begins
      if (after !== 0) expect(after - before).toBe(1);
    }
});
