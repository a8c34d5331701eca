// contacts of first, middle and last links of chains, with a floor, with links of the same chain and of another one: dofs near
// the root alone move some of them
import { expect, test } from "vitest";
import { compareWithMuJoCo } from "../../src/compare/compare.ts";
import { createSimulation, loadModel } from "../../src/index.ts";

const LINKS = 4;

/** A chain of boxes that lies on the floor, whose links are as near as those of a hand. */
const chain = (name: string, y: number): string =>
  Array.from({ length: LINKS }, (_, k) => k).reduceRight(
    (
      rest,
      k,
    ) => `<body pos="${k === 0 ? `0 ${y} .02` : ".05 0 0"}"><joint name="${name}${k}" axis="0 ${k % 2} ${1 - (k % 2)}"
      range="-1.5 1.5" damping=".01"/><geom type="box" pos=".02 0 0" size=".03 .015 .0195" mass=".02"/>${rest}</body>`,
    "",
  );
const names = ["a", "b", "c"].flatMap((name) => Array.from({ length: LINKS }, (_, k) => `${name}${k}`));
const hand = (cone: string) => `<mujoco><option timestep=".002" cone="${cone}" impratio="10"/>
  <default><position kp=".4" ctrlrange="-1.5 1.5"/></default>
  <worldbody><geom type="plane" size="1 1 .1"/>${chain("a", 0)}${chain("b", 0.05)}${chain("c", 0.1)}</worldbody>
  <actuator>${names.map((name) => `<position joint="${name}"/>`).join("")}</actuator></mujoco>`;

test.each(["elliptic", "pyramidal"])("chains with %s cones are stepped as MuJoCo does", async (cone) => {
  const model = await loadModel(hand(cone));
  for (const arithmetic of ["float32", "float64"] as const) {
    const { verdict } = await compareWithMuJoCo(model, { device: "wasm", steps: 40, envs: 4, arithmetic });
    expect(verdict.reasons, arithmetic).toEqual([]);
  }
});

test("their worlds have the same bits side by side as alone, in which other links touch", async () => {
  const model = await loadModel(hand("elliptic"));
  const worlds = 5;
  const ctrl = Float32Array.from({ length: worlds * model.nu }, (_, i) => 1.4 * Math.sin(7 * i));
  const run = async (from: number, numEnvs: number) => {
    await using simulation = await createSimulation(model, { numEnvs, device: "wasm", threads: 1, outputs: ["ncon"] });
    await simulation.setState({ ctrl: ctrl.subarray(from * model.nu, (from + numEnvs) * model.nu) });
    simulation.step(60);
    return simulation.getState(["qpos", "qvel", "ncon"]);
  };
  const { qpos, qvel, ncon } = await run(0, worlds);
  expect(new Set(ncon).size).toBeGreaterThan(1);
  for (let w = 0; w < worlds; w++) {
    const alone = await run(w, 1);
    expect([...alone.qpos, ...alone.qvel]).toEqual([
      ...qpos.subarray(w * model.nq, (w + 1) * model.nq),
      ...qvel.subarray(w * model.nv, (w + 1) * model.nv),
    ]);
  }
});
