// policies that ship with walkers: they are of their task as it is now, and walk where without them robots fall
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import "../../envs/index.ts";
import { bipedRough } from "../../envs/biped/rough.ts";
import { go1Rough } from "../../envs/go1/rough.ts";
import { g1Rough } from "../../envs/g1/rough.ts";
import { readPolicy } from "../../src/export/read-policy.ts";
import { makeVec } from "../../src/index.ts";
import { AppliedPolicy } from "../../src/rl/networks/apply-policy.ts";
import { policyFrom } from "../../src/runs/under-worlds.ts";
import { isFull } from "../support/sweep.ts";

const WORLDS = isFull ? 16 : 8;
const STEPS = isFull ? 250 : 150;
/** The last four observations of the G1. */
const LANDINGS = { start: 57, size: 4 };

test.each([
  { env: "go1", file: "policy", off: 0.25 },
  { env: "go1", file: "rough-policy", off: 0.3 },
  { env: "biped", file: "policy", off: 0.25 },
  { env: "biped", file: "rough-policy", off: 0.3 },
  { env: "g1", file: "policy", off: 0.25 },
  { env: "g1", file: "rough-policy", off: 0.3 },
])("envs/$env/$file walks", async ({ env: folder, file, off }) => {
  const { policy, id } = await policyFrom(`envs/${folder}/${file}.safetensors`, {});
  await using env = await makeVec(id, { numEnvs: WORLDS, seed: 3, device: "wasm", threads: 1, recorder: false });
  const applied = new AppliedPolicy(policy, WORLDS);
  await env.reset({ seed: 3 });
  const [fell, sum] = [new Set<number>(), { off: 0 }];
  for (let t = 0; t < STEPS; t++) {
    const { terminated, infos } = await env.step(Array.from(applied.act(env.observations)));
    for (let w = 0; w < WORLDS; w++) {
      if (terminated[w]) fell.add(w);
      sum.off += infos.get("off")!.values[w];
    }
  }
  // 5, or 3, of the 20 seconds that pages give falls of
  expect(fell.size).toBeLessThanOrEqual(WORLDS / 4);
  expect(sum.off / STEPS / WORLDS).toBeLessThan(off);
});

test.each([
  { env: "go1", task: go1Rough },
  { env: "biped", task: bipedRough },
  { env: "g1", task: g1Rough },
])("what trains on terrain by default goes on from envs/$env's policy", ({ env, task }) => {
  const hidden = readPolicy(readFileSync(`envs/${env}/rough-policy.safetensors`)).layers.slice(0, -1);
  const { config } = task.training!.ppo!;
  expect(config!.hidden).toEqual(hidden.map(({ outputs }) => outputs));
  for (const { activation } of hidden) expect(config!.activation).toBe(activation);
});

test("feet of the G1 are to land farther where it is pushed", async () => {
  const vec = { numEnvs: 2, seed: 0, device: "wasm", threads: 1, recorder: false } as const;
  await using env = await makeVec("G1Velocity", vec);
  await env.reset({ seed: 0 });
  const { start, size } = LANDINGS;
  const farthest = (w: number) => {
    const own = env.observations.slice((start + size) * w + start, (start + size) * (w + 1)) as Float32Array;
    return Math.max(...own.map(Math.abs));
  };
  const { qvel } = await env.getState(["qvel"]);
  const pushed = Float64Array.from(qvel as ArrayLike<number>);
  pushed[0] += 1;
  await env.setState({ qvel: pushed });
  for (let t = 0; t < 10; t++) await env.step(Array.from({ length: 2 * 13 }, () => 0));
  expect(farthest(0)).toBeGreaterThan(0.1);
  expect(farthest(0)).toBeLessThanOrEqual(0.25);
  expect(farthest(1)).toBeLessThan(0.1);
});
