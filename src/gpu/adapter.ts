/** Chooses an adapter: a real GPU, else the system's software driver, else the embedded one. */

import { AdapterUnavailableError, CorralError } from "../core/errors.ts";
import { type Instance, loadDawn } from "./dawn.ts";
import { embeddedDriver, embeddedUnsupported } from "./embedded.ts";
import { driverManifests, missingSystemLoader, pinLibrary, withDriver } from "./loader.ts";

/** `auto` tries `gpu`, `system`, `embedded` in this order; `system` is the system's software driver; `null` only compiles. */
export type AdapterChoice = "auto" | "gpu" | "system" | "embedded" | "null";

export type AdapterSource = "system" | "embedded" | "null";

/** An adapter with the instance that must outlive everything made from it. */
export interface OpenAdapter {
  readonly instance: Instance;
  readonly adapter: GPUAdapter;
  readonly source: AdapterSource;
}

/** One way to an adapter that did not work, and why. */
export interface Refusal {
  readonly choice: AdapterChoice;
  readonly reason: string;
}

/** What software drivers call themselves. */
const SOFTWARE_NAMES = ["llvmpipe", "SwiftShader", "Microsoft Basic Render"];

const CHOICES: readonly AdapterChoice[] = ["auto", "gpu", "system", "embedded", "null"];

/** The choice to use: the option, else `CORRAL_ADAPTER`, else `auto`. Throws `adapter-unknown`. */
export function adapterChoice(option?: string): AdapterChoice {
  const given = option ?? (process.env.CORRAL_ADAPTER || "auto");
  const name = given === "swiftshader" ? "embedded" : given;
  if ((CHOICES as readonly string[]).includes(name)) return name as AdapterChoice;
  const where = option === undefined ? "CORRAL_ADAPTER" : "adapter";
  throw new CorralError("adapter-unknown", `${where} is '${given}'. Use one of ${CHOICES.join(", ")}.`);
}

/** Opens an adapter. Throws `AdapterUnavailableError` (`adapter-unavailable`) with every reason and a remedy. */
export async function openAdapter(option?: string): Promise<OpenAdapter> {
  const choice = adapterChoice(option);
  const refusals: Refusal[] = [];
  const opened = await tryAdapters(choice, refusals);
  if (opened) return opened;

  const reasons = refusals.map(({ choice: tried, reason }) => `${tried}: ${reason}`).join("; ");
  throw new AdapterUnavailableError(
    "adapter-unavailable",
    `no WebGPU adapter for '${choice}' (${reasons}). ${remedy(choice)}`,
    { choice, refusals },
  );
}

async function tryAdapters(choice: AdapterChoice, refusals: Refusal[]): Promise<OpenAdapter | undefined> {
  if (choice === "null") return openNull();
  if (choice !== "embedded") {
    const opened = await trySystem(choice, refusals);
    if (opened) return opened;
  }
  if (choice === "auto" || choice === "embedded") return tryEmbedded(refusals);
  return undefined;
}

async function openNull(): Promise<OpenAdapter> {
  const create = await loadDawn();
  const instance = create(["backend=null"]);
  const adapter = await instance.requestAdapter();
  if (!adapter) throw new AdapterUnavailableError("adapter-unavailable", "Dawn has no null backend. Reinstall webgpu.");
  return { instance, adapter, source: "null" };
}

async function trySystem(choice: AdapterChoice, refusals: Refusal[]): Promise<OpenAdapter | undefined> {
  const refuse = (reason: string) => void refusals.push({ choice: choice === "auto" ? "system" : choice, reason });
  const missing = process.platform === "linux" ? missingVulkan() : undefined;
  if (missing) {
    refuse(missing);
    return undefined;
  }

  const create = await loadDawn();
  const instance = create();
  const adapter = await instance.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) {
    refuse("Dawn accepts none of the installed drivers; its warnings on stderr name what each lacks");
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
  return { instance, adapter, source: "system" };
}

/** Dawn prefers a GPU and offers others by name only. */
async function trySoftwareByName(): Promise<OpenAdapter | undefined> {
  const create = await loadDawn();
  for (const name of SOFTWARE_NAMES) {
    const instance = create([`adapter=${name}`]);
    const adapter = await instance.requestAdapter().catch(() => null);
    if (adapter) return { instance, adapter, source: "system" };
  }
  return undefined;
}

/** Names of every adapter that Dawn accepts from the system, best first. */
export async function systemAdapters(): Promise<string[]> {
  if (process.platform === "linux" && missingVulkan()) return [];
  const create = await loadDawn();

  // Dawn lists what there is when asked for what there is not
  const answer = await create(["adapter=no adapter is called this"]).requestAdapter().catch(String);
  return [...String(answer).matchAll(/name: '(.*)'/g)].map(([, name]) => name);
}

function missingVulkan(): string | undefined {
  const loader = missingSystemLoader();
  if (loader) return `no Vulkan loader (${loader})`;
  if (driverManifests().length === 0) return "the Vulkan loader is installed, but no driver is";
  return undefined;
}

async function tryEmbedded(refusals: Refusal[]): Promise<OpenAdapter | undefined> {
  const refuse = (reason: string) => void refusals.push({ choice: "embedded", reason });
  const create = await loadDawn();
  try {
    const driver = embeddedDriver();
    if (missingSystemLoader()) {
      const failure = pinLibrary(driver.loader);
      if (failure) throw new AdapterUnavailableError("embedded-not-loadable", failure);
    }

    // the loader reads its variables when the adapters are listed, which happens inside this call
    const instance = create();
    const adapter = await withDriver(driver.manifest, () => instance.requestAdapter());
    if (adapter) return { instance, adapter, source: "embedded" };
    refuse("Dawn does not accept the embedded driver; its warnings are on stderr");
  } catch (error) {
    if (!(error instanceof CorralError)) throw error;
    refuse(error.message);
  }
  return undefined;
}

function remedy(choice: AdapterChoice): string {
  if (choice === "gpu") return "Install the GPU's Vulkan driver, or set CORRAL_ADAPTER=auto to allow a software driver.";
  if (choice === "system") return "Install mesa-vulkan-drivers (Mesa 23.1 or newer), or set CORRAL_ADAPTER=embedded.";
  if (embeddedUnsupported()) return "Install a Vulkan driver, or use device: 'cpu'.";
  return "Run: corral doctor --install-software-adapter";
}
