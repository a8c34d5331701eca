// what console.log shows of public objects: facts, not what they are made of
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  createBudget,
  createSimulation,
  loadModel,
  makeVec,
  openDevice,
  plan,
  planSimulation,
  Ppo,
  withOptions,
  type GpuDevice,
  type Model,
  type VectorEnv,
} from "../../src/index.ts";

const XML = `<mujoco model="cart"><worldbody><body><joint type="slide"/><geom size="0.1"/></body></worldbody></mujoco>`;
const linesOf = (value: unknown) => inspect(value).split("\n").length;

let gpu: GpuDevice;
let model: Model;
let env: VectorEnv;
beforeAll(async () => {
  gpu = await openDevice();
  model = await loadModel(XML);
  env = await makeVec("CartPole", { numEnvs: 300, device: gpu, seed: 1 });
});
afterAll(async () => {
  await env.close();
  gpu.close();
});

describe("console.log of", () => {
  test("infos shows what the call reports, by name", async () => {
    await env.reset({ seed: 1 });
    const { infos } = await env.step(new Int32Array(300));
    expect(linesOf(infos)).toBeLessThan(20);
    expect(inspect(infos)).toMatch(/^Infos \{\s+reward_survive: Float32Array\(300\) \[/);
    let ended = infos;
    for (let i = 0; i < 30 && !ended.episode; i++) ended = (await env.step(new Int32Array(300))).infos;
    expect(inspect(ended)).toMatch(/episode: \{\s+r: Float32Array\(300\)/);
    expect(linesOf(ended)).toBeLessThan(60);
  });

  test("environments, simulations, learners, devices and budgets is short", async () => {
    await using sim = await createSimulation(model, { numEnvs: 2, device: gpu });
    await using ppo = await Ppo.create(env, { rolloutSteps: 4, hidden: [8] });
    const shown: [object, RegExp][] = [
      [env, /^VectorEnv \{\s+id: 'CartPole',\s+numEnvs: 300,\s+action: 'Discrete\(2\)'/],
      [sim, /^Simulation \{\s+model: 'cart',\s+numEnvs: 2,/],
      [ppo, /^Ppo \{\s+env: 'CartPole'/],
      [gpu, /^GpuDevice \{\s+driver: '/],
      [await createBudget(gpu), /^Budget \{\s+limit: '/],
    ];
    for (const [object, text] of shown) {
      expect(inspect(object)).toMatch(text);
      expect(linesOf(object)).toBeLessThan(60);
    }
  });

  test("a plan is its table, and its first line inside of other things", async () => {
    const planned = await plan("CartPole", { numEnvs: 10 });
    expect(inspect(planned)).toMatch(/^CartPole: 10 worlds \(1 shard/);
    expect(inspect({ deep: { planned } })).toMatch(
      /^\{\s+deep: \{\s+planned: Plan \{ CartPole: 10 worlds .*\}\s+\}\s+\}$/,
    );
    expect(linesOf(planSimulation(model, { numEnvs: 10 }))).toBeLessThan(30);
    // it stays plain data
    expect(JSON.parse(JSON.stringify(planned))).toMatchObject({ name: "CartPole" });
    expect(Object.keys(planned)).toEqual(Object.keys({ ...planned }));
    structuredClone(planned);
  });

  test("a model is its sizes, with other options too", () => {
    const text = `Model { name: "cart", nq: 1, nv: 1, nbody: 2, njnt: 1, ngeom: 1, timestep: 0.002 }`;
    expect(inspect(model)).toBe(text);
    expect(inspect(withOptions(model, { timestep: 0.01 }))).toBe(text.replace("0.002", "0.01"));
    structuredClone(model);
  });
});

test.each(["efc_state", "contact_solimp"])(
  "%s, which no batch keeps, is not suggested in its own place",
  async (name) => {
    const options = { numEnvs: 1, device: "cpu", outputs: [name] } as never;
    const message = await createSimulation(model, options).then(String, (error: Error) => error.message);
    expect(message).toContain(`[unknown-field] outputs names "${name}", which is no derived field that can be read`);
    expect(message).not.toMatch(new RegExp(`read: .*\\b${name}\\b`));
  },
);
