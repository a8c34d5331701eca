// PGS and noslip as MuJoCo runs them: the same forces after the same iterations
import { describe, expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { mjtSolver } from "../../src/model/enums.ts";
import { loadModel } from "../../src/model/model.ts";
import { stageOf } from "../support/stage-table.ts";
import { fixture, type Fixture } from "../support/fixture.ts";
import { describeHow, difference, inputsOf, STAGE_HOWS } from "../support/oracle-suite.ts";
import { isFull } from "../support/sweep.ts";
import { evaluate } from "../support/stages.ts";
import { dualBounds } from "../support/tolerances.ts";

/** One tree with limits, friction loss and contacts of several condims; `more` adds trees, some tied. */
const scene = (option: string, more: boolean) => `<mujoco><option ${option}/>
  <worldbody><geom type="plane" size="0 0 1"/>
    <body pos="0 0 0.105"><freejoint/><geom type="box" size="0.2 0.15 0.1" condim="3"/>
      <body pos="0.3 0 0"><joint name="a" axis="0 1 0" range="-1 0.02" limited="true" frictionloss="0.3"/><geom type="capsule" size="0.05 0.1" condim="4"/>
        <body pos="0.2 0 -0.05"><joint name="b" axis="1 0 0"/><geom size="0.06" condim="6" friction="0.8 0.02 0.01"/></body></body></body>
    ${
      more
        ? `<body pos="1 0 0.1"><freejoint/><geom type="box" size="0.1 0.15 0.1"/></body>
    <body pos="1.02 0.05 0.29"><freejoint/><geom type="box" size="0.1 0.08 0.1" condim="1"/></body>
    <body pos="2 0 0.11"><freejoint/><geom name="alone" size="0.11"/></body>
    <body pos="3 0 0.3"><joint name="c" axis="0 1 0" frictionloss="0.1"/><geom type="capsule" size="0.04 0.1" pos="0.1 0 0"/></body>
    <body pos="4 0 0.3"><joint name="d" axis="0 1 0"/><geom type="capsule" size="0.04 0.1" pos="0.1 0 0"/></body>`
        : ""
    }
  </worldbody>
  ${more ? `<equality><joint joint1="c" joint2="d" polycoef="0 0.5 0 0 0"/></equality>` : ""}
</mujoco>`;

const NOSLIP: readonly [string, string, boolean][] = (isFull ? ["Newton", "CG", "PGS"] : ["Newton", "PGS"]).flatMap(
  (solver) =>
    ["pyramidal", "elliptic"].map((cone): [string, string, boolean] => [
      `noslip after ${solver}, ${cone}`,
      `solver="${solver}" cone="${cone}" iterations="${solver === "PGS" ? 10 : 100}" noslip_iterations="4" noslip_tolerance="0"`,
      true,
    ]),
);

const CASES: readonly [string, string, boolean][] = (isFull ? [1, 2, 5, 15] : [5]).flatMap((iterations) =>
  ["pyramidal", "elliptic"].flatMap((cone) =>
    [false, true].map((more): [string, string, boolean] => [
      `PGS, ${iterations} iterations, ${cone}${more ? ", islands" : ""}`,
      `solver="PGS" cone="${cone}" iterations="${iterations}" tolerance="0"`,
      more,
    ]),
  ),
);

/** Ends before the last iteration, and another start. */
const OTHERS: readonly [string, string, boolean][] = ["pyramidal", "elliptic"].flatMap(
  (cone): [string, string, boolean][] => [
    [`PGS that ends early, ${cone}`, `solver="PGS" cone="${cone}" iterations="19" tolerance="1e-3"`, true],
    [`noslip that ends early, ${cone}`, `cone="${cone}" noslip_iterations="20" noslip_tolerance="1e-3"`, true],
  ],
);

async function compare(f: Fixture, label: string) {
  const stage = stageOf("solver");
  const inputs = f.truths.map((t) => inputsOf(f, t));
  // where there is room PGS has the matrix of the dual
  const withRoom = f.model.opt.solver === mjtSolver.PGS ? STAGE_HOWS.map((how) => ({ ...how, roomy: true })) : [];
  for (const how of [...STAGE_HOWS, ...withRoom]) {
    const results = await evaluate(f.model, stage, inputs, how);
    const bound =
      dualBounds[how.on !== "f64" ? "single" : f.model.opt.solver === mjtSolver.CG ? "afterCG" : "exact"].value;
    results.forEach((result, i) => {
      const { fields, label: state } = f.truths[i];
      const told = `${label}, ${state}, ${describeHow(how)}`;
      expect(difference(result.qacc, fields.qacc), `qacc, ${told}`).toBeLessThanOrEqual(bound);
      expect(difference(result.qfrc_constraint, fields.qfrc_constraint), `force, ${told}`).toBeLessThanOrEqual(bound);
    });
  }
}

describe("after as many iterations", () => {
  test("PGS from forces of zero, as one island", async () => {
    const cold = scene(`solver="PGS" iterations="3" tolerance="0"`, true).replace(
      "<worldbody>",
      `<option><flag warmstart="disable" island="disable"/></option><worldbody>`,
    );
    await compare(await fixture(cold, [1, 4]), "cold");
  });

  test.each([...CASES, ...NOSLIP, ...OTHERS])("%s", async (name, option, more) => {
    const f = await fixture(scene(option, more), [1, 4, 7]);
    expect(f.truths.some((t) => t.rows.length > 3)).toBe(true);
    await compare(f, name);
  });
});

test("evaluations of RK4 all start where the step began", async () => {
  const model = await loadModel(`<mujoco>
    <option integrator="RK4" solver="PGS" iterations="30" cone="elliptic" timestep="0.003"/>
    <worldbody>
      <geom type="plane" size="5 5 .1"/>
      <body pos="0 0 .5">
        <joint type="hinge" axis="1 2 3" damping="0.1"/>
        <joint type="slide" axis="-1 .3 2" range="-.2 .2" limited="true" stiffness="30"/>
        <joint type="hinge" axis="0 0 -2" frictionloss=".05"/>
        <geom type="ellipsoid" size=".1 .2 .05"/>
        <body pos=".2 0 0">
          <joint type="ball" range="0 60" damping=".02"/>
          <geom type="capsule" fromto="0 0 0 .3 0 0" size=".04"/>
          <site name="s" pos=".3 0 0"/>
        </body>
      </body>
    </worldbody>
    <actuator><motor site="s" gear="1 2 3 .1 .2 .3"/></actuator>
  </mujoco>`);
  const found = await compareWithMuJoCo(model, { steps: 135, envs: 1, seed: 0, device: "cpu-f64" });
  expect(found.verdict).toMatchObject({ passed: true, reasons: [] });
  expect(found.oneStep.qacc!.max).toBeLessThan(dualBounds.exact.value);
});

test.each(["pyramidal", "elliptic"])("noslip in loops, after a primal solver without a matrix, %s", async (cone) => {
  const scenes = scene(
    `cone="${cone}" tolerance="1e-14" iterations="200" noslip_iterations="5" noslip_tolerance="0"`,
    true,
  );
  // what damping makes implicit follows noslip's forces
  const model = await loadModel(scenes.replace("<worldbody>", `<default><joint damping="0.2"/></default><worldbody>`));
  const found = await compareWithMuJoCo(model, { steps: 40, envs: 2, device: "cpu-f64", unroll: false });
  expect(found.verdict).toMatchObject({ passed: true, reasons: [] });
  expect(found.contacts.most).toBeGreaterThan(8);
  expect(found.oneStep.qacc!.max).toBeLessThan(dualBounds.afterCG.value);
});

/** An arm whose links are centimetres deep in a box that holds forces to 1e-4 of what would be rigid. */
const stiff = (cone: string) => `<mujoco><option cone="${cone}" timestep="0.0005" impratio="2" noslip_iterations="30"/>
  <default><geom solimp=".9999 .9999 .003" solref=".01 1"/></default>
  <worldbody><geom type="box" size=".3 .3 .1" pos="0 0 -.1"/>
    <body pos="-.2 0 .05"><joint axis="0 1 0" damping=".1"/><geom type="capsule" size=".03" fromto="0 0 0 .15 0 0" mass="1"/>
      <body pos=".15 0 0"><joint axis="0 1 0" damping=".01"/><geom type="capsule" size=".02" fromto="0 0 0 .08 0 -.08" mass=".1"/>
        <body pos=".08 0 -.08"><joint axis="0 1 0"/><joint axis="0 0 1"/><geom type="box" size=".03 .01 .01" pos=".03 0 0" mass=".01"/></body></body></body>
  </worldbody></mujoco>`;

// summed from forces anew, qacc has D times what rounds in J qacc - aref
test.each([
  ["pyramidal", "wasm", true],
  ["pyramidal", "wasm", false],
  ["elliptic", "wasm", true],
  ["pyramidal", "gpu", true],
] as const)("noslip beside stiff contacts in float32: %s, %s, straight-line: %s", async (cone, device, unroll) => {
  const model = await loadModel(stiff(cone));
  const arithmetic = "float32";
  const found = await compareWithMuJoCo(model, { steps: 30, envs: 3, device, unroll, arithmetic });
  expect(found.verdict).toMatchObject({ passed: true, reasons: [] });
  expect(found.contacts.most).toBeGreaterThan(3);
  expect(found.niter.corral.max).toBeGreaterThan(3);
});

/** Boxes, each heavier than the one below it, and an arm, whose solver makes few steps along its lines. */
const heavyOnLight = (cone: string) => `<mujoco>
  <option timestep="0.002" cone="${cone}" noslip_iterations="10" ls_iterations="5"/>
  <worldbody><geom type="plane" size="5 5 .1" friction="0.6"/>
    <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass=".1"/></body>
    <body pos=".01 0 .298"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body>
    <body pos=".02 0 .496"><freejoint/><geom type="box" size=".1 .1 .1" mass="5"/></body>
    <body pos=".03 0 .694"><freejoint/><geom type="box" size=".1 .1 .1" mass="20"/></body>
    <body pos="1 0 .5"><joint name="a" axis="0 1 0" frictionloss="1"/>
      <geom type="capsule" fromto="0 0 0 .4 0 -.3" size=".05" mass="3"/>
      <body pos=".4 0 -.3"><joint axis="0 1 0" range="-30 30" frictionloss=".3"/>
        <geom type="capsule" fromto="0 0 0 .3 0 -.19" size=".05" mass=".1"/></body></body>
  </worldbody><actuator><motor joint="a" gear="4" ctrlrange="-1 1"/></actuator></mujoco>`;

// Newton may end before its forces are those of its accelerations, and MuJoCo's noslip goes on from the forces
test.each(["pyramidal", "elliptic"])("noslip after few steps along lines, %s cones", async (cone) => {
  const model = await loadModel(heavyOnLight(cone));
  const options = { steps: 50, envs: 4, device: "wasm", unroll: false, arithmetic: "float32" } as const;
  const found = await compareWithMuJoCo(model, options);
  expect(found.verdict).toMatchObject({ passed: true, reasons: [] });
});
