import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AdapterInfo } from "../../../src/gpu/device.ts";
import { hostMemory } from "../../../src/gpu/host-memory.ts";
import { memoryInfo, ofHost, parseNvidia } from "../../../src/gpu/memory-info.ts";

const GIB = 2 ** 30;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "corral-test-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** The kernel's files as given; `proc` and `cgroup` are folders below the temporary one. */
function kernel(files: Record<string, string>) {
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return { proc: join(folder, "proc"), cgroup: join(folder, "cgroup") };
}

const MEMINFO = `MemTotal: ${32 * 2 ** 20} kB\nMemFree: 1 kB\nMemAvailable:   ${16 * 2 ** 20} kB\n`;

describe("the memory of the host", () => {
  test("available memory, where nothing else binds", () => {
    const bounds = hostMemory(kernel({ "proc/meminfo": MEMINFO, "proc/self/cgroup": "0::/\n" }));
    expect(bounds).toEqual([{ bytes: 16 * GIB, source: "available memory" }]);
  });

  test("a control group of version 2 binds, less what it uses without its page cache, and so does its parent", () => {
    const files = kernel({
      "proc/meminfo": MEMINFO,
      "proc/self/cgroup": "0::/user/job\n",
      "cgroup/user/job/memory.max": "max\n",
      "cgroup/user/memory.max": String(8 * GIB),
      "cgroup/user/memory.current": String(3 * GIB),
      "cgroup/user/memory.stat": `anon 5\ninactive_file ${GIB}\n`,
    });
    expect(hostMemory(files)[0]).toEqual({ bytes: 6 * GIB, source: "control group limit /user" });
  });

  test("a control group of version 1 too; its way to say 'no limit' is none", () => {
    const files = kernel({
      "proc/meminfo": MEMINFO,
      "proc/self/cgroup": "4:cpu,memory:/job\n3:cpuset:/\n0::/\n",
      "cgroup/memory/job/memory.limit_in_bytes": String(4 * GIB),
      "cgroup/memory/job/memory.usage_in_bytes": String(GIB),
      "cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    });
    expect(hostMemory(files).map(({ bytes }) => bytes)).toEqual([3 * GIB, 16 * GIB]);
  });

  test("a container's own root counts where the path of its group is not visible", () => {
    const files = kernel({
      "proc/meminfo": MEMINFO,
      "proc/self/cgroup": "0::/docker/1234\n",
      "cgroup/memory.max": String(2 * GIB),
      "cgroup/memory.current": "0",
    });
    expect(hostMemory(files)[0].bytes).toBe(2 * GIB);
  });

  test("limits of the process, less what it has mapped", () => {
    const files = kernel({
      "proc/meminfo": MEMINFO,
      "proc/self/limits": `Limit  Soft Limit  Hard Limit  Units\nMax data size  unlimited  unlimited  bytes\nMax address space    ${12 * GIB}   unlimited   bytes\n`,
      "proc/self/status": `VmSize:\t ${11 * 2 ** 20} kB\n`,
    });
    expect(hostMemory(files)[0]).toEqual({ bytes: GIB, source: "address space limit (ulimit -v)" });
  });

  test("what is used up leaves nothing, not less", () => {
    const files = kernel({
      "proc/meminfo": MEMINFO,
      "proc/self/cgroup": "0::/\n",
      "cgroup/memory.max": String(GIB),
      "cgroup/memory.current": String(2 * GIB),
    });
    expect(hostMemory(files)[0].bytes).toBe(0);
  });

  test("a system without these files has its free memory", () => {
    const bounds = hostMemory(kernel({}));
    expect(bounds).toHaveLength(1);
    expect(bounds[0].bytes).toBeGreaterThan(0);
  });
});

describe("the default budget", () => {
  const software: AdapterInfo = {
    vendor: "google",
    architecture: "swiftshader",
    device: "swiftshader-device-subzero-",
    description: "SwiftShader driver 5.0.0",
    driver: "SwiftShader driver 5.0.0",
    kind: "software",
    source: "embedded",
    subgroupMinSize: 4,
    subgroupMaxSize: 4,
  };

  test("on a software driver it is a share of the host's, and says of what", async () => {
    const info = await memoryInfo(software);
    expect(info.bytes).toBeGreaterThan(0);
    expect(info.bytes).toBeLessThan(info.available ?? 0);
    expect(info.source).toMatch(/^40 % of /);
    expect(Number.isInteger(ofHost().bytes)).toBe(true);
  });

  test("on a GPU that tells nothing it is a constant that says so", async () => {
    const info = await memoryInfo({
      ...software,
      kind: "gpu",
      source: "system",
      vendor: "intel",
      description: "Intel UHD",
    });
    if (process.platform === "darwin") return;
    expect(info.bytes).toBeLessThanOrEqual(GIB);
    expect(info.source).toContain("pass a budget");
  });

  test("nvidia-smi's rows are read; cards without memory of their own are left out", () => {
    expect(parseNvidia("NVIDIA H200, 142000\nNVIDIA GB10, [N/A]\n")).toEqual([
      { name: "NVIDIA H200", bytes: 142000 * 2 ** 20 },
    ]);
    expect(parseNvidia("")).toEqual([]);
  });
});
