// what a process holds on the host: no device if none is asked for, and nothing once all is closed
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import { builtProgram } from "../support/built.ts";
import type { HostSide } from "../support/host-side.ts";
import { softwareAdapters } from "../support/software-adapters.ts";

const adapters = await softwareAdapters();
const run = promisify(execFile);
const program = fileURLToPath(new URL("../support/host-side.ts", import.meta.url));

// threads and files are looked up in /proc
describe.runIf(process.platform === "linux").each(adapters)("a process with the %s adapter", (adapter) => {
  let host: HostSide;
  beforeAll(async () => {
    const { stdout } = await run(process.execPath, ["--expose-gc", await builtProgram(program), adapter]);
    host = JSON.parse(stdout.trim().split("\n").at(-1)!) as HostSide;
  });

  test("loads no driver for 64 collectors on the CPU and 64 plans, and takes no thread or file for them", () => {
    const { start, working, collected, rows } = host;
    expect(rows).toBe(64 * 5 * 4);
    expect(start.libraries).toEqual([]);
    expect(working).toEqual(start);
    expect(collected).toEqual(start);
  });

  test("gives threads, files and handles of a device back when it is closed", () => {
    const [first, ...others] = host.devices;
    expect(first.libraries).toContain("dawn.node");
    for (const other of others) {
      expect(other.threads).toBeLessThanOrEqual(first.threads);
      expect(other.files).toBeLessThanOrEqual(first.files);
      expect(other.handles).toBe(host.start.handles);
    }
  });
});
