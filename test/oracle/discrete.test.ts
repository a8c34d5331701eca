// the integrator `discrete`: accelerations and constraints in M + h D + h² K, rows at the end of the step
import { describe, expect, test } from "vitest";
import { createSimulation } from "../../src/batch/simulation.ts";
import { loadModel } from "../../src/model/model.ts";
import { describeFeatures, type Feature } from "../support/feature-suite.ts";

const scene = (option: string, bodies: string, rest = "", flags = ""): Feature => ({
  seeds: [1, 2],
  steps: 3,
  xml: `<mujoco model="discrete"><option timestep="0.01" integrator="discrete" ${option}><flag ${flags}/></option>
    <worldbody>${bodies}</worldbody>${rest}</mujoco>`,
});

const arm = (first = "", second = "", more = ""): string =>
  `<body name="u" pos="0 0 1"><joint name="a" axis="0 1 0.2" damping="0.1" ${first}/><geom type="capsule" size="0.04" fromto="0 0 0 0.4 0.1 0"/>
     <body name="l" pos="0.4 0.1 0"><joint name="b" axis="1 0.3 0" ${second}/><geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0.1"/>
       <site name="tip" pos="0.3 0 0.1"/></body></body>
   <body name="p" pos="0 0.5 1"><joint name="c" type="slide" axis="0 0 1" ${more}/><geom type="box" size="0.1 0.05 0.08"/><site name="ps" pos="0.1 0 0"/></body>`;
const table = `<geom type="plane" size="3 3 0.1" pos="0 0 0.75"/>`;
const cable = `<tendon><fixed name="t" stiffness="30 2 3" damping="1 0.5" springlength="0.05 0.1"><joint joint="a" coef="0.5"/><joint joint="c" coef="1"/></fixed></tendon>
  <actuator><position tendon="t" kp="40" kv="1" forcerange="-2 2"/></actuator>`;

describeFeatures("springs, dampers and rows equal MuJoCo", {
  "joints of all kinds": scene(
    "",
    `${arm('stiffness="20"', 'damping="0.1 0.2" stiffness="5 3 2" springref="0.3"')}
     <body pos="-1 0 1"><joint type="ball" stiffness="3 1 2" damping="0.2"/><geom type="box" size="0.1 0.2 0.3"/></body>
     <body pos="-2 0 1"><joint type="free" stiffness="3 1" damping="0.1"/><geom type="box" size="0.1 0.2 0.2" pos="0.1 0.05 0"/></body>`,
  ),
  "limits and friction loss, stiffer than the step": scene(
    "",
    arm(
      'range="-5 5" limited="true" stiffness="20"',
      'range="-3 8" limited="true" solreflimit="0.004 1" frictionloss="0.2"',
      'range="-0.01 0.02" limited="true" solreflimit="-9000 -20" frictionloss="0.1" solreffriction="0.002 1"',
    ),
  ),
  "the same without refsafe": scene(
    "",
    arm('range="-5 5" limited="true"', 'range="-3 8" limited="true" solreflimit="0.002 1"'),
    "",
    'refsafe="disable"',
  ),
  equalities: scene(
    "",
    `${arm('stiffness="20"')}<body name="w" pos="0.6 0 1"><freejoint/><geom type="box" size="0.1 0.05 0.08"/></body>`,
    `<equality><weld body1="l" body2="w" solref="0.005 1"/><connect body1="l" body2="w" anchor="0.1 0 0"/>
      <joint joint1="a" joint2="b" polycoef="0.1 1 0.2 0 0"/></equality>`,
  ),
});

describeFeatures("contacts equal MuJoCo", {
  "pyramids, that pull, slide and are stiff": scene(
    "",
    `<geom type="plane" size="2 2 0.1" adhesion="3" gap="0.05" surfacevel="0.5 0.2 0 0 0 0"/>
     <body pos="0 0 0.28"><joint type="slide" axis="0 0 1" stiffness="20" damping="1"/><joint axis="1 0 0" damping="0.1"/><geom type="box" size="0.1 0.2 0.3" condim="4"/></body>
     <body pos="0.5 0 0.098"><freejoint/><geom size="0.1" condim="6" solref="0.004 1" priority="1"/></body>`,
  ),
  "elliptic cones, with dampers of their own": scene(
    'cone="elliptic" impratio="2"',
    `<geom name="p" type="plane" size="2 2 0.1" adhesion="2"/>
     <body pos="0 0 0.28"><joint type="slide" axis="0 0 1" stiffness="20" damping="1"/><joint axis="1 0 0" damping="0.1"/><joint type="slide" axis="1 0 0"/><geom type="box" size="0.1 0.2 0.3" condim="6" solref="0.006 0.8"/></body>
     <body pos="0.5 0 0.095"><freejoint/><geom name="ball" size="0.1"/></body>`,
    `<contact><pair geom1="p" geom2="ball" solref="-2000 -40" solreffriction="0.004 0.7" condim="6"/></contact>`,
  ),
});

describeFeatures("actuators equal MuJoCo", {
  "affine gains and biases, controllers, ranges, sites, balls, cranks": scene(
    "",
    `<site name="w" pos="0 0.3 1.2"/>${arm()}<body pos="-1 0 1"><joint name="ball" type="ball" damping="0.05"/><geom type="box" size="0.1 0.2 0.3"/></body>`,
    `<actuator><position joint="a" kp="30" kv="2" forcerange="-1 1"/><general joint="b" gaintype="affine" gainprm="1 -3 -0.5" biastype="affine" biasprm="0.3 -2 -0.1"/>
      <pid joint="a" kp="30" kv="2" ki="4" imax="1"/><intvelocity joint="b" kp="20" kv="1"/><position site="tip" refsite="w" gear="1 0 0 0 0 0" kp="50" kv="2"/>
      <damper site="tip" gear="0 1 0 0 0 0" kv="3" ctrlrange="0 1"/><position joint="ball" gear="1 2 0" kp="30" kv="1"/>
      <general slidersite="ps" cranksite="tip" cranklength="0.9" biastype="affine" biasprm="0 -10 -1"/></actuator>`,
  ),
  "muscles, and motors that warm up": scene(
    "",
    arm('range="-100 100"'),
    `<actuator><muscle joint="a" lengthrange="-2 2" force="20"/><muscle joint="c" lengthrange="-1 1" force="9"/>
      <dcmotor joint="a" motorconst="0.5" resistance="2" input="pos" controller="10 0 1" thermal="10 2 20 0.004 25 25"/>
      <dcmotor joint="b" motorconst="0.5" resistance="2" inductance="0.02" input="pos vel" controller="4 1 0.3"/></actuator>`,
  ),
  "the slopes of warm motors under implicitfast": {
    seeds: [1, 2],
    steps: 3,
    xml: `<mujoco><option integrator="implicitfast" timestep="0.01"/><worldbody>${arm()}</worldbody>
      <actuator><dcmotor joint="a" motorconst="0.5" resistance="2" thermal="10 2 20 0.04 25 25"/></actuator></mujoco>`,
  },
});

describeFeatures("what couples trees equals MuJoCo", {
  "a tendon and its servo, over a table": scene("", table + arm(), cable),
  "a tendon in space with a limit": scene(
    "",
    `<site name="w" pos="0 0.3 1.2"/>${arm()}`,
    `<tendon><spatial name="t" stiffness="30" damping="1" springlength="0.1" limited="true" range="0 0.3" frictionloss="0.2"><site site="w"/><site site="tip"/><site site="ps"/></spatial></tendon>
     <actuator><position tendon="t" kp="20" kv="1"/></actuator>`,
  ),
  "few iterations": scene('iterations="3" ls_iterations="10"', table + arm(), cable),
  PGS: scene('solver="PGS" iterations="300"', table + arm(), cable),
  noslip: scene('noslip_iterations="10"', table + arm(), cable),
  "the exact diagonal": scene("", table + arm("", "", 'frictionloss="0.3"'), cable, 'diagexact="enable"'),
});

describeFeatures("free bodies and the medium equal MuJoCo", {
  "alone, touching, and pulled": scene(
    "",
    `<geom type="plane" size="3 3 0.1"/><body pos="0 0 2" euler="20 30 40"><freejoint/><geom type="box" size="0.1 0.2 0.3"/></body>
     <body pos="1 0 0.2"><freejoint/><geom type="box" size="0.1 0.2 0.2"/></body>
     <body name="held" pos="2 0 1"><freejoint/><geom type="box" size="0.1 0.2 0.3"/><site name="s" pos="0.1 0 0.2"/></body>`,
    `<actuator><damper site="s" gear="0 0 1 0 0 0" kv="3" ctrlrange="0 1"/></actuator>`,
  ),
  "boxes and ellipsoids in a fluid": scene(
    'density="30" viscosity="0.2"',
    `${arm().replaceAll("<geom ", '<geom fluidshape="ellipsoid" ')}<body pos="-1 0 1"><freejoint/><geom type="box" size="0.1 0.2 0.2" pos="0.1 0.05 0"/></body>`,
  ),
});

describe("what discrete is for", () => {
  test("a servo far stiffer than the step holds where implicitfast leaves", async () => {
    const reached = async (integrator: "discrete" | "implicitfast"): Promise<number> => {
      const model = await loadModel(`<mujoco><option timestep="0.02" integrator="${integrator}"/><worldbody><body>
        <joint name="a" axis="0 1 0"/><geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0"/></body></worldbody>
        <actuator><position joint="a" kp="2000"/></actuator></mujoco>`);
      await using sim = await createSimulation(model, { numEnvs: 1, device: "cpu" });
      await sim.setState({ ctrl: [0.5] });
      for (let k = 0; k < 300; k++) sim.step();
      return (await sim.getState(["qpos"])).qpos[0];
    };
    expect(Math.abs((await reached("discrete")) - 0.5)).toBeLessThan(0.01);
    expect(Math.abs((await reached("implicitfast")) - 0.5)).not.toBeLessThan(0.1);
  });
});
