// a small body with everything that terms name: a free torso on two legs with motors, sensors, a site and a tendon
import { defineTask, type Task } from "../../src/env/index.ts";

export const ROVER = `<mujoco model="rover">
  <option timestep="0.01"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1" friction="0.8 0.005 0.0001"/>
    <body name="torso" pos="0 0 0.35">
      <freejoint name="root"/>
      <geom name="trunk" type="capsule" size="0.08" fromto="-0.1 0 0 0.1 0 0" mass="2"/>
      <site name="imu"/>
      <body name="left leg" pos="0 0.1 0">
        <joint name="hip_left" type="hinge" axis="0 1 0" range="-60 60" limited="true" damping="0.5" armature="0.02"/>
        <geom name="foot_left" type="sphere" pos="0 0 -0.2" size="0.05" mass="0.3"/>
        <site name="sole_left" pos="0 0 -0.2" size="0.06"/>
      </body>
      <body name="right leg" pos="0 -0.1 0">
        <joint name="hip_right" type="hinge" axis="0 1 0" range="-60 60" limited="true" damping="0.5" armature="0.02"/>
        <geom name="foot_right" type="sphere" pos="0 0 -0.2" size="0.05" mass="0.3"/>
      </body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="stride"><joint joint="hip_left" coef="1"/><joint joint="hip_right" coef="-1"/></fixed>
  </tendon>
  <actuator>
    <motor name="left" joint="hip_left" gear="2" ctrlrange="-1 1" ctrllimited="true"/>
    <motor name="right" joint="hip_right" gear="2" ctrlrange="-2 2" ctrllimited="true"/>
  </actuator>
  <sensor>
    <gyro name="gyro" site="imu"/>
    <velocimeter name="velocity" site="imu"/>
    <touch name="contact_left" site="sole_left"/>
  </sensor>
</mujoco>`;

/** A task on the rover; by default it observes all positions and is rewarded with nothing. */
export const rover = <O extends object>(changes: Partial<Task<O>> = {}): Task<O> =>
  defineTask<O>({
    id: "Rover",
    model: ROVER,
    frameSkip: 2,
    maxEpisodeSteps: 50,
    observe: { qpos: "qpos" },
    reward: { none: 0 },
    ...changes,
  });
