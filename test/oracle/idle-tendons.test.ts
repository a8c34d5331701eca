// tendons that run along one rigid body at a time: nothing moves them, and MuJoCo makes no dense row of zeros alone
import { expect, test } from "vitest";
import { createSimulation } from "../../src/batch/simulation.ts";
import { loadModel } from "../../src/model/model.ts";
import { createOracle } from "../../src/model/oracle.ts";

const ROWS = ["ne", "nf", "nl", "nefc"] as const;
const held = `frictionloss=".2" limited="true"`;
const xml = (jacobian: string, joint: string) => `<mujoco><option jacobian="${jacobian}"/><worldbody>
<site name="w0" pos="0 0 1"/><site name="w1" pos="1 0 1"/>
<body pos="0 0 .5"><freejoint/><geom name="ball" size=".02" mass="1"/><site name="s0" pos=".1 0 0"/><site name="s1" pos="-.1 0 .05"/>
<body pos=".3 0 0"><joint name="j" axis="0 1 0"/><geom size=".05" mass="1"/><site name="s2"/></body></body>
<body pos="0 2 1">${joint}<geom size=".05" mass="1"/><site name="r0" pos=".1 0 0"/>
<body pos="0 .2 .1"><geom size=".03" mass=".3"/><site name="r1"/></body></body></worldbody><tendon>
<spatial name="idle" ${held} range=".3 .5"><site site="s0"/><site site="s1"/></spatial>
<spatial ${held} range="5 6"><site site="r0"/><site site="r1"/></spatial>
<spatial ${held} range="5 6"><site site="w0"/><geom geom="ball"/><site site="w1"/></spatial>
<spatial ${held} range=".3 .5"><site site="s0"/><geom geom="ball"/><site site="s1"/></spatial>
<spatial ${held} range="2 3"><site site="w0"/><site site="w1"/><pulley divisor="2"/><site site="s0"/><site site="s1"/></spatial>
<spatial ${held} range="5 6"><site site="w0"/><site site="s0"/><site site="s1"/><site site="s2"/></spatial>
<fixed ${held} range="1 2"><joint joint="j" coef="0"/></fixed></tendon>
<equality><tendon tendon1="idle" polycoef=".1 0 0 0 0"/></equality></mujoco>`;

test.each(["dense", "sparse", "auto"])(
  "a tendon that nothing moves has the rows that MuJoCo gives it: %s",
  async (jacobian) => {
    const model = await loadModel(xml(jacobian, `<joint type="slide" axis="1 2 3"/>`));
    using oracle = await createOracle(model);
    oracle.mujoco.mj_forward(oracle.model, oracle.data);
    await using simulation = await createSimulation(model, { numEnvs: 1, device: "wasm", outputs: ROWS });
    simulation.forward();
    const ours = await simulation.getState(ROWS);
    expect(ROWS.map((name) => [name, ours[name][0]])).toEqual(ROWS.map((name) => [name, oracle.data[name]]));
  },
);

test("a tendon that is too short between welded bodies moves neither: rounding gives MuJoCo's some way to", async () => {
  const model = await loadModel(xml("sparse", `<joint axis="0 0 1"/>`));
  await using simulation = await createSimulation(model, { numEnvs: 1, device: "wasm", outputs: ["qacc"] });
  simulation.forward();
  const { qacc } = await simulation.getState(["qacc"]);
  expect(qacc[model.nv - 1]).toBe(0);
});
