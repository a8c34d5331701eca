// which device a choice comes to
import { afterEach, expect, test, vi } from "vitest";
import { chooseDevice, DEVICES, isHostDevice, withDevice } from "../../../src/batch/devices.ts";
import { hasFastAdapter } from "../../../src/gpu/adapter.ts";

afterEach(() => vi.unstubAllEnvs());

test("a name is itself, what is no name is refused with all of them", async () => {
  for (const name of ["gpu", "wasm", "cpu", "cpu-f64"] as const)
    expect(await chooseDevice({ device: name })).toBe(name);
  for (const wrong of ["tpu", "", 7, null]) {
    await expect(chooseDevice({ device: wrong as never })).rejects.toMatchObject({ code: "bad-option" });
  }
  expect(Object.keys(DEVICES).filter(isHostDevice)).toEqual(["wasm", "cpu", "cpu-f64"]);
});

test("auto is an adapter where the system has a fast one, else WebAssembly", async () => {
  vi.stubEnv("CORRAL_DEVICE", "");
  vi.stubEnv("CORRAL_ADAPTER", "");
  const wanted = (await hasFastAdapter()) ? "gpu" : "wasm";
  expect(await chooseDevice({})).toBe(wanted);
  expect(await chooseDevice({ device: "auto" })).toBe(wanted);
  expect(await withDevice({ adapter: "embedded", numEnvs: 2 })).toEqual({
    adapter: "embedded",
    numEnvs: 2,
    device: "gpu",
  });
});

test("who chooses an adapter runs on it; the option goes before the environment", async () => {
  vi.stubEnv("CORRAL_DEVICE", "");
  vi.stubEnv("CORRAL_ADAPTER", "embedded");
  expect(await chooseDevice({})).toBe("gpu");
  vi.stubEnv("CORRAL_DEVICE", "cpu");
  expect(await chooseDevice({})).toBe("cpu");
  expect(await chooseDevice({ device: "wasm" })).toBe("wasm");
  expect(await chooseDevice({ adapter: 0 })).toBe("gpu");
  vi.stubEnv("CORRAL_DEVICE", "tpu");
  await expect(chooseDevice({})).rejects.toThrow('CORRAL_DEVICE is "tpu"');
});

test("an adapter that would not be used is refused", async () => {
  for (const device of ["wasm", "cpu", "cpu-f64"] as const)
    await expect(chooseDevice({ device, adapter: "none such" })).rejects.toThrow(
      `[bad-option] adapter is "none such"; device "${device}" has none: leave it out, or pass device: "gpu".`,
    );
  expect(await chooseDevice({ device: "gpu", adapter: "embedded" })).toBe("gpu");
});
