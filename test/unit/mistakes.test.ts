// what has another type than is asked for: an error with a code at once, never a TypeError from inside
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import "../../envs/index.ts";
import * as corral from "../../src/index.ts";
import { decodeSafetensors, encodeSafetensors } from "../../src/io/safetensors.ts";
import { packZip } from "../../src/model/zip-stream.ts";
import { field } from "../../src/model/fields.ts";
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
  ["no model to look for features", /bad-model/, () => corral.unsupportedFeatures(untyped(undefined))],
  ["a promise of a model to check", /bad-model.*await what/, () => corral.checkSupported(untyped(loadModel(XML)))],
  ["no model to look for a name", /bad-model/, () => corral.idOf(untyped(undefined), "joint", "x")],
  [
    "a kind that no object is of",
    /unknown-name.*"joints"; nearest: joint/,
    () => corral.nameOf(model, untyped("joints"), 0),
  ],
  [
    "counts that are no list",
    /bad-space.*MultiDiscrete got undefined/,
    () => new corral.MultiDiscrete(untyped(undefined)),
  ],
  ["no model with options", /bad-model/, () => corral.withOptions(untyped(undefined), {})],
  ["no model for MuJoCo", /bad-model/, () => corral.createOracle(untyped(undefined))],
  [
    "a misspelt option of a simulation",
    /unknown-option.*a simulation has no option "cuts"; nearest: cut/,
    () => createSimulation(model, untyped({ ...on, cuts: true })),
  ],
  [
    "a collector without options",
    /bad-option.*options is undefined; pass what a learner has.*\.\.\.ppo\.collecting/,
    () => corral.Collector.create("Hopper-v5", untyped(undefined)),
  ],
  [
    "a collector of nothing known",
    /unknown-env.*"Nope"/,
    () => corral.Collector.create("Nope", untyped({ numEnvs: 2, steps: 4 })),
  ],
  [
    "a collector that was told too little",
    /bad-option.*observations is undefined; pass what a learner has/,
    () => corral.Collector.create("Hopper-v5", untyped({ numEnvs: 2, steps: 4 })),
  ],
  [
    "a collector without a policy",
    /bad-option.*actor is undefined; pass what a learner has/,
    () => corral.Collector.create("Hopper-v5", untyped({ numEnvs: 2, steps: 4, observations: 11 })),
  ],
  [
    "an output that is no name",
    /bad-option.*outputs is \[null\]/,
    () => createSimulation(model, { ...on, outputs: untyped([null]) }),
  ],
  [
    "an output twice",
    /bad-option.*"xpos" is in it twice/,
    () => createSimulation(model, { ...on, outputs: ["xpos", "xpos"] }),
  ],
  ["worlds to record that are no list", /bad-option.*worlds is 3; pass a list/, () => env.record(untyped(3), "why")],
  [
    "a record without a reason",
    /bad-option.*reason is undefined; pass text/,
    () => env.record([0], untyped(undefined)),
  ],
  ["a parameter of no name", /bad-option.*name is undefined/, () => env.getParam(untyped(undefined))],
  ["a misspelt option of a device", /unknown-option.*nearest: label/, () => corral.openDevice(untyped({ lable: "x" }))],
  ["a servo of nothing", /bad-option.*gains of a servo is undefined/, () => corral.servo(untyped(undefined))],
  ["a misspelt gain", /unknown-option.*nearest: damping/, () => corral.servo(untyped({ stiffness: 1, damp: 1 }))],
  ["no mirror", /bad-option.*the mirror is undefined/, () => corral.mirrorColumns(["a"], untyped(undefined))],
  ["no names to mirror", /bad-option.*names is undefined/, () => corral.mirrorColumns(untyped(undefined), {})],
  ["a motion without options", /bad-option.*options of loadMotion/, () => corral.loadMotion([[0]], untyped(undefined))],
  ["a matrix of no model", /bad-model/, () => corral.fullM(untyped(undefined), [])],
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
    /bad-config.*a2c.*ppo, sac, sac-discrete or dqn/,
    () => corral.TrainingRun.create("CartPole", untyped({ algo: "a2c" })),
  ],
  ["options of a run that is planned", /bad-option/, () => corral.planRun("CartPole", untyped(5))],
  ["no options of an export", /bad-option/, () => corral.exportPolicy(untyped({}), untyped(undefined))],
  [
    "a misspelt option of an export",
    /unknown-option.*exportPolicy has no option "too"; nearest: to/,
    () => corral.exportPolicy(untyped({}), untyped({ format: "onnx", too: "x" })),
  ],
  [
    "a misspelt option of a fork",
    /unknown-option.*fork has no option "recordr"; nearest: recorder/,
    () => env.fork([0], 1, untyped({ recordr: false })),
  ],
  ["changes that are no list", /bad-value.*changes is 5/, () => corral.withChanges(model, untyped(5))],
  ["changes of nothing", /bad-value.*changes is \[5\]/, () => corral.withChanges(model, untyped([5]))],
  ["a bundle of no path", /no-bundle.*5 is no bundle/, () => corral.readBundle(untyped(5))],
  ["no bundle to replay", /no-bundle.*undefined: pass what readBundle/, () => corral.replay(untyped(undefined))],
  ["a path in place of a bundle", /no-bundle.*pass readBundle\(it\)/, () => corral.replay(untyped("crash"))],
  ["a model in place of a bundle", /no-bundle/, () => corral.bisect(untyped(model))],
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

/** What would end a line, or reach a terminal as more than text. */
const NASTY = "x\n[ok] all is well\u001b[2J\t\u2028";
const zipped = (path: string) =>
  packZip({ [path]: new TextEncoder().encode("<mujoco/>"), "b/two.xml": new Uint8Array() });
const header = (name: string) => encodeSafetensors({ [name]: { shape: [3], data: new Float32Array(2) } });

describe("names of models, files and callers stay in their lines", () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-names-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const archive = async (path: string): Promise<string> => {
    const file = join(folder, "robots.zip");
    writeFileSync(file, await zipped(path));
    return file;
  };

  test.each<[string, () => unknown]>([
    ["an output", () => createSimulation(model, { ...on, outputs: untyped([NASTY]) })],
    ["a field", () => sim.getState([NASTY as "qpos"])],
    ["a field of an environment", () => env.getState([NASTY])],
    ["a field of the table", () => field(untyped(NASTY))],
    ["a joint", () => createSimulation(model, { ...on, limits: { [NASTY]: { range: [0, 1] } } })],
    ["a joint's limit", () => createSimulation(model, { ...on, limits: { [`*${NASTY}`]: untyped({ range: 7 }) } })],
    ["an environment", () => makeVec(NASTY, on)],
    ["a file of a model", () => loadModel(`<mujoco><include file="x&#10;[ok] y.xml"/></mujoco>`)],
    ["a path", () => loadModel(NASTY)],
    ["a model in a zip", async () => loadModel(await archive(`a/${NASTY}.xml`))],
    ["a file that leads out of a zip", async () => loadModel(await archive(`../${NASTY}`))],
    ["an array", () => decodeSafetensors(header(NASTY), "a file")],
  ])("%s", async (_, use) => {
    const error = await (async () => use())().then(
      () => undefined,
      (thrown: unknown) => thrown as Error,
    );
    expect(error).toBeInstanceOf(CorralError);
    expect(error!.message.split("\n").some((line) => line.startsWith("[ok]"))).toBe(false);
    expect(error!.message).not.toContain("\u001b");
    expect(error!.message).not.toContain("\u2028");
  });
});
