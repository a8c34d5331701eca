// the embedded software driver: SwiftShader and a Vulkan loader out of `@sparticuz/chromium`, unpacked into the cache once
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { cacheDir } from "../core/cache-dir.ts";
import { AdapterUnavailableError, CorralError } from "../core/errors.ts";
import { filesFromTar } from "./untar.ts";

export const EMBEDDED_PACKAGE = "@sparticuz/chromium";

/** The version that `corral doctor --install-software-adapter` installs, and the clone's development dependency. */
export const EMBEDDED_VERSION = "147.0.0";

const LOADER = "libvulkan.so.1";
const MANIFEST = "vk_swiftshader_icd.json";
const FILES = [LOADER, "libvk_swiftshader.so", MANIFEST];
const SIZES = "sizes.json";

/** Where the unpacked driver lies. */
export interface EmbeddedDriver {
  readonly loader: string;
  readonly manifest: string;
}

/** Why this platform has no embedded driver, or undefined when it has one. */
export function embeddedUnsupported(): string | undefined {
  if (process.platform === "linux" && process.arch === "x64") return undefined;
  return `the embedded software driver exists for linux-x64 only, not for ${process.platform}-${process.arch}`;
}

function unpackedFolder(): string {
  return join(cacheDir(), `swiftshader-${EMBEDDED_VERSION}`);
}

/** The unpacked driver, or undefined when the cache does not hold a whole one. */
export function cachedEmbeddedDriver(): EmbeddedDriver | undefined {
  const folder = unpackedFolder();
  return isWhole(folder) ? driverIn(folder) : undefined;
}

/**
 * The embedded driver, unpacked from the installed package if the cache does not hold it yet.
 * Safe with concurrent processes. Throws `embedded-not-installed`, `embedded-unsupported` or `embedded-damaged`.
 */
export function embeddedDriver(): EmbeddedDriver {
  const unsupported = embeddedUnsupported();
  if (unsupported) {
    throw new AdapterUnavailableError(
      "embedded-unsupported",
      `${unsupported}. Use a GPU, a system driver or device: 'wasm'.`,
    );
  }
  const cached = cachedEmbeddedDriver();
  if (cached) return cached;

  const archive = packagedArchive();
  if (!archive) {
    throw new AdapterUnavailableError("embedded-not-installed", `the embedded software driver is not installed`);
  }
  return unpackDriver(archive);
}

/** The archive inside the installed package, seen from `from` (a file or folder), or undefined without the package. */
export function packagedArchive(from: string = import.meta.url): string | undefined {
  try {
    const entry = createRequire(from).resolve(EMBEDDED_PACKAGE);
    // the entry lies somewhere below the package's root
    for (let folder = dirname(entry); folder !== dirname(folder); folder = dirname(folder)) {
      const archive = join(folder, "bin", "swiftshader.tar.br");
      if (existsSync(archive)) return archive;
    }
  } catch {
    return undefined;
  }
  return undefined;
}

/** Unpacks the archive into the cache. Whoever renames first wins; the others use what is there. */
export function unpackDriver(archive: string): EmbeddedDriver {
  const found = filesFromTar(brotliDecompressSync(readFileSync(archive)), FILES);
  const missing = FILES.filter((name) => !found.has(name));
  if (missing.length > 0) {
    throw new CorralError(
      "embedded-damaged",
      `${archive} lacks ${missing.join(", ")}. Install ${EMBEDDED_PACKAGE}@${EMBEDDED_VERSION} again.`,
    );
  }

  const folder = unpackedFolder();
  const draft = `${folder}.${process.pid}.${randomBytes(4).toString("hex")}`;
  try {
    mkdirSync(draft, { recursive: true, mode: 0o755 });
    for (const [name, bytes] of found) writeFileSync(join(draft, name), bytes, { mode: 0o755 });
    const sizes = Object.fromEntries([...found].map(([name, bytes]) => [name, bytes.length]));
    writeFileSync(join(draft, SIZES), JSON.stringify(sizes));
    publish(draft, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return driverIn(folder);
}

function publish(draft: string, folder: string): void {
  for (let attempt = 0; ; attempt++) {
    try {
      renameSync(draft, folder);
      return;
    } catch (error) {
      if (isWhole(folder)) return;
      if (attempt === 2) throw error;

      // somebody deleted files in it: make room and try once more
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

function isWhole(folder: string): boolean {
  try {
    const sizes = JSON.parse(readFileSync(join(folder, SIZES), "utf8")) as Record<string, number>;
    return FILES.every((name) => statSync(join(folder, name)).size === sizes[name]);
  } catch {
    return false;
  }
}

function driverIn(folder: string): EmbeddedDriver {
  return { loader: join(folder, LOADER), manifest: join(folder, MANIFEST) };
}
