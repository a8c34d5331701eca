import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { AdapterUnavailableError, CorralError } from "../../../src/core/errors.ts";
import { adapterChoice, chooseAdapter, listAdapters } from "../../../src/gpu/adapter.ts";
import { openDevice } from "../../../src/gpu/device.ts";
import { cachedEmbeddedDriver, embeddedDriver, embeddedUnsupported } from "../../../src/gpu/embedded.ts";
import { requestedLimits, readLimits } from "../../../src/gpu/limits.ts";
import { driverManifests, pinLibrary, withDriver } from "../../../src/gpu/loader.ts";
import { shareDevice } from "../../../src/gpu/shared-device.ts";
import { complaintsIn, probeSystem } from "../../../src/gpu/probe.ts";
import { filesFromTar } from "../../../src/gpu/untar.ts";
import { onBuild } from "../../support/built.ts";
import { ROOT } from "../../support/imports.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "corral-test-"));
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

describe("choice of the adapter", () => {
  test("the option goes before the variable, the variable before auto", () => {
    vi.stubEnv("CORRAL_ADAPTER", "embedded");
    expect(adapterChoice("null")).toBe("null");
    expect(adapterChoice()).toBe("embedded");
    vi.stubEnv("CORRAL_ADAPTER", "swiftshader");
    expect(adapterChoice()).toBe("embedded");
    vi.stubEnv("CORRAL_ADAPTER", "");
    expect(adapterChoice()).toBe("auto");
  });

  test("what is no choice is refused with the adapters, and with where it was said", async () => {
    const list = (await listAdapters()).map(({ index, name }) => `${index} ${name}`).join(", ") || "none";
    const rest = `Adapters: ${list}. Use an index, a part of a name, or one of auto, gpu, system, embedded.`;
    await expect(openDevice({ adapter: "no such" })).rejects.toThrow(
      `[adapter-unknown] adapter is 'no such': no adapter has that name. ${rest}`,
    );
    await expect(openDevice({ adapter: 99 })).rejects.toThrow(
      `[adapter-unknown] adapter is '99': no adapter has that index. ${rest}`,
    );
    vi.stubEnv("CORRAL_ADAPTER", "other");
    await expect(openDevice()).rejects.toThrow(
      "[adapter-unknown] CORRAL_ADAPTER is 'other': no adapter has that name.",
    );
    await expect(shareDevice()).rejects.toThrow(
      "[adapter-unknown] CORRAL_ADAPTER is 'other': no adapter has that name.",
    );
  });

  test("one of several is meant by its index or a part of its name alone", () => {
    const names = ["NVIDIA H200", "NVIDIA T4", "AMD Radeon", "NVIDIA T4"];
    const list = names.map((name, index) => ({ index, name, source: "system" as const }));
    const chosen = (choice: string) => chooseAdapter(list, choice).index;
    expect(["0", "h200", "radeon", "2", "1", "T4"].map(chosen)).toEqual([0, 0, 2, 2, 1, 1]);
    expect(() => chosen("nvidia")).toThrow(
      "several adapters have it in their names: 0 NVIDIA H200, 1 NVIDIA T4, 3 NVIDIA T4. Use an index",
    );
    expect(() => chosen("3")).toThrow(
      "adapter 1 has the same name, NVIDIA T4, and is always opened in its place. Hide",
    );
    expect(() => chosen("")).toThrow("no adapter has that name");
    expect(() => chosen("-1")).toThrow("no adapter has that name");
  });

  test("each adapter of this machine opens by its index and by its name", async () => {
    for (const { index, name, source } of await listAdapters()) {
      for (const adapter of [index, String(index), name.slice(0, 6).toUpperCase()]) {
        using gpu = await openDevice({ adapter });
        expect([gpu.info.source, gpu.info.driver.slice(0, 6)]).toEqual([source, name.slice(0, 6)]);
      }
    }
  });

  test("the null adapter opens without any driver", async () => {
    using gpu = await openDevice({ adapter: "null" });
    expect(gpu.info).toMatchObject({ source: "null", kind: "software" });
    expect(gpu.refusals).toEqual([]);
  });

  test("an adapter that is not there is refused with reasons and a remedy", async () => {
    const opened = await openDevice({ adapter: "gpu" }).catch((error: unknown) => error as Error);
    if (!(opened instanceof Error)) return opened.close();
    expect(opened).toBeInstanceOf(AdapterUnavailableError);
    expect(opened.message).toMatch(/^\[adapter-unavailable\] no WebGPU adapter for 'gpu' \(gpu: .+\)\. Install .+/);
  });
});

describe("limits", () => {
  test("may be lowered, not raised above the adapter's, and must be known", async () => {
    using gpu = await openDevice({ adapter: "null", limits: { maxBufferSize: 2 ** 20 } });
    expect(gpu.limits.maxBufferSize).toBe(2 ** 20);
    const limits = readLimits(gpu.device.limits);
    expect(requestedLimits(limits)).toEqual(limits);
    expect(() => requestedLimits(limits, { maxBindGroups: limits.maxBindGroups + 1 })).toThrow(
      /^\[limit-too-large\] maxBindGroups 5 /,
    );
    expect(() => requestedLimits(limits, { maxBindGroups: 0 })).toThrow("[limit-too-large]");
    expect(() => requestedLimits(limits, { maxBuffers: 3 } as never)).toThrow(
      "[limit-unknown] no limit is called maxBuffers.",
    );
  });
});

describe("Vulkan drivers", () => {
  test("manifests are found in the data folders, and only there where variables name them", () => {
    const icd = join(folder, "vulkan", "icd.d");
    mkdirSync(icd, { recursive: true });
    writeFileSync(join(icd, "lvp_icd.json"), "{}");
    writeFileSync(join(icd, "readme.txt"), "");
    vi.stubEnv("VK_DRIVER_FILES", undefined);
    vi.stubEnv("VK_ICD_FILENAMES", undefined);
    vi.stubEnv("XDG_DATA_DIRS", folder);
    const found = driverManifests();
    expect(found).toContain(join(icd, "lvp_icd.json"));
    expect(found.every((file) => file.endsWith(".json"))).toBe(true);

    vi.stubEnv("VK_ICD_FILENAMES", "one.json:two.json");
    expect(driverManifests()).toEqual(["one.json", "two.json"]);
  });

  test("the variables are as before after a driver was chosen, also when the call throws", () => {
    vi.stubEnv("VK_DRIVER_FILES", "mine.json");
    vi.stubEnv("VK_ICD_FILENAMES", undefined);
    const seen = withDriver("theirs.json", () => [process.env.VK_DRIVER_FILES, process.env.VK_ICD_FILENAMES]);
    expect(seen).toEqual([undefined, "theirs.json"]);
    expect(() =>
      withDriver("theirs.json", () => {
        throw new Error("no");
      }),
    ).toThrow("no");
    expect([process.env.VK_DRIVER_FILES, process.env.VK_ICD_FILENAMES]).toEqual(["mine.json", undefined]);
  });

  test("a library that is not there is not pinned", () => {
    expect(pinLibrary(join(folder, "libnothing.so"))).toMatch(/libnothing\.so/);
  });

  test("Dawn's complaints are read without places and without what is harmless", () => {
    const stderr = [
      "Warning: maxDynamicUniformBuffersPerPipelineLayout artificially reduced from 1000000 to 16 to fit.",
      "Warning: Vulkan shaderUniform*ArrayDynamicIndexing required.",
      " - While initializing adapter (backend=BackendType::Vulkan)",
      "    at InitializeImpl (PhysicalDeviceVk.cpp:257)",
      "Warning: Vulkan shaderUniform*ArrayDynamicIndexing required.",
    ].join("\n");
    expect(complaintsIn(stderr)).toEqual(["Vulkan shaderUniform*ArrayDynamicIndexing required"]);
  });

  test("a driver that cannot be loaded is a complaint, not a failure", async () => {
    vi.stubEnv("VK_DRIVER_FILES", undefined);
    vi.stubEnv("VK_ICD_FILENAMES", join(folder, "nothing.json"));
    const { adapters, complaints } = await probeSystem();
    if (process.platform === "linux")
      expect({ adapters, count: complaints.length > 0 }).toEqual({ adapters: [], count: true });
  });
});

describe.skipIf(embeddedUnsupported() !== undefined)("the embedded driver (linux-x64 only)", () => {
  beforeEach(() => {
    vi.stubEnv("XDG_CACHE_HOME", folder);
  });

  test("is unpacked once, and again when its files are damaged", () => {
    expect(cachedEmbeddedDriver()).toBeUndefined();
    const driver = embeddedDriver();
    expect(existsSync(driver.loader)).toBe(true);
    expect(cachedEmbeddedDriver()).toEqual(driver);

    truncateSync(driver.loader, 10);
    expect(cachedEmbeddedDriver()).toBeUndefined();
    embeddedDriver();
    expect(cachedEmbeddedDriver()).toEqual(driver);
    expect(readdirSync(join(folder, "corral"))).toEqual([dirname(driver.loader).split("/").at(-1)]);
  });

  test("is unpacked whole by processes that start at once", async () => {
    const script = onBuild(
      'import("./src/gpu/embedded.ts").then(({ embeddedDriver }) => console.log(embeddedDriver().loader))',
    );
    const run = () =>
      new Promise<string>((resolve, reject) => {
        execFile(process.execPath, ["--eval", script], { cwd: ROOT }, (error, stdout) =>
          error ? reject(error) : resolve(stdout.trim()),
        );
      });
    const loaders = await Promise.all([run(), run(), run()]);
    expect(new Set(loaders).size).toBe(1);
    expect(cachedEmbeddedDriver()?.loader).toBe(loaders[0]);
    expect(readdirSync(join(folder, "corral"))).toHaveLength(1);
  });

  test("a folder for the cache that cannot be made is refused with what was tried", () => {
    writeFileSync(join(folder, "file"), "");
    vi.stubEnv("XDG_CACHE_HOME", join(folder, "file"));
    vi.stubEnv("HOME", join(folder, "file"));
    vi.stubEnv("TMPDIR", join(folder, "file"));
    const refused = () => embeddedDriver();
    expect(refused).toThrow(CorralError);
    expect(refused).toThrow(/^\[cache-not-writable\] .*XDG_CACHE_HOME .*home .*temporary folder .*Set XDG_CACHE_HOME/);
  });
});

describe("tar", () => {
  test("files are found by name, in any folder, and padding is skipped", () => {
    const tar = Buffer.concat([
      entry("a/first.txt", "hello"),
      entry("second.txt", "x".repeat(600)),
      Buffer.alloc(1024),
    ]);
    const found = filesFromTar(tar, ["first.txt", "second.txt", "third.txt"]);
    expect([...found].map(([name, bytes]) => [name, Buffer.from(bytes).toString()])).toEqual([
      ["first.txt", "hello"],
      ["second.txt", "x".repeat(600)],
    ]);
    expect(filesFromTar(new Uint8Array(100), ["first.txt"]).size).toBe(0);
  });
});

function entry(name: string, text: string): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write(text.length.toString(8).padStart(11, "0"), 124);
  header.write("0", 156);
  return Buffer.concat([header, Buffer.from(text.padEnd(512 * Math.ceil(text.length / 512), "\0"))]);
}
