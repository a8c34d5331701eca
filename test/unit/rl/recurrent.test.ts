// policies that remember: planned, the same bits after a snapshot, evaluated beside, the same in every export
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as ort from "onnxruntime-web";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import "../../../envs/index.ts";
import { makeVec, type VectorEnv } from "../../../src/env/index.ts";
import { exportPolicy } from "../../../src/export/index.ts";
import { type GpuDevice, openDevice } from "../../../src/gpu/index.ts";
import type * as Browser from "../../../shaders/browser/policy.d.ts";
import { decodeSafetensors } from "../../../src/io/safetensors.ts";
import { Ppo, planPpo, Sac } from "../../../src/rl/index.ts";
import { seenActions } from "../../support/live-policy.ts";
import { isFull } from "../../support/sweep.ts";
import { exportBounds } from "../../support/tolerances.ts";
import { holdDevice } from "../../support/hold-device.ts";

holdDevice();

const OPTIONS = {
  seed: 3,
  rolloutSteps: 8,
  minibatches: 2,
  epochs: 2,
  hidden: [8],
  recurrent: "gru",
  recurrentSize: 8,
  recurrentSteps: 4,
} as const;

let gpu: GpuDevice;
beforeAll(async () => {
  gpu = await openDevice();
});
afterAll(() => gpu.close());

const make = (numEnvs = 16, device: GpuDevice | "wasm" = gpu): Promise<VectorEnv> =>
  makeVec("CartPole", { numEnvs, seed: 3, device });
/** Bits of runs are compared with each other alone, and kernels of memories on the driver by gradients.test.ts. */
const QUICK = isFull ? undefined : "wasm";

test("history is planned: states of worlds, and one of each sequence", async () => {
  await using env = await make();
  const bytesOf = (options: object) =>
    Object.fromEntries(planPpo(env, { ...OPTIONS, ...options }).fields.map(({ name, bytes }) => [name, bytes]));
  // policy's and value's, 8 numbers each
  expect(bytesOf({})).toMatchObject({ hidden: 16 * 16 * 4, eval_hidden: 16 * 16 * 4, rollout_hidden: 16 * 2 * 16 * 4 });
  expect(bytesOf({ recurrentSteps: 2 }).rollout_hidden).toBe(16 * 4 * 16 * 4);
  // an LSTM keeps twice as many
  expect(bytesOf({ recurrent: "lstm" })).toMatchObject({
    hidden: 16 * 32 * 4,
    eval_hidden: 16 * 32 * 4,
    rollout_hidden: 16 * 2 * 32 * 4,
  });
  expect(bytesOf({ recurrent: "none" })).not.toHaveProperty("hidden");
});

test("a snapshot goes on with the same bits, and an evaluation changes nothing", async () => {
  await using env = await make(16, QUICK);
  await using others = await make(5, QUICK);
  await using ppo = await Ppo.create(env, OPTIONS);
  for (let i = 0; i < 3; i++) await ppo.iterate();
  const saved = await ppo.snapshot();
  const first = await ppo.evaluate(others);
  for (let i = 0; i < 3; i++) await ppo.iterate();
  const wanted = await ppo.parameters();
  expect(wanted.every(Number.isFinite)).toBe(true);

  await using second = await make(16, QUICK);
  await using again = await Ppo.create(second, OPTIONS);
  await again.iterate();
  await again.restore(saved);
  expect(await again.evaluate(others)).toEqual(first);
  for (let i = 0; i < 3; i++) await again.iterate();
  expect(await again.parameters()).toEqual(wanted);
});

test("what cannot be is refused", async () => {
  await using env = await make(4);
  const codeOf = (options: object) =>
    Ppo.create(env, { ...OPTIONS, ...options }).then(
      (ppo) => ppo.close(),
      (error: { code: string }) => error.code,
    );
  expect(await codeOf({ recurrentSize: 12 })).toBe("bad-option");
  expect(await codeOf({ recurrentSteps: 3 })).toBe("bad-option");
  expect(await codeOf({ recurrent: "rnn" })).toBe("bad-option");
});

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));

/** A step in float64, from the names of a safetensors file alone: what the last layer puts out, and the next state. */
function plainStep(
  { tensors, metadata }: ReturnType<typeof decodeSafetensors>,
  observation: Float32Array,
  state: readonly number[],
) {
  const numbers = (name: string) => tensors.get(name)!.data;
  const clip = Number(metadata.clip_observations);
  const dense = (name: string, x: readonly number[]) =>
    Array.from(numbers(`${name}.bias`), (b, o) =>
      x.reduce((sum, xi, i) => sum + xi * numbers(`${name}.weight`)[o * x.length + i], b),
    );
  const depth = metadata.layers.split(",").length;
  let x = [...observation].map((v, i) => {
    const scaled = (v - numbers("normalizer.mean")[i]) * numbers("normalizer.inverse_std")[i];
    return Math.min(clip, Math.max(-clip, scaled));
  });
  for (let layer = 0; layer < depth - 1; layer++) x = dense(`policy.${layer}`, x).map(Math.tanh);
  const size = Number(metadata.recurrent_size);
  const cell = `policy.${metadata.recurrent}`;
  const [shown, memory] = [state.slice(0, size), state.slice(size)];
  const [below, own] = [dense(`${cell}.ih`, x), dense(`${cell}.hh`, shown)];
  const sum = (gate: number, i: number) => below[gate * size + i] + own[gate * size + i];
  const out = `policy.${depth - 1}`;
  if (metadata.recurrent === "gru") {
    const next = shown.map((h, i) => {
      const [reset, update] = [sigmoid(sum(0, i)), sigmoid(sum(1, i))];
      const candidate = Math.tanh(below[2 * size + i] + reset * own[2 * size + i]);
      return (1 - update) * candidate + update * h;
    });
    return { out: dense(out, next), next };
  }
  const kept = memory.map((c, i) => sigmoid(sum(1, i)) * c + sigmoid(sum(0, i)) * Math.tanh(sum(2, i)));
  const next = kept.map((c, i) => sigmoid(sum(3, i)) * Math.tanh(c));
  return { out: dense(out, next), next: [...next, ...kept] };
}

describe.each([
  ["InvertedPendulum-v5", [12], "gru", "ppo"],
  ["CartPole", [], "gru", "ppo"],
  ["InvertedPendulum-v5", [], "lstm", "ppo"],
  ["InvertedPendulum-v5", [8], "lstm", "sac"],
] as const)("%s, hidden layers %o, %s, by %s", (id, hidden, recurrent, algo) => {
  test("leaves with its memory: every format acts as the learner does, over sequences with resets", async () => {
    const folder = mkdtempSync(join(tmpdir(), "corral-gru-"));
    await using env = await makeVec(id, { numEnvs: 8, seed: 3, device: gpu });
    await using others = await makeVec(id, { numEnvs: 5, seed: 9, device: gpu });
    const cell = { hidden: [...hidden], recurrent, recurrentSize: 8, recurrentSteps: 4 };
    await using learner =
      algo === "ppo"
        ? await Ppo.create(env, { ...OPTIONS, ...cell })
        : await Sac.create(env, { seed: 3, ...cell, batchSize: 32, bufferSize: 512, activation: "tanh" });
    await learner.iterate();
    // larger weights than at the start, so that actions differ and the memory counts
    const saved = await learner.snapshot();
    const params = new Float32Array(saved.learner.params.buffer).map((x) => 4 * x);
    await learner.restore({ ...saved, learner: { ...saved.learner, params: new Uint32Array(params.buffer) } });
    try {
      const policy = await learner.policy();
      const rows = others.numEnvs;
      const size = policy.cell!.stateSize;
      await exportPolicy(learner, { format: "onnx", to: join(folder, "policy.onnx") });
      await exportPolicy(learner, { format: "safetensors", to: join(folder, "policy.safetensors") });
      await exportPolicy(learner, { format: "wgsl", to: join(folder, "web") });
      ort.env.wasm.numThreads = 1;
      const session = await ort.InferenceSession.create(readFileSync(join(folder, "policy.onnx")));
      const file = decodeSafetensors(readFileSync(join(folder, "policy.safetensors")), "policy");
      const web = (name: string) => join(folder, "web", name);
      const { Policy: BrowserPolicy } = (await import(pathToFileURL(web("policy.js")).href)) as typeof Browser;
      const browser = await BrowserPolicy.create(gpu.device, {
        description: JSON.parse(readFileSync(web("policy.json"), "utf8")) as Browser.PolicyDescription,
        wgsl: readFileSync(web("policy.wgsl"), "utf8"),
        weights: new Uint8Array(readFileSync(web("policy.safetensors"))).buffer,
        rows,
      });
      const bound = (x: number) => exportBounds.action.value * Math.max(1, Math.abs(x));
      let differ = 0;

      // two sequences, each from nothing
      for (const seed of [0, 1]) {
        const seen = await seenActions({ evaluate: (worlds) => learner.evaluate(worlds, { seed }) }, others, 12);
        expect(seen.length).toBeGreaterThan(4 * rows);
        browser.forget();
        let state = new Float32Array(rows * size);
        let plain = Array.from({ length: rows }, () => Array<number>(size).fill(0));
        for (let at = 0; at < seen.length; at += rows) {
          const now = seen.slice(at, at + rows);
          const observations = Float32Array.from(now.flatMap(({ observation }) => [...observation]));
          const told = await session.run({
            observation: new ort.Tensor("float32", observations, [rows, policy.observations]),
            hidden: new ort.Tensor("float32", state, [rows, size]),
          });
          const raw = told[policy.head.kind === "gaussian" ? "mean" : "logits"].data as Float32Array;
          const acted = await browser.act(observations);
          const steps = now.map(({ observation }, row) => plainStep(file, observation, plain[row]));
          const width = steps[0].out.length;
          const forgetful = plainStep(file, now[0].observation, Array<number>(size).fill(0));
          if (at > 0 && Math.abs(forgetful.out[0] - steps[0].out[0]) > 1e-3) differ++;
          steps.forEach(({ out }, row) => {
            out.forEach((x, i) => expect(Math.abs(x - raw[row * width + i])).toBeLessThan(bound(x)));
            const [want] = now[row].action;
            const found = [Number(told.action.data[row]), acted[row]];
            if (policy.head.kind === "gaussian")
              for (const x of found) expect(Math.abs(x - want)).toBeLessThan(bound(x));
            else
              for (const x of found) expect(Math.abs(out[x] - out[want])).toBeLessThan(x === want ? 1 : bound(out[x]));
          });
          state = told.next_hidden.data as Float32Array<ArrayBuffer>;
          plain = steps.map(({ next }) => next);
        }
        // the last observation once more: a row that has forgotten acts as at the start, the others do not notice
        const observations = Float32Array.from(seen.slice(-rows).flatMap(({ observation }) => [...observation]));
        const kept = await browser.act(observations);
        browser.forget();
        const fresh = await browser.act(observations);
        browser.forget([1]);
        const mixed = await browser.act(observations);
        expect(mixed[1]).toBe(fresh[1]);
        expect(kept).toHaveLength(rows);
      }
      expect(differ).toBeGreaterThan(0);
      expect(() => browser.forget([rows])).toThrow("room for");
      browser.close();
      await session.release();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
