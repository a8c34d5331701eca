// a small task that runs: what `corral new-task` writes without a robot

/** The text of a first task, to change into one's own. */
export const firstTask = (name: string, from: string): string => `// ${name}: a cart that learns to hold a pole upright
import { defineTask, startAround } from ${JSON.stringify(from)};

const model = \`<mujoco model="${name}">
  <option timestep="0.01"/>
  <worldbody>
    <body name="cart">
      <joint name="slider" type="slide" axis="1 0 0" range="-2 2" limited="true" damping="0.5"/>
      <geom type="box" size="0.2 0.1 0.05" mass="1" contype="0" conaffinity="0"/>
      <body name="pole" pos="0 0 0.05">
        <joint name="hinge" type="hinge" axis="0 1 0" damping="0.01"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0 0 0.6" mass="0.1" contype="0" conaffinity="0"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="slider" gear="10" ctrlrange="-1 1" ctrllimited="true"/></actuator>
</mujoco>\`;

export default defineTask({
  id: ${JSON.stringify(name)},
  model,
  frameSkip: 2,
  maxEpisodeSteps: 500,
  defaults: { max_angle: 0.4 },
  observe: {
    place: "qpos(joint.slider)",
    angle: { value: "qpos(joint.hinge)", noise: 0.002 },
    velocities: { value: "qvel", scale: 0.1, clip: [-5, 5] },
  },
  reward: {
    upright: "exp(-square(qpos(joint.hinge)) / 0.04)",
    centred: { value: "square(qpos(joint.slider))", weight: -0.1 },
    effort: { value: "square(action[0])", weight: -0.01 },
  },
  terminated: { fallen: "abs(qpos(joint.hinge)) > option.max_angle" },
  randomise: { pole: { field: ["body_mass", "body_inertia"], of: "pole", scale: [0.5, 2] } },
  reset: startAround({ qpos: 0.05, qvel: 0.05 }),
});
`;
