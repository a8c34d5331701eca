import "../../../envs/index.ts";
import { expect, test } from "vitest";
import type { CorralError } from "../../../src/core/errors.ts";
import { actionTable, combinations, evenly, makeVec, planVec } from "../../../src/env/index.ts";
import { rover } from "../../support/rover.ts";

const rows = combinations([evenly(-1, 1, 3), evenly(-2, 2, 5)]);
const task = rover({
  ...actionTable(rows),
  info: { left: "ctrl(actuator.left)", right: "ctrl(actuator.right)", id: "action[0]" },
});

test.each(["cpu", undefined] as const)("ids stand for rows of controls, on device %s", async (device) => {
  const place = device === undefined ? {} : { device };
  await using env = await makeVec(task, { numEnvs: 15, recorder: false, ...place });
  expect(String(env.singleActionSpace)).toBe("Discrete(15)");
  await env.reset();
  const { infos } = await env.step(Int32Array.from({ length: 15 }, (_, i) => i));
  rows.forEach(([left, right], world) => {
    expect(infos.get("id")!.values[world]).toBe(world);
    expect(infos.get("left")!.values[world]).toBeCloseTo(left, 6);
    expect(infos.get("right")!.values[world]).toBeCloseTo(right, 6);
  });
});

test("27,000 rows lie once in a buffer that the plan shows", async () => {
  const plan = await planVec("ArmTable", { numEnvs: 64 });
  const table = plan.arenas.find((a) => a.name === "step.tables_f32")!;
  expect(table.fields[0].shared).toBeGreaterThanOrEqual(3 * 27_000);
  expect(plan.arenas.find((a) => a.name === "action")!.bytesPerWorld).toBe(16);
});

test("tables that cannot be are refused", async () => {
  const message = (run: () => unknown) => {
    try {
      run();
    } catch (error) {
      return (error as CorralError).message;
    }
    return "nothing was refused";
  };
  expect(message(() => actionTable([]))).toBe(
    "[bad-action-table] an action table is empty. Give one row of controls for each action.",
  );
  expect(message(() => actionTable([[1, 2], [1]]))).toBe(
    "[bad-action-table] row 1 of an action table is no 2 finite numbers. Give one row of controls for each action.",
  );
  // of a function the rows are made, and refused, with the environment
  await expect(makeVec(rover(actionTable(() => [[1, 2], [1]])), { numEnvs: 1, device: "cpu" })).rejects.toThrow(
    "row 1 of an action table is no 2 finite numbers",
  );
  await expect(makeVec(rover(actionTable([[1, 2, 3]])), { numEnvs: 1, device: "cpu" })).rejects.toThrow(
    "[bad-action-table] task Rover, actionSpace: rows of the action table have 3 numbers; the model has 2 controls. Give one for each.",
  );
  expect(() => actionTable(undefined as never)).toThrow("[bad-action-table] an action table is undefined. Give a list");
  expect(() => combinations(Array.from({ length: 10 }, () => evenly(0, 1, 100)))).toThrow(
    "[bad-action-table] the levels to combine make 100000000000000000000 actions, of 100 x 100 x",
  );
  expect(() => evenly(0, 1, 1e10)).toThrow("[bad-option] count is 10000000000");
  expect(() => evenly(0, NaN, 3)).toThrow("[bad-option] to is NaN");
  expect(() => combinations([[1], 2] as never)).toThrow("the levels to combine are [[1],2]. Give a list of numbers");
  await using env = await makeVec(task, { numEnvs: 1, device: "cpu" });
  await env.reset();
  await expect(env.step(Int32Array.of(15))).rejects.toThrow("[bad-action]");
});
