// gradients of PPO's loss through every layer and head: against finite differences in float64, and against jax-js
import { afterAll, expect, test } from "vitest";
import { trainMinibatch } from "../../../src/rl/ppo/update.ts";
import { shuffled } from "../../../src/rl/ppo/shuffle.ts";
import { jaxGradient } from "../../support/jax-ppo.ts";
import { makeCase, closeSharedDevice, type MadeCase } from "../../support/learner-case.ts";
import { LEARNER_CASES } from "../../support/learner-cases.ts";
import { differences, ppoLoss } from "../../support/ppo-reference.ts";
import { isFull, sweep, sweepBut } from "../../support/sweep.ts";
import { learnerBounds } from "../../support/tolerances.ts";
import { STATISTICS4 } from "../../../src/rl/device/arenas.ts";

const KEYS = [11, 22, 33, 44];
afterAll(closeSharedDevice);

/** Parameters that finite differences move in CI: one in so many; jax-js holds all of them. */
const STRIDE = isFull ? 1 : 11;

/** Gradients and statistics of the whole rollout as one minibatch, as sums. */
async function kernelGradient(made: MadeCase) {
  const { learner, shape } = made;
  trainMinibatch(learner, { first: 0, rows: shape.minibatch, valid: shape.each, keys: KEYS, flags: 0 });
  const grads = await learner.read("grads", new Float32Array(4 * (shape.nets.params4 + STATISTICS4)));
  const at = 4 * shape.nets.params4;
  const [count, policy, value, entropy, kl, clipped] = grads.subarray(at);
  return { gradient: grads.subarray(0, at), sums: { count, policy, value, entropy, kl, clipped } };
}

function expectClose(found: ArrayLike<number>, wanted: ArrayLike<number>): void {
  let size = 0;
  for (let i = 0; i < wanted.length; i++) size = Math.max(size, Math.abs(wanted[i]));
  let worst = 0;
  for (let i = 0; i < wanted.length; i++) worst = Math.max(worst, Math.abs(found[i] - wanted[i]) / size);
  expect(worst).toBeLessThan(learnerBounds.gradient.value);
}

const nameOf = ({ name }: { name: string }): string => name;
/** What those that wait combine the others have each: LSTM, groups beside memory, whole rollouts, SiLU in blocks and cells. */
const CASES = sweepBut(
  LEARNER_CASES,
  ["LSTM, groups, whole rollouts, nothing below", "recurrent, SiLU", "streamed, SiLU"],
  nameOf,
);
/** Of each kind of head and network; jax-js holds all. */
const MOVED = sweep(
  CASES,
  [
    "recurrent, whole rollouts, nothing below",
    "LSTM",
    "recurrent, in blocks",
    "streamed",
    "embedded, in blocks",
    "Gaussian, tanh",
    "categorical, relu",
    "layer norm, in blocks, SiLU",
    "groups, streamed, linear",
    "summed in chunks",
    "several choices",
  ],
  nameOf,
);

test.each(MOVED)("$name: finite differences, statistics, padding", async (learnerCase) => {
  const made = await makeCase(learnerCase, 17);
  await using _ = made.learner;
  const { shape, config, scale, samples, isUsed } = made;
  expect(shape.chunks > 1, "more rows than are summed at once").toBe(learnerCase.name === "summed in chunks");
  const { gradient, sums } = await kernelGradient(made);
  const params = Float64Array.from(made.params);
  const loss = (p: Float64Array) => ppoLoss(shape, config, scale, p, samples);

  const isMoved = (i: number) => isUsed(i) && i % STRIDE === 0;
  expectClose(
    gradient.map((g, i) => (isMoved(i) ? g : 0)),
    differences(params, isMoved, (p) => loss(p).total),
  );
  const wanted = loss(params);
  for (const [name, sum] of Object.entries(sums)) {
    const want = wanted[name as keyof typeof sums];
    expect(Math.abs(sum - want), name).toBeLessThan(learnerBounds.gradient.value * Math.max(1, Math.abs(want)));
  }
  gradient.forEach((g, i) => isUsed(i) || expect(g).toBe(0));
});

test.each(CASES)("$name: jax-js", async (learnerCase) => {
  const made = await makeCase(learnerCase, 8);
  await using _ = made.learner;
  const { gradient } = await kernelGradient(made);
  expectClose(gradient, await jaxGradient(made));
});

test("minibatches of a shuffle are the whole", async () => {
  const made = await makeCase(
    LEARNER_CASES.find(({ name }) => name === "Gaussian, tanh")!,
    9,
  );
  await using _ = made.learner;
  const { learner, shape, config, scale, samples } = made;
  const count = Math.ceil(shape.samples / 3);
  const seen = new Set<number>();
  for (let first = 0; first < shape.samples; first += count) {
    const rows = Math.min(count, shape.samples - first);
    const part = Array.from({ length: rows }, (_unused, i) => shuffled(first + i, shape.samples, KEYS));
    for (const s of part) seen.add(s);
    learner.write("params", made.params);
    trainMinibatch(learner, { first, rows, keys: KEYS, flags: 0 });
    const grads = await learner.read("grads", new Float32Array(4 * (shape.nets.params4 + STATISTICS4)));
    const wanted = ppoLoss(
      shape,
      config,
      scale,
      made.params,
      part.map((s) => samples[s]),
    );
    const at = 4 * shape.nets.params4;
    expect(grads[at]).toBe(wanted.count);
    expect(Math.abs(grads[at + 1] - wanted.policy)).toBeLessThan(
      learnerBounds.gradient.value * Math.max(1, Math.abs(wanted.policy)),
    );
  }
  expect(seen.size).toBe(shape.samples);
});
