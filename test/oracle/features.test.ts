// what MuJoCo has beside its common parts, each in a model as small as may be
import { describeFeatures } from "../support/feature-suite.ts";

const scene = (option: string, bodies: string, rest = "") => `<mujoco model="feature">
  <option ${option.startsWith("<") ? "" : option}>${option.startsWith("<") ? option : ""}</option>
  <worldbody>${bodies}</worldbody>
  ${rest}
</mujoco>`;

/** A floor that pulls, a ball that sticks to it and one that hangs near it. */
const sticky = (cone: string): string =>
  scene(
    `cone="${cone}"`,
    `<geom type="plane" size="2 2 0.1" adhesion="3" gap="0.05"/>
     <body pos="0 0 0.098"><freejoint/><geom name="ball" size="0.1" condim="6" adhesion="2"/></body>
     <body pos="0.5 0 0.12"><freejoint/><geom name="near" size="0.1" condim="4" gap="0.02" priority="1"/>
       <geom name="side" size="0.05" pos="0.06 0 -0.03"/></body>`,
    `<sensor><contact geom1="ball" num="2" data="found force dist"/><contact geom1="near" data="found dist"/></sensor>`,
  );

describeFeatures("contacts equal MuJoCo", {
  "adhesive geoms, pyramidal cones": { xml: sticky("pyramidal") },
  "adhesive geoms, elliptic cones": { xml: sticky("elliptic") },
  "adhesive pairs": {
    driver: true,
    xml: scene(
      "",
      `<body name="arm" pos="0 0 0.5"><joint axis="0 1 0" damping="0.1"/><geom name="arm" type="capsule" size="0.04" fromto="0 0 0 0.4 0 0" contype="0"/>
         <body pos="0.3 0 -0.1"><joint axis="1 0 0" type="slide" damping="1"/><geom name="tip" size="0.05" adhesion="4" gap="0.03"/></body></body>
       <body name="held" pos="0.3 0 0.31"><freejoint/><geom name="held" size="0.05" mass="0.1"/></body>`,
      `<contact><pair geom1="held" geom2="tip" adhesion="5" gap="0.1" condim="3"/></contact>
       <sensor><contact geom1="tip" data="found force dist normal"/></sensor>`,
    ),
  },
  "adhesion actuators and gaps": {
    xml: scene(
      "",
      `<geom type="plane" size="2 2 0.1" gap="0.03"/>
       <body name="box" pos="0 0 0.11" euler="2 3 0"><freejoint/><geom name="box" type="box" size="0.1 0.1 0.1"/></body>
       <body name="ball" pos="0.5 0 0.11"><freejoint/><geom name="ball" size="0.1" condim="1"/></body>
       <body name="arm" pos="0 0 0.4"><joint axis="0 1 0"/><geom type="capsule" size="0.05" fromto="0 0 0 0.3 0 0"/>
         <body name="hand" pos="0.3 0 0"><joint axis="1 0 0"/><geom name="hand" type="capsule" size="0.05" fromto="0 0 -0.1 0.1 0 -0.1" gap="0.1"/></body></body>`,
      `<actuator><adhesion body="box" ctrlrange="0 10" gain="2"/><adhesion body="ball" ctrlrange="0 5"/>
         <adhesion body="hand" ctrlrange="0 5"/><general body="hand" biastype="affine" biasprm="0.1 0 -0.2"/></actuator>
       <sensor><contact body1="box" num="4" data="found force dist pos"/><contact subtree1="arm" reduce="mindist" data="found dist"/></sensor>`,
    ),
  },
  "moving surfaces": {
    xml: scene(
      `cone="elliptic" integrator="implicitfast"`,
      `<geom type="plane" size="2 2 0.1" surfacevel="0.5 0.2 0.3 0 0 0"/>
       <geom name="table" type="cylinder" size="0.3 0.05" pos="2 0 0" contype="2" conaffinity="2" surfacevel="0 0 0 0 0 2"/>
       <body pos="0 0 0.099"><freejoint/><geom type="box" size="0.1 0.1 0.1" condim="4"/></body>
       <body pos="2.1 0 0.149"><freejoint/><geom size="0.1" contype="3" conaffinity="3" condim="6" friction="1 0.1 0.1" surfacevel="0 0.1 0 0.5 0 1"/></body>
       <body pos="0.6 0.5 0.09" euler="20 10 30"><freejoint/><geom type="capsule" size="0.1 0.1" surfacevel="0 0 0 0 0 3"/></body>`,
    ),
  },
  "moving surfaces, pyramidal cones": {
    xml: scene(
      "",
      `<geom type="plane" size="2 2 0.1" surfacevel="0.5 0.2 0.3 0 0 1"/>
       <body pos="0.4 0 0.099"><freejoint/><geom type="box" size="0.1 0.1 0.1" condim="4"/></body>`,
    ),
  },
});

const swing = `<body name="a" pos="0 0 1"><joint axis="0 1 0.2"/><geom type="capsule" size="0.04" fromto="0 0 0 0.4 0.1 0"/>
    <camera name="fixed" pos="0.1 0 0.3" euler="20 10 5"/><camera name="track" mode="track" pos="0 -1 0.3" euler="80 10 5"/>
    <body name="b" pos="0.4 0.1 0"><joint type="ball"/><geom type="box" size="0.1 0.05 0.08" pos="0.1 0 0"/><site name="s" pos="0.2 0 0"/>
      <camera name="com" mode="trackcom" pos="0 -1 0.5"/></body></body>
  <camera name="look" mode="targetbody" target="b" pos="1 -2 1" fovy="30"/>
  <camera name="look_com" mode="targetbodycom" target="a" pos="-1 -1 2" resolution="640 480" sensorsize="0.03 0.02" focal="0.02 0.025"/>`;
const cameras = ["fixed", "track", "com", "look", "look_com"];

describeFeatures("sensors equal MuJoCo", {
  "projections and frames of cameras": {
    xml: scene(
      "",
      swing,
      `<sensor>${cameras
        .flatMap((c) => [
          `<camprojection camera="${c}" site="s"/>`,
          `<framepos objtype="camera" objname="${c}"/>`,
          `<framequat objtype="camera" objname="${c}" reftype="site" refname="s"/>`,
          `<framezaxis objtype="camera" objname="${c}"/>`,
        ])
        .join("")}
        <framelinvel objtype="camera" objname="fixed" reftype="camera" refname="look"/>
        <frameangvel objtype="camera" objname="com"/><framelinacc objtype="camera" objname="track"/>
        <framepos objtype="site" objname="s" reftype="camera" refname="look"/>
        <user dim="3" needstage="acc" cutoff="1"/><user dim="1" needstage="pos"/></sensor>`,
    ),
  },
  "sensors disabled": {
    driver: true,
    xml: scene(
      `<flag sensor="disable"/>`,
      swing,
      `<sensor><clock/><framepos objtype="camera" objname="fixed"/></sensor>`,
    ),
  },
});

/** Cameras over a floor, a slab, a ball and what swings, each with a depth image. */
const images = (which: readonly [camera: string, of: string][]): string =>
  scene(
    "",
    `<geom type="plane" size="3 3 0.1"/><geom type="box" size="0.3 0.2 0.05" pos="0.2 0.3 0.05" euler="0 0 20"/>
     <body name="ball" pos="0.1 -0.2 0.3"><freejoint/><geom size="0.15"/></body>
     <camera name="over" pos="0.1 0 1.5" resolution="5 4" fovy="40" euler="5 10 3"/>
     <camera name="lens" pos="-1 0 0.6" resolution="4 3" sensorsize="0.04 0.03" focal="0.03 0.028" principal="0.002 -0.001" euler="0 -65 -90"/>
     <camera name="flat" pos="0 0 2" resolution="3 4" projection="orthographic" fovy="1.2"/>
     <body name="a" pos="0 0 1"><joint axis="0 1 0.2"/><geom type="capsule" size="0.04" fromto="0 0 0 0.4 0.1 0"/>
       <camera name="eye" pos="0.2 0 0.02" resolution="4 3" fovy="70"/></body>`,
    `<sensor>${which.map(([c, of]) => `<rangefinder camera="${c}" ${of}/>`).join("")}<clock/></sensor>`,
  );
const all = `data="dist dir origin point normal depth"`;

describeFeatures("images of depth equal MuJoCo", {
  "lenses, orthographic cameras, one past its own body, cutoffs": {
    seeds: [1, 2],
    steps: 5,
    xml: images([
      ["over", all],
      ["lens", `data="normal depth"`],
      ["flat", all],
      ["eye", `data="dist" cutoff="0.7"`],
    ]),
  },
  delayed: {
    seeds: [1],
    steps: 6,
    xml: images([["eye", `data="depth" delay="0.004" nsample="3"`]]),
  },
});

/** Fingers whose bodies lie in what they touch: a plate, a slice of a sphere with tangents, a sphere without. */
const pads = (more = ""): string => `<mujoco>
  <asset><mesh name="plate" builtin="plate" params="3 3" scale=".1 .12 .05"/>
    <mesh name="wedge" builtin="wedge" params="4 3 45 45 0" scale=".1 .1 .1"/><mesh name="ball" builtin="sphere" params="0" scale=".05 .05 .05"/></asset>
  <worldbody><geom type="plane" size="2 2 0.1"/><geom type="box" size="0.1 0.1 0.05" pos="0.05 0 0.05" euler="3 0 20"/>
    <geom type="capsule" size="0.05 0.1" pos="0.5 0 0.05" euler="90 20 0"/><geom name="pad" type="mesh" mesh="ball" contype="0" conaffinity="0" pos="0.9 0.05 0.03"/>
    <geom type="cylinder" size="0.1 0.05" pos="1.3 0 0.05"/>
    <body pos="0 0 0.145" euler="2 3 0"><freejoint/><geom type="box" size=".1 .12 .05"/><geom name="finger" type="mesh" mesh="plate" mass="0" contype="0" conaffinity="0" pos="0 0 -0.05"/></body>
    <body pos="0.5 0 0.19" euler="20 30 40"><joint type="slide" axis="1 0.3 -0.2"/><joint axis="0 1 0"/><geom size=".1"/><geom name="tip" type="mesh" mesh="wedge" mass="0" contype="0" conaffinity="0" euler="-30 20 -30"/></body>
    <body pos="0.9 0.05 0.048"><freejoint/><geom type="ellipsoid" size="0.1 0.08 0.05"/></body>
    <body pos="1.3 0.02 0.19"><joint type="slide" axis="1 0.3 -0.5"/><geom size="0.1"/><geom name="pad2" type="mesh" mesh="plate" mass="0" contype="0" conaffinity="0" pos="0 0 -0.1"/></body></worldbody>
  <sensor><tactile geom="finger" mesh="plate"/><clock/><tactile geom="tip" mesh="wedge"/><tactile geom="pad" mesh="ball"/><tactile geom="pad2" mesh="plate" ${more}/></sensor></mujoco>`;

describeFeatures("tactile sensors equal MuJoCo", {
  "on planes, boxes, capsules, ellipsoids, cylinders": { seeds: [1], steps: 6, xml: pads() },
});

const diagexact = (option: string, bodies: string, rest: string): string =>
  scene(`<flag diagexact="enable"/>`, bodies, rest).replace("<option ", `<option ${option} `);
const floor = `<geom type="plane" size="2 2 0.1"/>`;

describeFeatures("the exact diagonal of A equals MuJoCo", {
  "pyramids, limits, friction loss, couplings": {
    seeds: [1, 2],
    steps: 5,
    xml: diagexact(
      "",
      `${floor}<body pos="0.5 0 0.2"><joint name="a" axis="0 1 0" range="-0.1 0.02" limited="true" frictionloss="0.1"/><geom type="capsule" size="0.04" fromto="0 0 0 0.3 0 0"/>
         <body pos="0.3 0 0"><joint name="b" axis="0 1 0" frictionloss="0.2"/><geom type="capsule" size="0.04" fromto="0 0 0 0.2 0 -0.17"/></body></body>`,
      `<equality><joint joint1="a" joint2="b" polycoef="0 0.5 0 0 0"/></equality>`,
    ),
  },
  "elliptic cones, a ball's limit, a weld": {
    seeds: [1],
    steps: 5,
    xml: diagexact(
      `cone="elliptic" impratio="5"`,
      `${floor}<body pos="0 0 0.09" euler="3 88 20"><freejoint/><geom type="capsule" size="0.1 0.05" condim="4"/></body>
       <body name="c" pos="-0.5 0 0.3"><joint type="ball" range="0 0.01" limited="true"/><geom type="capsule" size="0.04" fromto="0 0 0 0 0.3 0" mass="1"/></body>`,
      `<equality><weld body1="c"/></equality>`,
    ),
  },
});

describeFeatures("switched equalities equal MuJoCo", {
  "connects, welds, couplings of joints and tendons": {
    driver: true,
    switches: true,
    xml: scene(
      "",
      `<body name="a" pos="0 0 1"><joint name="a" axis="0 1 0"/><geom type="capsule" size="0.04" fromto="0 0 0 0.3 0 0" contype="0"/>
         <body name="b" pos="0.3 0 0"><joint name="b" axis="0 1 0"/><geom type="capsule" size="0.04" fromto="0 0 0 0.3 0 0" contype="0"/></body></body>
       <body name="cube" pos="0.65 0 1.02"><freejoint/><geom name="cube" type="box" size="0.05 0.05 0.05" contype="0"/></body>
       <body name="held" pos="0 0 0.9"><freejoint/><geom type="box" size="0.1 0.05 0.05" contype="0"/></body>`,
      `<tendon><fixed name="t"><joint joint="a" coef="1"/><joint joint="b" coef="-1"/></fixed></tendon>
       <equality><weld body1="a" body2="held" active="false"/><connect body1="b" body2="cube" anchor="0.3 0 0"/>
         <joint joint1="a" joint2="b" polycoef="0.1 0.5 0 0 0" active="false"/><tendon tendon1="t" active="false"/></equality>
       <sensor><framepos objtype="body" objname="cube"/></sensor>`,
    ),
  },
});

const limb = (joints = `axis="0 1 0" damping="0.2"`) => `<body pos="0 0 1"><joint name="a" ${joints}/>
    <geom type="capsule" size="0.05" fromto="0 0 0 0.3 0.1 0"/><site name="s" pos="0.3 0.1 0"/><site name="r"/>
    <body pos="0.3 0.1 0"><joint name="b" axis="0 1 0" type="hinge"/><geom type="box" size="0.05 0.1 0.15" pos="0.1 0 0"/></body></body>`;

describeFeatures("actuators of several inputs equal MuJoCo", {
  "pid controllers": {
    driver: true,
    xml: scene(
      `integrator="implicitfast"`,
      limb(),
      `<actuator><pid joint="a" kp="20" kv="1" ki="5" imax="0.1" input="pos vel ff" ctrlrange="-1 1" velrange="-0.5 0.5"/>
         <pid joint="b" kp="3" kv="0.2" forcerange="-1 1"/><pid joint="b" kp="2" slewmax="2" input="pos"/>
         <pid joint="b" kv="0.5" input="vel ff"/><motor joint="a"/></actuator>
       <sensor><actuatorfrc actuator="m"/></sensor>`.replace(`<motor joint="a"/>`, `<motor name="m" joint="a"/>`),
    ),
  },
  "pid controllers on rotations": {
    xml: scene(
      "",
      limb(`type="ball"`),
      `<actuator><pid joint="a" gear="0 0.5 0.2" kp="5" slewmax="20" input="pos vel" ctrlrange="-9 9"/>
         <pid site="s" refsite="r" gear="0 0 0 0 0.1 0.2" kp="2" ki="1" input="pos" ctrlrange="-9 9"/>
         <position site="s" refsite="r" gear="0 0 0 0.2 0 0" kp="2" ctrlrange="-9 9"/></actuator>`,
    ),
  },
  "motors with current, heat, cogging and friction": {
    xml: scene(
      "",
      limb(),
      `<actuator><dcmotor joint="a" motorconst="0.05 0.06" resistance="2" gear="20" inductance="0 0.01" thermal="3 5 0 0.004 25 30"
           saturation="0 2 50" cogging="0.01 6 0.3" lugre="50 0.5 0.02 0.03 0.1" input="pos vel ff voltage" controller="0.2 0.1 0.01 5 0.3 24"/>
         <dcmotor joint="b" nominal="12 0.5 100" gear="5" thermal="4 0 20 0.004 25 20" ctrlrange="-12 12"/>
         <dcmotor joint="b" motorconst="0.02" resistance="1" lugre="10 0.1 0.02 0.05 0.2" input="none"/></actuator>
       <sensor><actuatorfrc actuator="x"/></sensor>`.replace(
        '<dcmotor joint="b" nominal',
        '<dcmotor name="x" joint="b" nominal',
      ),
    ),
  },
  "motors under implicitfast": {
    driver: true,
    xml: scene(
      `integrator="implicitfast"`,
      limb(),
      `<actuator><dcmotor joint="a" motorconst="0.05" resistance="2" gear="20" inductance="0 0.005" input="pos vel" controller="0.2 0 0.02 0 0 0"/>
         <dcmotor joint="b" motorconst="0.05" resistance="2" gear="3" lugre="20 0.3 0.02 0.03 0.1" input="vel" controller="0 0 0.03 3 0 10"/>
         <dcmotor joint="b" motorconst="0.1" resistance="3"/></actuator>`,
    ),
  },
});

// a leaf of a millimetre's thickness by itself, a limb that loads its joints off their axes
const WING = `contype="0" fluidshape="ellipsoid" fluidcoef="0.6 0.3 1.6 1.2 0.9"`;
const leaf = `<body pos="0 0 1"><freejoint/><geom type="box" size="0.1 0.05 0.001" density="800" ${WING}/></body>`;
const paddle = `<body pos="2 0 1"><joint axis="0 1 0" damping="0.01"/><geom type="capsule" size="0.03" fromto="0 0 0 0.2 0.1 0" ${WING}/>
    <body pos="0.2 0.1 0"><joint type="ball"/><geom type="ellipsoid" size="0.1 0.04 0.02" pos="0.1 0 0.05" euler="10 20 30" ${WING}/></body></body>`;
const AIR = `density="1.2" viscosity="2e-5" gravity="0 0 0"`;
const seed = (size: string, x: number) =>
  `<body pos="${x} 0 1"><freejoint/><geom type="ellipsoid" size="${size}" fluidshape="ellipsoid" density="300"/></body>`;
const water = `density="500" viscosity="0.2" wind="0.3 0 -0.4" timestep="0.005"`;

/** A free body to which others are fixed, one of them without mass, on a floor and away from it. */
const assembly = (at: string, geom = "") =>
  `<body pos="${at}"><freejoint/><geom type="box" size="0.1 0.2 0.1" ${geom}/><body pos="0.3 0 0.1" euler="20 30 0"><geom type="capsule" size="0.05 0.2" ${geom}/>
     <body pos="0 0 0.4" euler="0 40 0"><geom type="box" size="0.1 0.05 0.1" ${geom}/></body></body><body pos="0 0.3 0"><geom size="0.05" mass="0"/></body></body>`;
const assemblies = `<geom type="plane" size="3 3 0.1"/>${assembly("0 0 2")}${assembly("1.5 0 0.1")}`;

describeFeatures("free bodies that others are fixed to equal MuJoCo", {
  "under implicitfast": {
    seeds: [2, 3],
    steps: 3,
    xml: scene(`timestep="0.01" integrator="implicitfast"`, assemblies),
  },
  "under discrete": { seeds: [2, 3], steps: 3, xml: scene(`timestep="0.01" integrator="discrete"`, assemblies) },
  "in a fluid": {
    seeds: [2, 3],
    steps: 3,
    xml: scene(`${water} integrator="implicitfast"`, assembly("0 0 2", `fluidshape="ellipsoid"`)),
  },
});

describeFeatures("ellipsoids in a fluid equal MuJoCo", {
  "a free body under implicitfast": { driver: true, xml: scene(`${water} integrator="implicitfast"`, leaf) },
  "a limb under implicitfast": { xml: scene(`${water} integrator="implicitfast"`, paddle) },
  "a limb under implicit": { xml: scene(`${water} integrator="implicit"`, paddle) },
  // fourth powers of such sizes are below mjMINVAL
  "seeds in still air": { xml: scene(AIR, `${seed("0.025 0.01 0.005", 1)}${seed("0.002 0.001 0.0005", 2)}`) },
});

const late = (option: string, actuators: string, sensors: string) => ({
  xml: scene(
    `timestep="0.004" ${option}`,
    `<body name="a" pos="0 0 1"><joint name="a" axis="0 1 0" damping="0.2"/><geom type="capsule" size="0.05" fromto="0 0 0 0.3 0.1 0"/><site name="s" pos="0.3 0 0"/>
       <body pos="0.3 0.1 0"><joint name="b" type="ball"/><geom type="box" size="0.05 0.1 0.15" pos="0.1 0 0"/></body></body>`,
    `<actuator>${actuators}</actuator><sensor>${sensors}</sensor>`,
  ),
});

describeFeatures("actuators of callbacks, without these, equal MuJoCo", {
  "gain, bias and dynamics": {
    driver: true,
    xml: scene(
      `integrator="implicitfast"`,
      `<body pos="0 0 1"><joint name="swing" axis="0 1 0.2" damping="0.1"/><geom type="capsule" size="0.04" fromto="0 0 0 0.4 0.1 0"/></body>`,
      `<actuator><general joint="swing" gaintype="user" gainprm="9"/><general joint="swing" biastype="user" biasprm="3 2 1" gainprm="0.4"/>
         <general joint="swing" gaintype="user" biastype="affine" biasprm="0.1 -0.3 -0.2" ctrlrange="-1 1"/>
         <general joint="swing" dyntype="user" actdim="2" gainprm="0.7"/></actuator>`,
    ),
  },
});

describeFeatures("histories equal MuJoCo", {
  "delays and intervals": late(
    "",
    `<motor joint="a" delay="0.012" nsample="3"/><position name="p" joint="a" kp="2" delay="0.0071" nsample="4" interp="linear"/>
     <general joint="a" dyntype="filter" dynprm="0.03" gainprm="2" delay="0.0093" nsample="5" interp="cubic"/><velocity joint="a" kv="0.1" nsample="3"/>`,
    `<jointpos joint="a" delay="0.008" nsample="2"/><ballquat joint="b" delay="0.0101" nsample="4" interp="cubic"/>
     <accelerometer site="s" delay="0.0063" nsample="3" interp="linear" cutoff="5"/><clock delay="0.006" nsample="2" interp="linear"/>
     <framelinvel objtype="site" objname="s" interval="0.01" nsample="2"/><actuatorfrc actuator="p" interval="0.0092 -0.005" nsample="1"/>
     <framepos objtype="site" objname="s" interval="0.009" delay="0.013" nsample="4" interp="linear"/><jointvel joint="a" nsample="3"/><jointvel joint="a"/>`,
  ),
  // its implicit terms depend on controls of the past
  "muscles under implicitfast": late(
    `integrator="implicitfast"`,
    `<muscle joint="a" delay="0.0026" nsample="2" lengthrange="0.1 1" ctrllimited="true" ctrlrange="0 1"/>`,
    "",
  ),
  "under RK4": late(
    `integrator="RK4"`,
    `<position name="p" joint="a" kp="2" delay="0.0071" nsample="3" interp="linear"/>`,
    `<framepos objtype="site" objname="s" delay="0.0081" nsample="3" interp="linear"/><jointpos joint="a" delay="0.004" nsample="1"/>
     <jointvel joint="a" interval="0.01" nsample="2"/>`,
  ),
  "long buffers, which are arrays": {
    driver: true,
    xml: scene(
      `timestep="0.004"`,
      limb(),
      `<actuator><motor joint="a" delay="0.1" nsample="40"/><motor joint="b" delay="0.03" nsample="20" interp="cubic"/></actuator>
       <sensor><gyro site="s" delay="0.021" nsample="10" interp="linear"/><velocimeter site="s" interval="0.01" nsample="3"/></sensor>`,
    ),
    steps: 40,
  },
});
