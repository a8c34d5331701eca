// solver_niter: iterations of the solver and of noslip after it, together
import { expect, test } from "vitest";
import { createSimulation, loadModel } from "../../src/index.ts";
import { getMuJoCo } from "../../src/model/mujoco.ts";

const slope = (option: string) => `<mujoco><option tolerance="0" ${option}/><worldbody>
  <geom type="plane" size="1 1 1" euler="10 0 0"/><body pos="0 0 .09"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
</worldbody></mujoco>`;

async function ours(xml: string): Promise<number> {
  const model = await loadModel(xml);
  await using simulation = await createSimulation(model, { numEnvs: 1, device: "cpu", outputs: ["solver_niter"] });
  simulation.step(1);
  return (await simulation.getState(["solver_niter"])).solver_niter[0];
}

async function theirs(xml: string): Promise<number> {
  const mujoco = await getMuJoCo();
  const model = mujoco.MjModel.from_xml_string(xml);
  const data = new mujoco.MjData(model);
  mujoco.mj_step(model, data);
  const niter = (data.solver_niter as Int32Array)[0];
  data.delete();
  model.delete();
  return niter;
}

test.each(["elliptic", "pyramidal"])("PGS and noslip make as many as in MuJoCo, %s", async (cone) => {
  const xml = slope(`solver="PGS" cone="${cone}" iterations="7" noslip_iterations="5" noslip_tolerance="0"`);
  expect(await ours(xml)).toBe(await theirs(xml));
  expect(await theirs(xml)).toBe(12);
});

test("noslip adds its own to those of Newton", async () => {
  const alone = slope('solver="Newton"');
  const both = slope('solver="Newton" noslip_iterations="5" noslip_tolerance="0"');
  expect((await ours(both)) - (await ours(alone))).toBe((await theirs(both)) - (await theirs(alone)));
});
