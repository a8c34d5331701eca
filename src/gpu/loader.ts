// what Linux has of Vulkan: the loader library, the drivers' manifests, and how to pin another loader
import { existsSync, readdirSync } from "node:fs";
import { constants, homedir } from "node:os";
import { delimiter, join } from "node:path";

/** dlopen's RTLD_NODELETE: node closes what is not an addon, this keeps it mapped for Dawn's own dlopen. */
const RTLD_NODELETE = 0x1000;

/** Variables by which users point the loader at drivers themselves. */
const DRIVER_VARIABLES = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES"];

/**
 * Maps a shared library and keeps it. Returns undefined when that worked, else why not.
 * A later `dlopen` by its soname (`libvulkan.so.1`) finds it wherever it lies.
 */
export function pinLibrary(path: string): string | undefined {
  try {
    process.dlopen({ exports: {} }, path, constants.dlopen.RTLD_NOW | RTLD_NODELETE);
  } catch (error) {
    // it is no addon, and need not be
    if (/self-register/.test((error as Error).message)) return undefined;
    return (error as Error).message;
  }
  return undefined;
}

let systemLoader: { missing: string | undefined } | undefined;

/** Why the system has no Vulkan loader, or undefined when it has one. */
export function missingSystemLoader(): string | undefined {
  systemLoader ??= { missing: pinLibrary("libvulkan.so.1") };
  return systemLoader.missing;
}

/** Why the system cannot have a Vulkan adapter at all, or undefined. */
export function missingVulkan(): string | undefined {
  if (process.platform !== "linux") return undefined;
  const loader = missingSystemLoader();
  if (loader) return `no Vulkan loader (${loader})`;
  if (!driverManifests().some((manifest) => existsSync(manifest)))
    return "the Vulkan loader is installed, but no driver is";
  return undefined;
}

/** Manifests (`*.json`) of the installed Vulkan drivers, from the folders that the loader searches. */
export function driverManifests(): string[] {
  const given = DRIVER_VARIABLES.flatMap((name) => (process.env[name] ?? "").split(delimiter)).filter(Boolean);
  if (process.env.VK_DRIVER_FILES || process.env.VK_ICD_FILENAMES) return given;

  const home = homedir();
  const roots = [
    process.env.XDG_CONFIG_HOME ?? join(home, ".config"),
    ...(process.env.XDG_CONFIG_DIRS ?? "/etc/xdg").split(delimiter),
    "/usr/local/etc",
    "/etc",
    process.env.XDG_DATA_HOME ?? join(home, ".local", "share"),
    ...(process.env.XDG_DATA_DIRS ?? "/usr/local/share:/usr/share").split(delimiter),
  ];
  const found = new Set(given);
  for (const root of roots) {
    const folder = join(root, "vulkan", "icd.d");
    for (const name of listed(folder)) if (name.endsWith(".json")) found.add(join(folder, name));
  }
  return [...found];
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Runs `call` (synchronously) while the loader sees only the given driver; the variables are put back after it. */
export function withDriver<T>(manifest: string, call: () => T): T {
  const before = DRIVER_VARIABLES.map((name) => process.env[name]);
  for (const name of DRIVER_VARIABLES) delete process.env[name];
  process.env.VK_ICD_FILENAMES = manifest;
  try {
    return call();
  } finally {
    DRIVER_VARIABLES.forEach((name, i) => {
      if (before[i] === undefined) delete process.env[name];
      else process.env[name] = before[i];
    });
  }
}
