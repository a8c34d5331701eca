// installs the embedded software driver on demand: npm fetches its package, the driver is taken out, the rest thrown away
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { cacheDir } from "../core/cache-dir.ts";
import { AdapterUnavailableError, CorralError } from "../core/errors.ts";
import {
  cachedEmbeddedDriver,
  EMBEDDED_PACKAGE,
  EMBEDDED_VERSION,
  embeddedUnsupported,
  packagedArchive,
  unpackDriver,
} from "./embedded.ts";

/** Where the driver lies, and whether this call put it there. */
export interface InstalledEmbedded {
  readonly folder: string;
  readonly fresh: boolean;
}

/**
 * Makes sure that the embedded driver is in the cache. `tell` gets lines of progress.
 * Throws `embedded-unsupported`, `npm-failed`, `embedded-damaged` or `cache-not-writable`; the cache is then as before.
 */
export async function installEmbedded(tell: (line: string) => void = () => {}): Promise<InstalledEmbedded> {
  const unsupported = embeddedUnsupported();
  if (unsupported)
    throw new AdapterUnavailableError("embedded-unsupported", `${unsupported}. Install a Vulkan driver.`);
  const cached = cachedEmbeddedDriver();
  if (cached) return { folder: dirname(cached.loader), fresh: false };

  const present = packagedArchive();
  if (present) return { folder: dirname(unpackDriver(present).loader), fresh: true };

  const work = mkdtempSync(join(cacheDir(), "install-"));
  try {
    tell(`fetching ${EMBEDDED_PACKAGE}@${EMBEDDED_VERSION} with npm (about 70 MB, 7 MB are kept) ...`);
    const wanted = { private: true, dependencies: { [EMBEDDED_PACKAGE]: EMBEDDED_VERSION } };
    writeFileSync(join(work, "package.json"), JSON.stringify(wanted));
    await npmInstall(work);
    const archive = packagedArchive(join(work, "package.json"));
    if (!archive)
      throw new CorralError("npm-failed", `npm installed ${EMBEDDED_PACKAGE} without the driver's archive.`);
    return { folder: dirname(unpackDriver(archive).loader), fresh: true };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function npmInstall(folder: string): Promise<void> {
  const args = [
    "install",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--no-package-lock",
    "--omit=dev",
    "--loglevel=error",
  ];

  // under npx or an npm script an outer configuration would decide where to install
  const env = { ...process.env };
  for (const name of Object.keys(env)) if (/^npm_config_(prefix|global|omit|include)$/i.test(name)) delete env[name];
  const child = spawn("npm", args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const failure = await new Promise<string | undefined>((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("close", (status, signal) =>
      resolve(status === 0 ? undefined : `${signal ?? `status ${status}`}: ${said.trim()}`),
    );
  });
  if (failure !== undefined) {
    throw new CorralError(
      "npm-failed",
      `npm could not install ${EMBEDDED_PACKAGE} (${failure}). Check the network and try again.`,
    );
  }
}
