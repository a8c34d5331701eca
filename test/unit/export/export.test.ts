// a policy that leaves: in every format it does what the learner's own kernels do
import { mkdirSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as ort from "onnxruntime-web";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import "../../../envs/index.ts";
import { invertedPendulum } from "../../../envs/inverted_pendulum/task.ts";
import type * as Browser from "../../../shaders/browser/policy.d.ts";
import {
  actionTable,
  defineTask,
  Discrete,
  evenly,
  makeVec,
  MultiDiscrete,
  type Task,
} from "../../../src/env/index.ts";
import { exportPolicy } from "../../../src/export/index.ts";
import { readPolicy } from "../../../src/export/read-policy.ts";
import { type GpuDevice, openDevice } from "../../../src/gpu/index.ts";
import { decodeSafetensors } from "../../../src/io/safetensors.ts";
import { Dqn, Ppo, Sac, SacDiscrete, type PpoOptions, type SacOptions } from "../../../src/rl/index.ts";
import type { Activation } from "../../../src/rl/networks/activations.ts";
import { AppliedPolicy } from "../../../src/rl/networks/apply-policy.ts";
import type { Policy } from "../../../src/rl/networks/policy.ts";
import { seenActions, type SeenAction } from "../../support/live-policy.ts";
import { bend, standardised } from "../../support/ppo-reference.ts";
import { exportBounds } from "../../support/tolerances.ts";
import { holdDevice } from "../../support/hold-device.ts";

holdDevice();

const control = () => [0];
const discrete = defineTask({
  ...invertedPendulum,
  id: "Start",
  actionSpace: () => new Discrete(5, 3),
  control,
});
const several = defineTask({
  ...invertedPendulum,
  id: "Several",
  actionSpace: () => new MultiDiscrete([3, 2]),
  control,
});

const table = defineTask({ ...invertedPendulum, id: "Table", ...actionTable(evenly(-3, 3, 27).map((x) => [x])) });

const OFF_POLICY = { sac: Sac, dqn: Dqn, "sac-discrete": SacDiscrete };
type Learner = Ppo | Sac | Dqn | SacDiscrete;
const NORMALISED = { bufferSize: 160, batchSize: 16, gradientSteps: 0, normalizeObservations: true };
// a critic of SAC sees a number that policies do not
const grouped = defineTask({
  ...invertedPendulum,
  id: "Grouped",
  ...actionTable(evenly(-3, 3, 27).map((x) => [x])),
  observe: { policy: { angle: "10 + qpos[1]", speeds: "3 * qvel" }, critic: { place: "100 + qpos[0]" } },
});

const CASES: { name: string; of: string | Task; options: PpoOptions | SacOptions; algo?: keyof typeof OFF_POLICY }[] = [
  { name: "Gaussian", of: "InvertedPendulum-v5", options: { hidden: [24, 12] } },
  { name: "squashed", of: "InvertedPendulum-v5", options: { hidden: [16], squash: true, activation: "relu" } },
  { name: "linear", of: "InvertedPendulum-v5", options: { hidden: [], normalizeObservations: false } },
  { name: "categorical", of: "CartPole", options: { hidden: [16, 16], clipObservations: 1 } },
  { name: "a choice that starts at 3", of: discrete as Task, options: { hidden: [8] } },
  { name: "a choice in blocks", of: table as Task, options: { hidden: [8], actionBlock: 8 } },
  { name: "embedded actions", of: table as Task, options: { hidden: [8], actionEmbedding: 4, actionBlock: 8 } },
  { name: "ELU", of: "InvertedPendulum-v5", options: { hidden: [16, 8], activation: "elu" } },
  { name: "SiLU", of: "InvertedPendulum-v5", options: { hidden: [16, 8], activation: "silu" } },
  { name: "layer norm", of: "InvertedPendulum-v5", options: { hidden: [19, 8], activation: "silu", layerNorm: true } },
  {
    name: "SAC",
    of: "Swimmer-v5",
    options: { hidden: [16, 8], ...NORMALISED },
    algo: "sac",
  },
  ...(["dqn", "sac-discrete"] as const).map((algo) => ({
    name: `${algo} of embedded actions`,
    of: grouped as Task,
    options: { hidden: [8], actionEmbedding: 4, actionBlock: 8, ...NORMALISED },
    algo,
  })),
  { name: "several choices", of: several as Task, options: { hidden: [8] } },
];

let gpu: GpuDevice;
let folder: string;
beforeAll(async () => {
  gpu = await openDevice();
  folder = mkdtempSync(join(tmpdir(), "corral-export-"));
  ort.env.wasm.numThreads = 1;
});
afterAll(() => {
  rmSync(folder, { recursive: true });
  expect(gpu.uncaptured).toEqual([]);
  gpu.close();
});

async function trained<T>(
  of: string | Task,
  options: PpoOptions | SacOptions,
  use: (learner: Learner, seen: SeenAction[]) => Promise<T>,
  algo?: keyof typeof OFF_POLICY,
) {
  await using env = await makeVec(of as Task, { numEnvs: 16, device: gpu });
  await using others = await makeVec(of as Task, { numEnvs: 6, device: gpu, maxEpisodeSteps: 12 } as never);
  await using ppo = algo
    ? await OFF_POLICY[algo].create(env, options)
    : await Ppo.create(env, { rolloutSteps: 8, minibatches: 2, epochs: 2, ...(options as PpoOptions) });
  for (let i = 0; i < 2; i++) await ppo.iterate();
  // first policies do little: larger weights, so that actions differ
  const saved = await ppo.snapshot();
  const params = new Float32Array(saved.learner.params.buffer).map((x) => 8 * x);
  await ppo.restore({ ...saved, learner: { ...saved.learner, params: new Uint32Array(params.buffer) } });
  return await use(ppo, await seenActions(ppo, others, 8));
}

/** What the last layer puts out, in float64. */
function outputsOf({ normalizer, layers }: Policy, observation: Float32Array): number[] {
  const { mean, inverseStd, clip } = normalizer;
  const first = [...observation].map((x, i) => Math.min(clip, Math.max(-clip, (x - mean[i]) * inverseStd[i])));
  return layers.reduce<number[]>((x, { inputs, outputs, activation, weight, bias, norm }) => {
    const y = Array.from({ length: outputs }, (_, o) =>
      x.reduce((sum, xi, i) => sum + xi * weight[o * inputs + i], bias[o]),
    );
    const normed = norm ? standardised(y).map((v, o) => v * norm.weight[o] + norm.bias[o]) : y;
    return normed.map((v) => bend(v, activation));
  }, first);
}

/** The same action, unless two alternatives are as good as equal. */
function expectAction(policy: Policy, { observation, action }: SeenAction, found: readonly number[]): void {
  const { head } = policy;
  expect(found).toHaveLength(action.length);
  if (head.kind === "gaussian") {
    found.forEach((x, i) => {
      const range = Math.min(1, head.high[i] - head.low[i]);
      expect(Math.abs(x - action[i])).toBeLessThan(exportBounds.action.value * Math.max(range, Math.abs(action[i])));
    });
    return;
  }
  const outputs = outputsOf(policy, observation);
  let at = 0;
  head.alternatives.forEach((count, d) => {
    const logits = outputs.slice(at, at + count);
    at += count;
    if (found[d] === action[d]) return;
    const gap = Math.abs(logits[found[d] - head.start] - logits[action[d] - head.start]);
    expect(gap).toBeLessThan(exportBounds.action.value);
  });
}

describe.each(CASES)("$name", ({ name, of, options, algo }) => {
  test("ONNX, safetensors and the browser's folder act as the learner does", async () => {
    const leave = async (ppo: Learner, shown: SeenAction[]) => {
      const policy = await ppo.policy();
      const seen = shown.map(({ observation, action }) => ({
        observation: observation.slice(0, policy.observations),
        action,
      }));
      const { head } = policy;
      const actions = head.kind === "gaussian" ? head.actions : head.alternatives.length;
      const own = join(folder, name.replaceAll(" ", "-"));
      mkdirSync(own, { recursive: true });
      const at = (file: string) => join(own, file);
      const observations = Float32Array.from(seen.flatMap(({ observation }) => [...observation]));
      const rowsOf = (flat: ArrayLike<number | bigint>) =>
        seen.map((_, row) => Array.from({ length: actions }, (_unused, i) => Number(flat[row * actions + i])));
      expect(new Set(seen.map(({ action }) => action.join())).size).toBeGreaterThan(1);

      await exportPolicy(ppo, { format: "onnx", to: at("policy.onnx") });
      const session = await ort.InferenceSession.create(readFileSync(at("policy.onnx")));
      const told = await session.run({
        observation: new ort.Tensor("float32", observations, [seen.length, policy.observations]),
      });
      expect([...told.action.dims]).toEqual(
        name === "several choices" || head.kind === "gaussian" ? [seen.length, actions] : [seen.length],
      );
      rowsOf(told.action.data as never).forEach((row, i) => expectAction(policy, seen[i], row));
      const raw = told[head.kind === "gaussian" ? "mean" : "logits"].data as Float32Array;
      const outputs = seen.flatMap(({ observation }) => outputsOf(policy, observation));
      outputs.forEach((x, i) =>
        expect(Math.abs(x - raw[i])).toBeLessThan(exportBounds.action.value * Math.max(1, Math.abs(x))),
      );
      if (head.kind === "gaussian" && head.logStd) expect(told.log_std.data).toEqual(head.logStd);
      await session.release();

      await exportPolicy(policy, { format: "wgsl", to: at("web") });
      const { Policy: BrowserPolicy } = (await import(pathToFileURL(at("web/policy.js")).href)) as typeof Browser;
      const made = await BrowserPolicy.create(gpu.device, {
        description: JSON.parse(readFileSync(at("web/policy.json"), "utf8")) as Browser.PolicyDescription,
        wgsl: readFileSync(at("web/policy.wgsl"), "utf8"),
        weights: new Uint8Array(readFileSync(at("web/policy.safetensors"))).buffer,
        rows: seen.length,
      });
      rowsOf(await made.act(observations)).forEach((row, i) => expectAction(policy, seen[i], row));
      // one row alone has the bits that it has among others
      expect([...(await made.act(seen[3].observation))]).toEqual(rowsOf(await made.act(observations))[3]);
      await expect(made.act([1])).rejects.toThrow("no whole rows");
      made.close();

      // a NaN of a weight reaches the actions
      if (head.kind === "gaussian") {
        const spoilt = await BrowserPolicy.create(gpu.device, {
          description: JSON.parse(readFileSync(at("web/policy.json"), "utf8")) as Browser.PolicyDescription,
          wgsl: readFileSync(at("web/policy.wgsl"), "utf8"),
          weights: withNan(readFileSync(at("web/policy.safetensors")), "policy.0.weight"),
          rows: 1,
        });
        expect([...(await spoilt.act(seen[3].observation))].every(Number.isNaN)).toBe(true);
        spoilt.close();
      }

      await exportPolicy(ppo, { format: "safetensors", to: at("policy.safetensors") });
      const file = readFileSync(at("policy.safetensors"));
      const { tensors, metadata } = decodeSafetensors(file, "policy.safetensors");
      expect(file).toEqual(readFileSync(at("web/policy.safetensors")));
      const acts = (which: Policy) => new AppliedPolicy(which, seen.length).act(observations);
      expect(acts(readPolicy(file))).toEqual(acts(policy));
      expect(() => readPolicy(new Uint8Array(withNan(file, "policy.0.weight")))).toThrow("bad-policy");
      expect(() => readPolicy(file.subarray(0, file.length - 4))).toThrow("bad-safetensors");
      expect(tensors.get("policy.0.weight")!.shape).toEqual([policy.layers[0].outputs, policy.observations]);
      expect([...tensors.keys()].filter((key) => /^(value|q1|target1)\./.test(key))).toEqual([]);
      const plain = plainActions(tensors, metadata, seen);
      plain.forEach((row, i) => expectAction(policy, seen[i], row));
    };
    await trained(of, options, leave, algo);
  });
});

/** A safetensors file with NaN for the first number of an array. */
function withNan(file: Uint8Array, name: string): ArrayBuffer {
  const bytes = new Uint8Array(file);
  const view = new DataView(bytes.buffer);
  const headerBytes = Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + headerBytes))) as Record<
    string,
    { data_offsets: [number, number] }
  >;
  view.setFloat32(8 + headerBytes + header[name].data_offsets[0], NaN, true);
  return bytes.buffer;
}

/** What a reader of the file makes of it, with nothing but names and metadata. */
function plainActions(
  tensors: ReturnType<typeof decodeSafetensors>["tensors"],
  facts: Readonly<Record<string, string>>,
  seen: readonly SeenAction[],
): number[][] {
  const numbers = (name: string) => [...tensors.get(name)!.data];
  const list = (name: string) => facts[name].split(",").map(Number);
  const clip = Number(facts.clip_observations);
  const [mean, factor] = ["normalizer.mean", "normalizer.inverse_std"].map(numbers);
  const depth = facts.layers.split(",").length;
  return seen.map(({ observation }) => {
    let x = [...observation].map((o, i) => Math.min(clip, Math.max(-clip, (o - mean[i]) * factor[i])));
    for (let layer = 0; layer < depth; layer++) {
      const weight = numbers(`policy.${layer}.weight`);
      const bias = numbers(`policy.${layer}.bias`);
      x = bias.map((b, o) => x.reduce((sum, xi, i) => sum + xi * weight[o * x.length + i], b));
      if (tensors.has(`policy.${layer}.norm.weight`)) {
        const [gain, shift] = ["weight", "bias"].map((part) => numbers(`policy.${layer}.norm.${part}`));
        x = standardised(x).map((v, o) => v * gain[o] + shift[o]);
      }
      if (layer < depth - 1) x = x.map((v) => bend(v, facts.activation as Activation));
    }
    if (facts.head === "gaussian") {
      const [low, high] = [list("low"), list("high")];
      return x.map((v, i) =>
        facts.squash === "true"
          ? low[i] + ((high[i] - low[i]) * (1 + Math.tanh(v))) / 2
          : Math.min(high[i], Math.max(low[i], v)),
      );
    }
    let at = 0;
    return list("alternatives").map((count) => {
      const logits = x.slice(at, (at += count));
      return Number(facts.start) + logits.indexOf(Math.max(...logits));
    });
  });
}

test("bad input is refused, and nothing is left behind", async () => {
  await trained("InvertedPendulum-v5", { hidden: [1921], epochs: 1, minibatches: 1 }, async (ppo) => {
    const codeOf = (options: object) =>
      exportPolicy(ppo, options as never).then(
        () => undefined,
        (error: { code: string }) => error.code,
      );
    const to = join(folder, "refused");
    expect(await codeOf({ format: "pb", to })).toBe("bad-option");
    expect(await codeOf({ format: "onnx" })).toBe("bad-option");
    expect(await codeOf({ format: "wgsl", to })).toBe("unsupported-export");
    expect(existsSync(to)).toBe(false);

    writeFileSync(to, "a file");
    expect(await codeOf({ format: "onnx", to: join(to, "policy.onnx") })).toBe("export-not-written");
    expect(readFileSync(to, "utf8")).toBe("a file");
    await ppo.close();
    expect(await codeOf({ format: "onnx", to: join(folder, "closed.onnx") })).toBe("closed");
    expect(readdirSync(folder).filter((name) => name.includes("partial") || name.startsWith("closed"))).toEqual([]);
  });
  await trained("CartPole", { hidden: [4] }, async (ppo) => {
    const to = join(folder, "occupied");
    await exportPolicy(ppo, { format: "wgsl", to });
    const before = readdirSync(to);
    await exportPolicy(ppo, { format: "wgsl", to });
    expect(readdirSync(to)).toEqual(before);
    writeFileSync(join(to, "mine.txt"), "");
    await expect(exportPolicy(ppo, { format: "wgsl", to })).rejects.toMatchObject({ code: "not-empty" });
  });
});
