// A NaN of a weight passes activations, which max and clamp would swallow, and stops the update before it moves anything
import { afterAll, expect, test } from "vitest";
import { forward, rowsFor } from "../../src/rl/networks/host-actor.ts";
import { STATE } from "../../src/rl/tables/device-tables.ts";
import { layOutNetwork } from "../../src/rl/networks/networks.ts";
import { trainMinibatch } from "../../src/rl/ppo/update.ts";
import { makeCase, closeSharedDevice } from "../support/learner-case.ts";

afterAll(closeSharedDevice);

const env = { head: "gaussian", observations: 5, actions: 2, alternatives: [] } as const;
const CASES = [
  { name: "relu", env, config: { hidden: [8, 8], activation: "relu" } },
  { name: "tanh", env, config: { hidden: [8, 8] } },
  { name: "gates", env, config: { hidden: [], recurrent: "gru", recurrentSize: 8, recurrentSteps: 4 } },
] as const;

test.each(CASES.flatMap((one) => (["policy", "value"] as const).map((network) => ({ ...one, network }))))(
  "$name, first layer of the $network network",
  async ({ network, ...learnerCase }) => {
    const made = await makeCase(learnerCase, 3);
    await using _ = made.learner;
    const { learner, shape, params } = made;
    const spoilt = params.slice();
    spoilt[4 * shape.nets[network][0].w] = NaN;
    learner.write("params", spoilt);
    trainMinibatch(learner, { first: 0, rows: shape.minibatch, valid: shape.each, keys: [1, 2, 3, 4], flags: 0 });
    const state = await learner.readState();
    expect(state[STATE.halted]).not.toBe(0);
    expect(await learner.read("params", new Float32Array(params.length))).toEqual(spoilt);
  },
);

test.each(["relu", "tanh"] as const)("on the CPU, %s", (activation) => {
  const layers = layOutNetwork("policy", [2, 4, 1], { activation, layerNorm: false }, 1, 0);
  const params = new Float32Array(4 * (layers[1].b + layers[1].n / 4)).fill(1);
  params[4 * layers[0].w] = NaN;
  const rows = rowsFor(layers);
  rows[0].set([1, 1]);
  expect(forward(layers, params, rows)[0]).toBeNaN();
});
