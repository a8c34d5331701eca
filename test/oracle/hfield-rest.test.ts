// a quadruped that comes to rest on a height field, for 10,000 steps beside MuJoCo
import { expect, test } from "vitest";
import { createSimulation } from "../../src/batch/simulation.ts";
import { loadModel } from "../../src/model/model.ts";
import { getMuJoCo } from "../../src/model/mujoco.ts";
import { createRandom } from "../support/mjcf-random.ts";
import { fieldBounds } from "../support/tolerances.ts";

const LINES = 24;
const r = createRandom(21);
const heights = Array.from({ length: LINES * LINES }, () => r.between(0, 1).toFixed(4)).join(" ");

const leg = (name: string, x: number, y: number) => `<body name="${name}" pos="${x} ${y} 0">
    <joint name="${name}_hip" axis="0 1 0" range="-60 60" damping=".5"/><geom type="capsule" size=".03" fromto="0 0 0 0 0 -.18"/>
    <body pos="0 0 -.18"><joint name="${name}_knee" axis="0 1 0" range="-90 10" damping=".5"/>
      <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.16"/><geom type="sphere" size=".035" pos="0 0 -.17"/></body></body>`;
const LEGS = ["fl", "fr", "bl", "br"];
const quadruped = `<mujoco model="quadruped on a field">
  <asset><hfield name="h" nrow="${LINES}" ncol="${LINES}" size="1.2 1.2 .08 .1" elevation="${heights}"/></asset>
  <default><geom contype="2" conaffinity="1" friction="1"/></default>
  <worldbody><geom type="hfield" hfield="h" contype="1" conaffinity="2"/>
    <body name="trunk" pos="0 0 .48"><freejoint/><geom type="capsule" size=".07" fromto="-.2 0 0 .2 0 0" mass="6"/>
      ${LEGS.map((name, i) => leg(name, i < 2 ? 0.2 : -0.2, i % 2 ? -0.12 : 0.12)).join("\n")}</body></worldbody>
  <actuator>${LEGS.map((name) => `<position joint="${name}_hip" kp="60"/><position joint="${name}_knee" kp="60"/>`).join("")}</actuator></mujoco>`;

test.each([
  ["straight", true],
  ["rolled", false],
] as const)("stays where MuJoCo's stays, %s", async (_, unroll) => {
  const model = await loadModel(quadruped);
  const pose = LEGS.flatMap(() => [0.4, -0.8]);
  await using sim = await createSimulation(model, { numEnvs: 1, device: "wasm", unroll });
  await sim.setState({ ctrl: Float64Array.from(pose) });
  const mujoco = await getMuJoCo();
  const mj = mujoco.MjModel.from_xml_string(quadruped);
  const data = new mujoco.MjData(mj);
  data.ctrl.set(pose);
  let [after, theirsAfter] = [new Float64Array(), new Float64Array()];
  for (const steps of [9000, 1000]) {
    sim.step(steps);
    for (let t = 0; t < steps; t++) mujoco.mj_step(mj, data);
    if (steps === 9000) {
      after = Float64Array.from((await sim.getState(["qpos"])).qpos);
      theirsAfter = Float64Array.from(data.qpos as Float64Array);
    }
  }
  const { qpos, qvel } = await sim.getState(["qpos", "qvel"]);
  const theirs = Array.from(data.qpos as Float64Array);
  expect(data.ncon).toBeGreaterThan(3);
  const far = (a: ArrayLike<number>, b: ArrayLike<number>) => Math.max(...Array.from(a, (x, i) => Math.abs(x - b[i])));
  // at rest, in the same place and posture
  expect(Math.max(...Array.from(qvel, Math.abs))).toBeLessThan(fieldBounds.still.value);
  const creep = (now: ArrayLike<number>, then: ArrayLike<number>) => Array.from(now, (x, i) => x - then[i]);
  expect(far(creep(qpos, after), creep(theirs, theirsAfter))).toBeLessThan(fieldBounds.crept.value);
  expect(far(qpos, theirs)).toBeLessThan(fieldBounds.rested.value);
  data.delete();
  mj.delete();
});
