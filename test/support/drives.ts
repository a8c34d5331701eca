// a task with all that can be said of actuators: servos, motors and a network, late, bounded by speed, drawn by world
import { actuatorNetwork, defineTask, encoders, type ActuatorRealities, type Task } from "../../src/index.ts";
import { encodeSafetensors } from "../../src/io/safetensors.ts";

export const DRIVES = `<mujoco model="drives">
  <option timestep="0.002" integrator="implicitfast"/>
  <worldbody>
    <body name="upper" pos="0 0 1"><joint name="hip" axis="0 1 0" damping=".1" armature=".02"/>
      <geom type="capsule" size=".03" fromto="0 0 0 0 0 -.3" mass="1" contype="0" conaffinity="0"/>
      <body name="lower" pos="0 0 -.3"><joint name="knee" axis="0 1 0" damping=".05" armature=".01"/>
        <geom type="capsule" size=".02" fromto="0 0 0 0 0 -.3" mass=".5" contype="0" conaffinity="0"/>
      </body></body>
    <body pos="0 1 0"><joint name="rail" type="slide" axis="1 0 0" damping="1"/>
      <geom type="sphere" size=".1" mass="1" contype="0" conaffinity="0"/></body>
    <body pos="0 2 0"><joint name="wheel" axis="0 0 1"/>
      <geom type="cylinder" size=".1 .02" mass="1" contype="0" conaffinity="0"/></body>
  </worldbody>
  <actuator>
    <position name="hip" joint="hip" kp="40" kv="1" ctrlrange="-1 1"/>
    <position name="knee" joint="knee" kp="5" gear="-2" forcerange="-3 4"/>
    <motor name="rail" joint="rail" gear="3" ctrlrange="-2 2"/>
    <motor name="wheel" joint="wheel" gear=".5"/>
  </actuator>
</mujoco>`;

/** Weights of a network of two hidden layers: any numbers. */
const numbersOf = (count: number, from: number) => Float32Array.from({ length: count }, (_, i) => Math.sin(i + from));
export const TENSORS = {
  "0.weight": { shape: [5, 6], data: numbersOf(30, 1) },
  "0.bias": { shape: [5], data: numbersOf(5, 2) },
  "2.weight": { shape: [4, 5], data: numbersOf(20, 3) },
  "2.bias": { shape: [4], data: numbersOf(4, 4) },
  "10.weight": { shape: [1, 4], data: numbersOf(4, 5) },
};
export const HISTORY = [0, 2, 3];
export const SCALE = { error: 2, speed: 0.1, force: 5 };

export const realities = (activation: "softsign" | "elu" | "tanh" = "softsign"): ActuatorRealities => ({
  "*": { delay: [0, 7], lag: { logUniform: [0.002, 0.02] } },
  knee: { delay: 4, lag: 0 },
  hip: { bias: { normal: [0, 0.05] }, backlash: [0.01, 0.2], torqueSpeed: { peak: [2, 6], noLoad: 8 } },
  "kne*": { bias: -0.1, torqueSpeed: { peak: 7, knee: 2, noLoad: [5, 6] } },
  wheel: { torqueSpeed: { peak: { value: "0.1 * param.spread", within: [0, 1] }, noLoad: 3 }, shared: true },
  rail: {
    network: actuatorNetwork(encodeSafetensors(TENSORS), { activation, history: HISTORY, scale: SCALE }),
    bias: 0.02,
  },
});

/** The task; `more` replaces parts of it. */
export const drives = (activation?: Parameters<typeof realities>[0], more: Partial<Task<object>> = {}): Task<object> =>
  defineTask({
    id: "Drives",
    model: DRIVES,
    frameSkip: 3,
    maxEpisodeSteps: 1000,
    params: { spread: 1 },
    actuators: realities(activation),
    observe: { qpos: "qpos", qvel: "qvel", read: encoders("hip", "knee") },
    reward: { none: 0 },
    reset: (s) => ({ qvel: s.random.normals(4) }),
    ...more,
  });
