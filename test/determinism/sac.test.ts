// SAC: same seed, same bits, whatever the shards; and a run that goes on from a snapshot is the uninterrupted run
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import "../../envs/index.ts";
import { makeVec } from "../../src/env/index.ts";
import { Sac } from "../../src/rl/index.ts";
import { holdDevice } from "../support/hold-device.ts";

holdDevice();

const ID = "InvertedPendulum-v5";
const OPTIONS = {
  hidden: [16, 16],
  batchSize: 32,
  bufferSize: 480,
  learningStarts: 100,
  collectSteps: 2,
  gradientSteps: 2,
  normalizeObservations: true,
};

const digest = (params: Float32Array): string =>
  createHash("sha256")
    .update(new Uint8Array(params.buffer, 0, params.byteLength))
    .digest("hex");

/** Far enough for the ring to go round twice. */
const UPDATES = 20;

async function trained(seed: number, updates = UPDATES, env: object = {}): Promise<string> {
  await using worlds = await makeVec(ID, { numEnvs: 24, seed, ...env });
  await using sac = await Sac.create(worlds, { seed, ...OPTIONS });
  for (let i = 0; i < updates; i++) await sac.iterate();
  const params = await sac.parameters();
  expect(params.every(Number.isFinite)).toBe(true);
  return digest(params);
}

test(`${UPDATES} updates`, async () => {
  const first = await trained(3);
  expect(await trained(3)).toBe(first);
  expect(await trained(4, 4)).not.toBe(await trained(3, 4));
  expect(await trained(3, UPDATES, { shards: 3 })).toBe(first);
});

test("a run that goes on from a snapshot elsewhere is the uninterrupted run", async () => {
  const make = async () => {
    const env = await makeVec(ID, { numEnvs: 20, seed: 6 });
    return { env, sac: await Sac.create(env, { seed: 6, ...OPTIONS, nSteps: 3 }) };
  };
  const first = await make();
  for (let i = 0; i < 16; i++) await first.sac.iterate();
  const saved = await first.sac.snapshot();
  const told = [];
  for (let i = 0; i < 6; i++) told.push(await first.sac.iterate());
  const wanted = await first.sac.parameters();
  await first.sac.close();
  await first.env.close();

  const second = await make();
  await second.sac.iterate();
  await second.sac.restore(saved);
  expect(second.sac.iteration).toBe(16);
  for (const metrics of told) expect(await second.sac.iterate()).toEqual(metrics);
  expect(await second.sac.parameters()).toEqual(wanted);

  const spoilt = { ...saved, learner: { ...saved.learner, replay_obs: new Uint32Array(8) } };
  await expect(second.sac.restore(spoilt)).rejects.toMatchObject({ code: "bad-snapshot" });
  await second.sac.close();
  await second.env.close();
});
