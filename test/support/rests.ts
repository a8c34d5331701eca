// what rests or is held: models that are run for 10,000 steps beside MuJoCo
const sixth = (k: number, r: number, z: number) =>
  `${(r * Math.cos((k * Math.PI) / 3)).toFixed(5)} ${(r * Math.sin((k * Math.PI) / 3)).toFixed(5)} ${z}`;
const ring = (r: number, z: number) => [0, 1, 2, 3, 4, 5].map((k) => sixth(k, r, z)).join(" ");
const OPTION = `<option timestep="0.002" cone="elliptic" impratio="10"/>`;
const ENERGY = `<sensor><e_potential/><e_kinetic/></sensor>`;

/** Five hexagonal prisms on one another, each turned against the one below. */
const stack = `<mujoco model="stack of five meshes">${ENERGY}
  <asset><mesh name="prism" vertex="${ring(0.08, -0.03)} ${ring(0.07, 0.03)}"/></asset>
  <worldbody><geom type="plane" size="2 2 .1"/>${[0, 1, 2, 3, 4]
    .map(
      (i) =>
        `<body pos="${0.004 * (i % 2)} ${-0.003 * (i % 3)} ${0.031 + 0.0602 * i}" euler="0 0 ${17 * i}"><freejoint/><geom type="mesh" mesh="prism" density="600"/></body>`,
    )
    .join("")}</worldbody></mujoco>`;

/** Three fingers of two joints each, from above, about a mesh that hangs between them. */
const hand = `<mujoco model="hand holding a mesh">${OPTION}${ENERGY}
  <asset><mesh name="prism" vertex="${ring(0.035, -0.04)} ${ring(0.035, 0.04)}"/></asset>
  <default><geom friction="1.2 .01 .001" condim="4" solref=".01 1"/><joint damping=".1" armature=".003"/></default>
  <worldbody><geom type="plane" size="1 1 .1"/>
    <body name="held" pos="0 0 .3"><freejoint/><geom type="mesh" mesh="prism" mass=".1"/></body>
    ${[0, 1, 2]
      .map(
        (f) => `<body pos="0 0 .42" euler="0 0 ${120 * f + 30}"><body pos=".06 0 0">
        <joint name="a${f}" axis="0 1 0" range="-60 60"/><geom type="capsule" size=".009" fromto="0 0 0 .02 0 -.06"/>
        <body pos=".02 0 -.06"><joint name="b${f}" axis="0 1 0" range="-60 60"/>
        <geom type="capsule" size=".01" fromto="0 0 0 -.03 0 -.06"/><geom type="box" size=".008 .015 .012" pos="-.032 0 -.062"/></body></body></body>`,
      )
      .join("")}
  </worldbody>
  <actuator>${[0, 1, 2].map((f) => `<position joint="a${f}" kp="8" ctrlrange="-1 1"/><position joint="b${f}" kp="8" ctrlrange="-1 1"/>`).join("")}</actuator></mujoco>`;

/** Two parallel fingers, as a Panda's: slides that an equality couples, on a box in the air. */
const fingers = `<mujoco model="fingers on a box">${OPTION}${ENERGY}
  <default><joint type="slide" range="0 .04" damping="20" armature=".1"/><geom friction="1 .005 .0001" condim="4"/></default>
  <worldbody><geom type="plane" size="1 1 .1"/>
    <body name="box" pos="0 0 .3"><freejoint/><geom type="box" size=".02 .02 .03" mass=".08"/></body>
    <body pos="0 0 .4"><geom type="box" size=".03 .1 .02" contype="0" conaffinity="0"/>
      <body pos="0 0 -.09"><joint name="left" axis="0 1 0"/><geom type="box" size=".01 .006 .02" pos="0 .006 0" mass=".05"/></body>
      <body pos="0 0 -.09"><joint name="right" axis="0 -1 0"/><geom type="box" size=".01 .006 .02" pos="0 -.006 0" mass=".05"/></body></body>
  </worldbody>
  <equality><joint joint1="left" joint2="right" solimp=".95 .99 .001" solref=".005 1"/></equality>
  <actuator><position joint="left" kp="400" ctrlrange="0 .04" forcerange="-40 40"/></actuator></mujoco>`;

/** `ctrl` is held throughout; `qpos` at the start, the model's own by default. */
export interface Rest {
  readonly name: string;
  readonly xml: string;
  readonly ctrl: readonly number[];
  readonly qpos?: readonly number[];
}

export const RESTS: readonly Rest[] = [
  { name: "a stack of five meshes", xml: stack, ctrl: [] },
  { name: "a hand that holds a mesh", xml: hand, ctrl: [0.35, 0.45, 0.35, 0.45, 0.35, 0.45] },
  { name: "fingers on a box", xml: fingers, ctrl: [0], qpos: [0, 0, 0.3, 1, 0, 0, 0, 0.021, 0.021] },
];
