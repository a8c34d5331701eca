import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Diagnosis } from "../../../src/gpu/diagnosis.ts";
import { embeddedUnsupported } from "../../../src/gpu/embedded.ts";
import { corral } from "../../support/cli.ts";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "corral-test-"));
  const manifest = join(folder, "broken.json");
  const ICD = { library_path: "libnothing.so", api_version: "1.3.0" };
  writeFileSync(manifest, JSON.stringify({ file_format_version: "1.0.0", ICD }));
  brokenSystem = { VK_ICD_FILENAMES: manifest, VK_DRIVER_FILES: undefined, CORRAL_ADAPTER: undefined };
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** A driver that the loader cannot load: the system is then without a usable one. */
let brokenSystem: Record<string, string | undefined>;

const noEmbedded = embeddedUnsupported() !== undefined;

describe("corral", () => {
  test("lists its commands and how it ends", async () => {
    const { code, stdout } = await corral(["--help"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}doctor +what this machine offers/m);
    expect(stdout).toContain("Exit codes: 0 done, 1 failed check or what cannot be written, 2 bad usage or what");
    expect((await corral([])).code).toBe(2);
    expect((await corral(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test("an unknown command names the nearest", async () => {
    const { code, stdout, stderr } = await corral(["docter"]);
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: "",
      stderr: "[usage] 'docter' is no command of corral. Did you mean 'doctor'?\n",
    });
    expect((await corral(["xyzzyqwerty"])).stderr).toMatch(/is no command of corral\. Commands: doctor, /);
    expect((await corral(["--doctor"])).stderr).toContain("'--doctor' is no option of corral");
  });

  test("what a command does not know is bad usage, and with --json a document all the same", async () => {
    const unknown = await corral(["doctor", "--bogus"]);
    expect([unknown.code, unknown.stderr]).toEqual([2, "[usage] Unknown option '--bogus'. See --help.\n"]);
    const extra = await corral(["doctor", "more", "--json"]);
    expect(extra.code).toBe(2);
    expect(JSON.parse(extra.stdout)).toMatchObject({ error: { code: "usage" } });
  });

  test("errors print no stack, unless asked", async () => {
    const plain = await corral(["doctor", "--adapter", "vulkan"]);
    expect([plain.code, plain.stderr]).toEqual([
      2,
      expect.stringMatching(/^\[adapter-unknown\] adapter is 'vulkan': no adapter has that name. Adapters: .*\n$/),
    ]);
    const { stderr } = await corral(["doctor"], { CORRAL_ADAPTER: "vulkan" });
    expect(stderr).toMatch(/^\[adapter-unknown\] CORRAL_ADAPTER is 'vulkan': no adapter has that name/);
    expect((await corral(["doctor", "--adapter", "vulkan"], { CORRAL_DEBUG: "1" })).stderr).toContain("    at ");
  });
});

describe("corral doctor", () => {
  test("explains itself", async () => {
    for (const args of [
      ["doctor", "--help"],
      ["help", "doctor"],
      ["doctor", "-h"],
    ]) {
      const { code, stdout } = await corral(args);
      expect([code, stdout.startsWith("Usage: corral doctor")]).toEqual([0, true]);
    }
  });

  test("prints one JSON document with what is used, its limits and the budget's origin", async () => {
    const { code, stdout } = await corral(["doctor", "--json"], { CORRAL_ADAPTER: "null" });
    const diagnosis = JSON.parse(stdout) as Diagnosis;
    expect(code).toBe(0);
    expect(diagnosis).toMatchObject({ choice: "null", used: { source: "null", kind: "software" } });
    expect(diagnosis.ways.map(({ way }) => way)).toEqual(["system", "embedded"]);
    expect(diagnosis.limits?.maxStorageBufferBindingSize).toBeGreaterThan(0);
    expect(diagnosis.budget?.source).toMatch(/^40 % of /);
  });

  test("prints the same for people, and nothing of Dawn's", async () => {
    const { code, stdout, stderr } = await corral(["doctor"], { CORRAL_ADAPTER: "null" });
    expect([code, stderr]).toEqual([0, ""]);
    for (const part of [
      "Adapters\n",
      "Used: ",
      "maxStorageBufferBindingSize",
      "Default budget: ",
      "% of ",
      "Default device: gpu",
    ]) {
      expect(stdout).toContain(part);
    }
  });

  test.skipIf(noEmbedded)(
    "a system driver that Dawn refuses is told with its reason; the embedded one serves, wasm is the default",
    async () => {
      const { code, stdout, stderr } = await corral(["doctor", "--json"], {
        ...brokenSystem,
        CORRAL_DEVICE: undefined,
        XDG_CACHE_HOME: folder,
      });
      const diagnosis = JSON.parse(stdout) as Diagnosis;
      expect([code, stderr]).toEqual([0, ""]);
      expect(diagnosis).toMatchObject({ used: { source: "embedded" }, device: "wasm" });
      expect(diagnosis.ways[0].state).not.toBe("ready");
      expect(diagnosis.ways[0].detail).not.toBe("");
      expect(diagnosis.advice.join("\n")).toMatch(/mesa-vulkan-drivers/);
    },
  );

  test("the adapters have the index and name by which one is chosen", async () => {
    const { stdout, stderr } = await corral(["doctor", "--json"]);
    expect(stderr).toBe("");
    const { adapters } = JSON.parse(stdout) as Diagnosis;
    expect(adapters.map(({ index }) => index)).toEqual(adapters.map((_, i) => i));
    for (const { index, name } of adapters) {
      const chosen = await corral(["doctor", "--adapter", String(index)]);
      expect([chosen.code, chosen.stderr]).toEqual([0, ""]);
      expect(chosen.stdout).toContain(`\n  ${index}  ${name}\n`);
      expect(chosen.stdout).toContain(`Used: ${name.split(" ")[0]}`);
    }
  });

  test.skipIf(noEmbedded)("installing the software adapter fills the cache once", async () => {
    const env = { XDG_CACHE_HOME: join(folder, "fresh"), CORRAL_ADAPTER: "embedded" };
    const first = await corral(["doctor", "--install-software-adapter"], env);
    expect(first.code, first.stderr).toBe(0);
    expect(first.stderr).toContain("installed the software driver in ");
    expect(first.stdout).toContain("SwiftShader");
    const second = await corral(["doctor", "--install-software-adapter"], env);
    expect(second.stderr).toContain("the software driver is already in ");
  });

  test("no device is exit code 3, with what was tried and what to do", async () => {
    const { code, stdout } = await corral(["doctor", "--json"], { ...brokenSystem, CORRAL_ADAPTER: "system" });
    if (process.platform !== "linux") return;
    const diagnosis = JSON.parse(stdout) as Diagnosis;
    expect(code).toBe(3);
    expect(diagnosis.used).toBeUndefined();
    expect(diagnosis.error).toMatch(/^\[adapter-unavailable\] no WebGPU adapter for 'system' \(system: .+\)\. Install/);
  });
});
