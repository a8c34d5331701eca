// SAC's start: the weights and biases of PyTorch's `nn.Linear`, log standard deviations that are clamped, not bent
import { expect, test } from "vitest";
import "../../../envs/index.ts";
import { makeVec } from "../../../src/env/index.ts";
import { Sac } from "../../../src/rl/index.ts";
import { sacShape } from "../../../src/rl/sac/arenas.ts";
import { envShape } from "../../../src/rl/device/env-shape.ts";

const SIZES = { hidden: [64, 64], bufferSize: 64, batchSize: 8 };

test("weights and biases are uniform within 1 / sqrt(inputs), targets are their critics, and seeds differ", async () => {
  await using env = await makeVec("InvertedPendulum-v5", { numEnvs: 2, device: "wasm" });
  await using sac = await Sac.create(env, { ...SIZES, seed: 1 });
  await using other = await Sac.create(env, { ...SIZES, seed: 2 });
  const params = await sac.parameters();
  const { policy, critics, targets } = sacShape(envShape(env), sac.config).nets;
  for (const layer of [policy, ...critics].flat()) {
    const bound = 1 / Math.sqrt(layer.inputs);
    const weights = Array.from({ length: layer.inputs * layer.outputs }, (_, i) => {
      const [row, column] = [Math.floor(i / layer.outputs), i % layer.outputs];
      return params[4 * layer.w + row * layer.n + column];
    });
    const biases = [...params.subarray(4 * layer.b, 4 * layer.b + layer.outputs)];
    for (const x of [...weights, ...biases]) expect(Math.abs(x)).toBeLessThanOrEqual(bound * (1 + 2 ** -23));
    expect(biases.every((x) => x !== 0)).toBe(true);
    // six deviations of a mean square: those of a uniform number squared are 0.298 of its bound's
    const square = weights.reduce((sum, x) => sum + (x / bound) ** 2, 0) / weights.length;
    expect(Math.abs(square - 1 / 3)).toBeLessThan((6 * 0.298) / Math.sqrt(weights.length));
    const padding = params.subarray(4 * layer.b + layer.outputs, 4 * layer.b + layer.n);
    expect(padding.every((x) => x === 0)).toBe(true);
  }
  critics.flat().forEach((layer, i) => {
    const target = targets.flat()[i];
    const of = ({ w, b, n }: typeof layer) => [...params.subarray(4 * w, 4 * b + n)];
    expect(of(target)).toEqual(of(layer));
  });
  expect(await other.parameters()).not.toEqual(params);
});

test("a snapshot whose log standard deviations were bent is refused, and nothing changes", async () => {
  await using env = await makeVec("InvertedPendulum-v5", { numEnvs: 2, device: "wasm" });
  await using sac = await Sac.create(env, SIZES);
  const snapshot = await sac.snapshot();
  const { format: _, ...learner } = snapshot.learner;
  const old = { ...snapshot, learner: { ...learner, params: learner.params.map(() => 0) } };
  const params = await sac.parameters();
  await expect(sac.restore(old)).rejects.toMatchObject({ code: "bad-snapshot" });
  await expect(sac.adopt(old)).rejects.toThrow(/has format 1 of SAC, this corral reads 2/);
  expect(await sac.parameters()).toEqual(params);
  await sac.restore(snapshot);
});
