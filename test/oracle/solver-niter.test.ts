// solver_niter: iterations of the solver and of noslip after it, together
import { expect, test } from "vitest";
import { createSimulation, loadModel } from "../../src/index.ts";
import { getMuJoCo } from "../../src/model/mujoco.ts";
import { stageBounds } from "../support/tolerances.ts";

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

// cubes pushed to and fro over each other on a floor: contacts slide, stick and lift
const pile = (option: string) => `<mujoco><option timestep=".004" cone="elliptic" impratio="10" ${option}/><worldbody>
  <geom type="plane" size="1 1 1" friction=".6"/>
  ${[0, 1, 2, 3].map((k) => `<body pos="${0.03 * k} ${0.02 * k} ${0.1 + 0.205 * k}" euler="0 0 ${20 * k}"><freejoint/><geom type="box" size=".1 .1 .1" friction=".5"/></body>`).join("")}
</worldbody></mujoco>`;

test.each([
  ["", true],
  ['noslip_iterations="5"', false],
])(
  "beside elliptic cones in float64 a step that gains nothing is not made, and qacc is that of the whole way: %s",
  async (option, foretells) => {
    const model = await loadModel(pile(option));
    const outputs = ["solver_niter", "qacc"] as const;
    const form = { numEnvs: 1, arithmetic: "float64", outputs: [...outputs] } as const;
    await using simulation = await createSimulation(model, { ...form, device: "wasm" });
    await using reference = await createSimulation(model, { numEnvs: 1, device: "cpu-f64", outputs: [...outputs] });
    let [fewer, most] = [0, 0];
    for (let k = 0; k < 150; k++) {
      const push = Float64Array.from({ length: model.nv }, (_, i) => 2 * Math.sin(0.7 * k + 1.3 * i));
      const state = await reference.getState(["qpos", "qvel", "qacc_warmstart"]);
      // what is read and written is float32
      const held = Object.fromEntries(
        Object.entries(state).map(([name, x]) => [name, Float64Array.from(x, Math.fround)]),
      );
      for (const one of [simulation, reference]) await one.setState({ ...held, qfrc_applied: push.map(Math.fround) });
      for (const one of [simulation, reference]) one.step(1);
      const [mine, whole] = await Promise.all([simulation, reference].map((one) => one.getState([...outputs])));
      fewer += whole.solver_niter[0] - mine.solver_niter[0];
      const size = Math.max(1, ...whole.qacc.map(Math.abs));
      most = Math.max(most, ...whole.qacc.map((x, i) => Math.abs(x - mine.qacc[i]) / size));
    }
    if (foretells) expect(fewer).toBeGreaterThan(0);
    expect(most).toBeLessThan(stageBounds.any32.value);
  },
);
