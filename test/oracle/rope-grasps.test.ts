// long ropes that are held at several links: what few rows and contacts couple is solved at once, beside the trees
import { expect, test } from "vitest";
import { onCpu, planContext } from "../../src/batch/device.ts";
import { planKernels } from "../../src/batch/simulation-spec.ts";
import { createSimulation } from "../../src/batch/simulation.ts";
import { loadModel } from "../../src/model/model.ts";
import { MuJoCoWorld } from "../../src/monitor/mujoco-world.ts";
import { solvesByBodies } from "../../src/physics/smooth/inertia.ts";
import { eachRow, type Row } from "../../src/physics/constraint/rows.ts";
import { param } from "../../src/trace/control.ts";
import { trace } from "../../src/trace/graph.ts";
import { ne, type Bool } from "../../src/trace/scalar.ts";
import { featureBounds } from "../support/tolerances.ts";

const LINKS = 34;
/** Links that a hand may hold, of which every other is held at the start. */
const HELD = Array.from({ length: LINKS / 2 }, (_, k) => 2 * k + 1);

/** A rope of light links on a floor, its first end at a post and the rest in the reach of a slide with two fingers. */
const rope = (links: number, rest = "", integrator = "Euler", drives = ""): string => `<mujoco model="rope">
<option timestep="0.002" integrator="${integrator}"/><default><geom condim="3"/><equality solref="0.005 1" solimp=".999 .9999 .001"/></default>
<worldbody><geom type="plane" size="3 3 .1"/>
${Array.from({ length: links }, (_, k) => k).reduceRight(
  (tail, k) =>
    `<body name="link${k}" pos="${k === 0 ? "0 0 .012" : ".04 0 0"}"><joint type="ball" damping="1e-4"/><geom type="capsule" size=".006" fromto="0 0 0 .04 0 0" mass=".004" ${k % 3 ? 'contype="0" conaffinity="0"' : ""}/>${tail}</body>`,
  "",
)}
<body name="hand" pos=".4 0 .07"><joint name="hand" type="slide" axis="0 0 1" damping="1"/><geom type="box" size=".05 .05 .02" mass=".3"/>
  <body pos="0 .03 -.03"><joint name="left" type="slide" axis="0 1 0" damping="1"/><geom type="box" size=".01 .01 .03" mass=".05"/></body>
  <body pos="0 -.03 -.03"><joint name="right" type="slide" axis="0 -1 0" damping="1"/><geom type="box" size=".01 .01 .03" mass=".05"/></body></body>
${rest}</worldbody>
<equality><joint joint1="left" joint2="right"/>
${HELD.filter((k) => k < links)
  .map((k, i) => `<connect body1="link${k}" body2="hand" anchor="0 0 0" active="${i % 2 === 0}"/>`)
  .join("\n")}
</equality>
<actuator><motor joint="hand" gear="5"/><motor joint="left" gear="2"/></actuator>${drives}</mujoco>`;

/** Fingers that a damped tendon closes, with an actuator whose force depends on its speed. */
const CLOSER = `<tendon><fixed name="closer" damping=".4"><joint joint="left" coef=".5"/><joint joint="right" coef=".5"/></fixed></tendon>
<actuator><general tendon="closer" gainprm="10" biastype="affine" biasprm="0 -10 -8"/></actuator>`;

const CASES = {
  "beyond the dofs of a Hessian": rope(LINKS),
  "within them": rope(16),
  "beside free bodies": rope(
    12,
    [0.1, 0.2].map((x) => `<body pos="${x} 0 .04"><freejoint/><geom size=".03" mass=".05"/></body>`).join("\n"),
  ),
  "beside a gripper of a tendon": rope(9, "", "implicitfast", CLOSER),
  "under implicit": rope(6, "", "implicit", CLOSER),
  "over dofs": rope(
    6,
    "",
    "implicit",
    `${CLOSER}<tendon><fixed damping=".1"><joint joint="hand" coef=".5"/><joint joint="left" coef=".5"/></fixed></tendon>`,
  ),
};

test.each(Object.entries(CASES))("a rope %s whose grasps change takes MuJoCo's iterations", async (_name, xml) => {
  const model = await loadModel(xml);
  const { nq, nv, nu, neq } = model;
  const worlds = 2;
  const outputs = ["solver_niter"] as const;
  await using simulation = await createSimulation(model, { numEnvs: worlds, device: "wasm", threads: 1, outputs });
  const world = await MuJoCoWorld.create(model);
  const { mujoco, model: m, data } = world.oracle;
  const iterations = { ours: 0, mujoco: 0 };
  for (let t = 0; t < 10; t++) {
    // every world lets go of others
    const active = Array.from({ length: worlds * neq }, (_, i) => Number((i + t) % (2 + Math.floor(i / neq)) === 0));
    const ctrl = Array.from({ length: worlds * nu }, (_, i) => Math.sin(i + t));
    await simulation.setState({ eq_active: active, ctrl });
    const before = await simulation.getState(["qpos", "qvel", "qacc_warmstart"]);
    simulation.step();
    const after = await simulation.getState(["qvel", "solver_niter"]);
    for (let w = 0; w < worlds; w++) {
      const of = (values: ArrayLike<number>, n: number) => Array.from({ length: n }, (_, i) => values[w * n + i]);
      data.qpos.set(of(before.qpos, nq));
      data.qvel.set(of(before.qvel, nv));
      data.qacc_warmstart.set(of(before.qacc_warmstart, nv));
      data.ctrl.set(of(ctrl, nu));
      world.oracle.write("eq_active", of(active, neq));
      mujoco.mj_step(m, data);
      const error = of(after.qvel, nv).map((x, i) => Math.abs(x - data.qvel[i]) / (1 + Math.abs(x)));
      expect(Math.max(...error)).toBeLessThan(featureBounds.wideStep.value);
      iterations.ours += after.solver_niter[w];
      iterations.mujoco += data.solver_niter[0];
    }
  }
  world.delete();
  expect(iterations.ours).toBe(iterations.mujoco);
});

test("few couplings of a rope are solved at once", async () => {
  const model = await loadModel(CASES["beyond the dofs of a Hessian"]);
  const { traces } = planKernels(model, { numEnvs: 8 }, onCpu(planContext({}, 8)));
  expect(traces.get("step")!.arrays.map(({ name }) => name)).toContain("coupling_P0");
});

test.each([true, false])("rows of an equality that is not active are a branch where a world is alone (%s)", (wide) => {
  const branches = trace(
    () => {
      const [a, b] = ["a", "b"].map((name) => ne(param(name), 0));
      const row = (active: Bool, kind: Row["kind"] = "equality") => ({ kind, active }) as Row;
      const seen: Row[] = [];
      const rows = [row(a), row(a), row(a), row(b), row(true), row(a), row(b, "limit")];
      eachRow(rows, (r) => seen.push(r));
      expect(seen).toEqual(rows);
    },
    { wide },
  ).root.statements.filter(({ kind }) => kind === "when");
  expect(branches.length).toBe(wide ? 3 : 0);
});

test("tendons across branches are solved by bodies where there is room, as MuJoCo's derivatives of them are on the diagonal", async () => {
  const byBodies = async (xml: string, hasRoom = true) => {
    const model = await loadModel(xml);
    return solvesByBodies(model, model, hasRoom);
  };
  const across = rope(3, "", "implicitfast", CLOSER);
  expect(await byBodies(across)).toBe(true);
  expect(await byBodies(across, false)).toBe(false);
  expect(await byBodies(across.replace('joint="right" coef', 'joint="hand" coef'))).toBe(false);
  expect(await byBodies(across.replace('damping=".4"', 'armature=".4"'))).toBe(false);
});
