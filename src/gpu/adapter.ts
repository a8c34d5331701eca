/** Chooses an adapter: a real GPU, else the system's software driver, else the embedded one. */

import { AdapterUnavailableError, CorralError } from "../core/errors.ts";
import { dawnInstance } from "./dawn.ts";
import { embeddedDriver, embeddedUnsupported } from "./embedded.ts";
import { probeSystem } from "./probe.ts";
import { driverManifests, missingSystemLoader, pinLibrary, withDriver } from "./loader.ts";

/** `auto` tries `gpu`, `system`, `embedded` in this order; `system` is the system's software driver; `null` only compiles. */
export type AdapterChoice = "auto" | "gpu" | "system" | "embedded" | "null";

export type AdapterSource = "system" | "embedded" | "null";

/** An adapter and the way to it. */
export interface OpenAdapter {
  readonly adapter: GPUAdapter;
  readonly source: AdapterSource;
  /** What was tried before and did not work. */
  readonly refusals: readonly Refusal[];
}

type Found = Omit<OpenAdapter, "refusals">;

/** One way to an adapter that did not work, and why. */
export interface Refusal {
  readonly choice: AdapterChoice;
  readonly reason: string;
}

/** What software drivers call themselves. */
const SOFTWARE_NAMES = ["llvmpipe", "SwiftShader", "Microsoft Basic Render"];

const NONE_ACCEPTED = "Dawn accepts none of the installed drivers";

const CHOICES: readonly AdapterChoice[] = ["auto", "gpu", "system", "embedded", "null"];
/** Those that compute. */
const OFFERED = CHOICES.filter((choice) => choice !== "null");

/** The choice to use: the option, else `CORRAL_ADAPTER`, else `auto`. Throws `adapter-unknown`. */
export function adapterChoice(option?: string): AdapterChoice {
  const given = option ?? (process.env.CORRAL_ADAPTER || "auto");
  const name = given === "swiftshader" ? "embedded" : given;
  if ((CHOICES as readonly string[]).includes(name)) return name as AdapterChoice;
  const where = option === undefined ? "CORRAL_ADAPTER" : "adapter";
  throw new CorralError("adapter-unknown", `${where} is '${given}'. Use one of ${OFFERED.join(", ")}.`);
}

/** Opens an adapter. Throws `AdapterUnavailableError` (`adapter-unavailable`) with every reason and a remedy. */
export async function openAdapter(option?: string): Promise<OpenAdapter> {
  const choice = adapterChoice(option);
  const refusals: Refusal[] = [];
  const opened = await tryAdapters(choice, refusals);
  if (opened) return { ...opened, refusals };

  const exact = await Promise.all(refusals.map(exactly));
  const reasons = exact.map(({ choice: tried, reason }) => `${tried}: ${reason}`).join("; ");
  throw new AdapterUnavailableError(
    "adapter-unavailable",
    `no WebGPU adapter for '${choice}' (${reasons}). ${remedy(choice)}`,
    { choice, refusals: exact },
  );
}

// Dawn says what a driver lacks on stderr alone, which only a child process shows: too slow to ask unless it is needed
async function exactly(refusal: Refusal): Promise<Refusal> {
  if (refusal.reason !== NONE_ACCEPTED) return refusal;
  const { complaints } = await probeSystem();
  return { ...refusal, reason: `${NONE_ACCEPTED} (${complaints.join("; ") || "it does not say why"})` };
}

async function tryAdapters(choice: AdapterChoice, refusals: Refusal[]): Promise<Found | undefined> {
  if (choice === "null") return openNull();
  if (choice !== "embedded") {
    const opened = await trySystem(choice, refusals);
    if (opened) return opened;
  }
  if (choice === "auto" || choice === "embedded") return tryEmbedded(refusals);
  return undefined;
}

async function openNull(): Promise<Found> {
  const instance = await dawnInstance("null", ["backend=null"]);
  const adapter = await instance.requestAdapter();
  if (!adapter) throw new AdapterUnavailableError("adapter-unavailable", "Dawn has no null backend. Reinstall webgpu.");
  return { adapter, source: "null" };
}

async function trySystem(choice: AdapterChoice, refusals: Refusal[]): Promise<Found | undefined> {
  const refuse = (reason: string) => void refusals.push({ choice: choice === "auto" ? "system" : choice, reason });
  const missing = missingVulkan();
  if (missing) {
    refuse(missing);
    return undefined;
  }

  const instance = await dawnInstance("system");
  const adapter = await instance.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) {
    refuse(NONE_ACCEPTED);
    return undefined;
  }
  const software = adapter.info.isFallbackAdapter;
  if (choice === "gpu" && software) {
    refuse(`only a software driver is installed (${adapter.info.description || adapter.info.device})`);
    return undefined;
  }
  if (choice === "system" && !software) {
    const opened = await trySoftwareByName();
    if (!opened) refuse("the system has a GPU but no software driver");
    return opened;
  }
  return { adapter, source: "system" };
}

/** Dawn prefers a GPU and offers others by name only. */
async function trySoftwareByName(): Promise<Found | undefined> {
  for (const name of SOFTWARE_NAMES) {
    const instance = await dawnInstance("system", [`adapter=${name}`]);
    const adapter = await instance.requestAdapter().catch(() => null);
    if (adapter) return { adapter, source: "system" };
  }
  return undefined;
}

/** Why the system cannot have a Vulkan adapter at all, or undefined. */
export function missingVulkan(): string | undefined {
  if (process.platform !== "linux") return undefined;
  const loader = missingSystemLoader();
  if (loader) return `no Vulkan loader (${loader})`;
  if (driverManifests().length === 0) return "the Vulkan loader is installed, but no driver is";
  return undefined;
}

async function tryEmbedded(refusals: Refusal[]): Promise<Found | undefined> {
  const refuse = (reason: string) => void refusals.push({ choice: "embedded", reason });
  try {
    const driver = embeddedDriver();
    if (missingSystemLoader()) {
      const failure = pinLibrary(driver.loader);
      if (failure) throw new AdapterUnavailableError("embedded-not-loadable", failure);
    }

    // the loader reads its variables when the adapters are listed, which happens inside this call
    const instance = await dawnInstance("embedded");
    const adapter = await withDriver(driver.manifest, () => instance.requestAdapter());
    if (adapter) return { adapter, source: "embedded" };
    refuse("Dawn does not accept the embedded driver; its warnings are on stderr");
  } catch (error) {
    if (!(error instanceof CorralError)) throw error;
    refuse(error.message.replace(/^\[[a-z-]+\] /, ""));
  }
  return undefined;
}

function remedy(choice: AdapterChoice): string {
  if (choice === "gpu")
    return "Install the GPU's Vulkan driver, or set CORRAL_ADAPTER=auto to allow a software driver.";
  if (choice === "system")
    return "Install a newer mesa-vulkan-drivers (Mesa 25.0 works), or set CORRAL_ADAPTER=embedded.";
  if (embeddedUnsupported()) return "Install a Vulkan driver, or use device: 'cpu'.";
  return "Run: corral doctor --install-software-adapter";
}
