// folders written atomically: under another name, then renamed, with the size and the SHA-256 of
// every file in `manifest.json`, and that of the manifest in `manifest.sha256`.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { CorralError } from "../core/errors.ts";
import { makeFolder } from "../core/make-folder.ts";
import { sha256 } from "../core/packing.ts";
import { readBytes } from "../core/read-bytes.ts";
import { integer, Mismatch, object, record, text } from "../core/schema.ts";
import { show } from "../core/show.ts";
import { formatBytes } from "../core/units.ts";
import { reasonOf, writeSynced } from "../core/write-bytes.ts";
import { unpackZip } from "../model/zip.ts";
import { BUNDLE_VERSION, FORMAT, seal, type FileEntry } from "./seal.ts";
import { unpack } from "./unpack.ts";

/** Folders of writers that were killed. */
const PARTIAL = /^\.partial-(\d+)-/;

export interface Sealed {
  readonly path: string;
  readonly about: Readonly<Record<string, unknown>>;
  readonly files: ReadonlyMap<string, Uint8Array>;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function removePartial(directory: string): void {
  for (const name of readdirSync(directory)) {
    const pid = PARTIAL.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(directory, name), { recursive: true, force: true });
  }
}

let written = 0;

/**
 * Writes a folder `name` in `directory`, whole or not at all. Returns its path, with a number after the name where there
 * is one of that name.
 * @throws CorralError bundle-too-large, bundle-not-written; then nothing is left
 */
export function writeSealed(
  directory: string,
  name: string,
  about: Readonly<Record<string, unknown>>,
  files: ReadonlyMap<string, Uint8Array>,
  maxBytes: number,
): string {
  const whole = seal(name, about, files, maxBytes);
  const partial = join(directory, `.partial-${process.pid}-${written++}`);
  try {
    makeFolder(directory);
    removePartial(directory);
    mkdirSync(partial);
    for (const [file, bytes] of whole) {
      mkdirSync(dirname(join(partial, file)), { recursive: true });
      writeSynced(join(partial, file), "wx", bytes);
    }
    let path = join(directory, name);
    for (let i = 2; existsSync(path); i++) path = join(directory, `${name}-${i}`);
    renameSync(partial, path);
    return path;
  } catch (cause) {
    try {
      rmSync(partial, { recursive: true, force: true });
    } catch {
      // the place is gone; the next writer removes what is left
    }
    throw new CorralError(
      "bundle-not-written",
      `the bundle ${name} was not written to ${directory} (${reasonOf(cause)}). Free the disk, or pass recorder.directory, a folder that can be written.`,
      { name, directory, reason: reasonOf(cause) },
      { cause },
    );
  }
}

/** A bundle that is not what was written. */
export const corrupt = (path: string, text: string, details: object = {}): CorralError =>
  new CorralError("bundle-corrupt", `${path}: ${text}. Copy the bundle again from where it was written.`, {
    path,
    ...details,
  });

/**
 * Reads a folder, or a zip of it, and checks every byte.
 * @throws CorralError no-bundle, bundle-newer, bundle-corrupt
 */
export function readSealed(path: string): Sealed {
  if (typeof path !== "string")
    throw new CorralError("no-bundle", `${show(path)} is no bundle. Pass the folder that corral wrote.`, { path });
  const file = join(path, "manifest.json");
  const source = sourceOf(path);
  if (!source?.has("manifest.json")) {
    const what = !existsSync(path)
      ? "there is nothing"
      : source
        ? (source.broken ?? "there is no manifest.json in it")
        : "it is no folder, and no zip of one";
    throw new CorralError("no-bundle", `${path} is no bundle: ${what}. Pass the folder that corral wrote.`, { path });
  }
  const read = (name: string, most?: number): Uint8Array => {
    try {
      return source.read(name, most);
    } catch (error) {
      throw corrupt(path, `${name} cannot be read (${reasonOf(error)})`, { file: name });
    }
  };
  const bytes = read("manifest.json", MOST_MANIFEST);
  const manifest = unpack(bytes, file);
  const { format, version, files, ...about } = Object(manifest) as Record<string, unknown>;
  if (format !== FORMAT)
    throw new CorralError("no-bundle", `${file} is not that of a corral bundle. Pass the folder that corral wrote.`, {
      path,
    });
  // a newer format may be sealed in another way: check the format first
  if (typeof version !== "number" || !(version <= BUNDLE_VERSION)) {
    throw new CorralError(
      "bundle-newer",
      `${path} has format ${show(version)}, this corral reads ${BUNDLE_VERSION} and older. Install the corral that wrote it (${show(about.corral)}) or a newer one.`,
      { path, version, reads: BUNDLE_VERSION },
    );
  }
  const [seal] = new TextDecoder().decode(read("manifest.sha256", 256)).split(" ");
  if (seal !== sha256(bytes)) throw corrupt(path, "manifest.json does not have the checksum in manifest.sha256");

  const found = new Map<string, Uint8Array>();
  for (const [name, entry] of Object.entries(entriesOf(path, files))) {
    const content = read(name);
    if (content.length !== entry.bytes)
      throw corrupt(path, `${name} has ${content.length} bytes, ${entry.bytes} were written`, { file: name });
    if (sha256(content) !== entry.sha256)
      throw corrupt(path, `${name} does not have the checksum it was written with`, { file: name });
    found.set(name, content);
  }
  return { path, about, files: found };
}

/** Whether a folder, or a zip, says that it is a bundle. */
export const isBundlePath = (path: string): boolean => sourceOf(path)?.has("manifest.json") === true;

/** What a manifest says, unchecked; undefined if there is none that can be read. */
export function manifestIn(path: string): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(sourceOf(path)!.read("manifest.json", MOST_MANIFEST)));
  } catch {
    return undefined;
  }
}

/** Files of a bundle by name. `read` throws an error whose code or message says why not. */
interface BundleSource {
  has(name: string): boolean;
  read(name: string, most?: number): Uint8Array;
  /** Why nothing of it can be read. */
  readonly broken?: string;
}

/** A folder, or a zip of what lies in one or of the folder itself; undefined for anything else. */
function sourceOf(path: string): BundleSource | undefined {
  if (!existsSync(path)) return undefined;
  if (statSync(path).isDirectory())
    return {
      has: (name) => existsSync(join(path, name)),
      read: (name, most) => readBytes(join(path, name), most),
    };
  if (!path.toLowerCase().endsWith(".zip")) return undefined;
  const whole = zippedFiles(path);
  const files = whole ?? {};
  const manifests = Object.keys(files).filter((name) => /^([^/]+\/)?manifest\.json$/.test(name));
  const folder = manifests.length === 1 ? manifests[0].slice(0, -"manifest.json".length) : "";
  return {
    ...(whole ? {} : { broken: "it is a zip that was cut short, or none" }),
    has: (name) => Object.hasOwn(files, folder + name),
    read(name, most = Infinity) {
      if (!Object.hasOwn(files, folder + name)) throw new Error("it is not there");
      const bytes = files[folder + name];
      if (bytes.length > most) throw new Error(`${formatBytes(bytes.length)}, at most ${formatBytes(most)} are read`);
      return bytes;
    },
  };
}

/** What a zip holds; undefined where it is none. */
function zippedFiles(path: string): Readonly<Record<string, Uint8Array>> | undefined {
  try {
    return unpackZip(readBytes(path), path);
  } catch {
    return undefined;
  }
}

/** Bytes of a manifest at most. */
const MOST_MANIFEST = 2 ** 26;

const entryKind = object<FileEntry>({ bytes: integer(0), sha256: text(64) });

/** Whether a path stays within its folder, on every system: bundles come from others, and what is in one may be written elsewhere. */
const isInside = (name: string): boolean =>
  !/^[/\\]|[\\:*?"<>|\p{C}]/u.test(name) && !name.split("/").some((part) => /^\.\.?$/.test(part)) && name !== "";

function entriesOf(path: string, files: unknown): Readonly<Record<string, FileEntry>> {
  try {
    const entries = record(text(1024), entryKind).read(files, ["files"]);
    for (const name of Object.keys(entries))
      if (!isInside(name)) throw corrupt(path, `${show(name)} lies outside of it`, { file: name });
    return entries;
  } catch (error) {
    if (error instanceof Mismatch) throw corrupt(path, error.message);
    throw error;
  }
}
