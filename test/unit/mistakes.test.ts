// what has another type than is asked for: an error with a code at once, never a TypeError from inside
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import "../../envs/index.ts";
import * as corral from "../../src/index.ts";
import { CorralError, createSimulation, loadModel, makeVec } from "../../src/index.ts";

const XML = `<mujoco><worldbody><body name="b"><joint name="j" type="slide"/><geom size="0.1"/></body></worldbody>
  <actuator><motor joint="j"/></actuator></mujoco>`;
let model: corral.Model;
let sim: corral.Simulation;
let env: corral.VectorEnv;
beforeAll(async () => {
  model = await loadModel(XML);
  sim = await createSimulation(model, { numEnvs: 4, device: "cpu" });
  env = await makeVec("CartPole", { numEnvs: 4, device: "cpu", seed: 1 });
  await env.reset();
});
afterAll(async () => {
  await sim.close();
  await env.close();
});

// oxlint-disable-next-line typescript/no-explicit-any
const untyped = (value: unknown) => value as any;
const on = { numEnvs: 2, device: "cpu" } as const;
const drawing = (item: object) => makeVec("CartPole", { ...on, randomise: { it: untyped(item) } });

const CASES: readonly (readonly [what: string, message: RegExp, use: () => unknown])[] = [
  ["options of a model", /bad-option.*null/, () => loadModel(XML, untyped(null))],
  [
    "a misspelt option of a model",
    /unknown-option.*"visual"; nearest: visuals/,
    () => loadModel(XML, untyped({ visual: true })),
  ],
  ["assets that are none", /bad-option.*assets is 7/, () => loadModel(XML, untyped({ assets: 7 }))],
  ["XML in place of a model", /bad-model.*await loadModel/, () => createSimulation(untyped(XML), on)],
  ["a promise of a model", /bad-model.*await what/, () => createSimulation(untyped(loadModel(XML)), on)],
  ["no model to plan", /bad-model/, () => corral.planSimulation(untyped(undefined), on)],
  ["no model to check", /bad-model/, () => corral.checkModel(untyped(undefined))],
  ["no model with options", /bad-model/, () => corral.withOptions(untyped(undefined), {})],
  ["no model for MuJoCo", /bad-model/, () => corral.createOracle(untyped(undefined))],
  [
    "an output that is no name",
    /bad-option.*outputs is \[null\]/,
    () => createSimulation(model, { ...on, outputs: untyped([null]) }),
  ],
  ["no state", /bad-option.*values is undefined/, () => sim.setState(untyped(undefined))],
  ["a field that is null", /bad-option.*qpos is null/, () => sim.setState({ qpos: untyped(null) })],
  ["worlds that are no list", /bad-option.*worlds/, () => sim.setState({ qpos: [1] }, untyped({}))],
  ["names that are no list", /bad-option.*names.*\["qpos"\]/, () => sim.getState(untyped("qpos"))],
  ["a name that is no text", /bad-option.*names/, () => sim.getState(untyped([7]))],
  ["no options to change", /bad-option/, () => sim.setOptions(untyped(undefined))],
  ["an environment's field that is null", /bad-option.*qpos is null/, () => env.setState({ qpos: untyped(null) })],
  ["an environment's names", /bad-option.*names/, () => env.getState(untyped([{}]))],
  ["an environment's worlds", /bad-option.*worlds/, () => env.getState(["qpos"], untyped({}))],
  ["a drawn field of no name", /bad-randomise.*field is 7/, () => drawing({ field: 7, set: [0, 1] })],
  ["drawn of no name", /bad-randomise.*of is/, () => drawing({ field: "body_mass", of: {}, set: [1, 2] })],
  [
    "a drawn element",
    /bad-randomise.*element is "x"/,
    () => drawing({ field: "body_mass", element: "x", set: [1, 2] }),
  ],
  ["a distribution of null", /bad-randomise.*distribution is null/, () => drawing({ field: "body_mass", set: null })],
  ["a mean alone", /bad-randomise.*distribution is/, () => drawing({ field: "body_mass", set: { normal: 5 } })],
  ["options of a device", /bad-option/, () => corral.openDevice(untyped(5))],
  ["options of a run", /bad-option/, () => corral.TrainingRun.create("CartPole", untyped(5))],
  [
    "an algorithm of no name",
    /bad-config.*dqn.*ppo or sac/,
    () => corral.TrainingRun.create("CartPole", untyped({ algo: "dqn" })),
  ],
  ["options of a run that is planned", /bad-option/, () => corral.planRun("CartPole", untyped(5))],
  ["no options of an export", /bad-option/, () => corral.exportPolicy(untyped({}), untyped(undefined))],
  ["changes that are no list", /bad-value.*changes is 5/, () => corral.withChanges(model, untyped(5))],
  ["changes of nothing", /bad-value.*changes is \[5\]/, () => corral.withChanges(model, untyped([5]))],
  ["a bundle of no path", /no-bundle.*5 is no bundle/, () => corral.readBundle(untyped(5))],
  ["no task", /bad-task/, () => corral.register(untyped(undefined))],
  ["a Jacobian of nothing", /bad-option.*\{ body \}/, () => corral.jacobian(model, untyped({}), untyped("x"))],
  ["a Jacobian of no body", /bad-option.*body is 9/, () => corral.jacobian(model, untyped({}), { body: 9 })],
  ["a Jacobian without its fields", /missing-output.*cdof/, () => corral.jacobian(model, untyped({}), { body: "b" })],
];

describe("wrong types", () => {
  test.each(CASES)("%s", async (_, message, use) => {
    const error = await (async () => use())().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(CorralError);
    expect((error as CorralError).message).toMatch(message);
  });

  test("live objects go on", async () => {
    sim.step(1);
    expect((await sim.getState(["qpos"])).qpos).toHaveLength(4);
    expect((await env.step(new Int32Array(4))).rewards).toHaveLength(4);
  });
});
