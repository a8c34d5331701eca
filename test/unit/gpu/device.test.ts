import { spawnSync } from "node:child_process";
import { afterEach, describe, expect, test, vi } from "vitest";
import { CorralError, DeviceLostError, GpuCreationError } from "../../../src/core/errors.ts";
import {
  BufferUsage,
  createBindGroup,
  createBuffer,
  openDevice,
  PassTimer,
  PipelineCache,
  Readback,
  shareDevice,
  waitFor,
} from "../../../src/gpu/index.ts";
import { onBuild } from "../../support/built.ts";
import { ROOT } from "../../support/imports.ts";
import { PATIENCE_MS } from "../../support/patience.ts";

const STORAGE = BufferUsage.STORAGE | BufferUsage.COPY_SRC | BufferUsage.COPY_DST;

const EMPTY = "@compute @workgroup_size(1) fn main() {}";

afterEach(() => {
  vi.restoreAllMocks();
});

/** What a call that must fail throws. */
async function failure(call: () => Promise<unknown>): Promise<CorralError> {
  try {
    await call();
  } catch (error) {
    expect(error).toBeInstanceOf(CorralError);
    return error as CorralError;
  }
  throw new Error("the call did not fail");
}

describe("creation in scopes", () => {
  test("a buffer above the device's limit names itself, its size and the limit", async () => {
    using gpu = await openDevice();
    const size = gpu.limits.maxBufferSize + 5;
    const error = await failure(() => createBuffer(gpu, "state", size - (size % 4), STORAGE));
    expect(error).toBeInstanceOf(GpuCreationError);
    expect(error.code).toBe("gpu-validation");
    expect(error.message).toContain(`the device refused buffer 'state' of ${size - (size % 4)} bytes: `);
    expect(error.message).toContain(String(gpu.limits.maxBufferSize));
    expect(gpu.uncaptured).toEqual([]);
  });

  test.each([-4, Number.NaN, 1.5])("size %s is refused and the scopes stay balanced", async (size) => {
    using gpu = await openDevice({ adapter: "null" });
    if (size === 1.5) await createBuffer(gpu, "rounded", size, STORAGE);
    else expect((await failure(() => createBuffer(gpu, "odd", size, STORAGE))).code).toBe("gpu-validation");
    await createBuffer(gpu, "after", 16, STORAGE);
    expect(gpu.uncaptured).toEqual([]);
  });

  test("creations at the same time each get their own errors", async () => {
    using gpu = await openDevice();
    const sizes = [16, 2 ** 50, 32, 2 ** 51, 64];
    const made = await Promise.allSettled(sizes.map((size) => createBuffer(gpu, `b${size}`, size, STORAGE)));
    expect(made.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "rejected", "fulfilled"]);
    expect(String((made[3] as PromiseRejectedResult).reason)).toContain(`'b${2 ** 51}'`);
  });

  test("a bind group beyond the binding limit is refused", async () => {
    using gpu = await openDevice({ adapter: "null" });
    const bytes = gpu.limits.maxStorageBufferBindingSize;
    const buffer = await createBuffer(gpu, "large", 2 * bytes, STORAGE);
    const layout = gpu.device.createBindGroupLayout({
      entries: [{ binding: 0, visibility: 4, buffer: { type: "storage" } }],
    });
    const entries = [{ binding: 0, resource: { buffer } }];
    const error = await failure(() => createBindGroup(gpu, { label: "all", layout, entries }));
    expect(error.message).toMatch(/^\[gpu-validation\] the device refused bind group 'all': /);
  });

  test("memory that the driver does not have is told as such, and the device lives on", () => {
    // the driver's own refusal needs a process that may not have it
    const script = `
      import { openDevice, createBuffer } from "./src/gpu/index.ts";
      const gpu = await openDevice({ adapter: "embedded" });
      const codes = [];
      for (let i = 0; i < 40 && codes.length === 0; i++) {
        await createBuffer(gpu, "b" + i, 2 ** 30, 128).catch((error) => codes.push(error.code, error.details.bytes));
      }
      const { size } = await createBuffer(gpu, "small", 1024, 128);
      console.log(JSON.stringify({ codes, size, lost: gpu.isLost }));
      gpu.close();`;
    if (process.platform !== "linux") return;

    // node and its WebAssembly reserve some 33 GB of addresses before the first buffer
    const { stdout, stderr } = limited(script, "ulimit -v 40000000");
    expect(stdout, stderr).toContain('{"codes":["gpu-out-of-memory",1073741824],"size":1024,"lost":false}');
  });
});

describe("errors that nobody caught", () => {
  test("are kept and warned of, on stderr alone, and reject nothing", async () => {
    using gpu = await openDevice({ adapter: "null" });
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    gpu.device.createBuffer({ label: "wrong", size: 16, usage: BufferUsage.MAP_READ | BufferUsage.MAP_WRITE });
    await waitFor(gpu.device.queue.onSubmittedWorkDone());
    expect(gpu.uncaptured).toHaveLength(1);
    expect(warn).toHaveBeenCalledOnce();
  });
});

describe("a device that is gone", () => {
  test("every call says so, with what it wanted to do and the remedy", async () => {
    const gpu = await openDevice();
    const buffer = await createBuffer(gpu, "state", 64, STORAGE);
    const readback = await Readback.create(gpu, { slotBytes: 64 });
    const cache = new PipelineCache(gpu);
    gpu.device.destroy();
    expect((await gpu.lost).reason).toBe("destroyed");
    expect([gpu.isLost, gpu.isClosed]).toEqual([true, false]);

    const calls = {
      "create buffer 'x'": () => createBuffer(gpu, "x", 4, STORAGE),
      "read a buffer": () => readback.read(buffer, 0, 64, new Uint8Array(64)),
      "compile shader 'empty'": () => cache.compute({ label: "empty", code: EMPTY, entryPoint: "main" }),
    };
    for (const [what, call] of Object.entries(calls)) {
      const error = await failure(call);
      expect(error).toBeInstanceOf(DeviceLostError);
      expect(error.message).toMatch(`[device-lost] cannot ${what}: the device ${gpu.info.driver} was lost (destroyed`);
      expect(error.message).toContain("Open another device and restore the last snapshot.");
    }
  });

  test("calls under way reject with the loss, not with Dawn's words", async () => {
    const gpu = await openDevice();
    const buffer = await createBuffer(gpu, "state", 64, STORAGE);
    const readback = await Readback.create(gpu, { slots: 1, slotBytes: 64 });
    const reads = [1, 2, 3].map(() => failure(() => readback.read(buffer, 0, 64, new Uint8Array(64))));
    const creation = failure(() => createBuffer(gpu, "x", 4, STORAGE));
    gpu.device.destroy();
    for (const error of await Promise.all([...reads, creation])) expect(error.code).toBe("device-lost");
  });

  test("a closed one says closed, and closing twice does nothing", async () => {
    const gpu = await openDevice({ adapter: "null" });
    gpu.close();
    gpu.close();
    const error = await failure(() => createBuffer(gpu, "x", 4, STORAGE));
    expect(error.message).toBe("[device-closed] cannot create buffer 'x': the device was closed. Open another one.");
    expect([gpu.isLost, gpu.isClosed]).toEqual([false, true]);
  });
});

describe("the shared device", () => {
  test("is one for all who ask for the same adapter, and closes with the last", async () => {
    const [a, b, other] = await Promise.all([shareDevice("embedded"), shareDevice("swiftshader"), shareDevice("null")]);
    expect(a.gpu).toBe(b.gpu);
    expect(a.gpu).not.toBe(other.gpu);
    a.release();
    a.release();
    expect(b.gpu.isClosed).toBe(false);
    b.release();
    other.release();
    expect([b.gpu.isClosed, other.gpu.isClosed]).toEqual([true, true]);
  });

  test("is replaced after a loss", async () => {
    const first = await shareDevice("null");
    first.gpu.device.destroy();
    await first.gpu.lost;
    const second = await shareDevice("null");
    expect(second.gpu).not.toBe(first.gpu);
    first.release();
    expect(second.gpu.isClosed).toBe(false);
    second.release();
  });

  test("an adapter that cannot be had is asked for again next time", async () => {
    const errors = await Promise.all([failure(() => shareDevice("nothing")), failure(() => shareDevice("nothing"))]);
    expect(errors.map(({ code }) => code)).toEqual(["adapter-unknown", "adapter-unknown"]);
  });
});

describe("readback", () => {
  test("regions in pieces, in parallel, through fewer slots than reads", async () => {
    using gpu = await openDevice();
    const count = 1000;
    const data = Uint32Array.from({ length: count }, (_, i) => i * 7);
    const buffer = await createBuffer(gpu, "data", 4 * count, STORAGE);
    gpu.device.queue.writeBuffer(buffer, 0, data);
    const readback = await Readback.create(gpu, { slots: 2, slotBytes: 512 });
    expect(readback.bytes).toBe(1024);

    const whole = new Uint32Array(count);
    const middle = new Uint32Array(100);
    const parts = [new Uint32Array(3), new Uint32Array(200)];
    await Promise.all([
      readback.read(buffer, 0, 4 * count, whole),
      readback.read(buffer, 400, 400, middle),
      readback.readAll([
        { buffer, offset: 8, size: 12, into: parts[0] },
        { buffer, offset: 0, size: 800, into: parts[1] },
      ]),
    ]);
    expect(whole).toEqual(data);
    expect(middle).toEqual(data.subarray(100, 200));
    expect(parts).toEqual([data.slice(2, 5), data.slice(0, 200)]);
    await readback.read(buffer, 0, 0, new Uint8Array(0));
  });

  test.each([
    ["offset 2 is not a multiple of 4", 2, 4, 8],
    ["size 3 is not a multiple of 4", 0, 3, 8],
    ["bytes 60 to 68 pass its end at 64", 60, 8, 8],
    ["8 bytes do not fit an array of 4 bytes", 0, 8, 4],
  ])("%s", async (text, offset, size, bytes) => {
    using gpu = await openDevice({ adapter: "null" });
    const buffer = await createBuffer(gpu, "data", 64, STORAGE);
    const readback = await Readback.create(gpu, { slotBytes: 64 });
    const error = await failure(() => readback.read(buffer, offset, size, new Uint8Array(bytes)));
    expect(error.message).toBe(`[readback-range] buffer 'data': ${text}.`);
  });

  test("a buffer that was destroyed gives an error, not the last read's bytes", async () => {
    using gpu = await openDevice();
    const buffer = await createBuffer(gpu, "data", 64, STORAGE);
    const readback = await Readback.create(gpu, { slotBytes: 64 });
    await readback.read(buffer, 0, 64, new Uint8Array(64));
    buffer.destroy();
    const error = await failure(() => readback.read(buffer, 0, 64, new Uint8Array(64)));
    expect(error.code).toBe("readback-failed");
    expect(gpu.uncaptured).toEqual([]);
  });
});

describe("time", () => {
  test("passes are timed where the device can", async () => {
    using gpu = await openDevice();
    if (!gpu.features.has("timestamp-query")) return;
    const timer = await PassTimer.create(gpu, 2);
    for (let round = 0; round < 2; round++) {
      const encoder = gpu.device.createCommandEncoder();
      for (let i = 0; i < 2; i++) encoder.beginComputePass({ timestampWrites: timer.next() }).end();
      timer.resolve(encoder);
      gpu.device.queue.submit([encoder.finish()]);
      expect(() => timer.next()).toThrow("[too-many-passes]");
      const nanoseconds = await timer.read();
      expect(nanoseconds).toHaveLength(2);
      for (const time of nanoseconds) expect(time).toBeGreaterThanOrEqual(0);
    }
    timer.close();
  });

  test("waits settle as their promises do and leave nothing behind", async () => {
    const slow = new Promise((resolve) => setTimeout(() => resolve("done"), 20));
    expect(await waitFor(slow)).toBe("done");
    await expect(waitFor(Promise.reject(new Error("no")))).rejects.toThrow("no");
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(process.getActiveResourcesInfo().filter((name) => name === "Immediate")).toEqual([]);
  });
});

describe("the end of the process", () => {
  test.each(["close", "keep", "lose"])("comes by itself, whatever became of the devices: %s", (mode) => {
    // collected in any order, Dawn must not abort
    const script = `
      import { openDevice, createBuffer } from "./src/gpu/index.ts";
      const kept = [];
      for (let i = 0; i < 4; i++) {
        const gpu = await openDevice({ adapter: i % 2 ? "null" : "auto" });
        const buffer = await createBuffer(gpu, "b", 4096, 128);
        if ("${mode}" === "close") gpu.close();
        if ("${mode}" === "lose") gpu.device.destroy();
        if (i < 2) kept.push(buffer);
        await gc({ execution: "async" });
      }
      console.log("end");`;
    const { stdout, stderr, status, signal } = limited(script);
    expect({ stdout: stdout.trim(), status, signal }, stderr).toEqual({ stdout: "end", status: 0, signal: null });
  });
});

/** Runs a script in a process of its own, after a line of shell. */
function limited(script: string, before = "true") {
  const command = `${before}; exec "$0" --expose-gc --input-type=module --eval "$1"`;
  return spawnSync("bash", ["-c", command, process.execPath, onBuild(script)], {
    cwd: ROOT,
    encoding: "utf8",
    timeout: PATIENCE_MS,
  });
}
