// what this machine offers: every way to an adapter and why it works or not, the device corral uses, and advice
import { cpus, totalmem } from "node:os";
import { basename } from "node:path";
import { CorralError } from "../core/errors.ts";
import { adapterChoice, type ListedAdapter, listAdapters } from "./adapter.ts";
import { type AdapterInfo, type GpuDevice, openDevice } from "./device.ts";
import { cachedEmbeddedDriver, embeddedUnsupported, packagedArchive } from "./embedded.ts";
import type { Limits } from "./limits.ts";
import { missingVulkan } from "./loader.ts";
import { type MemoryInfo, memoryInfo } from "./memory-info.ts";
import { installedDrivers, probeSystem, type SystemProbe } from "./probe.ts";

/** One way to an adapter. */
export interface Way {
  readonly way: "system" | "embedded";
  readonly state: "ready" | "absent" | "refused";
  readonly detail: string;
}

/** An installed Vulkan driver. */
export interface NamedDriver {
  readonly name: string;
  readonly mesa: string | undefined;
}

/** The answer of `corral doctor`; sizes in bytes. */
export interface Diagnosis {
  readonly node: string;
  readonly platform: string;
  readonly cores: number;
  readonly memory: number;
  readonly choice: string;
  readonly ways: readonly Way[];
  readonly drivers: readonly NamedDriver[];
  /** What `adapter` and `CORRAL_ADAPTER` choose from, by index or a part of the name. */
  readonly adapters: readonly ListedAdapter[];
  /** The adapter that was opened, absent when none could be. */
  readonly used?: AdapterInfo;
  readonly limits?: Limits;
  readonly features: readonly string[];
  readonly budget?: MemoryInfo;
  readonly error?: string;
  readonly advice: readonly string[];
}

/** Looks at the machine and opens a device as everybody does. Throws `adapter-unknown` only. */
export async function diagnose(option?: string): Promise<Diagnosis> {
  const choice = adapterChoice(option);
  const missing = missingVulkan();
  const probe: SystemProbe = missing ? { adapters: [], complaints: [missing] } : await probeSystem();
  const drivers = installedDrivers().map(({ manifest, mesa }) => ({ name: driverName(manifest), mesa }));
  const ways = [systemWay(probe, missing !== undefined), embeddedWay()];
  const common = {
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
    cores: cpus().length,
    memory: totalmem(),
    choice,
    ways,
    drivers,
    adapters: await listAdapters(probe.adapters),
  };

  let gpu: GpuDevice;
  try {
    // CORRAL_ADAPTER is named by the error where it chose
    gpu = await openDevice(option === undefined ? {} : { adapter: choice });
  } catch (error) {
    if (!(error instanceof CorralError) || error.code === "adapter-unknown") throw error;
    return { ...common, features: [], error: error.message, advice: advice(ways, drivers, probe) };
  }
  try {
    return {
      ...common,
      used: gpu.info,
      limits: gpu.limits,
      features: [...gpu.features],
      budget: await memoryInfo(gpu.info),
      advice: advice(ways, drivers, probe, gpu.info),
    };
  } finally {
    gpu.close();
  }
}

// lvp_icd.x86_64.json is the driver lvp
function driverName(manifest: string): string {
  return basename(manifest, ".json").replace(/(_vk)?_icd.*$/, "");
}

function systemWay(probe: SystemProbe, absent: boolean): Way {
  if (probe.adapters.length > 0) return { way: "system", state: "ready", detail: probe.adapters.join(", ") };
  const detail = probe.complaints.join("; ") || "Dawn finds no adapter and does not say why";
  return { way: "system", state: absent ? "absent" : "refused", detail };
}

function embeddedWay(): Way {
  const unsupported = embeddedUnsupported();
  if (unsupported) return { way: "embedded", state: "absent", detail: unsupported };
  if (cachedEmbeddedDriver()) return { way: "embedded", state: "ready", detail: "SwiftShader, unpacked in the cache" };
  if (packagedArchive()) return { way: "embedded", state: "ready", detail: "SwiftShader, unpacked at first use" };
  return { way: "embedded", state: "absent", detail: "not installed: corral doctor --install-software-adapter" };
}

function advice(
  ways: readonly Way[],
  drivers: readonly NamedDriver[],
  probe: SystemProbe,
  used?: AdapterInfo,
): string[] {
  if (used?.kind === "gpu") return [];
  const lines: string[] = [];
  const [system, embedded] = ways;
  const lavapipe = drivers.find(({ name }) => name === "lvp");
  if (process.platform === "linux") {
    if (system.state === "refused" && lavapipe) {
      lines.push(
        `the system's software driver (lavapipe, Mesa ${lavapipe.mesa ?? "of unknown version"}) lacks what Dawn requires ` +
          `(${probe.complaints.join("; ")}): install a newer mesa-vulkan-drivers, Mesa 25.0 works ` +
          `(on Debian 12 it is in the backports suite: apt-get install -t bookworm-backports mesa-vulkan-drivers)`,
      );
    } else if (system.state !== "ready") {
      lines.push("the fastest software driver is lavapipe: install mesa-vulkan-drivers, Mesa 25.0 or newer, as root");
    }
    if (system.state !== "ready" && embedded.state === "absent" && !embeddedUnsupported()) {
      lines.push("without root: corral doctor --install-software-adapter");
    }
  }
  lines.push(
    "a GPU is much faster than any software driver: install its Vulkan driver (nvidia-driver, Mesa) if there is one",
  );
  if (used?.source === "embedded" && system.state === "ready") {
    lines.push("CORRAL_ADAPTER=auto would use the system's driver, which is faster than the embedded one");
  }
  return lines;
}
