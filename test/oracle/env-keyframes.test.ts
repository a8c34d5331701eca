// episodes that start from a keyframe have all of it that is a state: activations and mocap poses too, and MuJoCo beside them
import { expect, test } from "vitest";
import { defineTask, makeVec, startAround } from "../../src/env/index.ts";
import { makeMuJoCoVec } from "../../src/env/mujoco-vec.ts";
import { loadModel } from "../../src/model/model.ts";
import { withMuJoCo } from "../../src/model/oracle.ts";

const PULLED = `<mujoco model="pulled">
  <option timestep="0.005"/>
  <worldbody>
    <body name="hand" mocap="true" pos="0.1 0.2 0.3"><geom size="0.02" contype="0" conaffinity="0"/></body>
    <body name="cube" pos="0.1 0.2 0.3"><freejoint/><geom type="box" size="0.05 0.04 0.03" contype="0" conaffinity="0"/></body>
    <body name="arm" pos="1 0 0">
      <joint name="a" type="hinge" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.3" contype="0" conaffinity="0"/>
    </body>
  </worldbody>
  <equality><weld body1="hand" body2="cube"/></equality>
  <actuator><general joint="a" dyntype="integrator" gainprm="3" biastype="affine" biasprm="0 -3 -0.2"/></actuator>
  <keyframe>
    <key name="none"/>
    <key name="held" qpos="0.5 -0.4 0.8 0 0.6 0 0.8 0.7" qvel="0 0 0.1 0 0 0 0.2" act="0.4" mpos="0.5 -0.4 0.8" mquat="0 0.6 0 0.8"/>
  </keyframe>
</mujoco>`;

const task = defineTask({
  id: "Pulled",
  model: PULLED,
  frameSkip: 2,
  maxEpisodeSteps: 40,
  observe: { hand: "xpos(body.hand)", lies: "xquat(body.hand)", qpos: "qpos", act: "act" },
  reward: { none: 0 },
  reset: startAround({ key: "held" }),
});

test("a start from a keyframe is mj_resetDataKeyframe's", async () => {
  const wanted = await withMuJoCo(await loadModel(PULLED), ({ mujoco, model, data, read }) => {
    mujoco.mj_resetDataKeyframe(model, data, 1);
    mujoco.mj_forward(model, data);
    return [...read("xpos").subarray(3, 6), ...read("xquat").subarray(4, 8), ...read("qpos"), ...read("act")];
  });
  await using env = await makeVec(task, { numEnvs: 2, device: "cpu-f64", monitor: { worlds: [0, 1], everySteps: 1 } });
  await using mujoco = await makeMuJoCoVec(task, { numEnvs: 2 });
  const under = mujoco.env;
  for (const { observations } of [await env.reset({ seed: 1 }), await under.reset({ seed: 1 })])
    wanted.forEach((x, i) => expect(observations[i]).toBeCloseTo(x, 6));
  for (let t = 0; t < 30; t++) {
    const [own, other] = [await env.step([0.5, -0.5]), await under.step([0.5, -0.5])];
    own.observations.forEach((x, i) => expect(other.observations[i]).toBeCloseTo(x, 5));
  }
  const { worst, checks } = env.health().drift!;
  expect(checks).toBeGreaterThan(40);
  expect(worst!.qvel).toBeLessThan(1e-9);
});

test("a function of one's own puts mocap bodies where it says", async () => {
  const reset = () => ({ mocap_pos: [1, 2, 3], mocap_quat: [0, 1, 0, 0] });
  await using env = await makeVec({ ...task, id: "Placed", reset }, { numEnvs: 1, device: "cpu-f64" });
  const { observations } = await env.reset({ seed: 1 });
  expect(Array.from(observations.slice(0, 7))).toEqual([1, 2, 3, 0, 1, 0, 0]);
});
