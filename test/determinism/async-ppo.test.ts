// PPO learns on the device while threads of the CPU collect: exactly one update behind, of one version, the same bits
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import "../../envs/index.ts";
import { seedKey } from "../../src/core/rng.ts";
import { makeVec } from "../../src/env/index.ts";
import { act } from "../../src/rl/device/act.ts";
import { learnerShape } from "../../src/rl/ppo/arenas.ts";
import { Flag, SAMPLE } from "../../src/rl/tables/device-tables.ts";
import { ppoConfig } from "../../src/rl/ppo/config.ts";
import { HostPpoActor, ppoActorSpec } from "../../src/rl/ppo/host-actor.ts";
import { Ppo, Sac } from "../../src/rl/index.ts";
import type { CollectedRollout } from "../../src/rl/ppo/rollout-upload.ts";
import { Learner } from "../../src/rl/ppo/learner.ts";
import { setUniforms } from "../../src/rl/ppo/update.ts";
import { Overlapped } from "../../src/runs/overlapped.ts";
import { learnerBounds } from "../support/tolerances.ts";
import { envShape } from "../../src/rl/device/env-shape.ts";
import { holdDevice } from "../support/hold-device.ts";

holdDevice();

const ID = "InvertedPendulum-v5";
const WORLDS = 6;
const STEPS = 8;
const OPTIONS = { seed: 4, rolloutSteps: STEPS, hidden: [8], minibatches: 2, epochs: 2, totalSteps: 1e4 };

describe.each([
  [ID, {}],
  [ID, { squash: true }],
  ["CartPole", {}],
])("%s %o", (id, changes) => {
  test("the policy of the CPU draws and tells what the kernel does", async () => {
    const config = ppoConfig({ hidden: [16, 8], clipObservations: 0.3, ...changes });
    await using env = await makeVec(id, { numEnvs: WORLDS, seed: 2 });
    const shape = learnerShape(envShape(env), config);
    await using learner = await Learner.create(env.gpu!.device, shape, config);
    learner.initialize(env, 2, -0.3);
    setUniforms(learner, config, 2);
    const spec = ppoActorSpec(shape, config, env.singleActionSpace);
    const params = new Float32Array(spec.normAt + 2 * spec.normRow);
    await learner.read("params", params.subarray(0, spec.normAt));
    // further from 0 than a policy starts, and a normaliser that does something
    const { w, k, n } = shape.nets.policy.at(-1)!;
    for (let i = 4 * w; i < 4 * w + k * n; i++) params[i] *= 60;
    learner.write("params", params.slice(0, spec.normAt));
    const norm = await learner.read("norm", new Float32Array(learner.words("norm")));
    for (let i = 0; i < shape.env.observations; i++) {
      norm[i] = 0.01 * i;
      norm[spec.normRow + i] = 20 + i;
    }
    learner.write("norm", norm);
    params.set(norm.subarray(0, 2 * spec.normRow), spec.normAt);

    const { observations } = await env.reset();
    await act(learner, await learner.bindEnv(env), {
      t: 0,
      draw: 7,
      flags: Flag.keep | (config.squash ? Flag.squash : 0),
    });
    const sent = await env.readActions();
    const size = WORLDS * config.rolloutSteps;
    const kept = await learner.read("rollout_actions", new Float32Array(size * 4 * shape.actions4));
    const choices = new Uint32Array(kept.buffer);
    const samples = await learner.read("samples", new Float32Array(size * SAMPLE.size));
    const actor = new HostPpoActor(spec, params, seedKey(2));
    const mine = { kept: new Float32Array(1), sent: new Float32Array(1), actorOutputs: new Float32Array(2) };
    for (let world = 0; world < WORLDS; world++) {
      const nobs = shape.env.observations;
      const seen = observations.subarray(world * nobs, (world + 1) * nobs);
      actor.act(seen, world, 7, false, mine.kept, mine.sent, mine.actorOutputs);
      const row = world * config.rolloutSteps;
      const found = spec.head === "gaussian" ? kept[row * 4] : choices[row * 4];
      expect(Math.abs(mine.kept[0] - found)).toBeLessThan(learnerBounds.squash.value);
      expect(Math.abs(mine.sent[0] - sent[world])).toBeLessThan(learnerBounds.squash.value);
      expect(Math.abs(mine.actorOutputs[0] - samples[row * SAMPLE.size + SAMPLE.at("log_prob")])).toBeLessThan(
        learnerBounds.logProb.value,
      );
      expect(Math.abs(mine.actorOutputs[1] - samples[row * SAMPLE.size + SAMPLE.at("value")])).toBeLessThan(
        learnerBounds.logProb.value,
      );
    }
  });
});

/** Some updates; what each learned from, and what acted after it. */
async function learnt(threads: number, dawdle: boolean) {
  await using env = await makeVec(ID, { numEnvs: WORLDS, seed: 4 });
  const ppo = await Ppo.create(env, OPTIONS);
  await using both = await Overlapped.create(ppo, { threads });
  const spy = vi.spyOn(ppo, "iterateFrom");
  const acting = [await ppo.actingParameters()];
  const batches: { rows: CollectedRollout; version: number; stamps: Set<number> }[] = [];
  for (let update = 1; update <= 5; update++) {
    // whoever is faster, the batch is of the same parameters
    if (dawdle) await sleep(update % 2 === 0 ? 80 : 0);
    const { episodes, minibatches } = await both.iterate();
    expect(minibatches).toBe(4);
    expect(episodes).toBeGreaterThanOrEqual(0);
    const rows = spy.mock.calls.at(-1)![0] as CollectedRollout & { stamps: Uint32Array; version: number };
    batches.push({
      rows: {
        ...rows,
        observations: rows.observations.slice(),
        actions: rows.actions.slice(),
        actorOutputs: rows.actorOutputs.slice(),
      },
      version: rows.version,
      stamps: new Set(rows.stamps),
    });
    acting.push(await ppo.actingParameters());
  }
  expect(both.envSteps).toBe(5 * WORLDS * STEPS);
  const params = await ppo.parameters();
  // put back in the middle of the next one, it goes on to the same bits
  const snapshot = await both.snapshot();
  const goOn = async () => {
    await both.iterate();
    await both.iterate();
    return ppo.parameters();
  };
  const next = await goOn();
  await both.restore(snapshot);
  expect(both.iteration).toBe(5);
  expect(await goOn()).toEqual(next);
  return { spec: ppo.collecting.actor, acting, batches, params };
}

test("every rollout is of one version, exactly one update behind, and the same bits come of it", async () => {
  const { spec, acting, batches, params } = await learnt(2, false);
  batches.forEach(({ rows, version, stamps }, i) => {
    expect([version, ...stamps]).toEqual([i + 1, i + 1]);
    // update i + 1 learns from what the parameters after update i - 1 did; the first two rollouts are of the first ones
    const actor = new HostPpoActor(spec, acting[Math.max(0, i - 1)], seedKey(OPTIONS.seed));
    const actorOutputs = new Float32Array(2);
    const [kept, sent] = [new Float32Array(1), new Float32Array(1)];
    for (let row = 0; row < WORLDS * (STEPS + 1); row++) {
      const seen = rows.observations.subarray(4 * row, 4 * row + 4);
      if (row >= WORLDS * STEPS) {
        expect(rows.actorOutputs[2 * row + 1]).toBe(Math.fround(actor.value(seen)));
        continue;
      }
      actor.act(seen, row % WORLDS, i * STEPS + Math.floor(row / WORLDS), false, kept, sent, actorOutputs);
      expect([rows.actions[row], rows.actorOutputs[2 * row], rows.actorOutputs[2 * row + 1]]).toEqual([
        kept[0],
        actorOutputs[0],
        actorOutputs[1],
      ]);
    }
  });
  // other parameters would have told other numbers
  expect(acting[1]).not.toEqual(acting[0]);
  expect(params.every(Number.isFinite)).toBe(true);
  expect((await learnt(1, true)).params).toEqual(params);
});

test("one update at a time, none after close, and close after the update in flight", async () => {
  await using env = await makeVec(ID, { numEnvs: WORLDS, seed: 4 });
  const ppo = await Ppo.create(env, OPTIONS);
  const both = await Overlapped.create(ppo, { threads: 1 });
  const first = both.iterate();
  await expect(both.iterate()).rejects.toMatchObject({ code: "call-in-flight" });
  const closing = both.close();
  expect((await first).minibatches).toBe(4);
  await closing;
  await expect(both.iterate()).rejects.toMatchObject({ code: "closed" });
  await expect(Overlapped.create(ppo, { threads: 1 })).rejects.toMatchObject({ code: "closed" });
});

test("what threads cannot act as is refused, and rollouts of other sizes are", async () => {
  await using env = await makeVec(ID, { numEnvs: WORLDS, seed: 4 });
  await using recurrent = await Ppo.create(env, { ...OPTIONS, recurrent: "gru", recurrentSize: 8, recurrentSteps: 4 });
  await expect(Overlapped.create(recurrent)).rejects.toMatchObject({ code: "unsupported-collector" });
  await using sac = await Sac.create(env, { hidden: [8], bufferSize: 400 });
  await expect(Overlapped.create(sac)).rejects.toMatchObject({ code: "needs-host-replay" });
  await using ppo = await Ppo.create(env, OPTIONS);
  const none = new Float32Array(0);
  const rows = { steps: 1, numEnvs: 6, episodes: { count: 0, returns: 0, lengths: 0 }, actorOutputs: none };
  const refused = ppo.iterateFrom({ ...rows, observations: none, actions: none, rewards: none, flags: none });
  await expect(refused).rejects.toMatchObject({ code: "bad-peer" });
});
