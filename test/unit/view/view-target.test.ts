// what a page shows of worlds that MuJoCo cannot step beside
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { viewTarget } from "../../../src/cli/view-target.ts";
import { register } from "../../../src/env/registry.ts";
import { defineTask, servo } from "../../../src/index.ts";

const MODEL = `<mujoco><worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody>
  <actuator><motor name="m" joint="j"/></actuator></mujoco>`;

test("motors that the task has as servos are shown, without how far MuJoCo is", async () => {
  register(
    defineTask({
      id: "Servoed",
      model: MODEL,
      frameSkip: 2,
      maxEpisodeSteps: 100,
      actuators: { m: { network: servo({ stiffness: 10, damping: 0.4 }) } },
      observe: { pose: "qpos" },
      reward: { still: "-qvel[0] * qvel[0]" },
    }),
  );
  await using subject = await viewTarget("Servoed", { worlds: "2", device: "wasm", threads: "1" });
  expect(await subject.forward()).toBe(true);
  expect(subject.step).toBe(1);
});

test("models whose bodies do not move are shown", async () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-still-"));
  const path = join(folder, "still.xml");
  try {
    writeFileSync(path, `<mujoco><worldbody><body mocap="true"><geom size="0.1"/></body></worldbody></mujoco>`);
    await using subject = await viewTarget(path, { worlds: "2", device: "wasm", threads: "1" });
    expect(await subject.forward()).toBe(true);
    expect((await subject.poses()).bodies.every(Number.isFinite)).toBe(true);
    expect(subject.values).toEqual([{ world: 0, qpos: [], qvel: [] }]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
