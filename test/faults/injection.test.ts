// the injected faults behave as a driver's do: in scopes, in rejections, and in nothing else
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DeviceLostError, GpuCreationError } from "../../src/core/errors.ts";
import { BufferUsage, MapMode } from "../../src/gpu/constants.ts";
import { type GpuDevice, openDevice } from "../../src/gpu/device.ts";
import { createBuffer, inScopes } from "../../src/gpu/scopes.ts";
import { waitFor } from "../../src/gpu/waiter.ts";
import { type Faults, injectFaults } from "../../src/memory/faults.ts";

const ADAPTER = "embedded";
const CODE = "@compute @workgroup_size(1) fn main() {}";

describe("injected faults", () => {
  let gpu: GpuDevice;
  let faults: Faults;
  beforeAll(async () => {
    gpu = await openDevice({ adapter: ADAPTER });
    faults = injectFaults(gpu);
  });
  afterAll(() => {
    expect(gpu.uncaptured).toEqual([]);
    faults.remove();
    gpu.close();
  });

  const staging = () => createBuffer(gpu, "staging", 16, BufferUsage.MAP_READ | BufferUsage.COPY_DST);
  const pipelineOf = () => {
    const module = gpu.device.createShaderModule({ code: CODE });
    return { layout: "auto", compute: { module, entryPoint: "main" } } as const;
  };

  test("only count without a plan", async () => {
    faults.arm();
    const buffer = await staging();
    await waitFor(buffer.mapAsync(MapMode.READ));
    gpu.device.queue.submit([]);
    gpu.device.createComputePipeline(pipelineOf());
    await waitFor(gpu.device.createComputePipelineAsync(pipelineOf()));
    expect(faults.counts).toMatchObject({ buffer: 1, pipeline: 2, mapping: 1, submit: 1 });
    expect(faults.fired).toBe(0);
    buffer.destroy();
  });

  test.each(["out-of-memory", "validation", "internal"] as const)(
    "fail the second buffer in the %s scope",
    async (kind) => {
      faults.arm({ point: "buffer", at: 2, kind });
      const first = await staging();
      await expect(staging()).rejects.toThrowError(`[gpu-${kind}] the device refused buffer 'staging'`);
      const third = await staging();
      expect(faults.fired).toBe(1);
      first.destroy();
      third.destroy();
    },
  );

  test("fail a pipeline, in its scope or its promise", async () => {
    faults.arm({ point: "pipeline", at: 1, times: 2, kind: "internal" });
    const make = () => gpu.device.createComputePipeline(pipelineOf());
    await expect(inScopes(gpu, { what: "pipeline 'step'" }, make)).rejects.toThrowError(GpuCreationError);
    await expect(gpu.device.createComputePipelineAsync(pipelineOf())).rejects.toThrowError("injected pipeline failure");
    await waitFor(gpu.device.createComputePipelineAsync(pipelineOf()));
  });

  test("fail a mapping", async () => {
    faults.arm({ point: "mapping", at: 1 });
    const buffer = await staging();
    await expect(buffer.mapAsync(MapMode.READ)).rejects.toThrowError("injected mapping failure");
    await waitFor(buffer.mapAsync(MapMode.READ));
    buffer.destroy();
  });

  test("fail a submission, which then does nothing", async () => {
    faults.arm({ point: "submit", at: 1 });
    const { device } = gpu;
    const usage = BufferUsage.COPY_SRC | BufferUsage.COPY_DST;
    const source = await createBuffer(gpu, "source", 16, usage);
    const target = await staging();
    device.queue.writeBuffer(source, 0, Uint32Array.of(1, 2, 3, 4));

    const copy = () => {
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(source, 0, target, 0, 16);
      device.queue.submit([encoder.finish()]);
    };
    const read = async () => {
      await waitFor(target.mapAsync(MapMode.READ));
      const words = [...new Uint32Array(target.getMappedRange())];
      target.unmap();
      return words;
    };

    await expect(inScopes(gpu, { what: "submission" }, copy)).rejects.toThrowError("[gpu-validation]");
    expect(await read()).toEqual([0, 0, 0, 0]);
    copy();
    expect(await read()).toEqual([1, 2, 3, 4]);
    source.destroy();
    target.destroy();
  });

  test("lose the device", async () => {
    const own = await openDevice({ adapter: ADAPTER });
    const lost = injectFaults(own, { point: "submit", at: 2, kind: "lost" });
    own.device.queue.submit([]);
    own.device.queue.submit([]);
    await own.lost;
    await expect(createBuffer(own, "late", 16, BufferUsage.STORAGE)).rejects.toThrowError(DeviceLostError);
    lost.remove();
    own.close();
  });

  test("lose the device at a promise of its own", async () => {
    const own = await openDevice({ adapter: ADAPTER });
    const lost = injectFaults(own, { point: "await", at: 1 });
    own.device.queue.submit([]);
    const done = own.device.queue.onSubmittedWorkDone();
    await Promise.all([own.lost, done.catch(() => {})]);
    expect([lost.fired, own.isLost]).toEqual([1, true]);
    lost.remove();
    own.close();
  });

  test("are gone when removed", async () => {
    faults.remove();
    expect(Object.hasOwn(gpu.device, "createBuffer")).toBe(false);
    expect(Object.hasOwn(gpu.device.queue, "submit")).toBe(false);
    (await staging()).destroy();
  });
});
