// what this process may still take of the machine's memory: free memory, control group and process limits
import { readFileSync } from "node:fs";
import { freemem } from "node:os";
import { dirname, join } from "node:path";

/** One bound on the memory of this process, in bytes still to be had. */
export interface MemoryBound {
  readonly bytes: number;
  readonly source: string;
}

/** Where the kernel's files lie; tests give another folder. */
export interface KernelFiles {
  readonly proc?: string;
  readonly cgroup?: string;
}

/** Every bound that is known, the tightest first. Never empty. */
export function hostMemory({ proc = "/proc", cgroup = "/sys/fs/cgroup" }: KernelFiles = {}): MemoryBound[] {
  const bounds = [freeMemory(proc), ...groupLimits(proc, cgroup), ...processLimits(proc)];
  return bounds.sort((a, b) => a.bytes - b.bytes);
}

function freeMemory(proc: string): MemoryBound {
  const available = kibibytes(read(join(proc, "meminfo")), "MemAvailable");
  if (available !== undefined) return { bytes: available, source: "available memory" };
  return { bytes: freemem(), source: "free memory" };
}

/** Limits of the control groups (version 1 or 2) that hold the process, less what they use without the page cache. */
function groupLimits(proc: string, root: string): MemoryBound[] {
  const bounds: MemoryBound[] = [];
  for (const line of read(join(proc, "self", "cgroup")).split("\n")) {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === undefined) continue;
    const names = controllers.split(",");
    if (controllers === "") bounds.push(...along(root, path, "memory.max", "memory.current", "inactive_file"));
    else if (names.includes("memory")) {
      const mount = join(root, "memory");
      bounds.push(...along(mount, path, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"));
    }
  }
  return bounds;
}

// a parent's limit binds too; inside a container the path may not exist, its root does
function along(mount: string, path: string, limitName: string, usageName: string, cacheName: string): MemoryBound[] {
  const bounds: MemoryBound[] = [];
  for (let at = path; ; at = dirname(at)) {
    const folder = join(mount, at);
    const limit = Number.parseInt(read(join(folder, limitName)), 10);
    const usage = Number.parseInt(read(join(folder, usageName)), 10);

    // "max", or version 1's way to say it
    if (Number.isFinite(limit) && limit < 2 ** 60) {
      const stat = read(join(folder, "memory.stat"));
      const cache = Number(new RegExp(`^${cacheName} (\\d+)`, "m").exec(stat)?.[1] ?? 0);
      const used = Math.max(0, (Number.isFinite(usage) ? usage : 0) - cache);
      bounds.push({ bytes: Math.max(0, limit - used), source: `control group limit ${at}` });
    }
    if (at === dirname(at)) return bounds;
  }
}

/** RLIMIT_AS and RLIMIT_DATA, less what the process has mapped. */
function processLimits(proc: string): MemoryBound[] {
  const limits = read(join(proc, "self", "limits"));
  const status = read(join(proc, "self", "status"));
  const bounds: MemoryBound[] = [];
  const add = (row: string, used: string, source: string) => {
    const limit = Number.parseInt(new RegExp(`^${row}\\s+(\\S+)`, "m").exec(limits)?.[1] ?? "", 10);
    if (!Number.isFinite(limit)) return;
    bounds.push({ bytes: Math.max(0, limit - (kibibytes(status, used) ?? 0)), source });
  };
  add("Max address space", "VmSize", "address space limit (ulimit -v)");
  add("Max data size", "VmData", "data size limit (ulimit -d)");
  return bounds;
}

function kibibytes(text: string, name: string): number | undefined {
  const digits = new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(text)?.[1];
  return digits === undefined ? undefined : 1024 * Number(digits);
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
