// the default budget of a device: what can be known of its memory, and where that came from
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { totalmem } from "node:os";
import { join } from "node:path";
import type { AdapterInfo } from "./device.ts";
import { hostMemory } from "./host-memory.ts";

/** Memory that a device may be given, in bytes, and how that was found. */
export interface MemoryInfo {
  /** The default budget, headroom taken off. */
  readonly bytes: number;
  /** What the share was taken of, when it is known. */
  readonly available: number | undefined;
  /** One phrase: `40 % of available memory (…)`. */
  readonly source: string;
}

/**
 * Of the host's memory on a software driver, which dies where it ends: results and actions of all worlds are there a
 * second time for the host (measured: 0.75 bytes for each byte of a batch), and the rest is for Node and the driver.
 */
const SHARE_OF_HOST = 0.4;

/** Of memory that a GPU shares with the host. */
const SHARE_OF_UNIFIED = 0.6;

/** Of a GPU's free memory: the driver and the screen need the rest. */
const SHARE_OF_GPU = 0.8;

/** Without any knowledge: what every GPU of the last ten years has. */
const UNKNOWN_GPU_BYTES = 1024 ** 3;

const QUERY_TIMEOUT_MS = 3_000;

/** The default budget for the adapter. Never throws; the answer is a whole number of bytes. */
export async function memoryInfo(info: AdapterInfo): Promise<MemoryInfo> {
  if (info.kind === "software") return ofHost();
  return (await nvidia(info)) ?? amd(info) ?? apple() ?? unknown();
}

/** The budget on a device that computes in the machine's own memory. */
export function ofHost(): MemoryInfo {
  const [tightest] = hostMemory();
  return share(SHARE_OF_HOST, tightest.bytes, tightest.source);
}

function share(part: number, available: number, source: string): MemoryInfo {
  return { bytes: Math.floor(part * available), available, source: `${Math.round(100 * part)} % of ${source}` };
}

async function nvidia(info: AdapterInfo): Promise<MemoryInfo | undefined> {
  if (!/nvidia/i.test(`${info.vendor} ${info.description}`)) return undefined;
  const query = ["--query-gpu=name,memory.free", "--format=csv,noheader,nounits"];
  const rows = parseNvidia(await output("nvidia-smi", query));
  if (rows.length === 0) return undefined;

  // which of several cards Dawn opened is known by name at best: the fullest one of that name is safe
  const same = rows.filter(({ name }) => matches(name, info));
  const free = Math.min(...(same.length > 0 ? same : rows).map(({ bytes }) => bytes));
  return share(SHARE_OF_GPU, free, "free video memory (nvidia-smi)");
}

/** Rows of `name, MiB free`; rows without a number (unified memory) are left out. */
export function parseNvidia(text: string): { name: string; bytes: number }[] {
  return text
    .split("\n")
    .map((line) => /^(.+), *(\d+)\s*$/.exec(line))
    .filter((row) => row !== null)
    .map(([, name, mebibytes]) => ({ name: name.trim(), bytes: Number(mebibytes) * 1024 ** 2 }));
}

function matches(name: string, info: AdapterInfo): boolean {
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]+/g, "");
  const wanted = plain(name.replace(/nvidia/i, ""));
  return plain(info.device).includes(wanted) || plain(info.description).includes(wanted);
}

function amd(info: AdapterInfo): MemoryInfo | undefined {
  if (process.platform !== "linux" || !/amd|ati|radeon/i.test(`${info.vendor} ${info.description}`)) return undefined;
  const root = "/sys/class/drm";
  const free: number[] = [];
  for (const card of listed(root)) {
    const number = (name: string) => Number.parseInt(text(join(root, card, "device", name)), 10);
    const bytes = number("mem_info_vram_total") - number("mem_info_vram_used");
    if (/^card\d+$/.test(card) && Number.isFinite(bytes)) free.push(bytes);
  }
  return free.length === 0 ? undefined : share(SHARE_OF_GPU, Math.min(...free), "free video memory (amdgpu)");
}

function apple(): MemoryInfo | undefined {
  if (process.platform !== "darwin") return undefined;
  return share(SHARE_OF_UNIFIED, totalmem(), "unified memory");
}

function unknown(): MemoryInfo {
  const [host] = hostMemory();
  const bytes = Math.min(UNKNOWN_GPU_BYTES, Math.floor(SHARE_OF_HOST * host.bytes));
  return { bytes, available: undefined, source: "a constant, since nothing tells this GPU's memory (pass a budget)" };
}

function output(command: string, args: string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(command, args, { timeout: QUERY_TIMEOUT_MS }, (error, stdout) => resolve(error ? "" : stdout));
  });
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function text(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
