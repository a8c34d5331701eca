import { afterAll, beforeAll, describe, expect, test } from "vitest";
import "../../../envs/index.ts";
import type { VectorEnv } from "../../../src/env/index.ts";
import { makeVec } from "../../../src/env/index.ts";
import { openDevice, type GpuDevice } from "../../../src/gpu/index.ts";
import { watchDevice } from "../../support/watch-device.ts";

/** A policy without arithmetic, so that the host does the same to the bit: the action is the pole's angle. */
const POLICY = `
@group(0) @binding(0) var<storage, read_write> obs: array<f32>;
@group(0) @binding(1) var<storage, read_write> action: array<f32>;
override worlds: u32; override obs_stride: u32; override action_stride: u32;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= worlds) { return; }
  action[id.x * action_stride] = obs[id.x * obs_stride + 1];
}`;

let gpu: GpuDevice;
beforeAll(async () => {
  gpu = await openDevice();
});
afterAll(() => gpu?.close());

/** Encodes the policy for all shards. */
function policyOf(env: VectorEnv): (pass: GPUComputePassEncoder) => void {
  const { actions, observations } = env.gpu!;
  const module = gpu.device.createShaderModule({ code: POLICY });
  const shards = observations.shards.map(({ buffer, worlds }, s) => {
    const constants = { worlds, obs_stride: observations.stride / 4, action_stride: actions.stride / 4 };
    const pipeline = gpu.device.createComputePipeline({ layout: "auto", compute: { module, constants } });
    const entries = [buffer, actions.shards[s].buffer].map((b, binding) => ({ binding, resource: { buffer: b } }));
    const group = gpu.device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    return { pipeline, group, count: Math.ceil(worlds / 32) };
  });
  return (pass) => {
    for (const { pipeline, group, count } of shards) {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(count);
    }
  };
}

test("what encodes late is refused, and nothing is submitted", async () => {
  await using env = await makeVec("CartPole", { numEnvs: 8, device: gpu });
  await env.reset();
  const late = async (_: unknown, step: () => void): Promise<void> => {
    await Promise.resolve();
    step();
  };
  await expect(env.stepOnDevice(late as never)).rejects.toThrow(/\[pass-ended\] the function returned a promise/);
  const kept: (() => void)[] = [];
  await env.stepOnDevice((_, step) => {
    step();
    kept.push(step);
  });
  expect(kept[0]).toThrow(/\[pass-ended\] step\(\) was called after/);
  expect((await env.read()).rewards[0]).toBe(1);
  expect(env.steps).toBe(1);
});

test("nothing is read back unless it is asked for", async () => {
  const watch = watchDevice(gpu);
  await using env = await makeVec("InvertedPendulum-v5", { numEnvs: 8, device: gpu, maxEpisodeSteps: 6 });
  await env.reset();
  const before = watch.maps();
  const unread = { readback: false } as const;
  for (let t = 0; t < 40; t++) await env.step(t % 2 ? env.gpu!.actions : new Float32Array(8), unread);
  await env.stepOnDevice((_, step) => {
    for (let t = 0; t < 40; t++) step();
  });
  await env.setParams({});
  await env.sync();
  expect(watch.maps()).toBe(before);
  await env.read();
  expect(watch.maps()).toBe(before + 1);
  await env.step(new Float32Array(8));
  expect(watch.maps()).toBe(before + 2);
  watch.remove();
});

describe("stepOnDevice", () => {
  test("makes many steps of a policy in one submission, with the bits of single steps", async () => {
    const options = { numEnvs: 40, device: gpu, maxEpisodeSteps: 6 };
    await using env = await makeVec("InvertedPendulum-v5", { ...options, shards: 2 });
    await using twin = await makeVec("InvertedPendulum-v5", options);
    await env.reset();
    await twin.reset();
    const policy = policyOf(env);

    const watch = watchDevice(gpu);
    const before = { ...watch.made };
    for (const steps of [1, 3, 40]) {
      await env.stepOnDevice((pass, step) => {
        for (let t = 0; t < steps; t++) {
          policy(pass);
          step();
        }
      });
      for (let t = 0; t < steps; t++)
        await twin.step(Float32Array.from({ length: 40 }, (_, w) => twin.observations[4 * w + 1]));
      const { observations, rewards, truncated } = await env.read();
      expect([...observations]).toEqual([...twin.observations]);
      expect([...rewards]).toEqual([...twin.rewards]);
      expect([...truncated]).toEqual([...twin.truncated]);
    }
    expect(env.steps).toBe(44);
    expect(watch.made).toEqual(before);
    watch.remove();
  });

  test("steps nothing where the encoding throws", async () => {
    await using env = await makeVec("InvertedPendulum-v5", { numEnvs: 8, device: gpu });
    await expect(env.stepOnDevice((_, step) => step())).rejects.toMatchObject({ code: "needs-reset" });
    await env.reset();
    const { qpos } = await env.getState(["qpos"]);
    const broken = env.stepOnDevice((_, step) => {
      step();
      throw new Error("no policy");
    });
    await expect(broken).rejects.toThrow("no policy");
    expect(env.steps).toBe(0);
    expect((await env.getState(["qpos"])).qpos).toEqual(qpos);
  });

  test("tells of passes that the device refuses, and needs a GPU", async () => {
    await using env = await makeVec("InvertedPendulum-v5", { numEnvs: 8, device: gpu });
    await env.reset();
    await env.stepOnDevice((pass, step) => {
      pass.dispatchWorkgroups(1); // without a pipeline
      step();
    });
    await expect(env.read()).rejects.toMatchObject({ code: "work-refused" });

    await using cpu = await makeVec("InvertedPendulum-v5", { numEnvs: 8, device: "cpu" });
    await cpu.reset();
    await expect(cpu.stepOnDevice(() => {})).rejects.toMatchObject({ code: "needs-gpu" });
  });
});
