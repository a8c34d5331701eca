// the error texts that docs/out-of-memory.md quotes are those that users get, numbers aside
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createBudget, type GpuDevice, makeVec, openDevice, Ppo, type VectorEnv } from "../../../src/index.ts";
import type { Budget } from "../../../src/memory/index.ts";
import { type Faults, injectFaults } from "../../../src/memory/faults.ts";

const ID = "CartPole";
const quoted = readFileSync(new URL("../../../docs/out-of-memory.md", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("["));

/** A text without its numbers, sizes and names of buffers, which change with options. */
const plain = (text: string): string =>
  text
    .replace(/Largest fields: .*? Remedies/, "Remedies")
    .replace(/of arena \w+/g, "of an arena")
    .replace(/\d[\d,.]*\d|\d/g, "#")
    .replace(/# ([KMGT]i)?B/g, "# bytes");

let gpu: GpuDevice;
let budget: Budget;
let env: VectorEnv;
let faults: Faults;
const said = new Map<string, string>();

async function say(call: () => unknown): Promise<void> {
  const error = await Promise.resolve()
    .then(call)
    .catch((thrown: unknown) => thrown as Error);
  const { message } = error as Error;
  said.set(/^\[([a-z-]+)\]/.exec(message)![1], message);
}

beforeAll(async () => {
  gpu = await openDevice({ adapter: "embedded" });
  budget = await createBudget(gpu, { limit: "64MiB" });
  env = await makeVec(ID, { numEnvs: 1024, device: gpu, snapshotEvery: 10 });
  faults = injectFaults(gpu);
  await env.reset();
});
afterAll(async () => {
  faults.remove();
  await env.close();
  gpu.close();
});

test("every text is one that users get", async () => {
  const actions = env.actionSpace.sample(0);
  await say(() => makeVec(ID, { numEnvs: 1_000_000, device: gpu }));
  await say(() => Ppo.create(env, { rolloutSteps: 65_536 }));
  await say(() => createBudget(gpu, { limit: "2 gigs" }));
  await say(() => createBudget(gpu, { limit: "900TiB" }));
  await say(() => createBudget(gpu, { limit: "1KiB" }));
  await say(() => budget.assertEmpty());

  faults.arm({ point: "buffer", at: 3, times: Infinity });
  await say(() => makeVec(ID, { numEnvs: 1024, device: gpu }));
  faults.arm({ point: "submit", at: 1 });
  await say(() => env.step(actions));
  faults.arm();
  await env.reset();
  const step = env.step(actions);
  await say(() => env.step(actions));
  await step;

  const hopper = await makeVec("Hopper-v5", { numEnvs: 8, device: "cpu", nconmax: 1, onOverflow: "throw" });
  await hopper.reset();
  await say(async () => {
    for (let i = 0; i < 60; i++) await hopper.step(hopper.actionSpace.sample(i));
  });
  await hopper.close();

  gpu.device.destroy();
  await gpu.lost;
  await say(() => env.step(actions));
  await env.close();
  await say(() => env.step(actions));

  for (const text of quoted) {
    const code = /^\[([a-z-]+)\]/.exec(text)![1];
    expect(plain(said.get(code) ?? `no error ${code}`)).toBe(plain(text));
  }
  expect(quoted).toHaveLength(said.size);
});
