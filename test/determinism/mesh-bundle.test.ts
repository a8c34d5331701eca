// a bundle of a model with meshes holds their hulls: it replays to the bit where it was recorded
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { replay } from "../../src/crash/replay.ts";
import { defineTask, makeVec } from "../../src/env/index.ts";
import { mul } from "../../src/trace/scalar.ts";
import { readBundle } from "../../src/record/read-bundle.ts";
import { ballPoints, boxPoints } from "../support/hulls.ts";
import { createRandom } from "../support/mjcf-random.ts";

const directory = mkdtempSync(join(tmpdir(), "corral-mesh-bundle-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const task = defineTask({
  id: "Meshes",
  model: `<mujoco model="meshes">
    <asset><mesh name="ball" vertex="${ballPoints(createRandom(3), 100, 0.1)}"/><mesh name="box" vertex="${boxPoints(0.1)}"/></asset>
    <worldbody>
      <geom type="plane" size="1 1 .1"/>
      <body pos="0 0 .1"><freejoint/><geom type="mesh" mesh="box"/></body>
      <body pos=".01 0 .28"><joint name="j" type="slide" axis="0 0 1"/><geom type="mesh" mesh="ball"/></body>
    </worldbody>
    <actuator><motor joint="j"/></actuator>
  </mujoco>`,
  frameSkip: 2,
  maxEpisodeSteps: 1000,
  defaults: {},
  observe: (s) => ({ qpos: s.d.qpos.all() }),
  reward: (s) => ({ speed: mul(0, s.d.qvel.at(0)) }),
  terminated: () => ({}),
  reset: (s) => ({ qpos: Array.from(s.model.qpos0), qvel: Array.from({ length: s.model.nv }, () => 0) }),
});

/** A software driver compiles these kernels for many seconds. */
const devices = process.env.CORRAL_FULL === "1" ? (["wasm", "gpu"] as const) : (["wasm"] as const);

test.each(devices)("on %s", async (device) => {
  await using env = await makeVec(task, { numEnvs: 8, seed: 1, device, recorder: { directory } });
  await env.reset();
  const actions = new Float32Array(env.actionSpace.size).fill(-1);
  for (let t = 0; t < 40; t++) {
    if (t === 30) actions[3] = 1e12;
    await env.step(actions);
  }
  const [path] = env.health().bundles;
  const bundle = readBundle(path);
  expect(bundle.model.hulls?.vertnum).toHaveLength(2);
  const report = await replay(bundle);
  expect(report).toMatchObject({ identical: true, drift: {} });
  expect(report.differences.map(({ what }) => what)).not.toContain("shader");
  expect(report.steps).toBeGreaterThan(10);
});
