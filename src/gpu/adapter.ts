// chooses an adapter: by name or index, or the first of a real GPU, the system's software driver, the embedded one
import { AdapterUnavailableError, CorralError } from "../core/errors.ts";
import { dawnInstance, requestAdapter } from "./dawn.ts";
import { cachedEmbeddedDriver, embeddedDriver, embeddedUnsupported, packagedArchive } from "./embedded.ts";
import { probeSystem } from "./probe.ts";
import { missingSystemLoader, missingVulkan, pinLibrary, withDriver } from "./loader.ts";

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

/** What is asked for: a way to an adapter, or an adapter by its index or a part of its name. */
export function adapterChoice(option?: string | number): string {
  const given = String(option ?? (process.env.CORRAL_ADAPTER || "auto")).trim();
  return given === "swiftshader" ? "embedded" : given;
}

const isWay = (choice: string): choice is AdapterChoice => (CHOICES as readonly string[]).includes(choice);

/**
 * Opens the adapter that is asked for by the option, else by `CORRAL_ADAPTER`, else `auto`.
 * @throws AdapterUnavailableError adapter-unavailable, with every reason and a remedy
 * @throws CorralError adapter-unknown, with the list of adapters
 */
export async function openAdapter(option?: string | number): Promise<OpenAdapter> {
  const choice = adapterChoice(option);
  if (!isWay(choice)) return openNamed(choice, option === undefined ? "CORRAL_ADAPTER" : "adapter");
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

/** An adapter that can be asked for by its index or by a part of its name. */
export interface ListedAdapter {
  readonly index: number;
  readonly name: string;
  readonly source: Exclude<AdapterSource, "null">;
}

// Dawn lists what there is when asked for what there is not
const NO_ADAPTER = "adapter=no adapter is called this";

/** The names in the error of an instance that was asked for an adapter that is not there. */
const namesIn = (error: unknown): string[] => [...String(error).matchAll(/name: '(.*)'/g)].map(([, name]) => name);

async function systemAdapters(): Promise<string[]> {
  if (missingVulkan() !== undefined) return [];
  const instance = await dawnInstance("system", [NO_ADAPTER]);
  return namesIn(await requestAdapter(instance).catch((error: unknown) => error));
}

/** Every adapter of this machine: the system's (`names`, if they are known already) in its order, then the embedded one. */
export async function listAdapters(names?: readonly string[]): Promise<ListedAdapter[]> {
  const system = names ?? (await systemAdapters());
  const list: ListedAdapter[] = system.map((name, index) => ({ index, name, source: "system" }));
  const embedded = embeddedUnsupported() === undefined && (cachedEmbeddedDriver() ?? packagedArchive()) !== undefined;
  if (embedded) list.push({ index: list.length, name: "SwiftShader (embedded)", source: "embedded" });
  return list;
}

async function openNamed(choice: string, where: string): Promise<OpenAdapter> {
  const list = await listAdapters();
  const adapter = chooseAdapter(list, choice, where);
  const refusals: Refusal[] = [];
  const found = adapter.source === "embedded" ? await tryEmbedded(refusals) : await tryNamed(adapter.name);
  if (found) return { ...found, refusals };
  throw new AdapterUnavailableError(
    "adapter-unavailable",
    `adapter ${adapter.index}, ${adapter.name}, does not open (${refusals[0]?.reason ?? NONE_ACCEPTED}). ` +
      `Pass another: ${inWords(list)}.`,
    { choice, refusals },
  );
}

const inWords = (list: readonly ListedAdapter[]): string =>
  list.map(({ index, name }) => `${index} ${name}`).join(", ") || "none";

/** The one adapter of a list that an index or a part of a name (upper or lower case) means. Throws `adapter-unknown`. */
export function chooseAdapter(list: readonly ListedAdapter[], choice: string, where = "adapter"): ListedAdapter {
  const refuse = (text: string) =>
    new CorralError("adapter-unknown", `${where} is '${choice}': ${text}`, { choice, adapters: list });
  const wanted = choice.toLowerCase();
  const meant = /^\d+$/.test(choice)
    ? list.filter(({ index }) => index === Number(choice))
    : list.filter(({ name }) => wanted !== "" && name.toLowerCase().includes(wanted));
  if (meant.length === 0) {
    throw refuse(
      `no adapter has that ${/^\d+$/.test(choice) ? "index" : "name"}. Adapters: ${inWords(list)}. ` +
        `Use an index, a part of a name, or one of ${OFFERED.join(", ")}.`,
    );
  }
  const [adapter] = meant;
  if (meant.some(({ name }) => name !== adapter.name))
    throw refuse(`several adapters have it in their names: ${inWords(meant)}. Use an index, or more of the name.`);

  // a name is all that Dawn chooses by
  const first = list.find(({ name }) => name === adapter.name)!;
  if (first.index === adapter.index) return adapter;
  throw refuse(
    `adapter ${first.index} has the same name, ${adapter.name}, and is always opened in its place. Hide that one from ` +
      `this process, as VK_DRIVER_FILES, VK_LOADER_DEVICE_ID_FILTER or a container's NVIDIA_VISIBLE_DEVICES do.`,
  );
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
  const adapter = await requestAdapter(instance);
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
  const adapter = await requestAdapter(instance, { powerPreference: "high-performance" });
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

let fast: Promise<boolean> | undefined;

/** Whether the system has a GPU, or a software driver that is faster than WebAssembly's vectors: not SwiftShader. Looked for once. */
export function hasFastAdapter(): Promise<boolean> {
  fast ??= trySystem("auto", []).then(
    (found) =>
      found !== undefined && !/SwiftShader/i.test(`${found.adapter.info.description} ${found.adapter.info.device}`),
    () => false,
  );
  return fast;
}

/** Whether a driver of this name computes on the CPU. */
export const isSoftware = (name: string): boolean => SOFTWARE_NAMES.some((part) => name.includes(part));

/** Dawn prefers a GPU and offers others by name only. */
async function trySoftwareByName(): Promise<Found | undefined> {
  for (const name of SOFTWARE_NAMES) {
    const found = await tryNamed(name);
    if (found) return found;
  }
  return undefined;
}

async function tryNamed(name: string): Promise<Found | undefined> {
  const instance = await dawnInstance("system", [`adapter=${name}`]);
  const adapter = await requestAdapter(instance).catch(() => null);
  return adapter ? { adapter, source: "system" } : undefined;
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
    const adapter = await withDriver(driver.manifest, () => requestAdapter(instance));
    if (adapter) return { adapter, source: "embedded" };
    refuse("Dawn does not accept the embedded driver; CORRAL_DEBUG=1 shows what it says");
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
  if (embeddedUnsupported()) return "Install a Vulkan driver, or use device: 'wasm'.";
  return "Run: corral doctor --install-software-adapter";
}
